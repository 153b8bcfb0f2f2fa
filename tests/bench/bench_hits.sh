#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_hits.sh: what one hit costs beside one of an empty BPF program at the same instruction, and
# whether events are lost where two threads do nothing but hit a probe.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/bench/lib.sh
needs_recording

# The doctor measures all of them in turns on code of its own; a ratio is of one such run.
for _ in $(seq $((3 * rounds))); do
	"$PUGMARK" doctor --format json | jq -r '.costs_ns | [.empty.call, .witness / .empty.call,
		.witness_no_time / .empty.call, .witness_jcc / .empty.jcc, .witness_ret / .empty.push,
		.empty.ret / .empty.call] | map(tostring) | join(" ")' >>"$tmp/costs"
done
record hit none empty_call "$(median "$tmp/costs")" ns
printf 'a hit of an empty program on a call: %.0f ns; on a return %.1f times that\n' \
	"$(median "$tmp/costs")" "$(median "$tmp/costs" 6)"
i=2
for name in call call_no_times jcc_flags push_return_address; do
	ratio=$(calc "$(median "$tmp/costs" $i)")
	record hit $name cost_over_empty "$ratio" ratio
	printf 'a witness on a %s: %s of an empty program there\n' $name "$ratio"
	i=$((i + 1))
done

gcc -O1 -pthread -o "$tmp/busy" tests/bench/loads/busy.c || exit 1
site=$(nm "$tmp/busy" | awk '$3 == "site" { print $1 }')
echo "$site 0 0 1 0 0" >"$tmp/site"
for _ in $(seq "$rounds"); do
	"$PUGMARK" record -q -o "$tmp/rec" --binary "$tmp/busy" --sites "$tmp/site" -- \
		"$measure" 1 "$tmp/busy" 2 1000000 >"$tmp/busy.out"
	lost=$(field "$tmp/rec/meta.json" lost)
	echo "$(calc "2 / $(cut -d ' ' -f 1 "$tmp/busy.out")") $lost" >>"$tmp/busy.rates"
done
rate=$(median "$tmp/busy.rates") lost=$(awk '{ n += $2 } END { print n + 0 }' "$tmp/busy.rates")
record busy none event_rate "$rate" Mevents/s
record busy none lost_events "$lost" events
echo "two busy threads: $rate M events a second, $lost lost in $rounds runs of 2,000,000"

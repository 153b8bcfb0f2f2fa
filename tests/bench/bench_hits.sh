#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_hits.sh: what one hit costs beside one of an empty BPF program at the same instruction, and
# whether events are lost where two threads do nothing but hit a probe.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/bench/lib.sh
needs_recording

# The doctor has the empty program and the recorder's run in turns, hundreds of hits each, on one
# processor; a run's ratio is the median of its turns. Here: the median of some runs, and what half
# of the turns lay between.
for _ in $(seq "$rounds"); do
	"$PUGMARK" doctor --format json | jq -r '[.costs_ns.empty.call, .costs_ns.empty.ret, (.over_empty |
		.witness, .witness_no_time, .witness_jcc, .witness_ret)] | flatten | map(tostring) |
		join(" ")' >>"$tmp/costs"
done
record hit none empty_call "$(median "$tmp/costs")" ns
printf 'a hit of an empty program on a call: %.0f ns; on a return %.0f ns\n' \
	"$(median "$tmp/costs")" "$(median "$tmp/costs" 2)"
i=3
for name in call call_no_times jcc_flags push_return_address; do
	record hit $name cost_over_empty "$(calc "$(median "$tmp/costs" $((i + 1)))")" ratio
	printf 'a witness on a %s: %.3f of an empty program there (%.3f to %.3f)\n' $name \
		"$(median "$tmp/costs" $((i + 1)))" "$(median "$tmp/costs" $i)" \
		"$(median "$tmp/costs" $((i + 2)))"
	i=$((i + 3))
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

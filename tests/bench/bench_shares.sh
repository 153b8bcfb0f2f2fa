#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_shares.sh: what the costliest of m machines is expected to pay, in per cent of one machine with
# all witnesses, by each grouping, at both levels (the tables of Figures 13 to 15 of "Distributed
# Program Tracing", ESEC/FSE 2013; weights are this machine's costs times estimated frequencies).
#
# And what it takes to merge the runs of gzip -c under 4 shares, where this user may record: events put out
# a second of one core, and the bytes of events of the parts and of what is merged.
#
# Bounds: best is never worse than another grouping, and at most 1.15 times an even split where no
# single job is larger than that. One that is missed is printed and fails.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/bench/lib.sh
machines=${MACHINES:-1 2 4 6 8 16}
programs=${PROGRAMS:-gzip bzip2 lua5.4 mawk}

if [ "${1:-}" = --pieces ]; then
	for program in $programs; do
		command -v "$program" >/dev/null && echo "$program"
	done
	exit 0
fi
[ $# = 0 ] || programs=$*
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

for program in $programs; do
	binary=$(command -v "$program") || continue
	for level in calls paths; do
		for m in $machines; do
			for grouping in fine function optimized best; do
				"$PUGMARK" plan --level $level --shares "$m" --grouping $grouping \
					--format json -o "$folder/set" "$binary" >"$folder/$grouping" || exit 1
			done
			python3 - "$program" $level "$m" "$folder" "${BENCH_OUT:-/dev/null}" <<-'PY' || failed=1
				import json, sys
				program, level, m, folder, out = sys.argv[1:]
				cost, bad = {}, []
				for g in ("fine", "function", "optimized", "best"):
				    j = json.load(open(f"{folder}/{g}"))
				    loads = {}
				    for s in j["shares"]:
				        loads[s["machine"]] = loads.get(s["machine"], 0) + s["cost_ns"]
				    whole = j["undistributed_ns"] or 1
				    cost[g] = 100 * max(loads.values()) / whole
				    total, job = 100 * sum(loads.values()) / whole, 100 * j["largest_job_ns"] / whole
				even = max(total / int(m), job)
				line = "  ".join(f"{g} {c:5.1f} %" for g, c in cost.items())
				print(f"{program:10} {level} m={m:>2}  {line}  (even split or largest job {even:5.1f} %)")
				if cost["best"] > min(cost.values()) + 1e-9:
				    bad.append("best is not best")
				if cost["best"] > 1.15 * even + 0.1:
				    bad.append(f"best is {cost['best'] / even:.2f} times an even split")
				with open(out, "a") as f:
				    for g, c in cost.items():
				        json.dump({"workload": f"{program} m={m}", "mode": f"{level} {g}",
				                   "metric": "costliest machine", "value": c, "unit": "%"}, f)
				        f.write("\n")
				for b in bad:
				    print(f"{program} {level} m={m}: {b}")
				sys.exit(bool(bad))
			PY
		done
	done
done

bytes_of() { stat -c %s "$@" | awk '{ n += $1 } END { print n + 0 }'; }
merge_runs() { # LEVEL
	local k parts=() events seconds from to
	rm -rf "$folder/set" "$folder"/part-* "$folder/whole"
	"$PUGMARK" plan --level "$1" --shares 4 -o "$folder/set" "$folder/gzip" >/dev/null || return
	for k in 1 2 3 4; do
		setarch -R "$PUGMARK" record -q --plan "$folder/set/share-$k.pmp" -o "$folder/part-$k" -- \
			"$folder/gzip" -9c "$folder/text" >/dev/null || return
		parts+=("$folder/part-$k")
	done
	"$PUGMARK" merge --format json -o "$folder/whole" "${parts[@]}" >"$folder/said" || return
	read -r events seconds < <(python3 -c 'import json, sys
j = json.load(open(sys.argv[1])); print(j["events"], j["seconds"])' "$folder/said")
	from=$(bytes_of "${parts[@]/%//events}") to=$(bytes_of "$folder/whole/events")
	echo "gzip -c, 4 shares, $1: $events events merged, $(calc "$events / $seconds / 1e6") M a second;" \
		"$from bytes of the parts became $to"
	record 'gzip -c m=4' "$1" merge_speed "$(calc "$events / $seconds / 1e6")" Mevents/s
	record 'gzip -c m=4' "$1" merged_bytes "$(calc "100 * $to / $from")" '% of the parts'
}
if [[ " $programs " == *' gzip '* ]] && [ "$(id -u)" = 0 ]; then
	. tests/oracle/inputs.sh
	cp -L "$(command -v gzip)" "$folder/gzip" && make_text "${LINES_OF_TEXT:-6000}" >"$folder/text"
	for level in calls paths; do
		merge_runs $level || failed=1
	done
fi
exit ${failed:-0}

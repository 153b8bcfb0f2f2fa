#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_shares.sh: what the costliest of m machines is expected to pay, in per cent of one machine with
# all witnesses, by each grouping, at both levels (the tables of Figures 13 to 15 of "Distributed
# Program Tracing", ESEC/FSE 2013; weights are this machine's costs times estimated frequencies).
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
exit ${failed:-0}

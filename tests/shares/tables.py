# SPDX-License-Identifier: LGPL-2.1-or-later
"""tables.py NAME WEIGHTS LEVEL M OUT: a row of tables.sh, from what `plan --shares --format json` printed
into files with the names of the groupings, in this folder; measurements are added to the file OUT. Exit status
1: a bound is missed, and said. With `mean` alone: the geometric mean of best at level paths over the rows of six
machines that were printed, by estimates and by counts."""
import json
import math
import sys

GROUPINGS = ("fine", "function", "optimized", "best")

if sys.argv[1] == "mean":
    rows = [line.split() for line in open("third")]
    worst = 0
    for by in dict.fromkeys(row[0] for row in rows):
        columns = zip(*(map(float, row[1:]) for row in rows if row[0] == by))
        mean, jobs, proven = (math.exp(sum(map(math.log, c)) / len(c)) for c in columns)
        print(f"\nlevel paths, m = 6, best, by {by}: {mean:.1f} % in the geometric mean of "
              f"{sum(row[0] == by for row in rows)} programs; the least of these jobs {jobs:.1f} %; "
              f"what no split of any kind is below, on any number of machines, {proven:.1f} %")
        worst = max(worst, mean)
    sys.exit(worst > 100 / 3)
name, weights, level, machines, out = sys.argv[1:]
cost, said = {}, {g: json.load(open(g)) for g in GROUPINGS}
whole = said["best"]["undistributed_ns"] or 1  # of all: what one machine pays depends a little on the grouping
for g, j in said.items():
    loads = {}
    for s in j["shares"]:
        loads[s["machine"]] = loads.get(s["machine"], 0) + s["cost_ns"]
    cost[g] = 100 * max(loads.values()) / whole
total, job = 100 * sum(loads.values()) / whole, 100 * j["largest_job_ns"] / whole  # of best
least = max(total / int(machines), job, 100 * said["best"]["two_jobs_ns"] / whole)
print(f"| {name} | {weights} | {level} | {machines} | " + " | ".join(f"{cost[g]:.1f}" for g in GROUPINGS)
      + f" | {least:.1f} |", flush=True)
if level == "paths" and machines == "6":
    proven = max(100 * said["best"]["least_ns"] / whole, 0.01)
    print(weights, cost["best"], least, proven, file=open("third", "a"))
for g, c in cost.items():
    print(json.dumps({"workload": f"{name} m={machines} {weights}", "mode": f"{level} {g}",
                      "metric": "costliest machine", "value": c, "unit": "%"}), file=open(out, "a"))
bad = []
if cost["best"] > min(cost.values()) + 1e-9:
    bad.append("best is not best")
if cost["best"] > 1.15 * least + 0.1:
    bad.append(f"best is {cost['best'] / least:.2f} times an even split")
for b in bad:
    print(f"{name} {level} m={machines}: {b}")
sys.exit(bool(bad))

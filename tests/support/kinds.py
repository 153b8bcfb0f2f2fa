# SPDX-License-Identifier: LGPL-2.1-or-later
"""kinds.py NOTES FOLDER PUGMARK: sets what `report --format json` says of a folder of recordings in turns
(its input) against what kinds.c has counted itself. Prints the functions whose calls are not those
counted while their turn was on; then three numbers: all functions, those whose calls are, and those whose
interval holds their rate over all the time."""
import bisect
import glob
import json
import subprocess
import sys

notes, folder, pugmark = sys.argv[1:4]
with open(notes) as f:
    names = f.readline().split()
    rounds = [list(map(int, line.split())) for line in f]
times = [r[0] for r in rounds]


def counted(k, at_ns, after):
    """What function @k has counted at the last round before @at_ns, or at the first one after it."""
    i = bisect.bisect_right(times, at_ns) - (not after)
    return rounds[min(max(i, 0), len(rounds) - 1)][1 + k]


bounds, firsts, lasts = {}, [], []
for turn in sorted(glob.glob(folder + "/turn-*")):
    meta = json.load(open(turn + "/meta.json"))
    begin, end = meta["probed_from_ns"], meta["probed_to_ns"]
    firsts.append(begin)
    lasts.append(end)
    said = json.loads(subprocess.run([pugmark, "report", "--format", "json", turn],
                                     capture_output=True, check=False).stdout)
    for f in said["functions"]:
        if f["function"] in names and f["calls"]:
            k = names.index(f["function"])
            least = counted(k, end, False) - counted(k, begin, True)
            most = counted(k, end, True) - counted(k, begin, False)
            low, high, calls = bounds.get(k, (0, 0, 0))
            bounds[k] = (low + least, high + most, calls + f["calls"])
told = {f["function"]: f for f in json.load(sys.stdin)["functions"]}
exact = within = 0
seconds = (max(lasts) - min(firsts)) / 1e9
for k, name in enumerate(names):
    low, high, calls = bounds.get(k, (0, 0, 0))
    rate = (counted(k, max(lasts), False) - counted(k, min(firsts), False)) / seconds
    f = told.get(name, {"low": 0, "high": 0, "calls": 0, "calls_s": 0})
    within += f["low"] <= rate <= f["high"]
    if low <= calls <= high and f["calls"] == calls > 0:
        exact += 1
    else:
        print(f"{name}: {f['calls']} calls, {calls} by turn, counted {low} to {high}")
print(len(names), exact, within)

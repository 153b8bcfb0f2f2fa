# SPDX-License-Identifier: LGPL-2.1-or-later
"""kinds.py NOTES FOLDER PUGMARK: sets what `report --format json` says of a folder of recordings in turns
(its input) against what kinds.c has counted itself. Prints the functions of which the number of calls,
counted while a turn was on, is not between the least and the most that are reported of it; then four numbers:
all functions, those whose calls are, those whose interval holds the rate that they counted meanwhile, and by how many
in a thousand least and most differ, over all functions."""
import bisect
import glob
import json
import shutil
import subprocess
import sys
import tempfile

notes, folder, pugmark = sys.argv[1:4]
with open(notes) as f:
    names = f.readline().split()
    rounds = [list(map(int, line.split())) for line in f]
times = [r[0] for r in rounds]


def counted(k, at_ns, after):
    """What function @k has counted at the last round before @at_ns, or at the first one after it."""
    i = bisect.bisect_right(times, at_ns) - (not after)
    return rounds[min(max(i, 0), len(rounds) - 1)][1 + k]


bounds, wrong = {}, {}
for turn in sorted(glob.glob(folder + "/turn-*")):
    meta = json.load(open(turn + "/meta.json"))
    begin, end = meta["probed_from_ns"], meta["probed_to_ns"]
    with tempfile.TemporaryDirectory() as alone:  # a folder of this turn only
        shutil.copytree(turn, alone + "/turn")
        said = json.loads(subprocess.run([pugmark, "report", "--format", "json", alone],
                                         capture_output=True, check=False).stdout)
    for f in said["functions"]:
        if f["function"] in names and f["calls"]:
            k = names.index(f["function"])
            least = counted(k, end, False) - counted(k, begin, True)
            most = counted(k, end, True) - counted(k, begin, False)
            if least > f["most"] or most < f["least"]:
                wrong[f["function"]] = f"{f['least']} to {f['most']} in {turn}, counted {least} to {most}"
            low, high, ns = bounds.get(k, (0, 0, 0))
            bounds[k] = (low + least, high + most, ns + end - begin)
told = {f["function"]: f for f in json.load(sys.stdin)["functions"]}
exact = within = apart = calls = 0
for k, name in enumerate(names):
    low, high, ns = bounds.get(k, (0, 0, 1))
    f = told.get(name, {"low": 0, "high": 0, "calls": 0, "least": 0, "most": 0})
    within += f["low"] * ns / 1e9 <= high and f["high"] * ns / 1e9 >= low
    calls += f["calls"]
    apart += f["most"] - f["least"]
    if f["calls"] > 0 and name not in wrong:
        exact += 1
    else:
        print(f"{name}: {f['calls']} calls; {wrong.get(name, 'in no turn')}")
print(len(names), exact, within, round(1000 * apart / max(calls, 1)))

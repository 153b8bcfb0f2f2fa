# SPDX-License-Identifier: LGPL-2.1-or-later
"""landmarks.py PLAN LOG...: which landmark the runs of some shares differ in first, from what `pugmark raw`
says of each (LOG) and which sites `plan --shares --format json` (PLAN) calls landmarks. Prints its number,
and which function who has there; a site is named by its function alone."""
import json
import sys

with open(sys.argv[1]) as f:
    sites = {m["site"]: m["function"] for m in json.load(f)["landmarks"]}
kinds = {"exec": "another program", "signal": "a signal", "end": "the thread's end"}


def landmarks(log):
    """The landmarks of the one thread of a recording, in their order."""
    with open(log) as lines:
        for line in lines:
            words = line.split()
            if len(words) < 3 or words[0] == "#":
                continue
            if words[2] != "witness":
                yield kinds[words[2]]
            elif int(words[4].split(":")[1]) in sites:
                yield sites[int(words[4].split(":")[1])]


runs = [list(landmarks(log)) + ["nothing more"] for log in sys.argv[2:]]
number = 0
while number < min(map(len, runs)) and len({run[number] for run in runs}) == 1:
    number += 1
at = [run[number] if number < len(run) else "nothing more" for run in runs]
said, rest = [], list(range(len(runs)))
while rest and len(said) < 2:
    same = [k for k in rest if at[k] == at[rest[0]]]
    said.append(f"{at[same[0]]} in share {', '.join(str(k + 1) for k in same)}")
    rest = [k for k in rest if k not in same]
if rest:
    said.append(f"something else in share {', '.join(str(k + 1) for k in rest)}")
print(f"number {number + 1}: {', '.join(said)}")

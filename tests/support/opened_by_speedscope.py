# SPDX-License-Identifier: LGPL-2.1-or-later
"""opened_by_speedscope.py FORMAT FILE: what speedscope has after it opened a file of FORMAT, as it saved
it: how often each function was called, `CALLS NAME` a line, and gaps as `CALLS [gap]`."""
import json
import re
import sys
from collections import Counter

kind, path = sys.argv[1:]
whole = json.load(open(path))
names = [re.sub(r"'[^']*$", "", f["name"]) if kind == "callgrind" else f["name"]
         for f in whole["shared"]["frames"]]
calls = Counter()


def said(frame):
    return "[gap]" if names[frame].startswith("[gap") else names[frame]


# Of events a call is one that opens; of sums it is the weight of the innermost function.
of_events = kind in ("speedscope", "chrome")
for profile in whole["profiles"][:None if of_events else 1]:
    stack, at = [], profile["startValue"]
    for event in profile["events"]:
        if stack and not of_events:
            calls[said(stack[-1])] += event["at"] - at
        at = event["at"]
        if event["type"] == "O":
            stack.append(event["frame"])
            if of_events:
                calls[said(stack[-1])] += 1
        elif stack.pop() != event["frame"]:
            sys.exit("it closes another frame than it opened")
for text, n in calls.items():
    if n:
        print(f"{n:g} {text}")

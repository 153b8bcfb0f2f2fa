# SPDX-License-Identifier: LGPL-2.1-or-later
"""turns_within.py FULL-META FULL-REPORT TURNS-REPORT: of the functions that a full recording saw called, how
many have their calls a second within the interval that the recordings in turns give. Prints both numbers,
and on stderr the functions that are not."""
import json
import sys

meta, full, turns = (json.load(open(name)) for name in sys.argv[1:4])
seconds = (meta["probed_to_ns"] - meta["probed_from_ns"]) / 1e9
said = {(f["module"], f["function"]): f for f in turns["functions"]}
within = seen = 0
for f in full["functions"]:
    if not f["calls"] or not f.get("address"):  # an import, or what runs outside of the program
        continue
    seen += 1
    rate = f["calls"] / seconds
    at = said.get((f["module"], f["function"]), {"low": 0, "high": 0})
    if at["low"] <= rate <= at["high"]:
        within += 1
    else:
        print(f"{f['function']}: {rate:.2f} a second, in turns {at['low']:.2f} to {at['high']:.2f}",
              file=sys.stderr)
print(within, seen)

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# wet.sh: the whole execution trace of gzip and bc has every instruction that was executed, once; its
# control flow, walked over compressed timestamps alone, is the one that was taken, both ways; each
# tier takes less than the one before.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs gzip bc python3
work_in_own_folder
cp "$(command -v gzip)" packer
cp "$(command -v bc)" calc
for i in $(seq 400); do echo "line $i of what is packed $((i * i % 977))"; done >input
echo 'scale=40; a(1)*4' >pi.bc
"$PUGMARK" record -q --level values -o packed -- ./packer -cn <input >out.gz 2>err
"$PUGMARK" record -q --level values -o pi -- ./calc -l pi.bc </dev/null >pi.txt 2>err
for rec in packed pi; do
	run 0 wet "$rec" --format json
	"$PUGMARK" values "$rec" --format json >whole
	claim "$rec: every instruction, and less in each tier" python3 -c 'import json
w, v = json.load(open("out")), json.load(open("whole"))["tasks"][0]
assert w["statements"] == v["instructions"], (w, v)
assert w["walk"] and not w["gap"], w
assert w["executions"] < w["blocks"] < w["statements"], w
for of in "timestamps", "value_labels", "edge_labels":
    s = w[of]
    assert 0 < s["tier2"] < s["tier1"] < s["original"], (of, s)
assert w["statements"] < w["dependences"] < 4 * w["statements"], w'
done
run 0 wet packed --window 100000:150000 --format json
claim 'a window has what is in it' python3 -c 'import json
w = json.load(open("out"))
assert abs(w["statements"] - 50000) < 64 and w["walk"], w'
run 0 wet packed
claim 'as tables' is "$(grep -c '^Table' out)" 3
run 2 wet packed --window 5
run 2 wet
run 1 wet nowhere
conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_misses.sh: what would have missed a cache, by instruction: as cachegrind finds it with the same
# cache, line by line, of a program whose loads are all its own; how often jumps were taken, strides and
# how many addresses there were, as the source says.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3
work_in_own_folder
cat >loads.c <<'C'
#include <stdio.h>
static volatile long few[512], many[1 << 16], table[1 << 14];
static struct node { struct node *volatile next; volatile long v; char pad[48]; } nodes[4096];
static volatile char odd[1 << 16] __attribute__((aligned(64)));
long total;
int main(void)
{
	struct node *n = nodes;
	unsigned x = 1;
	for (int i = 0; i < 4096; i++) {
		nodes[i].next = &nodes[(i * 1237 + 71) & 4095]; /* link */
		nodes[i].v = i; /* number */
	}
	for (int r = 0; r < 4; r++)
		for (int i = 0; i < 1 << 16; i++)
			total += many[i]; /* rows */
	for (int c = 0; c < 64; c++)
		for (int r = 0; r < 1024; r++)
			total += many[r * 64 + c]; /* columns */
	for (int i = 0; i < 20000; i++) {
		total += n->v; /* chase */
		n = n->next; /* follow */
	}
	for (int i = 0; i < 50000; i++) {
		x = x * 1103515245 + 12345;
		if (x >> 20 & 1) /* chance */
			total += few[x >> 23]; /* few */
		table[x >> 18] = i; /* table */
	}
	for (int r = 0; r < 3; r++)
		for (int i = 60; i < (1 << 16) - 8; i += 64)
			total += *(volatile long *)(odd + i); /* straddle */
	printf("%ld\n", total);
	return 0;
}
C
${CC:-cc} -O1 -g -fno-inline -w -o loads loads.c || skip 'no compiler'
run 0 record -q --level values -o rec -- ./loads
run 0 values rec --misses --limit 100000 --format json
mv out found.json
claim 'what the source says' python3 - <<'PY'
import json
t = json.load(open("found.json"))[0]
lines = {i + 1: l for i, l in enumerate(open("loads.c"))}
assert t["complete"] and not t["assumed"] + t["unknown"], t
def at(name, kind):
    found = [a for a in t["accesses"] if a["kind"] == kind and f"/* {name} */" in lines.get(a["line"], "")
             and a["function"] == "main" and a["addresses"] > 1]
    assert len(found) == 1, (name, found)
    return found[0]
rows, columns, chase, few = (at(n, "load") for n in ("rows", "columns", "chase", "few"))
table, straddle = at("table", "store"), at("straddle", "load")
assert rows["executions"] == 4 << 16 and rows["misses"] in range(4 << 13, (4 << 13) + 9), rows
assert rows["stride"] == 8 and rows["stride_share"] > .9999, rows
assert rows["addresses_more"] and rows["values"] == 1, rows
assert columns["executions"] == 65536 == columns["misses"], columns
assert columns["stride"] == 512 and .99 < columns["stride_share"] < 1, columns
assert chase["stride_share"] < .1 and few["addresses"] == 512 and not few["addresses_more"], (chase, few)
assert straddle["executions"] == 3 * 1023 == straddle["misses"] and straddle["stride"] == 64, straddle
x, taken = 1, 0
for i in range(50000):
    x = (x * 1103515245 + 12345) % 2 ** 32
    taken += x >> 20 & 1
assert few["executions"] == taken, (few, taken)
chance = [j for j in t["jumps"] if "/* chance */" in lines.get(j["line"], "")]
assert len(chance) == 1 and chance[0]["executions"] == 50000, chance
assert chance[0]["taken"] in (taken, 50000 - taken), (chance, taken)
assert chance[0]["misses"] > 15000, chance
assert t["jumps"][0] == chance[0], t["jumps"][0]
assert sum(a["misses"] for a in t["accesses"]) == t["loads"]["misses"] + t["stores"]["misses"]
misses = [a["misses"] for a in t["accesses"]]
assert misses == sorted(misses, reverse=True)
PY
run 0 wet --machine rec --format json
claim 'as in Table 4' python3 -c 'import json
w, t = json.load(open("out")), json.load(open("found.json"))[0]
for kind in "loads", "stores", "branches":
    assert all(w[kind][k] == t[kind][k] for k in ("executions", "misses")), (kind, w[kind], t[kind])'
run 0 values rec --misses --limit 3
claim 'as a table: the first of each kind, with function and line' is \
	"$(grep -cE '^ +[0-9]+ .* main 0x[0-9a-f]+ .*loads.c:[0-9]+$' out) $(grep -c 'more (--limit)' out)" '6 2'
run 2 values rec --misses main
run 2 values rec --misses --watch total

# A part that is not known is said.
cp -r rec cut
truncate -s $(($(stat -c %s rec/captures) - 400)) cut/captures
run 3 values cut --misses

if command -v valgrind >/dev/null; then
	valgrind --tool=cachegrind --cache-sim=yes --D1=32768,8,64 --cachegrind-out-file=grind ./loads >out 2>err
	claim 'cachegrind runs it' is $? 0
	claim 'misses of each line as cachegrind finds them, but for five' python3 - <<'PY'
import collections, json
columns, in_main, theirs = [], False, {}
for l in open("grind"):
    if l.startswith("events:"):
        columns = l.split()[1:]
    elif l.startswith(("fl=", "fn=")):
        in_main = l.startswith("fn=main\n") or l.strip() == "fn=main"
    elif in_main and l[0].isdigit():
        n = list(map(int, l.split()))
        of = dict(zip(columns, n[1:]))
        theirs[n[0]] = [of["Dr"], of["Dw"], of["D1mr"], of["D1mw"]]
ours = collections.defaultdict(lambda: [0] * 4)
for a in json.load(open("found.json"))[0]["accesses"]:
    if a["function"] == "main":
        store = a["kind"] == "store"
        # cachegrind has one that loads and stores as a load.
        ours[a["line"]][0 + store] += a["executions"]
        ours[a["line"]][2 + store] += a["misses"]
compared = 0
for line, (dr, dw, mr, mw) in theirs.items():
    o = ours[line]
    if dr + dw < 100:
        continue
    compared += dr + dw
    both = abs(o[2] + o[3] - mr - mw)
    assert both <= 5, (line, o, theirs[line])
    assert o[0] == dr or o[0] + o[1] >= dr + dw, (line, o, theirs[line])
assert compared > 400000, compared
print(compared)
PY
else
	skipped=$((skipped + 1))
fi
conclude

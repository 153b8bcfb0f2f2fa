#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# why_inlined.sh: lines of inlined functions in a slice name that function, and the calls around it, as
# addr2line does; one line inlined at two places is two; and variables of inlined functions are found.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3 addr2line
work_in_own_folder

cat >digits.h <<'C'
static inline __attribute__((always_inline)) int clamp(int n)
{
	return n > 50 ? 50 - n % 7 : n * 3;
}
static inline __attribute__((always_inline)) int weigh(int n, int by)
{
	int cells[4], sum = 0;
	for (int i = 0; i < 4; i++)
		cells[(i + n) & 3] = clamp(n + i) * by;
	touch(cells);
	for (int i = 0; i < 4; i++)
		sum += cells[i];
	return sum;
}
C
cat >target.c <<'C'
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) void touch(int *cells)
{
	cells[1] ^= 1;
}
#include "digits.h"
__attribute__((noinline)) int other(int n)
{
	return clamp(n) + 1;
}
int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	int first = weigh(n, 2);
	int second = other(n);
	if (first > second)
		printf("%d\n", first * 100 + second);
	return 0;
}
C
${CC:-cc} -O2 -g -w -o target target.c || skip 'no compiler'
"$PUGMARK" record -q --level values -o rec -- ./target 9 >printed 2>err
run 0 why rec --write 1:0 --control --format json
claim 'every line has the frames that addr2line tells' python3 - <<'P'
import json, os, subprocess
lines = [l for l in json.load(open('out'))['lines'] if l['file']]
for l in lines:
    at = int(l['address'], 16) - (l['event'] is not None) # of a call: where it returns to
    said = subprocess.run(['addr2line', '-i', '-f', '-e', 'target', hex(at)], capture_output=True, text=True)
    said = said.stdout.replace(' (', ':(').splitlines()
    truth = [(f, os.path.basename(p.split(':')[0]), int(p.split(':')[1])) for f, p in zip(said[::2], said[1::2])]
    ours = [(f['function'], os.path.basename(f['file']), f['line']) for f in [l, *l['inlined']]]
    assert ours == truth, (l['address'], ours, truth)
deepest = max(len(l['inlined']) for l in lines)
assert deepest == 2, deepest
P
claim 'a line that was inlined at two places is there for each' python3 -c 'import json
calls = [tuple(f["function"] for f in l["inlined"]) for l in json.load(open("out"))["lines"] if l["line"] == 3 and l["function"] == "clamp"]
assert sorted(set(calls)) == [("other",), ("weigh", "main")] and len(calls) == 2, calls'
run 0 why rec --write 1:0 --control
claim 'the text says where' grep -q 'digits.h:3 clamp .*inlined at digits.h:9 in weigh(), at target.c:15 in main()' out
claim 'and says nothing where nothing was inlined' eval 'grep "target.c:5 touch" out | grep -vq inlined'
for format in svg html dot; do
	run 0 why rec --write 1:0 --control --format $format
	claim "$format says it as well" grep -q 'digits.h:3 clamp .*inlined at digits.h:9 in weigh(), at target.c:15 in main()' out
done
run 0 why rec --write 1:0 --control --instructions --format json
claim 'instructions have it, too' python3 -c 'import json
lines = json.load(open("out"))["lines"]
assert {l["function"] for l in lines if l["inlined"]} >= {"clamp", "weigh"}'
run 0 why rec --write 1:0 --control --ranked --format json
claim 'lines that are ranked keep it' python3 -c 'import json
assert any(l["inlined"] for l in json.load(open("out"))["lines"])'
run 0 why rec digits.h:12 cells
claim 'an array of an inlined function, in the frame of the real one' grep -q 'digits.h:9 weigh' out
run 0 why rec digits.h:9 n --time 1
claim 'an argument came from its caller' grep -q 'inlined at target.c:14 in main()' out
# What is in no register and in no memory.
cat >made.c <<'C'
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) int use(int n) { return n * 7 + 1; }
static inline __attribute__((always_inline)) long total(const int *at, int n)
{
	long sum = 0;
	for (int i = 0; i < n; i++)
		sum += use(at[i]);
	return sum;
}
int main(int argc, char **argv)
{
	int a[8];
	long r = 0;
	for (int i = 0; i < 8; i++)
		a[i] = i * argc;
	for (int k = 0; k < 30; k++) {
		a[k & 7] ^= k;
		r ^= total(a, 8);
	}
	printf("%ld\n", r);
	return 0;
}
C
gcc -O2 -g -w -o made made.c || skip "no gcc"
"$PUGMARK" record -q --level values -o made.rec -- ./made >printed 2>err
claim 'a variable that DWARF computes of a register is known' \
	grep -qE '\(i=[0-9]+, .*n=8' <("$PUGMARK" values made.rec made.c:8)
claim 'and why leads on by that register' \
	grep -q 'made.c:7 total' <("$PUGMARK" why made.rec made.c:8 i)
run 1 why made.rec made.c:8 n
claim 'a constant is called one' grep -q 'is a constant there' err
run 1 why made.rec made.c:8 none
claim 'what is no variable is called none' grep -q 'no such variable' err
if command -v clang >/dev/null && clang -O2 -g -w -o made_by_clang made.c; then
	"$PUGMARK" record -q --level values -o entered -- ./made_by_clang >printed 2>err
	run 0 values entered total
	claim 'where DWARF does not say where inlined code is entered, that is said' \
		grep -q 'DWARF does not say where it is entered' err
fi
run 0 values made.rec total
claim 'each round in which it does is an instance' is "$(wc -l <out)" 30
claim 'and nothing is said' is "$(grep -c 'is entered' err)" 0
conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# paths.sh: level paths from the command line: source lines as gcov counts them, blocks and inlined
# calls in replay, counts in pictures, and clear words where something cannot be had.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
programs=$tests/programs
work_in_own_folder
cp "$programs"/coverage*.c .
gcc -O0 -g coverage.c -o plain && gcc -O2 -g coverage.c -o fast || skip 'no gcc for the target'

says() { # STATUS WORDS COMMAND...: it fails with that status and one line that has the words
	local status=0
	"${@:3}" >out 2>err || status=$?
	[ $status = "$1" ] && [ "$(wc -l <err)" = 1 ] && grep -qF -- "$2" err
}
record() { "$PUGMARK" record -q --level paths "$@" >out 2>err </dev/null; }

# --- coverage -----------------------------------------------------------------------------------
lines_of() { # RECORDING: line, count
	"$PUGMARK" report --coverage "$1" | sed -nE 's/^DA:([0-9]+),([0-9]+)$/\1 \2/p' | sort -n
}
gcov_lines() { # PROGRAM: the same, by gcov
	mkdir "gcov.$1" && cd "gcov.$1" && gcc -O0 -g --coverage "../$1.c" -o counted && ./counted >/dev/null &&
		gcov -o . "counted-$1.c" >/dev/null 2>&1
	sed -nE 's/^ *([0-9#=]+)\*?: *([0-9]+):.*/\2 \1/p' "$1.c.gcov" | sed 's/[#=]\+/0/' | sort -n
}
claim 'a recording of paths is complete' eval 'record -o rec -- ./plain && "$PUGMARK" verify rec >out'
"$PUGMARK" report --coverage rec >plain.info 2>err
if command -v gcov >/dev/null; then
	(gcov_lines coverage) >lines.gcov
	claim 'gcov has counted' test -s lines.gcov
	for mode in best blocks targets edges nodes; do
		record -o rec-$mode --placement $mode -- ./plain
		lines_of rec-$mode >lines.$mode
		claim "the coverage of an unoptimised build is that of gcov, line for line (by $mode)" \
			same lines.gcov lines.$mode
	done
	(gcov_lines coverage2) >lines2.gcov
	gcc -O0 -g coverage2.c -o plain2 && record -o rec2 -- ./plain2
	lines_of rec2 >lines2
	claim 'gcov has counted the other program' test -s lines2.gcov
	claim 'and so is that of tables, jumps, macros, inline functions' same lines2.gcov lines2
else
	echo 'no gcov: coverage is not compared'
fi
if command -v genhtml >/dev/null; then
	claim 'lcov reads it' eval 'genhtml -q -o html plain.info >out 2>err'
fi
claim 'lines that ran are listed with their counts' eval \
	'"$PUGMARK" report --lines rec | grep -qE "^ +[1-9][0-9]*  .*coverage.c:[0-9]+$"'
claim 'and are JSON if asked' eval '"$PUGMARK" report --lines --format json rec | python3 -m json.tool >out'
claim 'lines of one function' eval \
	'"$PUGMARK" report --coverage -F gcd rec | grep -c ^FN: | grep -qx 1'

# --- replay and pictures --------------------------------------------------------------------------
record -o fast.rec -- ./fast
"$PUGMARK" replay --paths fast.rec >tree 2>err
claim 'inlined functions appear as calls' grep -qE 'less\(\) \{  inlined at coverage.c:[0-9]+' tree
claim 'every block of the dump is in the tree' eval \
	'[ "$("$PUGMARK" dump fast.rec | grep -c " block ")" = "$(grep -cE "^ +[0-9.]+ +\+.* [0-9a-f]{4}(  [a-z.]+:[0-9]+)?$" tree)" ]'
claim 'replay --paths is JSON if asked' eval \
	'"$PUGMARK" replay --paths --format json fast.rec >tree.json && python3 -m json.tool tree.json >out'
claim 'every inlined call that begins ends, inside of its call' python3 - <<'P'
import json
open_in, n = {}, 0
for c in json.load(open('tree.json'))['threads'][0]['calls']:
    stack = open_in.setdefault(c.get('parent'), [])
    if c['kind'] == 'inlined':
        assert c['inlined'] == len(stack)
        stack.append(c['function'])
        n += 1
    elif c['kind'] == 'inlined end':
        assert stack.pop() == c['function'] and c['inlined'] == len(stack)
    elif c['kind'] == 'block':
        assert c['inlined'] == len(stack)
    else:
        assert not open_in.pop(c['id'], [])
assert n > 1000
P
"$PUGMARK" cfg --dot gcd --trace rec plain >gcd.dot 2>err
claim 'a picture has the counts of blocks and edges' eval \
	'grep -q "×" gcd.dot && grep -qE "label=\"(taken|fall|jump) [1-9]" gcd.dot'
claim 'what goes into a block is what comes out, but where it is entered or left' python3 - <<'P'
import re
blocks, out, into = {}, {}, {}
for line in open('gcd.dot'):
    m = re.match(r'\t(b\w+) \[label=".*×(\d+)"', line)
    if m: blocks[m[1]] = int(m[2])
    m = re.match(r'\t(b\w+) -> (b\w+) \[label="\w+ (\d+)"', line)
    if m:
        out[m[1]] = out.get(m[1], 0) + int(m[3]); into[m[2]] = into.get(m[2], 0) + int(m[3])
assert blocks
for b, n in blocks.items():
    assert b not in out or out[b] == n
    assert into.get(b, 0) in (n, n - 1 if b == min(blocks) else n)
P

# --- a scope, and what cannot be had ----------------------------------------------------------------
record -o one.rec -F gcd -- ./plain
claim 'only the functions that were asked for show their blocks' eval \
	'"$PUGMARK" dump one.rec | grep -q " block " && "$PUGMARK" report --coverage one.rec | grep -c ^FN: | grep -qx 1'
claim 'a function that is not there' says 1 "no function matches 'nosuch'" \
	"$PUGMARK" record -q --level paths -F nosuch -- ./plain
claim 'a level that is not there' says 2 "no level 'all'" "$PUGMARK" record --level all -- ./plain
claim 'a placement that is not there' says 2 "no placement 'x'" \
	"$PUGMARK" plan --level paths --placement x plain
"$PUGMARK" record -q -o calls.rec -- ./plain >out 2>err
claim 'lines of a recording of calls' says 1 'record with --level paths' "$PUGMARK" report --lines calls.rec
claim 'counts of a recording of calls' says 1 'record with --level paths' \
	"$PUGMARK" cfg --dot gcd --trace calls.rec plain
claim 'a picture of another file' says 1 'not a recording of' "$PUGMARK" cfg --dot main --trace rec fast
strip -o bare plain && record -o bare.rec -- ./bare
claim 'lines without debug information' says 1 'it needs debug information' "$PUGMARK" report --lines bare.rec
claim 'blocks without debug information are addresses' eval \
	'"$PUGMARK" replay --paths bare.rec | grep -qE " [0-9a-f]{4}$"'
mv plain elsewhere
claim 'lines of a file that is gone' says 1 plain "$PUGMARK" report --lines rec
claim 'that is somewhere else now' eval '"$PUGMARK" report --lines --binary elsewhere rec | grep -q coverage.c'
claim 'that is another one now' says 1 'not the file that was recorded' \
	"$PUGMARK" report --lines --binary fast rec

# --- flow that is not plain: which blocks, by their labels -------------------------------------------
# flow.s has a label at the start of each block, or a few of them; what runs is known by heart.
as -o flow.o "$programs/flow.s" && gcc -no-pie -o flow flow.o 2>err
nm flow | sed -nE 's/^0*([0-9a-f]+) . ([a-z]+_[a-z0-9_]+)$/\1 \2/p' >labels
blocks_of() { # RECORDING FUNCTION: its blocks by their labels, or as FUNCTION+distance
	"$PUGMARK" dump "$1" | awk -v f="$2" 'NR == FNR { name[$1] = $2; next }
		$2 == "block" && name[$4] ~ "^" f { printf "%s%s", n++ ? " " : "", substr(name[$4], length(f) + 2) }
		END { print "" }' labels -
}
golden() { # FUNCTION BLOCKS
	local mode
	for mode in best blocks targets edges nodes; do
		[ "$(blocks_of "flow.$mode" "$1")" = "$2" ] || {
			echo "by $mode: $(blocks_of "flow.$mode" "$1")"
			return 1
		}
	done
}
for mode in best blocks targets edges nodes; do
	record -o flow.$mode --placement $mode -- ./flow
	claim "a recording of flow that is not plain is complete (by $mode)" eval \
		'"$PUGMARK" verify flow.$mode >out 2>err'
done
claim 'a jump table' golden table \
	'entry jump two end entry jump zero two end entry jump one end entry end'
claim 'a loop without calls' golden loop 'entry round even next round odd next round even next end'
claim 'a loop that is entered in the middle' golden irreducible \
	'entry top middle top middle end entry start middle top middle end'
claim 'a computed goto' golden goto 'entry inc dbl dbl inc stop'
claim 'repeated string instructions, each round of which is no block' golden string \
	'entry zero entry copy found'
claim 'assembly without CFI' golden bare 'entry negative end entry end'

# --- landing pads and computed gotos of a compiler -----------------------------------------------------
cat >open.c <<'C'
#include <stdio.h>
static int run(const unsigned char *code)
{
	static const void *const labels[] = {&&inc, &&dbl, &&end};
	int x = 1;
	const void *const *table = code[0] == 9 ? NULL : labels;
	goto *table[*code++];
inc:	x++;
	goto *table[*code++];
dbl:	x *= 2;
	goto *table[*code++];
end:	return x;
}
int main(void) { printf("%d\n", run((const unsigned char *)"\0\1\1\0\1\2")); return 0; }
C
gcc -O2 -g open.c -o open && record -o open.rec -- ./open
claim 'computed gotos of a compiler' eval \
	'[ "$(cat out)" = 18 ] && "$PUGMARK" verify open.rec >out 2>err'
claim 'each dispatch is one witness of its target' eval \
	'"$PUGMARK" plan --level paths -F run --list open 2>err | grep -qw target'
if command -v g++ >/dev/null; then
	cat >throw.cc <<'CC'
#include <cstdio>
struct Guard { int &n; ~Guard() { n++; } };
static int thrower(int x) { if (x & 1) throw x; return x; }
static int catcher(int x, int &n)
{
	Guard g{n};
	try { return thrower(x); } catch (int y) { return y + 100; }
}
int main()
{
	int n = 0, sum = 0;
	for (int i = 0; i < 5; i++) sum += catcher(i, n);
	printf("%d %d\n", sum, n);
	return 0;
}
CC
	g++ -O0 -g throw.cc -o throw && record -o throw.rec -- ./throw
	claim 'landing pads: complete' eval '[ "$(cat out)" = "210 5" ] && "$PUGMARK" verify throw.rec >out 2>err'
	claim 'lines around a throw are counted' eval \
		'"$PUGMARK" report --lines -F "*catcher*" throw.rec | grep -qE "^ +[0-9]+ +.*throw.cc:7$" &&
		"$PUGMARK" report --lines -F "*thrower*" throw.rec | grep -qE "^ +5 +.*throw.cc:3$"'
fi
conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# paths.sh: level paths from the command line: source lines as gcov counts them, blocks and inlined
# calls in replay, counts in pictures, and clear words where something cannot be had.
set -u
skip() { echo "SKIP: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip 'recording needs root here'
[ -e /sys/kernel/btf/vmlinux ] || skip 'this kernel has no BTF'
[ "$(uname -m)" = x86_64 ] || skip 'x86-64 only'
programs=$(cd "$(dirname "$0")/.." && pwd)/programs
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir/cache
cp "$programs/coverage.c" .
gcc -O0 -g coverage.c -o plain && gcc -O2 -g coverage.c -o fast || skip 'no gcc for the target'
"$PUGMARK" doctor >doctor.txt 2>&1 || skip "recording does not work here: $(grep missing doctor.txt)"
passed=0 failed=0

claim() { # TEXT COMMAND...
	if "${@:2}"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "does not hold: $1"
		sed 's/^/  | /' err 2>/dev/null | head -n 5
	fi
}
same() { diff "$1" "$2" >difference || { head -n 10 difference; false; }; }
says() { # STATUS WORDS COMMAND...: it fails with that status and one line that has the words
	local status=0
	"${@:3}" >out 2>err || status=$?
	[ $status = "$1" ] && [ "$(wc -l <err)" = 1 ] && grep -qF -- "$2" err
}
record() { "$PUGMARK" record -q --level paths "$@" >out 2>err </dev/null; }

# --- coverage -----------------------------------------------------------------------------------
claim 'a recording of paths is complete' eval 'record -o rec -- ./plain && "$PUGMARK" verify rec >out'
"$PUGMARK" report --coverage rec >plain.info 2>err
sed -nE 's/^DA:([0-9]+),([0-9]+)$/\1 \2/p' plain.info | sort -n >lines.pugmark
if command -v gcov >/dev/null; then
	mkdir gcov && (cd gcov && gcc -O0 -g --coverage ../coverage.c -o counted && ./counted >/dev/null &&
		gcov -o . counted-coverage.c >/dev/null 2>&1)
	sed -nE 's/^ *([0-9#=]+)\*?: *([0-9]+):.*/\2 \1/p' gcov/coverage.c.gcov | sed 's/[#=]\+/0/' |
		sort -n >lines.gcov
	claim 'gcov has counted' test -s lines.gcov
	claim 'the coverage of an unoptimised build is that of gcov, line for line' \
		same lines.gcov lines.pugmark
	for mode in blocks targets edges nodes; do
		record -o rec-$mode --placement $mode -- ./plain
		"$PUGMARK" report --coverage rec-$mode | sed -nE 's/^DA:([0-9]+),([0-9]+)$/\1 \2/p' |
			sort -n >lines.$mode
		claim "placement $mode gives the same coverage" same lines.gcov lines.$mode
	done
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
cat >asm.s <<'S'
	.globl	twice
	.type	twice, @function
twice:	mov	%edi, %eax
	test	%edi, %edi
	js	1f
	add	%edi, %eax
1:	ret
	.size	twice, . - twice
	.section .note.GNU-stack
S
cat >open.c <<'C'
#include <stdio.h>
int twice(int);
static int run(const unsigned char *code)
{
	static const void *const labels[] = {&&inc, &&dbl, &&end};
	int x = 1;
	const void *const *table = code[0] == 9 ? NULL : labels;
	goto *table[*code++];
inc:	x++;
	goto *table[*code++];
dbl:	x = twice(x);
	goto *table[*code++];
end:	return x;
}
int main(void) { printf("%d\n", run((const unsigned char *)"\0\1\1\0\1\2")); return 0; }
C
gcc -O2 -g open.c asm.s -o open && record -o open.rec -- ./open
claim 'computed gotos, and assembly without CFI: all else is traced, completely' eval \
	'[ "$(cat out)" = 18 ] && "$PUGMARK" verify open.rec >out 2>err'
[ $failed = 0 ] && echo "$passed claims hold"
exit $((failed > 0))

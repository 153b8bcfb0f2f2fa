#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# safe_bounded.sh: what planning takes is in proportion to a file, whatever its author has thought of:
# thousands of calls in a row that may enter anything (more than a minute of a processor without a
# bound), and thousands of calls each of which may be the next one, or after each of which it may
# return (the square of them as memory). Such
# a function is named and probed all over, and its trace is whole. Debug information that leads round
# ends what reads it neither in a fault nor never. So with a recording of holes, or of begins of segments.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs jq nm /usr/bin/time
work_in_own_folder

compile() { # NAME
	${CC:-cc} -O1 -w -o "$1" -x c - || skip 'no compiler for the programs'
}
{
	echo 'static void f(int x) { volatile int y = x; (void)y; } void (*volatile h)(int) = f;'
	echo 'int main(int argc, char **argv) {'
	yes 'h(argc);' | head -n 4000
	echo 'return 0; }'
} | compile anything
{
	echo '__attribute__((noinline)) void f(int x) { volatile int y = x; (void)y; }'
	echo 'int main(int argc, char **argv) { volatile int k = argc;'
	yes 'if (k) f(1);' | head -n 3000
	echo 'return 0; }'
} | compile next

{
	printf '.globl main; .type main, @function; main:\n.rept 10000\ntest %%edi, %%edi; jz 1f; call f; 1:\n.endr\n'
	echo 'xor %eax, %eax; ret; .size main, . - main; .type f, @function; f: ret; .size f, . - f'
	echo '.section .note.GNU-stack, "", @progbits'
} >either.s
${CC:-cc} -o either either.s || skip 'no assembler for the program'

for name in anything next either; do
	(ulimit -t 40 && /usr/bin/time -f %M -o $name.kb "$PUGMARK" plan --format json ./$name) \
		>$name.json 2>$name.err
	claim "$name: planning ends, before it would without a bound" [ $? = 0 ]
	claim "$name: and within 64 MB: $(tail -n 1 $name.kb) kB" [ "$(tail -n 1 $name.kb)" -lt 65536 ]
done
claim "next: main is named" [ "$(jq -r '.whole[]' next.json)" = main ]
claim "next: as text" grep -q 'marked whole .*main' <("$PUGMARK" plan ./next)
claim "and what is small is not" [ "$(jq -r '.whole|length' anything.json)" -le 1 ]

if [ "$(id -u)" = 0 ] && [ -e /sys/kernel/btf/vmlinux ]; then
	"$PUGMARK" record -o rec -- ./next >out 2>err
	claim "record names it" grep -q 'main is too large to choose for' err
	"$PUGMARK" verify rec >verify 2>&1
	claim "its trace is whole: $(grep -v complete verify | head -n 1)" grep -q '^complete' verify
	f=$(nm next | awk '$3 == "f" { sub(/^0+/, "", $1); print $1 }')
	calls=$("$PUGMARK" dump rec | grep -c " call next .* next:$f\$")
	claim "with 3000 calls of f: $calls" [ "$calls" = 3000 ]

	echo 'int f(long); int main(void) { return f(0) + f(1) != 1; }' >main.c
	${CC:-cc} -o round main.c "$tests/programs/hostile_dwarf.s" || skip 'no assembler for the program'
	at=$(printf '0x%x' $((0x$(nm round | awk '$3 == "f" { print $1 }') + 3)))
	"$PUGMARK" record -q --level paths -o lines -- ./round >out 2>err
	claim 'blocks that are named twice at each depth are read once' \
		eval '(ulimit -t 5; "$PUGMARK" report --lines lines >out 2>err); [ $? -le 1 ]'
	"$PUGMARK" record -q --level values -o values -- ./round >out 2>err
	(ulimit -t 5; "$PUGMARK" values values "$at") >out 2>err
	claim 'variables that are told by themselves are not known' is "$? $(sed -n 's/.* (/(/p' out | uniq)" \
		'0 (by_itself=?, named=?, before={m = ?}, nested={...})'

	# Somebody's recording with a hole of terabytes, and one full of what looks like a segment.
	for file in events captures; do
		cp -r values sparse
		truncate -s 3T sparse/$file 2>err || echo "skip: no files of terabytes here: $(cat err)"
		(ulimit -t 5; "$PUGMARK" verify sparse) >out 2>err
		claim "a hole of terabytes in $file: verify ends" [ $? -le 3 ]
		cp values/$file sparse/
		yes "$(printf '\217PMSEG\r')" | head -c 40000000 >>sparse/$file
		(ulimit -t 5; "$PUGMARK" verify sparse) >out 2>err
		claim "begins of segments in $file: verify ends" [ $? -le 3 ]
		rm -r sparse
	done
else
	skipped=$((skipped + 1))
	echo 'skip: recording does not work here'
fi
conclude

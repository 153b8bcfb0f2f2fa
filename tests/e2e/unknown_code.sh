#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# unknown_code.sh: a function that has no symbol and no call frame information, and whose address is nowhere
# but as the sum of two numbers. Nothing that is read leads there; so the plan and each recording name its
# place, and with --mode full each call of it is a gap. Calls of another module, by the same instruction, are
# none, and in a program in which each byte of code is of a function nothing is said.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" jq nm strip
work_in_own_folder

cat >hides.S <<'S'
	.text
	.globl main
	.type main, @function
main:	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	mov $20, %ebx
1:	lea main(%rip), %rax
	test $1, %bl
	jz 2f
	mov abs@GOTPCREL(%rip), %rax
	jmp 3f
2:	add half(%rip), %rax
	add half+8(%rip), %rax
3:	mov %ebx, %edi
	call *%rax
called:	dec %ebx
	jnz 1b
	xor %eax, %eax
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size main, .-main
	.balign 16
hidden:	lea 1(%rdi), %eax
	imul %edi, %eax
	ret
	.balign 16
	.section .rodata
	.balign 8
half:	.quad FAR - 0x1234567, 0x1234567
	.section .note.GNU-stack,"",@progbits
S
# Its distance is a number that the assembler does not know.
"${CC:-cc}" -DFAR=0 -o hides hides.S 2>cc.err || skip "no assembler: $(head -n 1 cc.err)"
at() { nm hides | awk -v s="$1" '$3 == s { sub(/^0+/, "", $1); print $1 }'; }
"${CC:-cc}" -DFAR=$((0x$(at hidden) - 0x$(at main))) -o hides hides.S
hidden=$(at hidden)
strip hides

record() { # MODE [OPTION...]
	rm -rf "$1"
	"$PUGMARK" record --mode "$1" -o "$1" "${@:2}" -- ./hides >out 2>err
}
said="code of no known function may be at 1 place (7 bytes, from $hidden on)"
for mode in best casper full; do
	record $mode
	claim "$mode: it is said before the run" grep -qF "$said" err
	"$PUGMARK" verify $mode >text 2>&1
	claim "$mode: and in the recording" grep -qF "$said" text
	"$PUGMARK" verify --format json $mode >verified
	claim "$mode: gaps" is "$(jq '.gaps | length' verified)" $([ $mode = full ] && echo 10 || echo 0)
done
claim 'each call of it is a gap at its address' is "$(jq -r '[.gaps[].address] | unique | join(" ")' verified)" "$hidden"
claim 'of that cause' is "$(jq -r '[.gaps[].cause] | unique | join(" ")' verified)" unresolved
claim 'as text' grep -qF ": $hidden in code of no known function, after " text
"$PUGMARK" dump full >dumped
claim 'right behind the call' is "$(grep -A 1 " call hides [0-9a-f]* -$" dumped | grep -c ' gap unresolved ')" 10
claim 'calls of the C library are calls' is "$(grep -c " call hides [0-9a-f]* -$" dumped)" 20
rm -rf patched && record full --carrier patch -o patched
"$PUGMARK" verify --format json patched >verified
claim 'by patches as well' is "$(jq '.gaps | length' verified)" 10
"$PUGMARK" plan --check --format json ./hides >checked
claim 'the check of the plan names it' grep -qF "{\"function\":\"code\",\"address\":\"$hidden\",\"kind\":\"code\"}" checked
claim 'the plan counts it' is "$("$PUGMARK" plan --format json ./hides | jq -c .unknown_code)" '{"places":1,"bytes":7}'

# Where such a function calls back, or a signal finds the thread in it, that shows in every mode, without
# another probe.
cat >shows.S <<'S'
	.text
	.balign 16
hidden:	push %rbx
	test %rsi, %rsi
	jz 2f
	call *%rsi
2:	mov $20000000, %eax
1:	dec %eax
	jnz 1b
	pop %rbx
	ret
	.balign 16
	.globl calls_hidden
	.type calls_hidden, @function
calls_hidden: .cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	lea calls_hidden(%rip), %rax
	add half(%rip), %rax
	add half+8(%rip), %rax
	call *%rax
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size calls_hidden, .-calls_hidden
	.section .rodata
	.balign 8
half:	.quad FAR - 0x1234567, 0x1234567
	.section .note.GNU-stack,"",@progbits
S
cat >shows.c <<'C'
#include <signal.h>
#include <sys/time.h>
int calls_hidden(int x, int (*back)(int));
static volatile int ticks;
static void tick(int s) { ticks += s; }
static int back(int x) { return x + 1; }
int main(int argc, char **argv)
{
	if (argc > 1) {
		signal(SIGALRM, tick);
		setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 3000}, 0);
	}
	for (int i = 0; i < 3; i++)
		calls_hidden(i, argc > 1 ? 0 : back);
	return argc > 1 && !ticks;
}
C
build() { "${CC:-cc}" -O1 -DFAR="$1" -o shows shows.c shows.S 2>cc.err; }
build 0
place() { nm shows | awk -v s="$1" '$3 == s { sub(/^0+/, "", $1); print $1 }'; }
build $((0x$(place hidden) - 0x$(place calls_hidden)))
strip shows
for mode in best casper; do
	rm -rf rec
	"$PUGMARK" record -q --mode $mode -o rec -- ./shows 2>err
	"$PUGMARK" verify --format json rec >verified
	claim "$mode: that calls back, and so each call of it is a gap" is \
		"$(jq -r '[.gaps[].cause] | join(" ")' verified)" 'unresolved unresolved unresolved'
	"$PUGMARK" record -q --mode $mode -o signal.$mode -- ./shows once 2>err
	"$PUGMARK" verify --format json signal.$mode >verified
	claim "$mode: a signal finds the thread in it" is "$(jq -r '[.gaps[].cause] | join(" ")' verified)" unresolved
done

printf 'int main(void) { return 0; }' >plain.c
"${CC:-cc}" -O1 -o plain plain.c
"$PUGMARK" record -o plain.rec -- ./plain 2>err
claim 'of other programs nothing is said' eval '! grep -q "no known function" err'
claim 'nor counted' is "$("$PUGMARK" plan --format json ./plain | jq -c .unknown_code)" '{"places":0,"bytes":0}'
conclude

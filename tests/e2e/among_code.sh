#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# among_code.sh: what lies in code and is not what a probe may be placed on: an instruction that a
# relocation fills in when the program is loaded (the kernel would run the one in the file), and a
# data word between functions that something points to; and an instruction that a number in the data
# happens to point into. Programs that have them, and look at them, do the same with and without their
# calls recorded.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder
cat >code.S <<'S'
	.text
	.globl filled_in
	.type filled_in, @function
filled_in:
	movabs $value, %rax
	mov (%rax), %eax
	ret
	.balign 16
length:	.quad 41
	.globl behind_length
behind_length:
	mov length(%rip), %eax
	ret
	.data
	.globl value, functions, object
	.balign 8
value:	.quad 42
functions:
	.quad filled_in, behind_length
object:	.quad length
	.section .note.GNU-stack, "", @progbits
S
cat >main.c <<'C'
#include <stdio.h>
extern int (*const volatile functions[2])(void);
extern const long *const object;
int main(void)
{
	int filled_in = functions[0](), behind = functions[1]();
	printf("%d %d %ld\n", filled_in, behind, *object);
	return 0;
}
C
cat >number.S <<'S'
	.text
	.balign 16
inner:	lea value(%rip), %rax
	mov (%rax), %eax
	ret
	.balign 16
outer:	call inner
	ret
	.data
	.globl value, functions, object
	.balign 8
value:	.quad 42
functions:
	.quad outer, outer
object:	.quad value
number:	.quad inner + 2 # there: add $..., %eax
	.section .note.GNU-stack, "", @progbits
S

does_the_same() { # NAME EXPECTED
	local strip mode
	./program >plain
	claim "$1: by itself it says what is there" is "$(cat plain)" "$2"
	for strip in no yes; do
		[ $strip = no ] || strip program
		for mode in full branch casper best; do
			"$PUGMARK" record -q -o rec --mode $mode -- ./program >out
			claim "$1, $mode, stripped: $strip: it ends as it does" is $? 0
			claim "$1, $mode, stripped: $strip: it says the same" same out plain
			"$PUGMARK" verify rec >certificate
			claim "$1, $mode, stripped: $strip: complete" is $? 0
			claim "$1, $mode, stripped: $strip: its calls are there" \
				[ "$("$PUGMARK" dump rec | grep -c ' call ')" -ge 3 ]
		done
	done
}

if ${CC:-cc} -O1 -fPIE -pie -Wl,-z,notext main.c code.S -o program 2>errors; then
	claim 'the program has relocations in its code' grep -q TEXTREL <(readelf -dW program)
	does_the_same 'words and relocations in code' '42 41 41'
else
	skipped=$((skipped + 1))
fi
${CC:-cc} -O1 -fno-pie -no-pie main.c number.S -o program || skip 'no compiler for the program'
does_the_same 'a number like an address' '42 42 42'
conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# late_rows.sh: call frame information may tell of `add $8,%rsp` some instructions late, as LLVM's does where it has
# moved that before a comparison and its jump: a trace that reads the frame at the jump is complete all the same, and
# has the calls that the program counts itself.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}"
work_in_own_folder

cat >drop.S <<'S'
	.text
	.globl drop
	.type drop, @function
drop:
	.cfi_startproc
	push %r14
	.cfi_def_cfa_offset 16
	push %rbx
	.cfi_def_cfa_offset 24
	push %rax
	.cfi_def_cfa_offset 32
	.cfi_offset %rbx, -24
	.cfi_offset %r14, -16
	mov %rdi, %rbx
	mov (%rbx), %edi
	cmp $-1, %edi
	je 1f
	call *count@GOTPCREL(%rip)
1:	mov 4(%rbx), %edi
	add $8, %rsp
	cmp $-1, %edi
	je 2f
	.cfi_def_cfa_offset 24
	pop %rbx
	.cfi_def_cfa_offset 16
	pop %r14
	.cfi_def_cfa_offset 8
	jmp *count@GOTPCREL(%rip)
2:	.cfi_def_cfa_offset 24
	pop %rbx
	.cfi_def_cfa_offset 16
	pop %r14
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size drop, . - drop
	.section .note.GNU-stack,"",@progbits
S
cat >main.c <<'C'
#include <stdio.h>
static volatile int counted;
void drop(int *of);
__attribute__((noinline)) void count(int n) { counted += n > 0; }
__attribute__((noinline)) static void other(int n) { counted += n < 0; }
int main(void)
{
	for (int i = 0; i < 40; i++) {
		int of[] = {i % 2 ? i : -1, i % 3 ? i : -1};
		drop(of);
		if (i % 5)
			other(i);
	}
	return printf("%d\n", counted) < 0;
}
C
"${CC:-cc}" -O1 -o program main.c drop.S || exit 1
for mode in best full; do
	"$PUGMARK" record -q -o "$mode" --mode "$mode" -- ./program >printed 2>err
	claim "the trace is complete ($mode)" "$PUGMARK" verify "$mode"
	calls=$("$PUGMARK" report "$mode" -F count | awk '$NF == "count" { print $1 }')
	claim "and has the calls that are counted ($mode)" is "$calls" "$(cat printed)"
done
conclude

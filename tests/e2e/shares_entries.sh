#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# shares_entries.sh: shares of functions whose loop comes back to their first instruction (which by itself does
# not tell a round from another call), and of one that calls setjmp() below callers that show nothing:
# all forks are told, and the merge is line for line the trace of a full recording.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" setarch jq
work_in_own_folder

cat >again.c <<'C'
#include <setjmp.h>
#include <stdio.h>
#define FN __attribute__((noipa))
static volatile int sum;
static jmp_buf back;
FN int weigh(int i) { return (sum += i) & 3; }
/* As compilers make it of a while loop for size: the loop begins at the entry. */
int level(int i);
__asm__(".text\n.type level, @function\nlevel: mov %edi, %eax\n dec %edi\n test %eax, %eax\n jle 1f\n"
	" push %rdi\n call weigh\n pop %rdi\n cmp $3, %eax\n jne level\n mov $7, %eax\n ret\n"
	"1: xor %eax, %eax\n ret\n.size level, . - level\n");
FN static int twice(int i) { return level(i) + level(i + 1); }
FN static void deep(int i) { if (i % 3 == 0) longjmp(back, 1); sum += i; }
static void (*volatile pointer)(int) = deep;
FN static int protected(int i)
{
	if (setjmp(back))
		return 1;
	pointer(i);
	return 0;
}
FN static int middle(int i) { return protected(i) + 1; }
FN static int outer(int i) { return middle(i) ^ 5; }
int main(void)
{
	for (int i = 0; i < 40; i++)
		sum += outer(i) + twice(i);
	printf("%d\n", sum);
	return 0;
}
C
"${CC:-cc}" -O2 -o again again.c || exit 1
told() { "$PUGMARK" dump "$1" | sed 's/^[0-9]* //'; }
setarch -R "$PUGMARK" record -q -o full -- ./again >out 2>err
told full >told.full
claim 'the full recording is whole' "$PUGMARK" verify full
for m in 2 3; do
	run 0 plan --level calls --shares $m --format json -o "set-$m" ./again
	claim "$m shares: all forks are told" is "$(jq .untold out)" 0
	run 0 plan --check --plan "set-$m" ./again
	parts=()
	for k in $(seq $m); do
		setarch -R "$PUGMARK" record -q --plan "set-$m/share-$k.pmp" -o "part-$m-$k" -- ./again >out 2>err
		parts+=("part-$m-$k")
	done
	run 0 merge -o "whole-$m" "${parts[@]}"
	told "whole-$m" >told
	claim "$m shares: the merge is the trace of a full recording" same told told.full
done
conclude

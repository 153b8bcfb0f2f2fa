// SPDX-License-Identifier: LGPL-2.1-or-later
/* stepped.c: a program that gets a signal behind each of its instructions, by the processor's trap
 * flag: those that are about to run into a probe, too, and those of the C library. The handler runs
 * on the stack that it finds or, with an argument, on one of its own; now and then it jumps out.
 * How many came goes to stdout. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interrupted.h"

/* Begins or ends it. */
void step(void);
__asm__(".text\n"
	".globl step\n"
	".type step, @function\n"
	"step:\n"
	"	.cfi_startproc\n"
	"	pushf\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	xorq $0x100, (%rsp)\n"
	"	popf\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size step, . - step\n");

FN void handle(int signal)
{
	came++;
	leaf();
	if (came % 97 == 0 && may_jump) {
		may_jump = 0;
		siglongjmp(back, 1);
	}
	twice();
	(void)signal;
	KEEP;
}
/* An entry that is several instructions before its first call. */
FN int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	if (x > y)
		leaf();
	return x - y;
}
FN int compare_at_once(const void *a, const void *b)
{
	leaf();
	return *(const int *)a - *(const int *)b;
}
FN void sort(unsigned seed, int (*by)(const void *, const void *))
{
	int numbers[6];
	for (unsigned i = 0; i < 6; i++)
		numbers[i] = (i + seed) * 7919 % 101;
	qsort(numbers, 6, sizeof(*numbers), by);
	KEEP;
}
FN unsigned work(unsigned n)
{
	char text[16];
	leaf();
	if (n % 3 == 0)
		twice();
	snprintf(text, sizeof(text), "%u", n);
	unsigned sum = n < 2 ? strlen(text) : work(n - 1);
	twice();
	KEEP;
	return sum;
}
FN void round_once(unsigned i)
{
	step();
	if (i % 2 == 0) {
		sort(i, compare);
		sort(i, compare_at_once);
	} else if (sigsetjmp(back, 1) == 0) {
		may_jump = i % 4 == 1;
		sink += work(3 + i % 4);
		may_jump = 0;
	} else {
		step(); /* the handler ran without, and has not returned */
		twice();
	}
	step();
	KEEP;
}

int main(int argc, char **argv)
{
	static char stack[65536];
	stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = handle};
	(void)argv;
	if (argc > 1)
		action.sa_flags = SA_ONSTACK;
	sigaltstack(&other, NULL);
	sigaction(SIGTRAP, &action, NULL);
	for (unsigned i = 0; i < 4; i++)
		round_once(i);
	printf("%ld\n", came);
	return 0;
}

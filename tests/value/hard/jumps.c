// SPDX-License-Identifier: LGPL-2.1-or-later
/* longjmp() over many frames, out of a comparison of qsort(), and stacks that take turns. */
#include "note.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
static jmp_buf back;
static long left, calls;
static ucontext_t here, there[3];
static void deep(int n, long v)
{
	char room[64];
	memset(room, (int)v, sizeof(room));
	left += room[n & 63];
	if (!n)
		longjmp(back, 1 + (int)(v & 7));
	deep(n - 1, v * 3);
	left++;
}
static int compare(const void *a, const void *b)
{
	if (++calls % 97 == 0)
		longjmp(back, 50);
	return *(const int *)a - *(const int *)b;
}
static void taking_turns(int who)
{
	for (long i = 1;; i++) {
		left = left * 31 + who * i;
		swapcontext(&there[who], who == 2 ? &here : &there[who + 1]);
	}
}
int main(void)
{
	static int numbers[60];
	volatile long s = 0, turn = 0;
	do {
		int v = setjmp(back);
		if (!v)
			deep(20 + turn % 7, turn);
		s = s * 3 + v;
		v = setjmp(back);
		for (int i = 0; i < 60 && !v; i++)
			numbers[i] = (i * 7919 + (int)turn) % 101;
		if (!v)
			qsort(numbers, 60, sizeof(int), compare);
		s = s * 5 + v + numbers[7];
	} while (++turn < 30 || goes_on());
	note(1, s);
	note(2, left);
	note(3, calls);
	for (int i = 0; i < 3; i++) {
		getcontext(&there[i]);
		there[i].uc_stack.ss_sp = malloc(65536);
		there[i].uc_stack.ss_size = 65536;
		makecontext(&there[i], (void (*)(void))taking_turns, 1, i);
	}
	for (int i = 0; i < 300; i++)
		swapcontext(&here, &there[0]);
	note(4, left);
	return 0;
}

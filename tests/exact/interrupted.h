/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* interrupted.h: what the programs that live under signals have in common: functions to call, and
 * what their handlers count and jump back to. */
#include <setjmp.h>
#include <signal.h>

#define FN __attribute__((noinline, noclone))
#define KEEP __asm__ volatile("" ::: "memory")

static volatile long came;
static volatile unsigned sink;
static sigjmp_buf back;
static volatile sig_atomic_t may_jump;

FN void leaf(void)
{
	sink++;
	KEEP;
}
FN void twice(void)
{
	leaf();
	leaf();
	KEEP;
}

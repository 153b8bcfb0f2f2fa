// SPDX-License-Identifier: LGPL-2.1-or-later
/* A handler each millisecond, at any instruction, in libraries and in system calls too, that
 * changes what the program works with; on a stack of its own; one that repairs a fault; one that is
 * left by siglongjmp(); one that changes where its program goes on. */
#include "note.h"
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
static volatile long ticks, mixed = 1;
static long plain[16];
static sigjmp_buf back;
static volatile int leave;
static char *area;
static void on_tick(int s)
{
	ticks++;
	mixed = mixed * 31 + ticks;
	plain[ticks & 15] ^= mixed;
	if (leave && ticks % 2 == 0) {
		leave--;
		siglongjmp(back, 1 + leave);
	}
}
static void on_fault(int s, siginfo_t *info, void *context)
{
	mprotect((void *)((long)info->si_addr & ~4095L), 4096, PROT_READ | PROT_WRITE);
	mixed++;
}
static void on_trap(int s, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	u->uc_mcontext.gregs[REG_RAX] = 4711;
	u->uc_mcontext.gregs[REG_RIP] += 2; /* behind ud2 */
}
static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
static long work(int turns)
{
	static int numbers[500];
	static char text[3000];
	long s = 0;
	for (int t = 0; t < turns; t++) {
		for (int i = 0; i < 500; i++)
			numbers[i] = (i * 7919 + t) % 1009;
		qsort(numbers, 500, sizeof(*numbers), compare);
		memset(text, 'a' + t % 26, sizeof(text) - 1);
		s = s * 3 + numbers[t % 500] + strlen(text) + plain[t & 15];
		getppid();
	}
	return s;
}
int main(void)
{
	struct itimerval every = {{0, 1000}, {0, 1000}}, never = {0};
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct sigaction trap = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	sigaltstack(&stack, NULL);
	sigaction(SIGALRM, &tick, NULL);
	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGILL, &trap, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	long s = 0;
	do
		s = s * 7 + work(3);
	while (ticks < 50 || goes_on());
	setitimer(ITIMER_REAL, &never, NULL);
	note(1, s);
	note(2, mixed);
	note(3, ticks);
	tick.sa_flags |= SA_ONSTACK;
	sigaction(SIGALRM, &tick, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (long i = 0, until = ticks + 5; ticks < until; i++)
		s = s * 3 + (i ^ plain[i & 15]);
	note(4, s);
	leave = 2;
	int left = sigsetjmp(back, 1);
	if (leave)
		for (long i = 0; leave >= 0 && i < 4000000000; i++)
			mixed = mixed * 5 + left;
	setitimer(ITIMER_REAL, &never, NULL);
	note(5, mixed);
	area = mmap(NULL, 20 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 20 * 4096; i += 512)
		area[i] = i >> 9;
	for (int i = 0; i < 20 * 4096; i++)
		s = s * 3 + area[i];
	note(6, s);
	long rax;
	__asm__ volatile("mov $5, %%eax\n\tud2" : "=a"(rax));
	note(7, rax);
	for (int i = 0; i < 300; i++)
		raise(SIGALRM);
	note(8, mixed);
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* live_target.c: a program that knows what it does: probe sites are global labels (site_*), and
 * what a probe there should see is printed as it happens. Built without a red zone and without PLT
 * tricks: cc -O1 -mno-red-zone -fcf-protection=none -pthread. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t seed = 88172645463325252ull;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* Every condition code, with flags of all kinds. */
#define JCC(cc)                                                                                    \
	do {                                                                                       \
		int taken;                                                                         \
		__asm__ volatile("push %1\n\tpopfq\n\t.globl site_" #cc "\nsite_" #cc ": j" #cc    \
				 " 1f\n\tmovl $0, %0\n\tjmp 2f\n1:\tmovl $1, %0\n2:\n"             \
				 : "=r"(taken)                                                     \
				 : "r"((next_random() & 0x8d5) | 0x202)                            \
				 : "cc", "memory");                                                \
		printf(#cc " %d\n", taken);                                                        \
	} while (0)

static void branches(int n)
{
	while (n--) {
		JCC(o);
		JCC(no);
		JCC(b);
		JCC(ae);
		JCC(e);
		JCC(ne);
		JCC(be);
		JCC(a);
		JCC(s);
		JCC(ns);
		JCC(p);
		JCC(np);
		JCC(l);
		JCC(ge);
		JCC(le);
		JCC(g);
	}
}

/* Prints its CFA and return address; the site is its first instruction. */
void frame(int depth);
__asm__(".text\n.globl frame\n.globl site_frame\nframe:\nsite_frame: push %rbp\n\tmov %rsp, "
	"%rbp\n\t"
	"mov %rbp, %rsi\n\tcall frame_body\n\tpop %rbp\n\tret\n");
__attribute__((used)) void frame_body(int depth, const uint64_t *rbp)
{
	printf("frame %lx %lx\n", (unsigned long)(rbp + 2), (unsigned long)rbp[1]);
	if (depth)
		frame(depth - 1);
	if (depth > 2 && next_random() & 1)
		frame(depth - 2);
}

static void f0(void)
{
}
static void f1(void)
{
	__asm__ volatile("");
}
void (*const table[2])(void) = {f0, f1};

/* An indirect call through a register and one through memory, base plus index. */
static void targets(int n)
{
	while (n--) {
		uint64_t i = next_random() & 1;

		printf("reg %lx\n", (unsigned long)table[i]);
		__asm__ volatile(
			"mov %0, %%r11\n\t.globl site_reg\nsite_reg: call *%%r11\n" ::"r"(table[i])
			: "r11", "memory");
		printf("mem %lx\n", (unsigned long)table[i]);
		__asm__ volatile("lea -16(%0), %%r10\n\t.globl site_mem\n"
				 "site_mem: call *16(%%r10,%1,8)\n" ::"r"(table),
				 "r"(i)
				 : "r10", "memory");
	}
}

__attribute__((noinline)) static void calls(long n)
{
	while (n--)
		__asm__ volatile(".globl site_call\nsite_call: call 1f\n\tjmp 2f\n1:\tret\n2:\n" ::
					 : "memory");
}

static void *thread_main(void *arg)
{
	calls((long)arg);
	return NULL;
}

static void family(int children, long n)
{
	for (int i = 0; i < children; i++) {
		pid_t pid = fork();

		if (!pid) {
			calls(n + i);
			printf("process %d %ld\n", getpid(), n + i);
			fflush(stdout);
			_exit(i);
		}
		waitpid(pid, NULL, 0);
	}
	pthread_t threads[64];
	for (int i = 0; i < children && i < 64; i++)
		pthread_create(&threads[i], NULL, thread_main, (void *)(n + 100 + i));
	for (int i = 0; i < children && i < 64; i++)
		pthread_join(threads[i], NULL);
}

/* Each comparison leaves its number in the frame of callbacks(), far above its own. */
static volatile uint64_t *mark;
int compare(const void *a, const void *b);
__asm__(".text\n.globl compare\n.globl site_compare\ncompare:\nsite_compare: push %rbp\n\t"
	"mov %rsp, %rbp\n\tcall compare_body\n\tpop %rbp\n\tret\n");
__attribute__((used)) int compare_body(const int *a, const int *b)
{
	++*mark;
	return *a - *b;
}

void handler(int signal);
__asm__(".text\n.globl handler\n.globl site_handler\nhandler:\nsite_handler: push %rbx\n\tpop "
	"%rbx\n\tret\n");

__attribute__((noinline)) static void callbacks(int n)
{
	volatile uint64_t number = 0x1feed000000000;
	int *values = malloc(n * sizeof(*values));

	mark = &number;
	for (int i = 0; i < n; i++)
		values[i] = next_random() & 0xffff;
	__asm__ volatile("" ::: "memory");
	qsort(values, n, sizeof(*values), compare);
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	free(values);
}

static volatile sig_atomic_t stop;

static void on_term(int signal)
{
	(void)signal;
	stop = 1;
}

extern const uint8_t site_call[];

/* Runs until SIGTERM; then says whether its text is as it was when it started. */
static void forever(void)
{
	uint8_t before[5];

	memcpy(before, site_call, sizeof(before));
	signal(SIGTERM, on_term);
	puts("ready");
	fflush(stdout);
	while (!stop)
		calls(100);
	usleep(100000);
	calls(100);
	puts(memcmp(before, site_call, sizeof(before)) ? "text changed" : "text as before");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	volatile uint64_t above_all[32] = {[31] = 0x1cafe000000000};
	long n = argc > 2 ? atol(argv[2]) : 1;

	if (!strcmp(mode, "branches"))
		branches(n);
	else if (!strcmp(mode, "frames"))
		frame(n);
	else if (!strcmp(mode, "targets"))
		targets(n);
	else if (!strcmp(mode, "calls"))
		calls(n);
	else if (!strcmp(mode, "family"))
		family(5, n);
	else if (!strcmp(mode, "callbacks"))
		callbacks(n);
	else if (!strcmp(mode, "forever"))
		forever();
	else if (!strcmp(mode, "exec")) {
		calls(n);
		execl(argv[0], argv[0], "calls", argv[2], NULL);
		return 99;
	} else if (!strcmp(mode, "abort")) {
		calls(n);
		signal(SIGABRT, SIG_DFL);
		abort();
	} else
		return 2;
	return above_all[31] && argc > 3 ? atoi(argv[3]) : 0;
}

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_patched_tasks.sh: with --carrier patch each thread notes its system calls where no other one
# writes. Programs for which that does not hold by itself: two tasks with one thread pointer, made by
# clone() through another function; one that is made by clone() while another thread makes calls; handlers
# that are left by siglongjmp(), so that what their signal has found half noted never gets whole; one that steps
# itself, so that a handler interrupts each instruction; a handler on a stack of its own. What is told of them is what they print, what is not marked is exact, and they end as ever.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cp "$tests/value/hard/note.h" . || exit 1
# A task with the memory and the thread pointer of its maker runs @f on @stack. The number is not next to the
# instruction, as in syscall().
cat >begin.c <<'C'
__asm__(".globl begin\nbegin:\n\tmov %rdx, %r9\n\tmov (%rcx), %eax\n\txor %edx, %edx\n\txor %r10d, %r10d\n"
	"\txor %r8d, %r8d\n\tnop\n\tsyscall\n\tcmp $-4095, %rax\n\tjae 1f\n\ttest %eax, %eax\n\tjnz 1f\n"
	"\tcall *%r9\n1:\tret\n");
C
cat >pointer.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include "note.h"
long begin(long flags, void *stack, void (*f)(void), const long *number);
static char stack[1 << 16] __attribute__((aligned(16)));
static volatile int run, ended;
static volatile unsigned long other;
static int fd;
static unsigned long reads(int n)
{
	unsigned long sum = 0;
	char bytes[64];
	for (int i = 0; i < n; i++) {
		long got = pread(fd, bytes, 1 + i % 60, i * 7 % 4000);
		for (long k = 0; k < got; k++)
			sum = sum * 31 + bytes[k];
	}
	return sum;
}
static void work(void)
{
	while (!run)
		;
	other = reads(20000);
	ended = 1;
	syscall(SYS_exit, 0);
}
int main(void)
{
	static const long number = SYS_clone;
	fd = open("/proc/self/exe", O_RDONLY);
	note(1, reads(1000));
	note(2, begin(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
		      stack + sizeof(stack), work, &number) > 0);
	run = 1;
	for (int i = 0; i < 20; i++)
		note(3, reads(1000));
	while (!ended)
		usleep(1000);
	note(4, other);
	return other == reads(20000) ? 4 : 1;
}
C
cat >beside.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include "note.h"
enum { OTHERS = 5 };
static char stack[OTHERS + 1][1 << 14] __attribute__((aligned(16)));
static int fd;
/* Beside the thread that has begun it, with the same thread pointer, and the same calls. */
static int work(void *arg)
{
	unsigned long bytes;
	for (int i = 0; i < 3000; i++)
		read(fd, &bytes, 1 + i % 7);
	return (int)syscall(SYS_exit, 0);
}
static void *reads(void *arg)
{
	unsigned long sum = 0, bytes;
	for (int i = 0; i < 30000; i++) {
		if (read(fd, &bytes, sizeof(bytes)) == sizeof(bytes))
			sum = sum * 31 + bytes;
		if (i % 200 == 199)
			note(7, sum);
		if (i % 5000 == 4999 && i / 5000 < OTHERS)
			clone(work, stack[i / 5000 + 1],
			      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, NULL);
	}
	return NULL;
}
int main(void)
{
	pthread_t thread;
	fd = open("/dev/urandom", O_RDONLY);
	pthread_create(&thread, NULL, reads, NULL);
	pthread_join(thread, NULL);
	return 5;
}
C
cat >left.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include "note.h"
enum { TIMES = 150000 };
static sigjmp_buf before;
static volatile unsigned long sum;
static volatile int made, left;
static int fd;
static void handle(int sig)
{
	left++;
	siglongjmp(before, 1);
}
static void reads(void)
{
	unsigned long bytes = 0;
	if (read(fd, &bytes, sizeof(bytes)) == sizeof(bytes))
		sum = sum * 31 + bytes;
}
int main(void)
{
	struct itimerval every = {{0, 500}, {0, 500}}, never = {0};
	fd = open("/dev/urandom", O_RDONLY);
	signal(SIGALRM, handle);
	setitimer(ITIMER_REAL, &every, NULL);
	sigsetjmp(before, 1);
	while (left < 300 || made < TIMES / 4) {
		made++;
		reads();
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	note(1, sum);
	for (int i = 0; i < TIMES; i++) {
		if (i % 1000 == 0)
			note(2, sum);
		reads();
	}
	note(3, sum);
	return 6;
}
C
cat >stepped.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include "note.h"
#define TRAP_FLAG "0x100"
enum { TIMES = 20, STEPS = 60000 };
static volatile int steps;
static void handle(int sig)
{
	if (++steps > STEPS) {
		note(9, steps);
		_exit(9); /* it comes to no end */
	}
}
/* What a compiler keeps below the stack pointer stays as it is. */
static inline void step(void)
{
	__asm__ volatile("sub $128, %%rsp; pushfq; orq $" TRAP_FLAG ", (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::: "memory", "cc");
}
static inline void walk(void)
{
	__asm__ volatile("sub $128, %%rsp; pushfq; andq $~" TRAP_FLAG ", (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::: "memory", "cc");
}
int main(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long sum = 0;
	signal(SIGTRAP, handle);
	for (int i = 0; i < TIMES; i++) {
		char bytes[64] = "";
		step();
		long got = pread(fd, bytes, 1 + i, i * 97);
		long id = getppid();
		long advised = madvise(pages, 8192, MADV_DONTNEED);
		walk();
		for (int k = 0; k < i; k++)
			sum = sum * 31 + bytes[k];
		note(1, sum + got + id + advised);
	}
	return steps > TIMES ? 7 : 1;
}
C
cc=${CC:-cc}
$cc -O1 -shared -fPIC -o libbegin.so begin.c && $cc -O1 -g -w -pthread -o beside beside.c && $cc -O1 -g -w -o left left.c && $cc -O1 -g -w -o stepped stepped.c &&
	$cc -O1 -g -w -o pointer pointer.c -L. -lbegin -Wl,-rpath,"$PWD" || skip 'no compiler'

trace() { # PROGRAM STATUS
	timeout 120 "$PUGMARK" record --level values --carrier patch -o "of.$1" -- "./$1" >printed 2>err
	claim "$1: it ends as ever, and no hooks were needed" is "$? $(grep -c hooks err)" "$2 0"
	"$PUGMARK" values "of.$1" note --limit 3000 >got 2>err.values
	sed -nE 's/^[0-9]+ [0-9]+ (note\([^)]*\)).*/\1/p' got >notes
	grep -v '[~?]' notes | sort >sure
	sed 's/~//g' notes | sort >told
	grep ^note printed | sort >printed.notes
	claim "$1: what is not marked is what was printed" is "$(comm -13 printed.notes sure | wc -l)" 0
	claim "$1: so is what is assumed" is "$(comm -13 printed.notes told | wc -l)" 0
}
trace pointer 4
claim 'pointer: what both have noted is lost, which is a gap' \
	is "$("$PUGMARK" verify of.pointer | grep '^values of task 1:' | grep -c 'a gap.*were lost')" 1
claim 'pointer: it is said that probes see what comes behind' grep -q 'of 1 thread were seen by probes' err
trace beside 5
claim 'beside: all is told' is "$(comm -12 told printed.notes | wc -l)" 150
trace stepped 7
trace left 6
claim 'left: all is exact, whatever was never noted to its end' is "$(comm -12 sure printed.notes | wc -l)" 152

# A handler on a stack of its own stays there while the recording ends. Below it, on the thread's first stack, is
# the frame of another one, whose signal has found the thread in a stub, where that returns to.
cat >altstack.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#include "brought_code.h"
static char other[1 << 16], bytes[60000];
static volatile int first, second;
static const struct itimerval soon = {{0, 0}, {0, 20300}};
static void wait_for(int sig, siginfo_t *info, void *context)
{
	unsigned long ip = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	if (ip < from || ip >= to) {
		setitimer(ITIMER_REAL, &soon, NULL);
		return;
	}
	first = 1;
	while (!second)
		;
}
static void stay(int sig)
{
	char byte;
	if (!first || second)
		return;
	second = 1;
	write(1, "stays\n", 6);
	while (read(3, &byte, 1) < 1)
		usleep(1000);
}
int main(void)
{
	struct itimerval often = {{0, 7000}, {0, 7000}}, never = {0};
	stack_t s = {.ss_sp = other, .ss_size = sizeof(other)};
	struct sigaction a = {.sa_sigaction = wait_for, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigaction b = {.sa_handler = stay, .sa_flags = SA_ONSTACK | SA_RESTART};
	int fd = open("/dev/zero", O_RDONLY);
	char byte;
	fcntl(3, F_SETFL, O_NONBLOCK);
	sigaltstack(&s, NULL);
	sigaction(SIGALRM, &a, NULL);
	sigaction(SIGPROF, &b, NULL);
	write(1, "ready\n", 6);
	while (read(0, &byte, 1) < 0)
		;
	find_brought_code("pugmark-calls");
	setitimer(ITIMER_PROF, &often, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	while (!first)
		read(fd, bytes, sizeof(bytes)); /* where the signal comes as the call is over, mostly */
	setitimer(ITIMER_PROF, &never, NULL);
	return 8;
}
C
$cc -O1 -w -I"$tests/support" -o altstack altstack.c
mkfifo go ask
exec 8<>ask 9<>go
statuses='' stay=0
for i in 1 2 3 4; do
	./altstack <go 3<ask >"printed.$i" &
	target=$!
	started+=("$target")
	await grep -q ready "printed.$i"
	: >err # of the one before
	"$PUGMARK" record --level values --carrier patch -p $target -o "alt.$i" >err 2>&1 &
	recorder=$!
	await grep -q ': recording' err
	{ sleep 15 && kill -9 $target $recorder; } 2>err.late & # a round that does not come so far says nothing
	late=$!
	echo >&9
	await grep -q stays "printed.$i"
	kill -INT $recorder
	wait $recorder
	grep -q 'what system calls were made by stays in 1 process' err && stay=$((stay + 1))
	printf y >&8
	wait $target
	statuses+=" $?"
	kill $late
	wait $late
done 2>err.rounds
claim 'altstack: it goes on as ever, wherever its handlers return to' is "$(tr ' ' '\n' <<<"$statuses" | grep -vE '^(137)?$' | sort -u)" 8
claim "altstack: it is said that the stubs stay for them, each time ($stay)" \
	test $stay -gt 0 -a $stay -ge "$(grep -o '\b8\b' <<<"$statuses" | wc -l)"
conclude

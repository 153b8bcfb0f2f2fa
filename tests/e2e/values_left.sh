#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_left.sh: signal handlers that do not just return, and a replay that is exact all the same: they are left by
# siglongjmp(), to where another one was interrupted or from within it; put aside by swapcontext(), and return later,
# not in the order in which they began; they change flags and vector registers of what they have interrupted; two
# begin at once. On whichever stack.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs cc python3
work_in_own_folder

link=()
build() { # NAME: of standard input, with ${link[@]}
	{
		echo '#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
__attribute__((noinline, noipa)) void note(int k, unsigned long v) { printf("%d %lu\n", k, v); }'
		cat
	} >"$1.c"
	cc -O1 -g -w -o "$1" "$1.c" "${link[@]}"
}
sees() { # WORDS NAME ARGUMENT...: each line "K V" that it prints is note(k=K, v=V), known and unmarked
	local words=$1 program=$2
	shift 2
	rm -rf rec
	"$PUGMARK" record -q --level values -o rec -- "./$program" "$@" >printed 2>err
	"$PUGMARK" values --limit 100000 rec note >got 2>err
	sed -nE 's/.*note\(k=([0-9]+), v=([0-9]+)\)$/\1 \2/p' got >known
	claim "$words: it runs" test -s printed
	claim "$words: all is as printed" cmp -s printed known
	"$PUGMARK" verify rec >certificate 2>err
	claim "$words: up to its end" grep -qE '^values of task 1: .* up to its end' certificate
}

# Entries of handlers that were left would be 80 MB.
build left <<'C'
static sigjmp_buf back;
static volatile unsigned long sum = 1;
static void handler(int s) { sum = sum * 31 + s; siglongjmp(back, 1); }
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 10000;
	signal(SIGUSR1, handler);
	for (volatile int i = 0; i < n; i++) {
		if (!sigsetjmp(back, 1))
			raise(SIGUSR1);
		sum = sum * 7 + i;
	}
	note(1, sum);
	return 0;
}
C
sees '10,000 handlers are left' left 10000
takes_little() { # WORDS
	python3 - "$PUGMARK" <<'PY' >most
import resource, subprocess, sys
subprocess.run([sys.argv[1], "values", "rec"], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
PY
	claim "$1: that takes less than 60 MB" test "$(cat most)" -lt 60000
}
takes_little '10,000 handlers are left'

# Of a handler outside of traced modules it is not known where its frame is. Some that return are among
# those that are left.
cat >outside.c <<'C'
#include <setjmp.h>
#include <signal.h>
sigjmp_buf outside_back;
void outside_leaves(int s) { siglongjmp(outside_back, s); }
void outside_returns(int s) { (void)s; }
C
cc -O1 -g -shared -fPIC -o liboutside.so outside.c
link=(-L. -loutside -Wl,-rpath,"$PWD")
build unplaced <<'C'
extern sigjmp_buf outside_back;
void outside_leaves(int), outside_returns(int);
static volatile unsigned long sum = 1;
int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	signal(SIGUSR1, outside_leaves);
	signal(SIGUSR2, outside_returns);
	for (volatile int i = 0; i < n; i++) {
		if (!sigsetjmp(outside_back, 1))
			raise(SIGUSR1);
		sum = sum * 7 + i;
		if (i % 1000 == 999) {
			raise(SIGUSR2);
			note(1, sum);
		}
	}
	note(2, sum);
	return 0;
}
C
link=()
rm -rf rec
"$PUGMARK" record -q --level values -o rec -- ./unplaced 10000 >printed 2>err
"$PUGMARK" values rec note >got 2>err
sed -nE 's/.*note\(k=([0-9]+)~, v=([0-9]+)~\)$/\1 \2/p' got >known
claim '10,000 handlers outside are left: all is as printed, and assumed, as they may write' cmp -s printed known
takes_little '10,000 handlers outside are left'

build nested <<'C'
static sigjmp_buf to_main, to_outer;
static volatile unsigned long sum = 1;
static volatile int way, depth;
static void handler(int s)
{
	unsigned long mine = sum * 31 + s;
	sum = mine;
	if (depth++) { /* the inner one */
		if (way == 0)
			siglongjmp(to_main, 1);
		if (way == 1 || way == 2)
			siglongjmp(to_outer, 1);
		return;
	}
	if (!sigsetjmp(to_outer, 1))
		raise(s == SIGUSR1 ? SIGUSR2 : SIGUSR1);
	sum = sum * 5 + way;
	note(1, mine);
	if (way == 2 || way == 3)
		siglongjmp(to_main, 1);
}
int main(int argc, char **argv)
{
	int on1 = atoi(argv[1]), on2 = atoi(argv[2]), nodefer = atoi(argv[3]);
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	struct sigaction a = {.sa_handler = handler, .sa_flags = (on1 ? SA_ONSTACK : 0) | (nodefer ? SA_NODEFER : 0)};
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &a, NULL);
	a.sa_flags = (on2 ? SA_ONSTACK : 0) | (nodefer ? SA_NODEFER : 0);
	sigaction(SIGUSR2, &a, NULL);
	for (volatile int i = 0; i < 40; i++) {
		way = i % 5;
		depth = 0;
		if (!sigsetjmp(to_main, 1))
			raise(SIGUSR1);
		note(2, sum);
		sum = sum * 7 + i;
	}
	note(3, sum);
	return 0;
}
C
for on in '0 0' '0 1' '1 0' '1 1'; do
	for nodefer in 0 1; do
		# shellcheck disable=SC2086
		sees "a handler within a handler, on stacks $on, SA_NODEFER $nodefer" nested $on $nodefer
	done
done

build swapped <<'C'
static ucontext_t in_first, in_second, other, home;
static volatile unsigned long sum = 1;
static sigjmp_buf back;
static void left(int s) { sum = sum * 3 + s; siglongjmp(back, 1); }
static void first(int s) /* of main's stack: goes to the other context, comes back, returns */
{
	unsigned long mine = sum * 31 + s;
	sum = mine;
	swapcontext(&in_first, &other);
	note(1, mine);
	sum = sum * 5 + mine;
}
static void second(int s) /* on the other's stack: the first one ends before it does */
{
	unsigned long mine = sum * 37 + s;
	sum = mine;
	swapcontext(&in_second, &in_first);
	note(2, mine);
	sum = sum * 11 + mine;
}
static void body(void)
{
	for (volatile int i = 0;; i++) {
		for (volatile int k = 0; k < 3; k++) { /* some that are left, meanwhile */
			if (!sigsetjmp(back, 1))
				raise(SIGALRM);
			sum += k;
		}
		raise(SIGUSR2);
		note(3, sum + i);
		swapcontext(&other, &home);
	}
}
int main(int argc, char **argv)
{
	int on = atoi(argv[1]), nodefer = atoi(argv[2]);
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	struct sigaction a = {.sa_handler = first, .sa_flags = (on ? SA_ONSTACK : 0) | (nodefer ? SA_NODEFER : 0)};
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &a, NULL);
	a.sa_handler = second;
	a.sa_flags = nodefer ? SA_NODEFER : 0;
	sigaction(SIGUSR2, &a, NULL);
	a.sa_handler = left;
	sigaction(SIGALRM, &a, NULL);
	getcontext(&other);
	other.uc_stack.ss_sp = malloc(65536);
	other.uc_stack.ss_size = 65536;
	makecontext(&other, body, 0);
	for (volatile int i = 0; i < 10; i++) {
		raise(SIGUSR1);
		note(4, sum);
		swapcontext(&home, &in_second);
		note(5, sum);
	}
	return 0;
}
C
for on in 0 1; do
	for nodefer in 0 1; do
		sees "a handler is put aside, on stack $on, SA_NODEFER $nodefer" swapped $on $nodefer
	done
done

build frames <<'C'
static int way;
static char area[8192] __attribute__((aligned(64)));
static void handler(int s, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	if (way == 0)
		u->uc_mcontext.gregs[REG_EFL] ^= 1; /* carry */
	if (way == 1)
		u->uc_mcontext.fpregs->_xmm[3].element[0] += 5;
	if (way == 2) {
		memcpy(area, u->uc_mcontext.fpregs, 4096);
		((struct _libc_fpstate *)area)->_xmm[3].element[0] += 7;
		u->uc_mcontext.fpregs = (void *)area;
	}
	if (way == 3)
		u->uc_mcontext.fpregs->mxcsr |= 0x8000;
	u->uc_mcontext.gregs[REG_RIP] += 2;
}
static void first(int s, siginfo_t *info, void *context)
{
	note(10, info->si_code == SI_QUEUE ? info->si_value.sival_int : -1);
	note(11, ((ucontext_t *)context)->uc_mcontext.gregs[REG_R12]);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_R12]++;
}
static void second(int s, siginfo_t *info, void *context)
{
	note(12, info->si_code == SI_QUEUE ? info->si_value.sival_int : -1);
}
int main(void)
{
	struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigaction(SIGILL, &a, NULL);
	for (way = 0; way < 5; way++) {
		unsigned long carry, x, m = 0;
		asm volatile("mov $9, %%eax; movd %%eax, %%xmm3; clc; ud2; sbb %0, %0; movd %%xmm3, %%eax; mov %%rax, %1; stmxcsr %2"
			: "=r"(carry), "=r"(x), "+m"(m) : : "rax", "xmm3");
		note(4 * way, -carry);
		note(4 * way + 1, x);
		note(4 * way + 2, m);
	}
	a.sa_sigaction = first;
	sigaction(SIGUSR1, &a, NULL);
	a.sa_sigaction = second;
	sigaction(SIGUSR2, &a, NULL);
	sigset_t both, old;
	sigemptyset(&both);
	sigaddset(&both, SIGUSR1);
	sigaddset(&both, SIGUSR2);
	for (int i = 0; i < 3; i++) {
		sigprocmask(SIG_BLOCK, &both, &old);
		sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 100 + i});
		sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = 200 + i});
		unsigned long r = 55 + i;
		asm volatile("mov %1, %%r12; mov $14, %%eax; mov $2, %%edi; mov %2, %%rsi; xor %%edx, %%edx; mov $8, %%r10d; syscall; mov %%r12, %0"
			: "=r"(r) : "r"(r), "r"(&old) : "rax", "rdi", "rsi", "rdx", "r10", "rcx", "r11", "r12", "memory");
		note(20, r);
	}
	return 0;
}
C
sees 'what handlers make of flags and vectors, and two at once' frames

# What main has in a register behind the handler is its own, whatever the handler had there when another one began.
build away <<'C'
static sigjmp_buf back;
static volatile int sink;
static long send(int s) { return syscall(SYS_tgkill, getpid(), getpid(), s); }
static void inner(int s) { siglongjmp(back, 1); }
static void outer(int s)
{
	long pid = getpid(), nr = SYS_tgkill, sig = SIGUSR2, r;
	if (!sigsetjmp(back, 1))
		asm volatile("mov $99, %%r12\n\tsyscall" : "=a"(r) : "0"(nr), "D"(pid), "S"(pid), "d"(sig) : "r12", "rcx", "r11", "memory"); /* wrong */
	sink = s;
}
__attribute__((noinline, noipa)) void last(long v) { note(1, v); }
int main(int argc, char **argv)
{
	long pid = getpid(), nr = SYS_tgkill, sig = SIGUSR1, r, mine = argc * 7;
	signal(SIGUSR1, outer);
	signal(SIGUSR2, inner);
	asm volatile("mov %[m], %%r12\n\tsyscall\n\tmov %%r12, %[m]" /* kept */
		: "=a"(r), [m] "+r"(mine) : "0"(nr), "D"(pid), "S"(pid), "d"(sig) : "r12", "rcx", "r11", "memory");
	last(mine);
	return 0;
}
C
sees 'a register that an outer handler changes, and an inner one is left' away
"$PUGMARK" why rec last v >lines 2>err
claim 'a slice leads to what main has computed' grep -q 'main .*mine = argc' lines
claim 'and to no handler' is "$(grep -cE ' (outer|inner) ' lines)" 0
conclude

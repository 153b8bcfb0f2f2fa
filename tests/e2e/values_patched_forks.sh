#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_patched_forks.sh: a child that is forked by a handler has no lanes, and returns to where the signal has
# found its parent. Here that is each instruction in turn that a call takes in the stubs of --carrier patch, be it one
# that brings other bytes than the last or one that brings the same: a tracer steps there, and sends the signal. Behind the call all registers are, in parent and child, what a system
# call leaves, the child unwinds as its parent does, and what is told of the parent is what it prints.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cp "$tests/value/hard/note.h" . || exit 1
# asks(): pread64() with the registers of @in, of which @out gets all that a system call leaves.
cat >asks.c <<'C'
__asm__(".globl asks\nasks:\n\t.cfi_startproc\n\tpush %rbx\n\t.cfi_adjust_cfa_offset 8\n"
	"\tpush %r12\n\t.cfi_adjust_cfa_offset 8\n\tmov %rdi, %rbx\n\tmov %rsi, %r12\n"
	"\tmov (%rbx), %rdi\n\tmov 8(%rbx), %rsi\n\tmov 16(%rbx), %rdx\n\tmov 24(%rbx), %r10\n"
	"\tmov 32(%rbx), %r8\n\tmov 40(%rbx), %r9\n\tnop\n\tnop\n"
	"\tmov $17, %eax\n\tsyscall\n\tcmp $-4095, %rax\n\tjae 1f\n1:\n"
	"\tmov %rdi, (%r12)\n\tmov %rsi, 8(%r12)\n\tmov %rdx, 16(%r12)\n\tmov %r10, 24(%r12)\n"
	"\tmov %r8, 32(%r12)\n\tmov %r9, 40(%r12)\n\tmov %rax, 48(%r12)\n\tpop %r12\n\t.cfi_adjust_cfa_offset -8\n"
	"\tpop %rbx\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t.cfi_endproc\n");
C
cat >asked.c <<'C'
#define _GNU_SOURCE
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include "note.h"
void asks(const unsigned long *in, unsigned long *out);
static int fd;
static volatile pid_t child = -1;
static volatile int unwinds;
static void *first;
static void *first_frame(void)
{
	void *frames[32];
	int n = backtrace(frames, 32);
	return n > 0 ? frames[n - 1] : NULL;
}
static void handle(int sig)
{
	char bytes[64];
	for (int i = 0; i < 20; i++)
		pread(fd, bytes, 40, i);
	child = fork();
	unwinds = child || first_frame() == first;
	for (int i = 0; i < 20; i++)
		pread(fd, bytes, 30, i);
}
int main(void)
{
	_Alignas(8) char bytes[48];
	char go;
	fd = open("/proc/self/exe", O_RDONLY);
	first = first_frame();
	signal(SIGUSR1, handle);
	write(1, "ready\n", 6);
	read(0, &go, 1);
	for (int i = 0;; i++) {
		/* of two calls the second one brings what the first one has */
		unsigned long in[6] = {fd, (unsigned long)bytes, 33, i / 2, 0x5555, 0x6666}, out[7] = {0};
		int status = -1;
		child = -1;
		memset(bytes, 0, sizeof(bytes));
		kill(getpid(), SIGTRAP); /* here the tracer begins to step */
		asks(in, out);
		int right = !memcmp(in, out, sizeof(in)) && out[6] == 33 && !memcmp(bytes + 33, "\0\0", 2);
		if (!child)
			_exit(right ? 5 + !unwinds : 7);
		if (child < 0)
			break;
		waitpid(child, &status, 0);
		if (!right || !WIFEXITED(status) || WEXITSTATUS(status) != 5)
			printf("at %d: parent %d, child %x\n", i, right, status);
		note(i, bytes[0] + bytes[8] * 256 + bytes[32] * 65536);
	}
	write(1, "end\n", 4);
	return 7;
}
C
# Calls number 0 to 3 it steps through, and sends the signal behind them: the last two say where an even and an odd one
# part. Of the others it sends it at each instruction in turn: up to there of any call, and from there on of both.
cat >steps.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
enum { MOST = 400 };
static unsigned long from, to;
static int find(pid_t pid)
{
	char path[64], line[512];
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "r-xp") && strstr(line, "pugmark"))
			sscanf(line, "%lx-%lx", &from, &to);
	return from != 0;
}
static unsigned long at(pid_t pid)
{
	struct user_regs_struct r;
	return ptrace(PTRACE_GETREGS, pid, 0, &r) ? 0 : r.rip;
}
static int stands_in(pid_t pid)
{
	unsigned long ip = at(pid);
	return ip >= from && ip < to;
}
static void go_on(pid_t pid, int how)
{
	int status;
	ptrace(how, pid, 0, 0);
	waitpid(pid, &status, 0);
}
/* A system call keeps in r11 that it was stepped. */
static void step(pid_t pid)
{
	struct user_regs_struct r;
	ptrace(PTRACE_GETREGS, pid, 0, &r);
	if ((ptrace(PTRACE_PEEKTEXT, pid, r.rip, 0) & 0xffff) != 0x050f)
		return go_on(pid, PTRACE_SINGLESTEP);
	go_on(pid, PTRACE_SYSCALL); /* its begin */
	go_on(pid, PTRACE_SYSCALL);
}
/* From where the call is in the stubs; how many instructions it has been there. */
static int go_in(pid_t pid, int n, unsigned long *way)
{
	int i;
	for (i = 0; i < MOST && stands_in(pid); i++)
		step(pid);
	for (i = 0; i < MOST && !stands_in(pid); i++)
		step(pid);
	for (i = 0; i < n && stands_in(pid); i++) {
		way[i] = at(pid);
		step(pid);
	}
	return i;
}
int main(int argc, char **argv)
{
	pid_t pid = atoi(argv[1]);
	static unsigned long ways[2][MOST], way[MOST];
	int status, n = 0, takes[2] = {MOST, MOST}, parted = 0;
	if (!find(pid) || ptrace(PTRACE_SEIZE, pid, 0, 0))
		return 1;
	puts("seized");
	fflush(stdout);
	for (int i = 0;; i++) {
		while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP)
			ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status));
		if (!WIFSTOPPED(status))
			return 2;
		if (n >= takes[0] && n >= takes[1]) {
			printf("%d steps, %d where bytes are copied, %d where they are the same, %d in both\n", i, takes[0],
			       takes[1], parted);
			return ptrace(PTRACE_DETACH, pid, 0, 0) != 0;
		}
		if (i < 4) {
			takes[i % 2] = go_in(pid, MOST, ways[i % 2]);
			while (i == 3 && parted < takes[1] && ways[0][parted] == ways[1][parted])
				parted++;
		} else {
			go_in(pid, n, way);
			n += i % 2 || n + 1 < parted;
		}
		ptrace(PTRACE_CONT, pid, 0, SIGUSR1);
	}
}
C
cc=${CC:-cc}
$cc -O1 -shared -fPIC -o libasks.so asks.c && $cc -O1 -w -o steps steps.c &&
	$cc -O1 -g -w -o asked asked.c -L. -lasks -Wl,-z,now,-rpath,"$PWD" || skip 'no compiler'
mkfifo go
exec 9<>go
stdbuf -o0 ./asked <go >printed &
target=$!
started+=("$target")
await grep -q ready printed
timeout 120 "$PUGMARK" record --level values --carrier patch -p $target -o forks >err 2>&1 &
recorder=$!
await grep -q ': recording' err
timeout 100 ./steps $target >stepped &
stepper=$!
await grep -q seized stepped
echo >&9
wait $stepper
wait $target
ended=$?
wait $recorder
read -r steps _ copies _ _ _ _ same _ _ _ _ _ both _ < <(grep steps stepped)
claim 'a call takes so many instructions in the stubs' test "${same:-0}" -gt 80
claim 'and others than these where it copies bytes' test "${both:-0}" -lt "$((same - 20))" -a "${copies:-0}" -gt "$same"
claim 'wherever the signal comes, parent and child go on as behind a system call' is "$(grep '^at' printed | head -n 3)" ''
claim 'the program ends as ever' is "$ended $(tail -n 1 printed)" '7 end'
"$PUGMARK" values forks note --limit 3000 >got 2>err
sed -nE 's/^[0-9]+ [0-9]+ (note\([^)]*\)).*/\1/p' got >notes
grep -v '[~?]' notes | sort >sure
grep ^note printed | sort >printed.notes
claim 'what is not marked is what was printed' is "$(comm -13 printed.notes sure | wc -l)" 0
claim 'all is told' is "$(sed 's/~//g' notes | sort | comm -12 - printed.notes | wc -l)" "$steps"
conclude

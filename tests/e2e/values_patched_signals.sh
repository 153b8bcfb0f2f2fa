#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_patched_signals.sh: with --carrier patch, two signals that find a thread in one call, each at any
# instruction that the call takes in the stubs: a tracer steps there and sends the first, and where its handler is back
# it steps on and sends the second. So for calls that the stub notes itself, with other bytes than the last and with the
# same ones, and for those that probes see, by an instruction whose number is known and by one of any number. The
# handlers use the same stub, with other bytes and with those. And two of which the second finds the first one's
# handler as that returns, at each instruction of its call of rt_sigreturn(). What is told is what is printed.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cp "$tests/value/hard/note.h" . || exit 1
cat >twice.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include "note.h"
static int fd;
static volatile int over, place;
static volatile unsigned long handled;
static void handle(int sig)
{
	_Alignas(8) unsigned char bytes[48] = {0};
	handled += pread(fd, bytes, 41, handled % 100) * 31 + bytes[40];
	handled += pread(fd, bytes, 41, place) + bytes[40];
	handled += getrandom(bytes, 1, 0);
	handled = handled * 31 + bytes[0] * 256 + bytes[1];
}
static void end(int sig)
{
	over = 1;
}
int main(void)
{
	char go;
	fd = open("/proc/self/exe", O_RDONLY);
	signal(SIGUSR1, handle);
	signal(SIGUSR2, handle);
	signal(SIGTRAP, end);
	printf("ready %d\n", getpid());
	read(0, &go, 1);
	for (int i = 0;; i++) {
		unsigned long bytes[6] = {0}, result = 0;
		kill(getpid(), SIGTRAP); /* here the tracer begins to step, or it is over */
		if (over)
			break;
		switch (i % 5) {
		case 0:
		case 3:
			result = getrandom(bytes, 8, 0);
			break;
		case 1:
			result = syscall(SYS_getrandom, bytes, 8, 0);
			break;
		case 2:
			place = i % 1000; /* and the same in the last case */
		case 4:
			result = pread(fd, bytes, 41, place);
		}
		note(i, bytes[0] + bytes[4] * 7 + bytes[5] + 31 * result + handled);
	}
	write(1, "end\n", 4);
	return 7;
}
C
# Of each kind of call it sends the first signal at each instruction in turn, and of those the second one `apart`
# instructions on, for so many turns.
cat >steps.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
enum { WITHIN = 3 };
static unsigned long from, to;
static int status;
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
static void go_on(pid_t pid, int how, int sig)
{
	ptrace(how, pid, 0, sig);
	waitpid(pid, &status, 0);
}
/* A system call keeps in r11 that it was stepped. */
static void step(pid_t pid)
{
	if ((ptrace(PTRACE_PEEKTEXT, pid, at(pid), 0) & 0xffff) != 0x050f)
		return go_on(pid, PTRACE_SINGLESTEP, 0);
	go_on(pid, PTRACE_SYSCALL, 0); /* its begin */
	go_on(pid, PTRACE_SYSCALL, 0);
}
/* Sends a signal, whose handler goes on up to its first call. A step would be seen in the flags. */
static void begin(pid_t pid, int sig)
{
	kill(pid, sig);
	go_on(pid, PTRACE_CONT, 0); /* up to the signal */
	go_on(pid, PTRACE_SYSCALL, sig);
}
/* Until the handler has returned. */
static void end(pid_t pid)
{
	struct user_regs_struct r = {0};
	while (!ptrace(PTRACE_GETREGS, pid, 0, &r) && r.orig_rax != SYS_rt_sigreturn)
		go_on(pid, PTRACE_SYSCALL, 0);
	go_on(pid, PTRACE_SYSCALL, 0);
}
static void handle(pid_t pid)
{
	begin(pid, SIGUSR1);
	end(pid);
}
/* The second comes in the handler, as that returns by so many instructions in the stubs. */
static int send_within(pid_t pid, int after)
{
	struct user_regs_struct r = {0};
	for (int i = 0; i < 300 && stands_in(pid); i++)
		step(pid);
	begin(pid, SIGUSR1);
	while (!ptrace(PTRACE_GETREGS, pid, 0, &r) && r.orig_rax != SYS_getrandom)
		go_on(pid, PTRACE_SYSCALL, 0);
	go_on(pid, PTRACE_SYSCALL, 0);
	for (int i = 0; i < 300 && stands_in(pid); i++)
		step(pid);
	for (int i = 0; i < 300 && !stands_in(pid); i++)
		step(pid);
	for (int i = 0; i < after && stands_in(pid); i++)
		step(pid);
	if (!stands_in(pid))
		return 0;
	begin(pid, SIGUSR2);
	end(pid);
	end(pid);
	return 1;
}
/* False: the call takes not so many instructions. */
static int send_two(pid_t pid, int first, int apart)
{
	for (int i = 0; i < 300 && stands_in(pid); i++)
		step(pid);
	for (int i = 0; i < 300 && !stands_in(pid); i++)
		step(pid);
	for (int i = 0; i < first && stands_in(pid); i++)
		step(pid);
	if (!stands_in(pid))
		return 0;
	handle(pid);
	for (int i = 0; i < apart && stands_in(pid); i++)
		step(pid);
	handle(pid);
	return 1;
}
int main(int argc, char **argv)
{
	pid_t pid = atoi(argv[1]);
	int turns[] = {6, 6, 2, 1, 2}, first[5] = {0}, apart[5] = {0}, sent = 0, kinds = 5;
	if (!find(pid) || ptrace(PTRACE_SEIZE, pid, 0, 0))
		return 1;
	puts("seized");
	fflush(stdout);
	for (int i = 0; kinds; i = (i + 1) % 5) {
		while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP)
			ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status));
		if (!WIFSTOPPED(status))
			return 2;
		if (apart[i] < turns[i]) {
			if (i == WITHIN ? send_within(pid, first[i]) : send_two(pid, first[i], apart[i])) {
				first[i]++;
				sent++;
			} else {
				printf("kind %d: %d steps\n", i, first[i]);
				first[i] = 0;
				kinds -= ++apart[i] == turns[i];
			}
		}
		ptrace(PTRACE_CONT, pid, 0, 0);
	}
	waitpid(pid, &status, 0);
	ptrace(PTRACE_DETACH, pid, 0, SIGTRAP);
	printf("%d sent\n", sent);
	return 0;
}
C
cc=${CC:-cc}
$cc -O1 -w -o steps steps.c && $cc -O1 -g -w -o twice twice.c -Wl,-z,now || skip 'no compiler'
mkfifo go
exec 9<>go
timeout 120 stdbuf -o0 "$PUGMARK" record --level values --carrier patch -o signalled -- ./twice <go >printed 2>err &
recorder=$!
await grep -q ready printed
target=$(sed -n 's/^ready //p' printed)
timeout 100 ./steps $target >stepped &
stepper=$!
await grep -q seized stepped
echo >&9
wait $stepper
wait $recorder
ended=$?
claim 'the program ends as ever' is "$ended $(tail -n 1 printed)" '7 end'
claim 'signals were sent at all instructions' test "$(sed -n 's/ sent//p' stepped)" -gt 800
takes=$(sed -n 's/^kind 2: \([0-9]*\) .*/\1/p' stepped | tail -n 1)
same=$(sed -n 's/^kind 4: \([0-9]*\) .*/\1/p' stepped | tail -n 1)
claim 'a call that copies 41 bytes takes more than one that finds them the same' test "${takes:-0}" -gt $((same + 10))
"$PUGMARK" values signalled note --limit 9000 >got 2>err
sed -nE 's/^[0-9]+ [0-9]+ (note\([^)]*\)).*/\1/p' got >notes
grep -v '[~?]' notes | sort >sure
grep ^note printed | sort >printed.notes
claim 'what is not marked is what was printed' is "$(comm -13 printed.notes sure | wc -l)" 0
claim 'all is told' is "$(sed 's/~//g' notes | sort | comm -23 printed.notes - | wc -l)" 0
conclude

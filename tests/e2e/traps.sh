#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# traps.sh: what a process does with SIGTRAP is as it was behind a recording that was attached to it, or launched
# it, whose recorder has made system calls in its name: it has a handler for it, ignores it, or blocks it, and one
# waits for it. One that steps itself by the trap flag meanwhile goes on, one that is stopped stays so, and one
# whose filter traps those calls keeps its handler for that.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}"
work_in_own_folder

cat >keeps.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static volatile int taken;
static void handle(int sig)
{
	taken++;
}
int main(int argc, char **argv)
{
	struct sigaction is;
	sigset_t traps, blocked, waiting;
	char byte;
	if (strcmp(argv[1], "inherits"))
		signal(SIGTRAP, strcmp(argv[1], "ignores") ? handle : SIG_IGN);
	sigemptyset(&traps);
	sigaddset(&traps, SIGTRAP);
	if (!strcmp(argv[1], "blocks") || !strcmp(argv[1], "blocks,sent"))
		sigprocmask(SIG_BLOCK, &traps, NULL);
	if (!strcmp(argv[1], "blocks,sent"))
		raise(SIGTRAP);
	if (write(1, "ready\n", 6) < 0 || read(0, &byte, 1) < 0)
		return 2;
	sigaction(SIGTRAP, NULL, &is);
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	sigpending(&waiting);
	printf("%s %d %d %d\n", is.sa_handler == handle ? "handler" : is.sa_handler == SIG_IGN ? "ignored" : "default",
	       sigismember(&blocked, SIGTRAP), sigismember(&waiting, SIGTRAP), taken);
	return 0;
}
C
cat >steps.c <<'C'
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile long steps;
static void handle(int sig)
{
	steps++;
}
int main(void)
{
	long of, fewest = -1, wrong = 0;
	char byte;
	int zero = open("/dev/zero", O_RDONLY);
	signal(SIGTRAP, handle);
	fcntl(0, F_SETFL, O_NONBLOCK);
	if (write(1, "ready\n", 6) < 0)
		return 2;
	while (read(0, &byte, 1) < 1) {
		of = steps;
		__asm__ volatile("sub $128, %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::: "memory", "cc");
		wrong += pread(zero, &byte, 1, 0) != 1;
		__asm__ volatile("sub $128, %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::: "memory", "cc");
		of = steps - of;
		fewest = fewest < 0 || of < fewest ? of : fewest;
	}
	printf("%d %ld\n", fewest > 4, wrong);
	return 0;
}
C
cat >filters.c <<'C'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile int taken;
static void handle(int sig)
{
	taken++;
}
int main(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, filter};
	struct sigaction is;
	char byte;
	signal(SIGSYS, handle);
	setvbuf(stdout, NULL, _IONBF, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 3;
	if (write(1, "ready\n", 6) < 0 || read(0, &byte, 1) < 0)
		return 2;
	sigaction(SIGSYS, NULL, &is);
	int before = taken;
	syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
	printf("%d %d %d\n", is.sa_handler == handle, before, taken);
	return 0;
}
C
cat >blocking.c <<'C'
#include <signal.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	sigset_t traps;
	sigemptyset(&traps);
	sigaddset(&traps, SIGTRAP);
	sigprocmask(SIG_BLOCK, &traps, NULL);
	execv(argv[1], argv + 1);
	return 2;
}
C
${CC:-cc} -O1 -w -o filters filters.c && ${CC:-cc} -O1 -w -o blocking blocking.c &&
	${CC:-cc} -O1 -w -o keeps keeps.c && ${CC:-cc} -O1 -w -o steps steps.c || skip 'no compiler'
mkfifo go
exec 9<>go

attach() { # COMMAND...: it runs as $pid, with a recording with $options attached to it as $recorder
	: >printed # by the one before
	"$@" <go >printed &
	pid=$!
	started+=("$pid")
	await grep -q ready printed
	: >err # of the one before
	# shellcheck disable=SC2086
	timeout -s INT 60 "$PUGMARK" record $options -o rec -p $pid >out 2>err &
	recorder=$!
	await grep -q ': recording' err
	sleep 0.3
}
detach() { # and what it prints behind that is in `printed`
	kill -INT $recorder
	wait $recorder
	printf x >&9
	wait $pid
	status=$?
	rm -rf rec
}
attached() {
	attach "$@"
	detach
}
detach_stopped() { # whether it is stopped still is in `stays`, and it goes on
	await is_stopped
	kill -INT $recorder
	wait $recorder
	sleep 0.2
	is_stopped
	stays=$?
	kill -CONT $pid
	printf x >&9
	wait $pid
	status=$?
	rm -rf rec
}
is_stopped() { grep -q '^State:.T' /proc/$pid/status; }
for options in '--level values' '--level values --carrier patch' '--carrier patch'; do
	while read -r what told; do
		attached ./keeps $what
		claim "$options: a process that $what SIGTRAP does so behind it" is "$status $(tail -n 1 printed)" "0 $told"
	done <<-END
		handles handler 0 0 0
		ignores ignored 0 0 0
		blocks handler 1 0 0
		blocks,sent handler 1 1 0
	END
	attached ./steps
	claim "$options: one that steps itself goes on" is "$status $(tail -n 1 printed)" '0 1 0'
	attached ./filters
	claim "$options: one whose filter traps calls has its handler" is "$status $(tail -n 1 printed)" '0 1 0 1'
	attach ./keeps handles
	kill -STOP $pid
	detach_stopped
	claim "$options: one that is stopped meanwhile stays so until it is told to go on" is \
		"$stays $status $(tail -n 1 printed)" '0 0 handler 0 0 0'
done
for options in '' '--carrier patch'; do
	printf x >&9
	# shellcheck disable=SC2086
	(trap '' TRAP && exec timeout 60 "$PUGMARK" record $options -o rec -- ./keeps inherits) <go >printed 2>err
	claim "launched $options: what it inherits as ignored is ignored" is "$? $(grep -c '^ignored 0 0 0' printed)" '0 1'
	rm -rf rec
	printf x >&9
	# shellcheck disable=SC2086
	timeout 60 ./blocking "$PUGMARK" record $options -o rec -- ./keeps inherits <go >printed 2>err
	claim "launched $options: what it inherits as blocked is blocked" is "$? $(grep -c '^default 1 0 0' printed)" '0 1'
	rm -rf rec
done
conclude

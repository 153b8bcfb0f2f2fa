#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# traps.sh: what a process does with SIGTRAP is as it was behind a recording that was attached to it, whose
# recorder has made system calls in its name: it has a handler for it, ignores it, or blocks it. One that steps
# itself by the trap flag meanwhile goes on.
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
	sigset_t traps, blocked;
	char byte;
	signal(SIGTRAP, strcmp(argv[1], "ignores") ? handle : SIG_IGN);
	sigemptyset(&traps);
	sigaddset(&traps, SIGTRAP);
	if (!strcmp(argv[1], "blocks"))
		sigprocmask(SIG_BLOCK, &traps, NULL);
	if (write(1, "ready\n", 6) < 0 || read(0, &byte, 1) < 0)
		return 2;
	sigaction(SIGTRAP, NULL, &is);
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	printf("%s %d %d\n", is.sa_handler == handle ? "handler" : is.sa_handler == SIG_IGN ? "ignored" : "default",
	       sigismember(&blocked, SIGTRAP), taken);
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
${CC:-cc} -O1 -w -o keeps keeps.c && ${CC:-cc} -O1 -w -o steps steps.c || skip 'no compiler'
mkfifo go
exec 9<>go

attached() { # COMMAND...: what it prints behind a recording with $options is in `printed`
	local pid recorder
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
	kill -INT $recorder
	wait $recorder
	printf x >&9
	wait $pid
	status=$?
	rm -rf rec
}
for options in '--level values' '--level values --carrier patch' '--carrier patch'; do
	while read -r what told; do
		attached ./keeps $what
		claim "$options: a process that $what SIGTRAP does so behind it" is "$status $(tail -n 1 printed)" "0 $told"
	done <<-END
		handles handler 0 0
		ignores ignored 0 0
		blocks handler 1 0
	END
	attached ./steps
	claim "$options: one that steps itself goes on" is "$status $(tail -n 1 printed)" '0 1 0'
done
conclude

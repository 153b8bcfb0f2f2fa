#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_ended.sh: the kernel writes 0 when a thread ends, at an address that the thread has told it. Of
# one that had told it before it was attached to, nobody knows where: nothing is called exact from then on
# that differs from what the program prints.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cat >ended.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static int go[2];
static volatile int word = 7;
__attribute__((noinline)) long note(long v) { return v; }
static void *ends(void *arg)
{
	char byte;
	syscall(SYS_set_tid_address, &word);
	read(go[0], &byte, 1);
	return arg;
}
int main(void)
{
	pthread_t t;
	char byte;
	pipe(go);
	pthread_create(&t, NULL, ends, NULL);
	read(0, &byte, 1);
	printf("%ld\n", note(word));
	write(go[1], &byte, 1);
	usleep(100000);
	printf("%ld\n", note(word));
	return 0;
}
C
${CC:-cc} -O1 -g -w -pthread -o ended ended.c || skip 'no compiler'
mkfifo go
LD_BIND_NOW=1 ./ended <go >printed &
program=$!
started+=("$program")
exec 9>go
"$PUGMARK" record --level values --one-processor -p $program -o over >attaching 2>&1 &
recorder=$!
started+=("$recorder")
await grep -q ': recording' attaching
echo >&9
exec 9>&-
wait $recorder
wait $program
noted() { # what note() has returned, in order; - where that is not exact
	"$PUGMARK" values --task 1 over note | sed -nE 's/.*\) = (.*)/\1/p' | sed 's/.*[~?].*/-/'
}
claim 'the program has run as it does alone' is "$(tr '\n' ' ' <printed)" '7 0 '
claim 'as long as the thread is there its word is known' is "$(noted | head -n 1)" 7
claim 'what the kernel has written when it ended is not called exact as it was' is "$(noted | tail -n 1)" -
conclude

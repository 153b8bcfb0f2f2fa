#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_ended.sh: the kernel writes as a thread ends: 0 at an address that the thread has told it, also
# before it was attached to, and into robust futexes that it still holds. What is called exact is what the
# program prints, and with one processor that is all. As long as a thread is there its word is what it was,
# though the recording ends while it sleeps.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cat >ended.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static int go[2], there[2];
static volatile int word = 7, sleeper;
static pthread_mutex_t kept, free_one;
__attribute__((noinline)) long note(long kind, long value)
{
	char line[99];
	write(1, line, snprintf(line, sizeof(line), "note(kind=%ld, value=%ld)\n", kind, value));
	return value;
}
static void *ends(void *arg)
{
	char byte;
	syscall(SYS_set_tid_address, &word);
	pthread_mutex_lock(&free_one);
	pthread_mutex_lock(&kept);
	pthread_mutex_unlock(&free_one);
	write(there[1], "", 1);
	read(go[0], &byte, 1);
	return arg;
}
static void *sleeps(void *arg)
{
	char byte;
	syscall(SYS_set_tid_address, &sleeper);
	sleeper = 5;
	write(there[1], "", 1);
	read(go[0], &byte, 1);
	return arg;
}
int main(void)
{
	pthread_t t;
	pthread_mutexattr_t robust;
	char byte;
	pthread_mutexattr_init(&robust);
	pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&kept, &robust);
	pthread_mutex_init(&free_one, &robust);
	pipe(go);
	pipe(there);
	pthread_create(&t, NULL, ends, NULL);
	read(there[0], &byte, 1);
	write(1, "\n", 1);
	read(0, &byte, 1);
	note(1, word);
	note(2, kept.__data.__lock != 0);
	write(go[1], &byte, 1);
	usleep(100000);
	note(3, word);
	note(4, kept.__data.__lock & 0x7fffffff);
	note(5, free_one.__data.__lock);
	note(6, pthread_mutex_lock(&kept));
	pthread_create(&t, NULL, sleeps, NULL);
	read(there[0], &byte, 1);
	note(7, sleeper);
	note(8, pthread_tryjoin_np(t, NULL)); /* EBUSY: it looks at the word that clone() was told */
	return 0;
}
C
${CC:-cc} -O1 -g -w -pthread -o ended ended.c || skip 'no compiler'
mkfifo go
attached_to() # REC OPTION...: what it prints in printed, as it is replayed in noted
{
	local program recorder
	: >printed
	: >attaching
	LD_BIND_NOW=1 ./ended <go >printed &
	program=$!
	started+=("$program")
	exec 9>go
	await test -s printed
	"$PUGMARK" record --level values -p $program -o "$@" >attaching 2>&1 &
	recorder=$!
	started+=("$recorder")
	await grep -q ': recording' attaching
	echo >&9
	exec 9>&-
	wait $recorder
	wait $program
	"$PUGMARK" values --task 1 "$1" note 2>err | sed -nE 's/^1 [0-9]+ (note\([^)]*\)).*/\1/p' >noted
}
ran() {
	is "$(sed -nE 's/.*value=(.*)\)/\1/p' printed | tr '\n' ' ')" '7 1 0 1073741824 0 130 5 16 '
}
attached_to one --one-processor
claim 'the program runs as it does alone' ran
claim 'what the kernel has written as threads ended is known, and what it has not' same <(grep note printed) noted
for how in probe patch; do
	attached_to "rec.$how" --carrier $how
	claim "$how: on several processors as well" ran
	claim "$how: nothing else is called exact there" is "$(grep -v '~' noted | grep -vxFf printed)" ''
	claim "$how: and something is" grep -qv '~' noted
done
conclude

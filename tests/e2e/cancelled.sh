#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# cancelled.sh: a thread is cancelled in a call that is taken to call nothing back, in a loop of it: it leaves the
# frame by the cleanup handler that lands there, and ends. No mode has a gap, and all tell the same.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" nm
work_in_own_folder
cat >program.c <<'C'
#include <pthread.h>
#include <unistd.h>

#define FN __attribute__((noipa))
static int done;

FN static void note(int by) { done += by; }
FN static void tidy(void *by) { note(*(int *)by); }
FN static void waits(void)
{
	for (;;)
		pause();
}
FN static void *deep(void *by)
{
	pthread_cleanup_push(tidy, by);
	note(1);
	waits();
	pthread_cleanup_pop(0);
	return NULL;
}
FN static void *here(void *by)
{
	pthread_cleanup_push(tidy, by);
	note(1);
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return NULL;
}
int main(void)
{
	void *(*volatile by[])(void *) = {here, deep};
	int two = 2;

	for (int i = 0; i < 2; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, by[i], &two);
		usleep(50000);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
	}
	return done != 6;
}
C
"${CC:-cc}" -O2 -w -o program program.c -pthread 2>err || skip "no compiler: $(head -n 1 err)"
record_in_three_modes -- ./program
claim 'it does what it does alone' [ $? -eq 0 ]
tell_the_same 'a cancelled thread'
waits=$(nm program | awk '$3 == "waits" { sub(/^0+/, "", $1); print $1 }')
claim 'the frame that was left for good is told' is "$(grep -c " unwind program $waits\$" 0)" 1
claim 'the call that each was in is told' is "$(grep -cE ' call program [0-9a-f]+ - pause$' 0)" 2
claim 'cleanup handlers are told' is "$(grep -cE ' call program [0-9a-f]+ - __pthread_unwind_next$' 0)" 2
conclude

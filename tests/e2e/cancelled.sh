#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# cancelled.sh: a thread is cancelled in a call that is taken to call nothing back, in a loop of it: it leaves the
# frame by the cleanup handler that lands there, and ends. So it is where two calls of which nothing shows have one
# landing: which of them it was in is told, by the return address that longjmp() leaves below the stack pointer, or
# by the signal, whose handler has not returned. No mode has a gap, and all tell the same.
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

cat >places.c <<'C'
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#define FN __attribute__((noipa))
static int fds[2], sum;
static volatile int there;

FN static void note(int by) { sum += by; }
FN static void tidy(void *by) { note(*(int *)by); }
#ifdef __cplusplus
struct tidied {
	void *by;
	FN ~tidied() { tidy(by); }
};
#define PUSH(by) { tidied it = {by};
#define POP() }
#define spins late /* only where calls are may a frame of C++ be left */
#else
#define PUSH(by) pthread_cleanup_push(tidy, by)
#define POP() pthread_cleanup_pop(0)
#endif
/* Waits in poll() where nothing comes, or else in read(). */
FN static void two_calls(int fd, short events)
{
	char c;
	struct pollfd p = {fd, events, 0};
	poll(&p, 1, -1);
	read(fds[0], &c, 1);
}
#define IN(name, body)                                                                             \
	FN static void *name(void *by)                                                             \
	{                                                                                          \
		PUSH(by)                                                                           \
		body;                                                                              \
		note(1);                                                                           \
		POP();                                                                             \
		return NULL;                                                                       \
	}
#define TWO_CALLS(fd, want)                                                                        \
	char c;                                                                                    \
	struct pollfd p = {fd, want, 0};                                                           \
	poll(&p, 1, -1);                                                                           \
	read(fds[0], &c, 1)
IN(first, TWO_CALLS(fds[0], POLLIN))
IN(second, TWO_CALLS(fds[1], POLLOUT))
IN(first_deep, two_calls(fds[0], POLLIN))
IN(second_deep, two_calls(fds[1], POLLOUT))
IN(late, there = 1; pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL); usleep(600000);
   pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL); pthread_testcancel())
#ifndef spins
IN(spins, pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL); getpid(); there = 1;
   for (volatile int i = 0;; i++) if (i == 1000000000) getppid())
#endif
IN(leaves, getpid(); if (sum < 1000) pthread_exit(NULL))

static jmp_buf back;
FN static int jump(const void *a, const void *b)
{
	(void)a, (void)b;
	longjmp(back, 1);
}
FN static void jumps(int second)
{
	int two[2] = {2, 1};
	if (setjmp(back)) {
		note(0);
		return;
	}
	getpid();
	qsort(two, 2 - second, sizeof(*two), jump);
	getppid();
	qsort(two, 2, sizeof(*two), jump);
	getuid();
}
int main(void)
{
	void *(*volatile in[])(void *) = {first, second, first_deep, second_deep, late, spins, leaves};
	int two = 2;

	if (pipe(fds))
		return 1;
	for (int i = 0; i < 7; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, in[i], &two);
		there = 0;
		do
			usleep(300000); /* until it is there */
		while (in[i] == spins && !there);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
	}
	jumps(0);
	jumps(1);
	return 0;
}
C
calls() { # FUNCTION IMPORT: how many calls of it stand in the function's code, by the trace of mode full
	local from to
	read -r from to < <(nm -S --defined-only places | awk -v f="$1" '$4 ~ "^(_ZL[0-9]+)?" f "(Pv|i|is)?$" { print $1, $2 }')
	awk -v f=$((16#$from)) -v n=$((16#$to)) -v to="$2" \
		'$2 == "call" && $6 == to { at = strtonum("0x" $4); s += at >= f && at < f + n } END { print s + 0 }' 0
}
for how in 'cc -x c -O0' 'cc -x c -O2' 'c++ -x c++ -O0' 'c++ -x c++ -O2' 'cc -x c -O2 -fexceptions'; do
	# shellcheck disable=SC2086 # words
	${how%% *} ${how#* } -w -o places places.c -pthread 2>err || { skipped=$((skipped + 1)); echo "skip $how"; continue; }
	record_in_three_modes -- ./places
	claim "$how: it does what it does alone" [ $? -eq 0 ]
	tell_the_same "$how: cancelled, or left by longjmp(), in one of two calls"
	claim "$how: in the first of them" is "$(calls first poll) $(calls first read)" '1 0'
	claim "$how: in the second" is "$(calls second poll) $(calls second read)" '1 1'
	claim "$how: in either, one frame further in" is "$(calls two_calls poll) $(calls two_calls read)" '2 1'
	case $how in
	c++*) claim "$how: late" is "$(calls late pthread_testcancel)" 2 ;;
	*)
		claim "$how: late" is "$(calls late pthread_testcancel)" 1
		claim "$how: in none" is "$(calls spins getpid) $(calls spins getppid)" '1 0'
		;;
	esac
	claim "$how: which longjmp() has left" is "$(calls jumps qsort) $(calls jumps getppid)" '3 1'
done
conclude

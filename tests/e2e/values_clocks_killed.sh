#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_clocks_killed.sh: a recorder is killed while the process notes what clocks tell it, asking all the
# time. What was placed stays, and tells the process and its children the right time; the next recorder
# takes it out, notes again, and is killed as well; the last one takes none of it for code that the process
# has made, and leaves all as it was before the first.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cp "$tests/value/hard/note.h" "$tests/support/vdso_image.h" . || exit 1
cat >target.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "note.h"
#include "vdso_image.h"
static long ns(const struct timespec *t)
{
	return t->tv_sec * 1000000000l + t->tv_nsec;
}
/* How often a function of the image tells what is not between two answers of the kernel. */
static int wrong(void)
{
	struct timespec before, t, after;
	struct timeval v;
	int n = 0;
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &before);
	clock_gettime(CLOCK_MONOTONIC, &t);
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &after);
	n += ns(&before) > ns(&t) || ns(&t) > ns(&after);
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &before);
	gettimeofday(&v, NULL);
	time_t s = time(NULL); /* by the last tick */
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &after);
	n += ns(&before) / 1000 > v.tv_sec * 1000000 + v.tv_usec ||
	     v.tv_sec * 1000000 + v.tv_usec > ns(&after) / 1000;
	n += s < before.tv_sec - 1 || s > after.tv_sec;
	n += clock_getres(CLOCK_MONOTONIC, &t) || clock_gettime(1234, &t) != -1;
	unsigned cpu = 4096;
	n += getcpu(&cpu, NULL) || cpu >= 4096;
	return n;
}
static volatile long handled;
static volatile int over;
static void handle(int sig)
{
	handled += wrong();
}
static void *work(void *arg) /* asks most of the time */
{
	struct timespec t;
	long sum = 0;
	while (!over) {
		for (int i = 0; i < 50; i++) {
			clock_gettime(CLOCK_MONOTONIC, &t);
			sum += t.tv_nsec < 0;
		}
		usleep(20000);
	}
	return (void *)sum;
}
static int turn(void) /* wrong answers, of children too */
{
	struct itimerval every = {{0, 2000}, {0, 2000}}, never = {0};
	int n = 0, status;
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 300; i++)
		n += wrong();
	setitimer(ITIMER_REAL, &never, NULL);
	if (!fork())
		_exit(wrong());
	wait(&status);
	return n + handled + !!status;
}
int main(void)
{
	long before = image_sum();
	pthread_t thread;
	void *none;
	char byte;
	signal(SIGALRM, handle);
	pthread_create(&thread, NULL, work, NULL);
	note(1, 1);
	while (read(0, &byte, 1) == 1) {
		struct timespec t;
		clock_gettime(CLOCK_MONOTONIC, &t);
		note(2, t.tv_nsec);
		int n = turn();
		char line[99];
		write(1, line, snprintf(line, sizeof(line), "turn %c: %d wrong, %s\n", byte, n,
					before == image_sum() ? "same" : "changed"));
	}
	over = 1;
	pthread_join(thread, &none);
	write(1, none ? "bad end\n" : "end\n", none ? 8 : 4);
	return 0;
}
C
${CC:-cc} -O1 -g -w -pthread -o target target.c || skip 'no compiler'
mkfifo go
stdbuf -o0 ./target <go >printed &
target=$!
started+=($target)
exec 9>go
await grep -q note printed
attach() { # NAME
	"$PUGMARK" record --level values -p $target -o $1 >said.$1 2>&1 &
	recorder=$!
	await grep -q ': recording' said.$1
}
turn() { # BYTE
	printf %s $1 >&9
	await grep -q "^turn $1" printed
}
areas() { grep -c ' r-xp .* 0 *$' /proc/$target/maps; } # code of no file, which it gets

for which in a b c; do
	attach rec.$which
	turn $which
	kill -9 $recorder
	wait $recorder 2>/dev/null
	claim "$which: as recorded, no answer is wrong" grep -qx "turn $which: 0 wrong, changed" printed
	turn ${which^}
	claim "$which: nor is one behind the recorder's back; its jumps are there" \
		grep -qx "turn ${which^}: 0 wrong, changed" printed
done
claim 'what was placed stays, and that of those before is gone' is "$(areas)" 1

attach rec
turn d
kill -INT $recorder
wait $recorder
claim 'the next recorder ends as ever' is $? 0
claim 'what was placed is gone' is "$(areas)" 0
turn e
claim 'and leaves the functions as they were at first' grep -qx 'turn e: 0 wrong, same' printed
exec 9>&-
wait $target
claim 'the process ends as ever' is "$? $(tail -n 1 printed)" '0 end'
"$PUGMARK" values rec note --limit 100 >got 2>err
sed -nE 's/~//g; s/^[0-9]+ [0-9]+ (note\(kind=2, value=[0-9]+\)).*/\1/p' got >told
claim 'what the clock has told it is known, as far as another thread does not write' \
	is "$(head -n 1 told)" "$(grep 'kind=2' printed | sed -n 7p)"
"$PUGMARK" verify rec >verified
claim 'no code is taken for code that the process has made' is "$(grep -c 'code of no file' verified)" 0
conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_clocks.sh: a process that is attached to at level values notes itself what the kernel's image of
# clock functions (vDSO) tells it. All ways to ask are known exactly: in bursts, in threads one after the
# other, in children of fork and vfork, where the image asks the kernel, where it fails; a signal that comes
# at any instruction of it makes nothing wrong exact. Afterwards the process is as it was.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cp "$tests/value/hard/note.h" "$tests/support/vdso_image.h" . || exit 1
cat >target.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "note.h"
#include "vdso_image.h"
static volatile long handled;
static long asked(int times)
{
	static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE,
					   CLOCK_BOOTTIME};
	struct timespec t;
	long sum = 0;
	for (int i = 0; i < times; i++) {
		clock_gettime(clocks[i % 4], &t);
		sum = sum * 7 + t.tv_nsec + t.tv_sec + handled; /* a handler comes before or behind */
	}
	return sum;
}
static void *work(void *arg)
{
	note(20 + (int)(long)arg, asked(50));
	return NULL;
}
static void handle(int sig)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	handled += t.tv_nsec;
}
static void kinds(void)
{
	struct timeval v = {0};
	struct timezone z = {0};
	struct timespec t = {0};
	time_t s = 5;
	unsigned cpu = 0, node = 0;
	gettimeofday(&v, NULL);
	note(10, v.tv_usec + v.tv_sec);
	gettimeofday(NULL, &z);
	gettimeofday(&v, &z);
	note(11, v.tv_usec + z.tz_minuteswest);
	note(12, time(NULL));
	time(&s);
	note(13, s);
	getcpu(&cpu, &node);
	getcpu(NULL, &node);
	note(14, cpu * 8 + node);
	clock_getres(CLOCK_MONOTONIC, &t);
	note(15, t.tv_nsec);
	clock_getres(CLOCK_MONOTONIC, NULL);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* the image asks the kernel */
	note(16, t.tv_nsec);
	note(17, clock_gettime(1234, &t) + 10 * errno);
}
int main(void)
{
	struct itimerval every = {{0, 500}, {0, 500}}, never = {0};
	char byte;
	long before = image_sum(), sum = 0;
	note(1, 1);
	read(0, &byte, 1);
	for (int i = 0; i < 100; i++)
		note(2, asked(3));
	note(3, asked(1000)); /* without another system call */
	kinds();
	if (!fork()) {
		note(30, asked(100));
		_exit(0);
	}
	wait(NULL);
	note(31, asked(10));
	if (!vfork()) {
		asked(5);
		_exit(0);
	}
	wait(NULL);
	note(32, asked(10));
	for (long i = 0; i < 4; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, work, (void *)i);
		pthread_join(thread, NULL);
	}
	signal(SIGALRM, handle);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 100; i++)
		sum += asked(3000) / 1000;
	setitimer(ITIMER_REAL, &never, NULL);
	note(40, sum);
	note(41, handled);
	write(1, "done\n", 5);
	read(0, &byte, 1);
	write(1, before == image_sum() ? "same\n" : "changed\n", before == image_sum() ? 5 : 8);
	asked(10); /* the area is gone: nothing leads there */
	write(1, "end\n", 4);
	return 0;
}
C
${CC:-cc} -O1 -g -w -pthread -o target target.c || skip 'no compiler'
mkfifo go
stdbuf -o0 ./target <go >printed &
target=$!
exec 9>go
until grep -q note printed; do sleep 0.05; done
maps() { awk '{ print $1, $2, $6 }' /proc/$target/maps | grep -v heap; }
maps >maps.before
"$PUGMARK" record --level values -p $target -o rec >said 2>&1 &
recorder=$!
for _ in $(seq 300); do
	grep -q ': recording' said && break
	sleep 0.1
done
maps >maps.within
echo >&9
for _ in $(seq 300); do
	grep -q done printed && break
	sleep 0.1
done
kill -INT $recorder
wait $recorder
claim 'the recorder ends' is $? 0
claim 'while it is recorded it has more memory' is "$(diff maps.before maps.within | grep -c '^>')" 2
maps | grep -v libgcc >maps.after
echo >&9
exec 9>&-
wait $target
claim 'the process goes on and ends as ever' is "$? $(tail -n 1 printed)" '0 end'
claim 'its image of clock functions is as it was' is "$(grep -cx same printed)" 1
claim 'what it was given is gone' \
	is "$(grep -cxFf <(comm -13 <(sort maps.before) <(sort maps.within)) maps.after)" 0
"$PUGMARK" values rec note --limit 1000 >got 2>err
sed -nE 's/^[0-9]+ [0-9]+ (note\([^)]*\)).*/\1/p' got >said.notes
grep -v '[~?]' said.notes | sort >sure
grep note printed | sort >printed.notes
claim 'what is not marked is what was printed' is "$(comm -13 printed.notes sure | wc -l)" 0
known() { grep -cE "kind=($1), value=[0-9-]+\)" sure; }
claim 'a few calls before each system call are known' is "$(known 2)" 100
claim 'so is a thousand without one' is "$(known 3)" 1
claim 'so are all functions of the image, and where they fail' is "$(known '1[0-7]')" 8
claim 'so is what signals do that come while a clock is asked' \
	is "$(sed 's/~//g' said.notes | sort | comm -12 - printed.notes | grep -c 'kind=4[01],')" 2
claim 'threads, one after the other, are known as far as others do not write' \
	is "$(sed 's/~//g' said.notes | sort | comm -12 - printed.notes | grep -c 'kind=2[0-3],')" 4
claim 'so is a child' is "$(known 30)" 1
claim 'so is its parent, and behind a child that had its memory' \
	is "$(sed 's/~//g' said.notes | sort | comm -12 - printed.notes | grep -c 'kind=3[12],')" 2
"$PUGMARK" verify rec | grep '^values of task 1:' >told
echo "note: $(cut -c 1-160 told)"
conclude

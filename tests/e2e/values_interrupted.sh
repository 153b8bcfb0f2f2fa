#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_interrupted.sh: a process is attached to on one processor whose threads wait in a system call that
# is not made again when it is interrupted (epoll_wait). Its threads go on where the stop has ended
# their calls, one behind the other, and what they then tell each other in memory is known.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cat >passes.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
enum { THREADS = 3 };
static struct stage { int from, to, number; long interrupted; } stages[THREADS];
static long passed;
static int wait_for(struct stage *s, int epoll)
{
	struct epoll_event event;
	while (epoll_wait(epoll, &event, 1, -1) != 1)
		s->interrupted++;
	char byte;
	return read(s->from, &byte, 1) == 1 ? byte : 0;
}
__attribute__((noinline)) void note(long number, long value)
{
	char line[99];
	if (write(1, line, snprintf(line, sizeof(line), "note(number=%ld, value=%ld)\n", number, value)) < 0)
		exit(1);
}
static void *work(void *arg)
{
	struct stage *s = arg;
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0), byte;
	epoll_ctl(epoll, EPOLL_CTL_ADD, s->from, &event);
	while ((byte = wait_for(s, epoll))) {
		passed = (passed * 3 + s->number + byte) % 1000003;
		note(s->number, passed);
		if (s->to >= 0 && write(s->to, "p", 1) != 1)
			exit(1);
	}
	return NULL;
}
int main(void)
{
	pthread_t thread;
	for (int i = 0; i < THREADS; i++) {
		int ends[2];
		if (i && pipe(ends))
			return 1;
		stages[i] = (struct stage){i ? ends[0] : 0, -1, i, 0};
		if (i)
			stages[i - 1].to = ends[1];
	}
	for (int i = 1; i < THREADS; i++)
		pthread_create(&thread, NULL, work, &stages[i]);
	work(&stages[0]);
	return 0;
}
C
${CC:-cc} -O1 -g -o passes passes.c -lpthread 2>err || skip 'no compiler'
mkfifo in
./passes <in >printed 2>err &
pid=$!
started+=("$pid")
exec 8>in
in_epoll() { [ "$(grep -l ep_poll /proc/$pid/task/*/wchan 2>/dev/null | wc -l)" = 3 ] ||
	[ "$(cut -d ' ' -f 1 /proc/$pid/task/*/syscall 2>/dev/null | grep -c '^232$')" = 3 ]; }
await in_epoll
"$PUGMARK" record --level values --one-processor -o rec -p $pid >said 2>recorded &
recorder=$!
await grep -q ': recording' recorded
for i in 1 2 3 4 5; do
	printf 'abcdef%s' "$i" >&8
	sleep 0.1
done
await eval '[ "$(grep -c "number=2" printed)" = 35 ]'
kill -INT $recorder
wait $recorder
exec 8>&-
wait $pid
"$PUGMARK" values rec >out 2>err
claim 'all tasks are told up to their ends' is "$(grep -c '^task.*; up to its end' out)" 3
claim 'nothing of them is assumed' is "$(grep -c '^task.* 0 with something assumed' out)" 3
"$PUGMARK" values rec note --limit 1000 >out 2>err
claim 'what they told each other is what was printed' is \
	"$(grep -o 'note(.*)' out | sort)" "$(grep -o 'note(.*)' printed | sort)"
conclude

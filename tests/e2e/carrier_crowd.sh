#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# carrier_crowd.sh: with --on-full wait nothing waits for ever and nothing is lost: with sixty threads
# that all have recorded and then wait for one another, where two chunks are all the room there is,
# behind children that have ended with theirs in hand, and while the recorder is stopped for more than
# a second. The trace is that by probes. What children that have ended held comes back: hundreds of them
# take no more memory than some. Without it events are lost where there is no room, and what would have
# helped is said.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}"
work_in_own_folder

cat >crowd.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define FN __attribute__((noipa))
enum { N = 60 };
static pthread_barrier_t all;
FN static long leaf(long x) { return x * 3 + 1; }
FN static long work(long n)
{
	long r = 0;
	for (long i = 0; i < n; i++)
		r += leaf(r ^ i);
	return r;
}
static void *thread(void *n)
{
	work(3);
	pthread_barrier_wait(&all);
	return (void *)work((long)n);
}
int main(int argc, char **argv)
{
	pthread_t threads[N];
	long sum = 0;
	void *r;

	for (int i = 0; i < atoi(argv[argc - 1]); i++) {
		pid_t pid = fork();
		if (!pid)
			_exit(work(5) & 1);
		waitpid(pid, NULL, 0);
	}
	pthread_barrier_init(&all, NULL, N);
	for (long i = 0; i < N; i++)
		pthread_create(&threads[i], NULL, thread, (void *)(i + (i % 20 ? 0 : 30000)));
	for (int i = 0; i < N; i++) {
		pthread_join(threads[i], &r);
		sum += (long)r;
	}
	printf("%ld\n", sum);
	return 0;
}
C
"${CC:-cc}" -O1 -pthread -o crowd crowd.c || exit 1
traced() { # NAME OPTION...: the trace without thread numbers in NAME
	local name=$1
	shift
	timeout 60 "$PUGMARK" record -q -o rec --no-times "$@" -- ./crowd "$children" >"$name.out" 2>err
	status=$?
	"$PUGMARK" dump rec 2>>err | sed 's/^[0-9]* //' >"$name"
}
children=10
traced probe
traced patch --carrier patch --on-full wait --lane-memory 0.5
claim 'sixty threads come through two chunks' is "$status" 0
claim 'they do the same' same probe.out patch.out
claim 'and their trace is the same' same probe patch

children=400
"$PUGMARK" record -o rec --no-times --carrier patch --on-full wait --lane-memory 0.5 -- ./crowd "$children" \
	>out 2>err
claim 'of hundreds of children, all is recorded' eval '"$PUGMARK" verify rec | grep -q "^complete"'
mib=$(sed -nE 's/.*: ([0-9.]+) MiB of memory .*/\1/p' err)
claim 'and the memory of those that ended is used again' awk -v m="${mib:-999}" 'BEGIN { exit !(m < 60) }'
# A recorder that is stopped takes nothing, and the program waits for it or does not.
cat >busy.c <<'C'
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
enum { N = 8 };
static volatile int n;
__attribute__((noinline)) static void call(int i) { n += i; }
static void *thread(void *a)
{
	for (int i = 0; i < 400000; i++)
		call(i);
	return a;
}
int main(void)
{
	pthread_t threads[N];
	char c;
	if (write(1, "ready\n", 6) != 6 || read(0, &c, 1) != 1)
		return 1;
	for (int i = 0; i < N; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	for (int i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	return creat("done", 0600) < 0;
}
C
"${CC:-cc}" -O1 -pthread -o busy busy.c || exit 1
mkfifo go
stopped_while() { # WAIT|LOSE COMMAND...: how long
	local on_full=$1
	shift
	: >printed
	rm -rf full done
	"$PUGMARK" record -o full --mode full --carrier patch --lane-memory 0.5 --on-full "$on_full" -- ./busy \
		<go >printed 2>err &
	recorder=$!
	started+=("$recorder")
	exec 7>go
	await grep -q ready printed
	kill -STOP "$recorder"
	echo >&7
	"$@"
	kill -CONT "$recorder"
	wait "$recorder"
	exec 7>&-
}
again_and_again() { # what is lost behind one stop is by chance
	sleep 1.2
	for _ in 1 2; do
		kill -CONT "$recorder"
		sleep 0.02
		kill -STOP "$recorder"
		sleep 1.2
	done
}
stopped_while wait again_and_again
claim 'they wait for a recorder that is stopped for more than a second' \
	eval '"$PUGMARK" verify full | grep -q "^complete"'
stopped_while lose await test -e done
claim 'where there was no room and nobody waited that is lost, and said' grep -q 'events were lost' err
claim 'with what helps: room for what is written, not the ring alone' grep -q 'larger --lane-memory' err
conclude

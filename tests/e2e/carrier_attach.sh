#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# carrier_attach.sh: --carrier patch of processes that run. What is recorded of busy threads, signals,
# calls by pointer and children by fork has no gap; their threads are stopped for as long as is said;
# at the end every byte of the text is that of the file, and nothing is mapped that could go. So it is
# a second time. A recorder that is killed leaves a program that goes on, and the next one takes its
# patches out. What cannot be patched is probed, and it is said why.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" python3
work_in_own_folder

cat >busy.c <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define FN __attribute__((noipa))
static volatile int stop;
static volatile long ticks;
static long sums[256];
FN static long leaf(long x) { return x * 3 + 1; }
FN static long other(long x) { return x ^ (x >> 3); }
static long (*volatile by[])(long) = {leaf, other};
FN static long middle(long x)
{
	long r = 0;
	for (int i = 0; i < 3; i++)
		r += by[(x + i) & 1](x + i);
	switch (x % 7) {
	case 0: return leaf(r);
	case 1: return other(r) + leaf(1);
	case 2: r ^= other(2); break;
	}
	return x & 1 ? r + leaf(r) : r;
}
FN static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
FN static void tick(int s) { ticks += s; }
static void on_alarm(int s) { tick(s); }
static void on_term(int s) { (void)s; stop = 1; }
static long idle;
static void *thread(void *number)
{
	long n = 0, wrong = 0, want = 0;
	for (; !stop; n++) {
		long r = 0;
		for (long i = 0; i < 500; i++)
			r += middle(i);
		r += fib(8);
		want = want ? want : r;
		wrong += r != want;
		if (idle)
			usleep(idle);
	}
	sums[(long)number] = want;
	return (void *)wrong;
}
int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[1]) : 4;
	pthread_t threads[256];
	struct sigaction on = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 3000}, {0, 3000}};
	long wrong = 0;
	pthread_attr_t small;

	idle = argc > 2 ? atoi(argv[2]) : 2000;
	sigaction(SIGALRM, &on, NULL);
	signal(SIGTERM, on_term);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 << 10);
	setitimer(ITIMER_REAL, &often, NULL);
	for (long i = 0; i < n; i++)
		pthread_create(&threads[i], &small, thread, (void *)i);
	for (int k = 0; !stop && k < 20000; k++) { /* it ends by itself after some minutes */
		pid_t pid = fork();
		if (!pid)
			_exit(middle(5) & 1);
		waitpid(pid, NULL, 0);
		usleep(20000);
	}
	stop = 1;
	for (int i = 0; i < n; i++) {
		void *its;
		pthread_join(threads[i], &its);
		wrong += (long)its + (sums[i] != sums[0]);
	}
	printf("%ld wrong of %ld\n", wrong, sums[0]);
	return 0;
}
C
cat >text.py <<'PY'
import sys
pid, path = sys.argv[1], sys.argv[2]
data = open(path, 'rb').read()
different = others = 0
for line in open(f'/proc/{pid}/maps'):
    f = line.split()
    lo, hi = (int(x, 16) for x in f[0].split('-'))
    others += 'memfd:pugmark' in line
    if 'x' not in f[1] or len(f) < 6 or not f[5].endswith('/' + path):
        continue
    with open(f'/proc/{pid}/mem', 'rb') as m:
        m.seek(lo)
        have = m.read(hi - lo)
    want = data[int(f[2], 16):][:hi - lo].ljust(hi - lo, b'\0')
    different += sum(a != b for a, b in zip(have, want))
print(different, others)
PY
"${CC:-cc}" -O2 -pthread -o busy busy.c || exit 1
begun() { # ARGUMENT...: the program runs as $pid
	./busy "$@" >out &
	pid=$!
	started+=("$pid")
	sleep 0.2
}
attached() { # OPTION...
	"$PUGMARK" record -o rec --no-times --carrier patch --on-full wait -p "$pid" "$@" 2>err
}
ended() {
	kill -TERM "$pid"
	wait "$pid"
	is "$?" 0
}

begun
"$PUGMARK" doctor -p "$pid" >doctored
claim 'doctor says that it can be patched' grep -q -- '--carrier patch is possible' doctored
for round in first second; do
	attached --duration 0.15
	claim "the $round time it is patched" grep -qE "process $pid: [0-9]+ of [0-9]+ witnesses patched" err
	claim 'and says how long it was stopped' \
		grep -qE 'threads were stopped twice: for [0-9.]+ ms.*for [0-9.]+ ms' err
	claim 'nothing is missing' eval '"$PUGMARK" verify rec | grep -q "^complete"'
	# A witness in whose midst a thread stood stays a probe, and may tell a lot.
	grep -qE '[1-9][0-9]* left to probes' err ||
		claim 'patches told most of it' awk '/witness events/ { n = $3 } / of them \(/ { p = $3 }
			END { exit !(n > 5000 && p < n / 20) }' err
	claim 'every byte is restored, and nothing left' is "$(python3 text.py "$pid" busy)" '0 0'
done
claim 'it did what it does' ended
claim 'and came to the right results' grep -q '^0 wrong' out

begun 200 100000
attached --duration 0.2
claim 'two hundred threads are patched' grep -qE 'its 20[0-9] threads were stopped' err
claim 'and nothing of them is missing' eval '"$PUGMARK" verify rec | grep -q "^complete"'
claim 'they did what they do' ended
claim 'with the right results' grep -q '^0 wrong' out

# The recorder is killed.
begun
: >err # what the last one said
attached --duration 300 &
recorder=$!
disown "$recorder"
for ((i = 0; i < 3000; i++)); do
	grep -q 'witnesses patched' err 2>/dev/null && break
	sleep 0.02
done
"$PUGMARK" doctor "$pid" >doctored
claim 'doctor says that it is patched already' grep -q 'against  recorder .*another pugmark' doctored
child=$(pgrep -P "$recorder" -x pugmark | head -1)
kill -9 "${child:-$recorder}"
wait "$recorder" 2>/dev/null
claim 'it goes on without its recorder' eval 'sleep 0.1; kill -0 "$pid"'
claim 'with its patches' eval '[ "$(python3 text.py "$pid" busy)" != "0 0" ]'
cp busy another
"$PUGMARK" record -o rec2 --no-times -- ./another 0 1 2>err2 >/dev/null &
other=$!
for ((i = 0; i < 2000; i++)); do
	grep -qE 'were taken out of|stay in' err2 2>/dev/null && break
	sleep 0.02
done
cp err2 err
# What a thread may still come to stays: that is said as well.
claim 'the next one takes them out, or says why not' \
	grep -qE 'were taken out of [0-9]+ process|stay in [0-9]+ process(es)?, which may still need them' err2
grep -qE 'stay in [0-9]+ process' err2 ||
	claim 'every byte' is "$(python3 text.py "$pid" busy)" '0 0'
for ((i = 0; i < 500; i++)); do
	its=$(pgrep -P "$other" -x another) && break
	sleep 0.02
done
kill -TERM "${its:-$other}"
wait "$other" 2>/dev/null
claim 'it comes to its end' ended
claim 'and to the right results as well' grep -q '^0 wrong' out

# A call that the system ends where its thread is stopped is made again.
cat >waits.c <<'C'
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile int stop;
static volatile long interrupted, calls;
__attribute__((noipa)) static void leaf(long x) { calls += x; }
static void on_term(int s) { (void)s; stop = 1; }
static void *thread(void *a)
{
	int fd = epoll_create1(0);
	struct epoll_event event;
	while (!stop) {
		if (epoll_wait(fd, &event, 1, 100000) < 0 && errno == EINTR)
			interrupted++;
		leaf(1);
	}
	return a;
}
int main(void)
{
	struct sigaction on = {.sa_handler = on_term};
	pthread_t t;
	/* As runtimes do that look for names in their own file. */
	mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, open("/proc/self/exe", O_RDONLY), 0);
	sigaction(SIGTERM, &on, NULL);
	for (int i = 0; i < 3; i++)
		pthread_create(&t, NULL, thread, NULL);
	for (int i = 0; i < 12000 && !stop; i++) {
		usleep(50000);
		leaf(2);
	}
	printf("%ld interrupted\n", interrupted);
	return 0;
}
C
"${CC:-cc}" -O2 -pthread -o waits waits.c || exit 1
./waits >out &
pid=$!
started+=("$pid")
sleep 0.2
attached --duration 0.1
claim 'threads that wait are patched, of a program that has its file mapped once more' grep -q 'its 4 threads were stopped' err
claim 'they end by their own signal' ended
claim 'and were interrupted by nothing else' grep -q '^0 interrupted' out

"${CC:-cc}" -O2 -static -pthread -o busy busy.c || exit 1
begun
"$PUGMARK" doctor --format json "$pid" >doctored
claim 'doctor says why a static one is probed' python3 -c '
import json
said = json.load(open("doctored"))
assert said["carrier"] == "probe"
assert [c["name"] for c in said["conditions"] if c["against"]] == ["linker"]'
attached --duration 0.1
claim 'a static program is probed, and why' grep -q 'was not patched.*dynamic linker' err
claim 'and nothing is missing there' eval '"$PUGMARK" verify rec | grep -q "^complete"'
claim 'it is unharmed' ended
conclude

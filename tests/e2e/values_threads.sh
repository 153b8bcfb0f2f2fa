#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_threads.sh: level values of programs with several threads. What a thread does while the others
# sleep is known exactly; what may be another one's is marked, and nothing that is not marked differs
# from what the program has printed. redis, attached to while it serves, is known to its end.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cp "$tests/value/hard/note.h" . || exit 1
cat >target.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include "note.h"
static volatile long shared;
static int go[2];
static void *work(void *arg)
{
	long mine = (long)arg;
	char byte;
	for (int i = 0; i < 1000; i++)
		mine = mine * 31 + i;
	note(2, mine);
	read(go[0], &byte, 1); /* asleep while main works */
	shared = 99;
	note(3, shared);
	return (void *)mine;
}
int main(void)
{
	pthread_t t;
	long sum = 0;
	void *result;
	pipe(go);
	for (int i = 0; i < 1000; i++)
		sum += i * i;
	note(1, sum);
	pthread_create(&t, NULL, work, (void *)5);
	usleep(200000);
	sum = 0;
	for (int i = 0; i < 100000; i++)
		sum = sum * 3 + i;
	note(4, sum);
	shared = 7;
	write(go[1], "x", 1);
	pthread_join(t, &result);
	note(5, shared);
	return 0;
}
C
${CC:-cc} -O1 -g -w -pthread -o target target.c || skip 'no compiler'
"$PUGMARK" record -q --level values -o rec -- ./target >printed 2>err
claim 'the program runs' is $? 0
"$PUGMARK" values rec note >got 2>>err
sed -nE 's/^[12] [0-9]+ (note\([^)]*\)).*/\1/p' got >said
grep -v '~' said | sort >sure
claim 'what is not marked is what was printed' is "$(comm -13 <(sort printed) sure | wc -l)" 0
claim 'exact while the other one sleeps, or is not there' \
	is "$(grep -cxE 'note\(kind=[12], value=[0-9]+\)' sure)" 2
claim 'what the other one wrote is not called exact' is "$(grep -c 'kind=5, value=[0-9]*)' said)" 0
claim 'a thread begins with the argument it was given' \
	grep -qE '^2 [0-9]+ work\(arg=0x5\)' <("$PUGMARK" values rec work)

# A mapping of what is no regular file: nobody looks into it, so what it holds is not known.
cat >mapped.c <<'C'
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) long first(const volatile char *p)
{
	return *p;
}
int main(int argc, char **argv)
{
	char byte;
	if (argc > 2) { /* the heap */
		char *h = strcpy(malloc(100), "heap's");
		read(0, &byte, 1);
		return first(h);
	}
	char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, open(argv[1], O_RDWR), 0);
	read(0, &byte, 1);
	return first(p);
}
C
${CC:-cc} -O1 -w -o mapped mapped.c
echo secret >kept.txt
mkfifo go
attached_to() # FILE REC OPTION...: records the program while it looks at what it has mapped of FILE
{
	rm -f said
	# shellcheck disable=SC2086
	./mapped $1 <go &
	local mapped=$! recorder
	exec 9>go
	"$PUGMARK" record --level values -p $mapped -o "${@:2}" >said 2>&1 &
	recorder=$!
	for _ in $(seq 300); do
		grep -q recording said && break
		sleep 0.1
	done
	echo >&9
	exec 9>&-
	wait $recorder
}
attached_to /dev/zero device
attached_to kept.txt secret
attached_to kept.txt hidden --no-memory '*/kept.txt'
claim 'what is mapped of a file is known' \
	grep -qE ' first\(.*\) = (0x73|115)$' <("$PUGMARK" values secret first)
claim 'nothing is kept of what --no-memory names' \
	grep -qE ' first\(.*\) = \?$' <("$PUGMARK" values hidden first)
attached_to '/dev/zero heap' heap
attached_to '/dev/zero heap' heapless --no-memory '[heap]'
claim 'what is in the heap is known' grep -qE ' first\(.*\) = (0x68|104)$' <("$PUGMARK" values heap first)
claim "but not with --no-memory '[heap]', whose brackets are no glob" \
	grep -qE ' first\(.*\) = \?$' <("$PUGMARK" values heapless first)
run 1 record -q --level values --no-memory '[heap]' -o started -- ./mapped kept.txt
claim 'which is refused with its reason where there is no heap yet' grep -q 'has no heap yet' err
claim 'a device that was mapped is not taken for zeros' \
	grep -qE ' first\(.*\) = \?$' <("$PUGMARK" values device first)
# Threads that wait for one another in a library go another way there than was recorded.
cat >crowd.c <<'C'
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *last;
static void *work(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		pthread_mutex_lock(&lock);
		free(last);
		last = malloc(20 + i % 500);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}
int main(void)
{
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		pthread_create(t + i, NULL, work, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
C
${CC:-cc} -O1 -g -pthread -o crowd crowd.c
"$PUGMARK" record -q --level values -o crowded -- ./crowd 2>>err
cause='\(other threads were awake meanwhile: .*record --one-processor\)'
"$PUGMARK" values crowded >got
claim 'a gap where others were awake says so, and what helps' \
	is "$(grep ' a gap ' got | grep -cE "$cause")" "$(grep -c ' a gap ' got)"
claim 'of which there are' grep -q ' a gap ' got
claim 'and verify says it of what was not executed' \
	grep -qE "a system call (whose|that is not).*$cause" <("$PUGMARK" verify crowded)
"$PUGMARK" record -q --level values --one-processor -o alone -- ./crowd 2>>err
claim 'what was recorded so is not told of it' is "$("$PUGMARK" verify alone | grep -cE "$cause")" 0
# Two threads that are awake at once for a moment at each turn, and race. Each waits for what the other one
# has written: so it is followed only where that one is executed as well.
cat >helper.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include "note.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER;
static volatile int job, done, race;
static volatile long sum;
static void *work(void *arg)
{
	for (int i = 1; i <= 8; i++) {
		pthread_mutex_lock(&lock);
		while (job < i)
			pthread_cond_wait(&asked, &lock);
		pthread_mutex_unlock(&lock);
		for (int k = 0; k < 1000; k++)
			race++;
		usleep(20000); /* until the other one sleeps */
		long mine = i;
		for (int k = 0; k < 1000; k++)
			mine = mine * 31 + k;
		sum += mine;
		note(2, mine);
		done = i;
	}
	return arg;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	for (int i = 1; i <= 8; i++) {
		usleep(20000);
		pthread_mutex_lock(&lock);
		job = i;
		pthread_mutex_unlock(&lock);
		pthread_cond_signal(&asked);
		for (int k = 0; k < 1000; k++)
			race++;
		while (done < i)
			usleep(100000);
		note(1, sum);
		note(3, race);
	}
	pthread_join(t, NULL);
	note(4, race);
	return 0;
}
C
${CC:-cc} -O1 -g -w -pthread -o helper helper.c
"$PUGMARK" record -q --level values -o helped -- ./helper >printed 2>>err
"$PUGMARK" values helped >got
claim 'threads that are awake at once now and then are followed to their ends' \
	is "$(grep -c 'up to its end' got)" 2
"$PUGMARK" values helped note >noted
sed -nE 's/^[12] [0-9]+ (note\([^)]*\)).*/\1/p' noted | tr -d '~' | grep 'kind=[12]' | sort >shown
claim 'what one of them makes of what the other has written is shown' \
	is "$(grep 'kind=[12]' printed | sort | comm -3 - shown | wc -l)" 0
claim 'and marked where the order of two is not known' \
	is "$(sed -nE 's/^[12] [0-9]+ (note\([^)]*\)).*/\1/p' noted | grep 'kind=[34]' | grep -vc '~')" 0
# A thread whose own code is all in a library, of which nothing is counted, makes another one, while main is
# awake: the new one begins where it was made, and not where its maker did.
cat >chain_library.c <<'C'
#include <pthread.h>
void *chain(void *made)
{
	pthread_t t;
	pthread_create(&t, NULL, made, (void *)5);
	pthread_join(t, NULL);
	return NULL;
}
C
cat >chain.c <<'C'
#include <pthread.h>
#include <unistd.h>
void *chain(void *made);
static volatile int over;
__attribute__((noinline)) void *made(void *arg)
{
	getppid();
	over = 1;
	return arg;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, chain, made);
	while (!over)
		;
	pthread_join(t, NULL);
	return 0;
}
C
if ${CC:-cc} -O1 -g -w -shared -fPIC -o libchain.so chain_library.c -pthread &&
	${CC:-cc} -O1 -g -w -o chain chain.c -L. -lchain -Wl,-rpath,"$PWD" -pthread; then
	"$PUGMARK" record --level values -o chained -- ./chain >printed 2>threads.err
	claim 'the recorder says of a process with threads by which option they are known' \
		grep -qE 'had 3 threads: .*--one-processor' threads.err
	"$PUGMARK" values --task 3 chained made >noted 2>>err
	claim 'a thread that a library has made in a thread of its own is known to its end' is $? 0
	claim 'and begins with the argument it was given' grep -qE '^3 [0-9]+ made\(arg=0x5\)' noted
fi
if ! command -v redis-server redis-benchmark >/dev/null; then
	echo 'skip redis: not installed'
	conclude
fi
# Copies: a probe is in a file. The allocator asks for the time as well, and is not traced.
mkdir lib
cp "$(command -v redis-server)" server
allocator=$(ldd server | awk '/jemalloc/ { print $3 }')
[ -z "$allocator" ] || cp "$allocator" lib/
port=$((20000 + $$ % 20000))
LD_LIBRARY_PATH=$PWD/lib ./server --port $port --save '' --appendonly no --bind 127.0.0.1 >log 2>&1 &
server=$!
for _ in $(seq 100); do
	redis-cli -p $port ping >/dev/null 2>&1 && break
	sleep 0.1
done
"$PUGMARK" record --level values -p $server -o attached >said 2>&1 &
recorder=$!
for _ in $(seq 200); do
	grep -q recording said && break
	sleep 0.1
done
redis-benchmark -h 127.0.0.1 -p $port -t set,get -n 200 -c 2 -q >bench 2>&1
kill -INT $recorder
wait $recorder
"$PUGMARK" values attached --format json >whole
claim 'redis, with threads that sleep, is known up to where recording ended' is $? 0
claim 'of a million and more instructions at least 99.9 % are exact' python3 -c 'import json
t = json.load(open("whole"))["tasks"][0]
assert t["instructions"] > 1e6 and t["exact"] >= .999 * t["instructions"], t'
kill $server
wait $server 2>/dev/null

# Two threads compute while main waits for each: its first call of pthread_join() is bound then.
cat >join.c <<'C'
#include <pthread.h>
#include <stdio.h>
static void *work(void *p)
{
	long s = 0;
	for (long i = 0; i < 30000000; i++)
		s += i ^ (long)p;
	return (void *)s;
}
__attribute__((noinline)) long note(long v) { return v; }
int main(void)
{
	pthread_t t[2];
	void *r;
	for (long k = 0; k < 2; k++)
		pthread_create(&t[k], 0, work, (void *)k);
	for (int k = 0; k < 2; k++) {
		pthread_join(t[k], &r);
		printf("%ld\n", note((long)r));
	}
	return 0;
}
C
if ${CC:-cc} -O1 -w -Wl,-z,lazy -o join join.c -lpthread; then
	"$PUGMARK" record -q --level values -o joined -- ./join >printed 2>>err
	"$PUGMARK" values --task 1 joined >noted 2>>err
	claim 'who waits for threads is known to its end' is $? 0
fi

# A library that is not traced holds a lock that another thread begins to wait for: so unlocking it is a
# system call, which what is known of the memory does not tell. Then the time is asked for, attached: not
# by a system call.
cat >lock.c <<'C'
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int go[2];
static void *waits(void *p)
{
	char byte;
	read(go[0], &byte, 1);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return p;
}
static pthread_t t;
int locked(int n)
{
	pipe(go);
	pthread_create(&t, 0, waits, 0);
	pthread_mutex_lock(&lock);
	write(go[1], "", 1);
	usleep(20000);
	pthread_mutex_unlock(&lock);
	return n + 1;
}
void joined(void) { pthread_join(t, 0); }
C
cat >locks.c <<'C'
#include <stdio.h>
#include <sys/time.h>
int locked(int n);
void joined(void);
__attribute__((noinline)) long note(long v) { return v; }
int main(void)
{
	long n = 0;
	getchar();
	for (int i = 0; i < 5; i++) {
		struct timeval now;
		n += locked(i);
		gettimeofday(&now, 0);
		joined();
		printf("%ld\n", note(n * 3 + (now.tv_sec & 0)));
	}
	return 0;
}
C
if ${CC:-cc} -O1 -w -shared -fPIC -o liblock.so lock.c -lpthread &&
	${CC:-cc} -O1 -w -o locks locks.c -L. -llock; then
	mkfifo begin
	LD_LIBRARY_PATH=$PWD ./locks <begin >printed 2>>err &
	exec 7>begin
	"$PUGMARK" record --level values -p $! -o contended >attaching 2>&1 &
	recorder=$!
	for _ in $(seq 200); do
		grep -q recording attaching 2>/dev/null && break
		sleep 0.1
	done
	echo >&7
	wait $recorder
	exec 7>&-
	"$PUGMARK" values --task 1 contended note >noted 2>>err
	claim 'who unlocks what another thread waits for is known to its end' is $? 0
	claim 'and each number is what it printed' \
		is "$(sed -nE 's/.*\) = (0x[0-9a-f]+).*/\1/p' noted | while read -r v; do echo $((v)); done)" "$(cat printed)"
fi
conclude

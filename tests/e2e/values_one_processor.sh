#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_one_processor.sh: threads that share one processor while they are recorded (--one-processor), and
# tell each other things in memory alone: by spinning, in a race, under a mutex, through a queue without
# locks; or lose it in the midst of string functions or instructions. What the program prints is what the
# replay computes, and it is exact. A loop that waits and changes memory alone is told as not known, and so
# is what a handler sees that interrupts one. At the
# end threads may run where they might before.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder
lacks() { ! grep -qE "$1" "$2"; } # PATTERN FILE

cat >note.h <<'C'
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) void note(long kind, long value)
{
	char line[99];
	write(1, line, snprintf(line, sizeof(line), "note(kind=%ld, value=%ld)\n", kind, value));
}
C
cat >races.c <<'C'
#include "note.h"
enum { TURNS = 20, RACES = 2000000, ITEMS = 2000, RING = 64 };
static volatile int turn;
static volatile long racing;
static long counted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { atomic_uint head, tail; unsigned char item[RING][40]; } queue;
static void take_turns(int me)
{
	for (int i = 0; i < TURNS; i++) {
		while (turn != me)
			;
		turn = !me;
	}
}
static void race(void)
{
	for (long i = 0; i < RACES; i++)
		racing++;
}
static void count(void)
{
	for (int i = 0; i < 5000; i++) {
		pthread_mutex_lock(&lock);
		counted += counted % 7 + 1;
		pthread_mutex_unlock(&lock);
	}
}
static void *other(void *arg)
{
	unsigned seed = 1;
	take_turns(1);
	race();
	count();
	for (unsigned i = 0; i < ITEMS; i++) {
		unsigned char item[40];
		for (unsigned k = 0; k < sizeof(item); k++)
			item[k] = rand_r(&seed);
		while (i - atomic_load_explicit(&queue.tail, memory_order_acquire) == RING)
			;
		memcpy(queue.item[i % RING], item, sizeof(item));
		atomic_store_explicit(&queue.head, i + 1, memory_order_release);
	}
	note(6, racing);
	return (void *)(counted & 0xffff);
}
int main(void)
{
	pthread_t t;
	void *result;
	unsigned long sum = 0;
	pthread_create(&t, NULL, other, NULL);
	take_turns(0);
	note(1, turn);
	race();
	note(2, racing);
	count();
	note(3, counted);
	for (unsigned i = 0; i < ITEMS; i++) {
		while (atomic_load_explicit(&queue.head, memory_order_acquire) == i)
			;
		for (unsigned k = 0; k < 40; k++)
			sum = sum * 31 + queue.item[i % RING][k];
		atomic_store_explicit(&queue.tail, i + 1, memory_order_release);
	}
	note(4, sum & 0xffffffff);
	pthread_join(t, &result);
	note(5, racing + (long)result);
	return 0;
}
C
# Each spends most of its time in calls of one function, which nothing but arguments tells apart.
cat >compares.c <<'C'
#include "note.h"
enum { ROUNDS = 200, CALLS = 3000, BYTES = 24 };
static char text[CALLS + BYTES];
static void compare(volatile long *i, volatile long *same)
{
	for (int round = 0; round < ROUNDS; round++) {
		for (*i = 0; *i < CALLS; ++*i)
			*same += !memcmp(text + *i, text + CALLS / 2, BYTES + (*i & 1));
		getppid();
	}
}
static void *other(void *arg)
{
	volatile long i, same = 0;
	compare(&i, &same);
	note(2, same);
	return arg;
}
int main(void)
{
	pthread_t t;
	volatile long i, same = 0;
	for (int k = 0; k < CALLS; k++)
		text[k] = "ab"[k / 7 % 2];
	pthread_create(&t, NULL, other, NULL);
	compare(&i, &same);
	note(1, same);
	pthread_join(t, NULL);
	return 0;
}
C
# The same of calls whose own code is executed for a look: of a few bytes it uses no vector register.
cat >copies.c <<'C'
#include "note.h"
enum { ROUNDS = 300, CALLS = 3000 };
static char text[CALLS + 8];
static void copy(volatile long *i, volatile long *sum)
{
	char to[8] = "";
	for (int round = 0; round < ROUNDS; round++) {
		for (*i = 0; *i < CALLS; ++*i) {
			memcpy(to, text + *i, 1 + (*i & 3));
			*sum += *i * (to[0] + 3 * to[3]);
		}
		getppid();
	}
}
static void *other(void *arg)
{
	volatile long i, sum = 0;
	copy(&i, &sum);
	note(2, sum);
	return arg;
}
int main(void)
{
	pthread_t t;
	volatile long i, sum = 0;
	for (int k = 0; k < CALLS; k++)
		text[k] = k * 7919 >> 5;
	pthread_create(&t, NULL, other, NULL);
	copy(&i, &sum);
	note(1, sum);
	pthread_join(t, NULL);
	return 0;
}
C
# What is moved by a few bytes lies where it is moved to.
cat >moves.c <<'C'
#include "note.h"
enum { BYTES = 1 << 20, ROUNDS = 80 };
static char text[BYTES];
static volatile long over, turns;
static void *other(void *arg)
{
	for (; !over; turns++)
		;
	return arg;
}
int main(void)
{
	pthread_t t;
	unsigned long sum = 0;
	for (int k = 0; k < BYTES; k++)
		text[k] = k * 7919 >> 5;
	pthread_create(&t, NULL, other, NULL);
	for (int round = 0; round < ROUNDS || turns < 1000000; round++) {
		memmove(text, text + 8, BYTES - 8);
		getppid();
	}
	over = 1;
	for (int k = 0; k < BYTES; k++)
		sum = sum * 31 + text[k];
	note(1, sum & 0xffffffff);
	pthread_join(t, NULL);
	return 0;
}
C
# It loses the processor in the midst of string instructions, whose turns are slow downwards; the other
# one reads what is written by then, and changes what is not yet read.
cat >turns.c <<'C'
#include "note.h"
enum { BYTES = 1 << 20, ROUNDS = 8 };
static volatile unsigned char from[BYTES], to[BYTES];
static volatile int over;
static void fill(int byte)
{
	void *at = (void *)(from + BYTES - 1);
	long n = BYTES;
	__asm__ volatile("std; rep stosb; cld" : "+D"(at), "+c"(n) : "a"(byte) : "memory");
}
static void copy(void)
{
	void *at = (void *)(to + BYTES - 1), *of = (void *)(from + BYTES - 1);
	long n = BYTES;
	__asm__ volatile("std; rep movsb; cld" : "+D"(at), "+S"(of), "+c"(n) : : "memory");
}
static void *other(void *arg)
{
	unsigned long sum = 0;
	for (unsigned long i = 0; !over; i++) {
		unsigned k = i * 7919 * 64 % BYTES;
		sum = sum * 31 + from[k] + to[k];
		from[k] = sum;
	}
	note(2, sum & 0xffffffff);
	return arg;
}
int main(void)
{
	pthread_t t;
	unsigned long sum = 0;
	pthread_create(&t, NULL, other, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		fill(i);
		copy();
	}
	over = 1;
	pthread_join(t, NULL);
	for (unsigned k = 0; k < BYTES; k++)
		sum = sum * 31 + to[k];
	note(1, sum & 0xffffffff);
	return 0;
}
C
# A daemon.
cat >leaves.c <<'C'
#include "note.h"
#include <sys/wait.h>
int main(void)
{
	if (!fork()) {
		if (!fork()) {
			char line[32];
			write(1, line, snprintf(line, sizeof(line), "%d\n", getpid()));
			for (int i = 0; i < 600; i++)
				usleep(100000);
		}
		_exit(0);
	}
	return wait(NULL) < 0;
}
C
# It counts how often it waited, in no register.
cat >counts.c <<'C'
#include "note.h"
static volatile int turn;
static volatile long waited;
static void wait_for(int me)
{
	while (turn != me)
		__asm__ volatile("incq %0; xorl %%eax, %%eax" : "+m"(waited) : : "eax", "cc");
}
static void *other(void *arg)
{
	for (int i = 0; i < 5; i++) {
		wait_for(1);
		turn = 0;
	}
	return arg;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, other, NULL);
	for (int i = 0; i < 5; i++) {
		wait_for(0);
		turn = 1;
	}
	pthread_join(t, NULL);
	note(2, waited);
	return 0;
}
C
# The same, where a register leads to what it counts in.
cat >led.c <<'C'
#include "note.h"
static volatile int turn;
static long *waited;
static void wait_for(int me)
{
	__asm__ volatile("1: incq (%0); .rept 16; pause; .endr; cmpl %2, %1; jne 1b"
			 : : "r"(waited), "m"(turn), "r"(me) : "cc", "memory");
}
static void *other(void *arg)
{
	for (int i = 0; i < 5; i++) {
		wait_for(1);
		turn = 0;
	}
	return arg;
}
int main(void)
{
	pthread_t t;
	waited = calloc(1, 128);
	pthread_create(&t, NULL, other, NULL);
	for (int i = 0; i < 5; i++) {
		wait_for(0);
		turn = 1;
	}
	pthread_join(t, NULL);
	note(2, *waited);
	return 0;
}
C
# The same, in a register that no record tells.
cat >wide.c <<'C'
#include "note.h"
static volatile int turn;
static void *other(void *arg)
{
	volatile long i;
	while (turn != 1)
		;
	for (i = 0; i < 20000000; i++)
		;
	turn = 0;
	return arg;
}
int main(void)
{
	pthread_t t;
	long n;
	pthread_create(&t, NULL, other, NULL);
	__asm__ volatile("pxor %%xmm0, %%xmm0; pcmpeqd %%xmm1, %%xmm1; movl $1, %1\n"
			 "1: psubq %%xmm1, %%xmm0; cmpl $0, %1; jne 1b; movq %%xmm0, %0"
			 : "=r"(n), "+m"(turn) : : "xmm0", "xmm1", "cc");
	note(2, n);
	pthread_join(t, NULL);
	return 0;
}
C
# The same, before there is another thread, while other programs take the processor.
cat >alone.c <<'C'
#include "note.h"
static volatile long went;
static void *other(void *arg) { went++; return arg; }
int main(void)
{
	pthread_t t;
	__asm__ volatile("1: incq %0; cmpq $30000000, %0; jb 1b" : "+m"(went) : : "cc");
	pthread_create(&t, NULL, other, NULL);
	pthread_join(t, NULL);
	note(4, went);
	return 0;
}
C
# Signals interrupt a loop that changes memory alone, and their handler reads it.
cat >alarms.c <<'C'
#include "note.h"
#include <signal.h>
#include <sys/time.h>
enum { ALARMS = 4 };
static volatile long went;
static volatile long seen[ALARMS];
static volatile int n;
static void handler(int sig)
{
	if (n < ALARMS)
		seen[n++] = went;
}
static void every(long us)
{
	struct itimerval t = {{0, us}, {0, us}};
	setitimer(ITIMER_REAL, &t, NULL);
}
int main(void)
{
	signal(SIGALRM, handler);
	every(2000);
	/* A place that is recorded behind the call lies before the loop. */
	__asm__ volatile(".rept 8; nop; .endr; 1: incq " WENT "; xorl %%eax, %%eax; cmpl %2, %1; jl 1b"
			 : : WHERE(went), "m"(n), "i"(ALARMS) : "eax", "cc", "memory");
	every(0);
	for (int i = 0; i < ALARMS; i++)
		note(i, seen[i]);
	note(9, went);
	return 0;
}
C
cat >waits.c <<'C'
#include "note.h"
static void *other(void *arg) { pause(); return arg; }
int main(void)
{
	pthread_t t;
	for (int i = 0; i < 3; i++)
		pthread_create(&t, NULL, other, NULL);
	puts("here");
	fflush(stdout);
	for (;;)
		usleep(10000);
}
C
for p in races compares copies moves turns counts led wide alone waits leaves; do
	${CC:-cc} -O1 -g -w -fno-builtin-memcpy -pthread -o $p $p.c || skip 'no compiler'
done
"${CC:-cc}" -O1 -g -w '-DWENT="%0"' '-DWHERE(at)="m"(at)' -o alarms alarms.c
"${CC:-cc}" -O1 -g -w '-DWENT="(%0)"' '-DWHERE(at)="r"(&at)' -o led_alarms alarms.c
recorded() { # REC PROGRAM OPTION...
	"$PUGMARK" record -q --level values --check-every 1000000 "${@:3}" -o "$1" -- "./$2" >printed 2>err
}
told() { # REC TASK: what is said of the calls, in the order of the kinds
	"$PUGMARK" values --task "$2" "$1" note 2>>err | sed -nE 's/^[0-9]+ [0-9]+ (note\([^)]*\)).*/\1/p'
}
exactly() { # REC LEAST: instructions of each thread
	"$PUGMARK" values "$1" --format json >whole 2>>err
	python3 -c 'import json, sys
for t in json.load(open("whole"))["tasks"]:
	assert t["exact"] >= .9999 * t["instructions"] and t["instructions"] > int(sys.argv[1]), t
	assert t["complete"] and not t["gap"], t' "$2"
}

recorded one races --one-processor
claim 'the program runs' is $? 0
told one 1 >got
told one 2 >>got
claim 'what threads tell each other in memory is computed as it was, and is exact' \
	same <(sort got) <(sort printed)
claim 'of each thread at least 99.99 % is exact, up to its end without a gap' exactly one 1000000

recorded four compares --one-processor
for task in 1 2; do told four $task; done >got
claim 'a thread that lost the processor in a string function was in one call of many, and which is found' \
	same <(sort got) <(sort printed)
claim 'and at least 99.99 % is exact' exactly four 1000000

recorded eleven copies --one-processor
for task in 1 2; do told eleven $task; done >got
claim 'that call is found as well where its own code tells' same <(sort got) <(sort printed)
claim 'and at least 99.99 % is exact' exactly eleven 1000000

recorded twelve moves --one-processor
told twelve 1 >got
claim 'what is moved by few bytes is exact, though the processor was lost in the midst' same got printed
claim 'and at least 99.99 % is' exactly twelve 1000000

recorded six turns --one-processor
for task in 1 2; do
	"$PUGMARK" values --task $task six note 2>>err | sed -nE 's/^[0-9]+ [0-9]+ (note\([^)]*\)).*/\1/p'
done >got
claim 'of a string instruction so many turns are done as were when the processor was lost' \
	same <(sort got) <(sort printed)

recorded two counts --one-processor
told two 1 >got
claim 'how often a loop went round that changes memory alone is not called exact' \
	lacks 'value=[0-9]+\)' got

recorded seven led --one-processor
told seven 1 >got
claim 'where a register leads to what it changes, it is known, and exact' same got printed
claim 'and all but one in 10,000 instructions are' exactly seven 1

recorded eight wide --one-processor
told eight 1 >got
claim 'how often a loop went round that changes a vector register alone is not called exact' \
	lacks 'value=[0-9]+\)' got

recorded nine alarms --one-processor
told nine 1 >got
claim 'what a handler sees of memory that the loop changes which it interrupts is not called exact' \
	lacks 'value=[0-9]+\)' got
claim 'but told as assumed' grep -qE '^note\(kind=0~?, value=[0-9]+~\)' got
recorded ten led_alarms --one-processor
told ten 1 >got
claim 'where a register leads to it, it is known, and exact' same got printed
claim 'and all but one in 10,000 instructions are' exactly ten 1

for ((i = 0; i < $(nproc); i++)); do
	sh -c 'while :; do :; done' &
	hogs[i]=$!
done
started+=("${hogs[@]}")
recorded five alone --one-processor
kill "${hogs[@]}"
wait "${hogs[@]}" 2>/dev/null
told five 1 >got
claim 'how often it lost the processor matters to nobody where nobody else was awake' same got printed
claim 'nor does what the loop changed become less than exact' exactly five 1

rm -f printed
./waits >printed &
waits=$!
for _ in $(seq 100); do
	grep -q here printed && break
	sleep 0.1
done
where() { grep -h Cpus_allowed: /proc/$waits/task/*/status; }
where >before
"$PUGMARK" record --level values --one-processor -p $waits -o three >three.err 2>&1 &
recorder=$!
for _ in $(seq 200); do
	grep -q recording three.err && break
	sleep 0.1
done
where >during
kill -INT $recorder
wait $recorder
claim 'an attached process is recorded' is $? 0
where >after
claim 'and is not told by which option its threads are known' lacks 'had [0-9]+ threads' three.err
claim 'all its threads are on one processor meanwhile' is "$(sort -u during | wc -l)" 1
claim 'and may run where they might before' same before after
kill $waits
wait $waits 2>/dev/null

# What the program has left behind has no parent that leads to it.
"$PUGMARK" record --level values --one-processor -o left -- ./leaves >child 2>said &
recorder=$!
await test -s child
pid=$(cat child)
started+=("$pid")
sleep 0.5
may_use() { grep -h Cpus_allowed: /proc/"$1"/task/*/status; }
claim 'a process that was left behind is on one processor' \
	is "$(may_use "$pid" | sort -u | grep -cF "$(may_use self)")" 0
kill -INT $recorder
wait $recorder
claim 'and may run where its parent might before, when the recording ends' \
	is "$(may_use "$pid")" "$(may_use self)"
kill "$pid"
conclude

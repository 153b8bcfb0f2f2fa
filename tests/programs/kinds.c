// SPDX-License-Identifier: LGPL-2.1-or-later
/* kinds.c: functions of all kinds, which count their own calls. A round calls them each millisecond
 * (one that is late is made up for), and notes what each has counted so far; at SIGTERM these notes
 * are printed: a line with the names, then one a round, of its time (CLOCK_MONOTONIC, in ns) and
 * the counts.
 *
 * Each function has 2 KiB of its own, so that shares of functions (record --share) take caller and
 * callee apart. */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// clang-format off
#define FUNCTIONS(X) \
	X(leaf) X(twice) X(tail_called) X(tail_caller) X(tail_by_pointer) X(tail_pointer_caller) \
	X(by_pointer) X(by_table_a) X(by_table_b) X(recursive) X(even) X(odd) X(compared) X(sorting) \
	X(handler) X(in_thread) X(alloca_user) X(jumped_from) X(jumps_back) X(switched) X(sometimes) \
	X(tail_to_libc) X(calls_nothing) X(last_of_chain) X(chain)
// clang-format on
#define NUMBER(name) NUMBER_##name,
enum { FUNCTIONS(NUMBER) N };
#define NAME(name) #name,
static const char *const names[] = {FUNCTIONS(NAME)};
static volatile long calls[N];
static volatile int sum, ended;
static jmp_buf back;

#define FN(name) __attribute__((noipa, aligned(2048))) static int name(int i)
#define COUNT(name) (calls[NUMBER_##name]++)

FN(leaf)
{
	COUNT(leaf);
	return i ^ 5;
}
FN(twice)
{
	COUNT(twice);
	return leaf(i) + leaf(i + 1);
}
FN(tail_called)
{
	COUNT(tail_called);
	return i + 3;
}
FN(tail_caller)
{
	COUNT(tail_caller);
	return tail_called(i * 2);
}
FN(tail_by_pointer)
{
	COUNT(tail_by_pointer);
	return i - 3;
}
FN(by_pointer)
{
	COUNT(by_pointer);
	return i * 3;
}
FN(by_table_a)
{
	COUNT(by_table_a);
	return leaf(i) + 1;
}
FN(by_table_b)
{
	COUNT(by_table_b);
	return i - 1;
}
static int (*volatile pointer)(int) = by_pointer, (*volatile tail_pointer)(int) = tail_by_pointer;
static int (*const table[])(int) = {by_table_a, by_table_b, by_table_b};
FN(tail_pointer_caller)
{
	COUNT(tail_pointer_caller);
	return tail_pointer(i);
}
FN(recursive)
{
	int got = COUNT(recursive) & 1;
	if (i > 0)
		got += recursive(i - 1);
	return got ^ sum;
}
static int odd(int i);
FN(even)
{
	COUNT(even);
	return i > 0 ? odd(i - 1) + 1 : 0;
}
FN(odd)
{
	COUNT(odd);
	return i > 0 ? even(i - 1) - 1 : 0;
}
__attribute__((noipa, aligned(2048))) static int compared(const void *a, const void *b)
{
	COUNT(compared);
	return *(const int *)a - *(const int *)b;
}
FN(sorting)
{
	int values[6] = {i & 7, 3, 1, 5, 2, 4};
	COUNT(sorting);
	qsort(values, 6, sizeof(*values), compared);
	return values[2];
}
__attribute__((noipa, aligned(2048))) static void handler(int s)
{
	COUNT(handler);
	sum += s;
}
__attribute__((noipa, aligned(2048))) static void *in_thread(void *arg)
{
	COUNT(in_thread);
	return arg;
}
FN(alloca_user)
{
	COUNT(alloca_user);
	char *room = alloca(i % 64 + 16);
	memset(room, i, i % 64 + 16);
	return leaf(room[i % 16]);
}
FN(jumps_back)
{
	COUNT(jumps_back);
	if (i % 2)
		longjmp(back, 1);
	return i;
}
FN(jumped_from)
{
	COUNT(jumped_from);
	return setjmp(back) ? 7 : jumps_back(i);
}
FN(switched)
{
	COUNT(switched);
	switch (i % 6) {
	case 0:
		return leaf(i);
	case 1:
		return i * 3;
	case 2:
		return i ^ sum;
	case 3:
		return i - sum;
	case 4:
		return by_pointer(i);
	default:
		return i / 3;
	}
}
FN(sometimes)
{
	COUNT(sometimes);
	return i;
}
FN(tail_to_libc)
{
	COUNT(tail_to_libc);
	return usleep(i & 1);
}
FN(calls_nothing)
{
	COUNT(calls_nothing);
	return 0;
}
FN(last_of_chain)
{
	COUNT(last_of_chain);
	return calls_nothing(i);
}
FN(chain)
{
	COUNT(chain);
	return i % 3 ? last_of_chain(i) : leaf(i) + tail_caller(i);
}

static void end(int s)
{
	ended = s;
}

static void round_of(int i, unsigned *seed)
{
	sum += leaf(i) + twice(i) + tail_caller(i) + tail_pointer_caller(i) + pointer(i);
	sum += table[i % 3](i) + recursive(i % 5) + even(i % 7) + switched(i) + chain(i);
	sum += alloca_user(i) + jumped_from(i);
	if (i % 4 == 0)
		sum += sorting(i) + tail_to_libc(i);
	if (rand_r(seed) % 10 == 0)
		sum += sometimes(i);
	if (i % 16 == 0)
		raise(SIGUSR1);
	if (i % 32 == 0) {
		pthread_t t;
		if (!pthread_create(&t, NULL, in_thread, NULL))
			pthread_join(t, NULL);
	}
}

int main(void)
{
	enum { ROUNDS_MAX = 400000 };
	static struct {
		long long ns;
		long calls[N];
	} notes[ROUNDS_MAX];
	unsigned seed = 7;
	int rounds = 0;
	struct timespec next;
	signal(SIGTERM, end);
	signal(SIGUSR1, handler);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (; !ended && rounds < ROUNDS_MAX; rounds++) {
		struct timespec now;
		clock_gettime(CLOCK_MONOTONIC, &now);
		notes[rounds].ns = now.tv_sec * 1000000000ll + now.tv_nsec;
		for (int k = 0; k < N; k++)
			notes[rounds].calls[k] = calls[k];
		round_of(rounds, &seed);
		next.tv_nsec += 1000000;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	for (int k = 0; k < N; k++)
		printf("%s ", names[k]);
	for (int i = 0; i < rounds; i++) {
		printf("\n%lld", notes[i].ns);
		for (int k = 0; k < N; k++)
			printf(" %ld", notes[i].calls[k]);
	}
	putchar('\n');
	return 0;
}

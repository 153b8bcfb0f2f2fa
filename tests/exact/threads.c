// SPDX-License-Identifier: LGPL-2.1-or-later
/* threads.c: what check-threads records: THREADS threads that run for SECONDS, each on its own
 * random way: recursion, calls through pointers, sorting by the C library, jumps out of several
 * frames, now and then a yield. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define FN __attribute__((noinline))
#define KEEP __asm__ volatile("" ::: "memory")

struct walk {
	uint64_t seed;
	jmp_buf out;
	pthread_t id;
	int depth;
};

static int threads, seconds;

static uint32_t draw(struct walk *w, uint32_t below)
{
	w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(w->seed >> 33) % below;
}

FN int leaf(int n)
{
	KEEP;
	return n + 1;
}
FN int other_leaf(int n)
{
	KEEP;
	return n - 1;
}
FN int two_leaves(int n)
{
	return leaf(other_leaf(n));
}
static int (*volatile pointers[])(int) = {leaf, other_leaf, two_leaves};

FN int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return x < y ? other_leaf(x) - x : leaf(y) - y - (x == y);
}
FN void sort(struct walk *w)
{
	int numbers[16];
	for (int i = 0; i < 16; i++)
		numbers[i] = (int)draw(w, 100);
	qsort(numbers, 16, sizeof(*numbers), compare);
	KEEP;
}
FN int fall(struct walk *w, int n)
{
	if (n)
		return leaf(fall(w, n - 1));
	if (draw(w, 2))
		longjmp(w->out, 1);
	return leaf(n);
}
FN int jumps(struct walk *w)
{
	if (setjmp(w->out))
		return other_leaf(1);
	return fall(w, (int)draw(w, 5));
}
FN void step(struct walk *w);
FN void deeper(struct walk *w)
{
	if (w->depth > 20)
		return;
	w->depth++;
	step(w);
	if (draw(w, 2))
		step(w);
	w->depth--;
}
FN void step(struct walk *w)
{
	switch (draw(w, 8)) {
	case 0:
		sort(w);
		break;
	case 1:
		jumps(w);
		break;
	case 2:
		pointers[draw(w, 3)]((int)draw(w, 10));
		break;
	case 3:
		if (draw(w, 2))
			leaf(1);
		else
			two_leaves(2);
		break;
	case 4:
		for (uint32_t i = draw(w, 4); i > 0; i--)
			other_leaf((int)i);
		break;
	case 5:
		sched_yield();
		break;
	default:
		deeper(w);
	}
	KEEP;
}
FN void *run(void *context)
{
	struct walk *w = context;
	struct timespec now, begin;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (int i = 0; i < 20; i++)
			step(w);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < seconds);
	return NULL;
}

int main(int argc, char **argv)
{
	threads = argc > 1 ? atoi(argv[1]) : 64;
	seconds = argc > 2 ? atoi(argv[2]) : 10;
	struct walk *walks = calloc((size_t)threads, sizeof(*walks));
	if (!walks)
		return 1;
	for (int i = 0; i < threads; i++) {
		walks[i].seed = (uint64_t)i * 7919 + 1;
		if (pthread_create(&walks[i].id, NULL, run, &walks[i]))
			return 1;
	}
	for (int i = 0; i < threads; i++)
		pthread_join(walks[i].id, NULL);
	return 0;
}

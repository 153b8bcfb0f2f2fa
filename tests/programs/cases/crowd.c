// SPDX-License-Identifier: LGPL-2.1-or-later
/* crowd.c: 300 threads, a hundred at a time, each of which does work of its own. */
#include "case.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { AT_A_TIME = 100, ROUNDS = 3 };

static pthread_barrier_t barrier;

FN void leaf(void)
{
	KEEP;
}
FN void down(int n)
{
	if (n)
		down(n - 1);
	leaf();
	KEEP;
}
FN void *thread(void *number)
{
	int n = (int)(intptr_t)number;
	leaf();
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < n % 10; i++)
		down(i % 3);
	KEEP;
	return NULL;
}
FN void round_of(int first)
{
	pthread_t ids[AT_A_TIME];
	for (int i = 0; i < AT_A_TIME; i++)
		if (pthread_create(&ids[i], NULL, thread, (void *)(intptr_t)(first + i)))
			abort();
	for (int i = 0; i < AT_A_TIME; i++)
		pthread_join(ids[i], NULL);
	leaf();
	KEEP;
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, AT_A_TIME);
	for (int i = 0; i < ROUNDS; i++)
		round_of(i * AT_A_TIME);
	KEEP;
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* busy.c: threads that do nothing but hit one probe: `busy THREADS HITS`, HITS in each. The site
 * is a call, the cheapest to probe. */
#include <pthread.h>
#include <stdlib.h>

static long hits;

static void *hit(void *arg)
{
	for (long i = 0; i < hits; i++)
		__asm__ volatile(".globl site\nsite: call 1f\n\tjmp 2f\n1:\tret\n2:" ::: "memory");
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc == 3 ? atoi(argv[1]) : 0;
	pthread_t threads[64];

	if (n < 1 || n > 64)
		return 2;
	hits = atol(argv[2]);
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, hit, NULL))
			return 1;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

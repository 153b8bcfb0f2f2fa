// SPDX-License-Identifier: LGPL-2.1-or-later
/* many_threads.c: the same calls in 64 threads at a time. */
#include <pthread.h>
#include <stdlib.h>
static volatile int sink;
__attribute__((noipa)) static void work(int n)
{
	for (int i = 0; i < n; i++)
		sink += abs(i);
}
__attribute__((noipa)) static void *of_thread(void *n)
{
	work((int)(long)n);
	return NULL;
}
int main(void)
{
	pthread_t threads[64];
	for (long i = 0; i < 64; i++)
		pthread_create(&threads[i], NULL, of_thread, (void *)i);
	for (int i = 0; i < 64; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* Two threads count in one variable without a lock. */
#include "note.h"
#include <pthread.h>
#include <stdlib.h>
static volatile long counter, flag, begun;
static volatile char bytes[64];
static void *count(void *p)
{
	begun = 1;
	for (long i = 0; i < 200000; i++) {
		counter++;
		bytes[i & 63] = (char)counter;
	}
	flag = 1;
	return p;
}
int main(void)
{
	pthread_t thread;
	long s = 0;
	note(1, counter);
	pthread_create(&thread, NULL, count, NULL);
	while (!begun)
		;
	for (long i = 0; i < 200000; i++) {
		counter++;
		s += bytes[i & 63];
	}
	note(2, counter);
	note(3, s);
	while (!flag)
		s++;
	note(4, s);
	pthread_join(thread, NULL);
	note(5, counter);
	return 0;
}

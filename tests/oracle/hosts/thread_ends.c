// SPDX-License-Identifier: LGPL-2.1-or-later
/* thread_ends.c: threads that end by pthread_exit(), main()'s as the last. The C library unwinds
 * their frames by force, and then calls the program: cleanup handlers, destructors of what a thread
 * keeps, and, as main's is the last thread, what runs at exit. Cancelled threads are not here:
 * QEMU's emulation of that crashes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_key_t key;
static int done;

__attribute__((noinline)) static void note(int by)
{
	done = done * 3 + by;
	__asm__ volatile("" ::: "memory");
}

static void tidy(void *by)
{
	note(*(int *)by);
}

static void forget(void *value)
{
	(void)value;
	note(1);
}

/* Silence leads from its entry to the call that never returns. */
__attribute__((noinline)) static void last(void *value)
{
	printf("%d\n", done);
	pthread_exit(value);
}

static void *ends(void *deeper)
{
	int by = 1;

	pthread_setspecific(key, &key);
	pthread_cleanup_push(tidy, &by);
	if (deeper)
		last(deeper);
	note(2);
	pthread_exit(deeper);
	pthread_cleanup_pop(0);
	return deeper;
}

__attribute__((noinline)) static void start(void *deeper)
{
	pthread_t thread;

	pthread_create(&thread, NULL, ends, deeper);
	pthread_join(thread, NULL);
}

static void bye(void)
{
	note(1);
	printf("bye %d\n", done);
}

__attribute__((destructor)) static void gone(void)
{
	note(2);
}

int main(int argc, char **argv)
{
	int by = argc;

	pthread_key_create(&key, forget);
	atexit(bye);
	start(NULL);
	start(&done);
	pthread_cleanup_push(tidy, &by);
	printf("end\n");
	if (argc > 1)
		last(argv);
	pthread_exit(NULL);
	pthread_cleanup_pop(0);
}

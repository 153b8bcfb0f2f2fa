/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dies.c: calls some functions and dies of the signal that its first argument names: in `crash`,
 * or, with a second argument `thread`, in a thread, while another one waits; `wait`: once a line
 * comes on stdin; `handled`: with a handler that ends it with status 3. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int counter;
static const char *how;
static void *beyond; /* the end of its file */

__attribute__((noinline)) void leaf(void)
{
	counter++;
	__asm__ volatile("");
}

__attribute__((noinline)) void middle(int n)
{
	for (int i = 0; i < n; i++)
		leaf();
}

__attribute__((noinline)) void crash(void)
{
	middle(3);
	if (!strcmp(how, "SEGV"))
		*(volatile int *)0x18 = 1;
	if (!strcmp(how, "ILL"))
		__asm__ volatile("ud2");
	if (!strcmp(how, "TRAP"))
		__asm__ volatile("int3");
	if (!strcmp(how, "BUS"))
		*(volatile int *)beyond = 1;
	if (!strcmp(how, "SENT"))
		kill(getpid(), SIGSEGV);
	middle(2);
}

static void *in_thread(void *arg)
{
	crash();
	return arg;
}

static void *waits(void *arg)
{
	middle(5);
	*(volatile int *)arg = 1;
	for (;;)
		pause();
}

static void ends(int sig)
{
	(void)sig;
	_exit(3);
}

static void prepare(void)
{
	char name[] = "/tmp/dies.XXXXXX";
	int fd = mkstemp(name);

	unlink(name);
	beyond = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

int main(int argc, char **argv)
{
	const char *where = argc > 2 ? argv[2] : "";
	pthread_t other, thread;
	int ready = 0;

	how = argv[1];
	prepare();
	puts("ready");
	fflush(stdout);
	if (!strcmp(where, "wait"))
		getchar();
	if (!strcmp(where, "handled"))
		signal(SIGSEGV, ends);
	if (!strcmp(where, "thread")) {
		pthread_create(&other, NULL, waits, &ready);
		while (!*(volatile int *)&ready)
			usleep(1000);
		usleep(20000);
		pthread_create(&thread, NULL, in_thread, NULL);
		pthread_join(thread, NULL);
	} else {
		crash();
	}
	return 0;
}

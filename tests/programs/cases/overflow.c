// SPDX-License-Identifier: LGPL-2.1-or-later
/* overflow.c: a recursion that does not end, on a thread's small stack whose end it meets. How deep
 * it came is what it wrote last. */
#include "case.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>

static volatile long *depth;

FN void leaf(void)
{
	KEEP;
}
FN void down(long n)
{
	*depth = n;
	((volatile char *)__builtin_frame_address(0))[-2048] = 1;
	down(n + 1);
	KEEP;
	leaf();
}
FN void *thread(void *unused)
{
	(void)unused;
	leaf();
	down(1);
	return NULL;
}
FN void child(void)
{
	pthread_attr_t attr;
	pthread_t id;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_create(&id, &attr, thread, NULL);
	pthread_join(id, NULL);
	KEEP;
}

int main(void)
{
	int status;
	depth = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	if (!pid) {
		child();
		_exit(1);
	}
	waitpid(pid, &status, 0);
	leaf();
	LET("depth", *depth);
	return !WIFSIGNALED(status);
}

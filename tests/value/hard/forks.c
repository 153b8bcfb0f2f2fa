// SPDX-License-Identifier: LGPL-2.1-or-later
/* Forks: children of children, pipes between them, vfork, and a program in a child's place. */
#include "note.h"
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
extern char **environ;
static long state[64];
static long mix(long x)
{
	for (int i = 0; i < 64; i++)
		state[i] = state[i] * 31 + x + i;
	return state[x & 63];
}
static void child(int depth, int out)
{
	long v = mix(depth);
	note(10 + depth, v);
	if (depth < 3) {
		int p[2], status;
		if (pipe(p))
			_exit(1);
		if (!fork())
			child(depth + 1, p[1]);
		long got = 0;
		close(p[1]);
		if (read(p[0], &got, 8) != 8)
			_exit(1);
		wait(&status);
		note(20 + depth, v = mix(got));
		note(30 + depth, status);
		close(p[0]);
	}
	if (write(out, &v, 8) != 8)
		_exit(1);
	_exit(depth + 4);
}
/* What a child has zeros for, as it was asked for (and no longer), and where it says so itself. */
static void wiped(void)
{
	int status;
	long *pages =
		mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 4 * 512; i++)
		pages[i] = i + 1;
	if (madvise(pages, 3 * 4096, MADV_WIPEONFORK) ||
	    madvise(pages + 1024, 4096, MADV_KEEPONFORK))
		return;
	mprotect(pages, 4096, PROT_READ);
	if (!fork()) {
		note(40, pages[3] + pages[515]);
		note(41, pages[1030] + pages[1540]);
		madvise(pages + 1536, 4096, 24); /* MADV_DONTNEED_LOCKED */
		note(42, pages[1540]);
		_exit(0);
	}
	wait(&status);
	note(43, pages[3] + pages[515] + pages[1540]);
}
int main(int argc, char **argv)
{
	int p[2], status, n = 0;
	pid_t pid;
	if (argc > 1) { /* in the place of a child */
		note(60, atol(argv[1]) * 3);
		return 5;
	}
	for (int i = 0; i < 64; i++)
		state[i] = i * i;
	do {
		long got = 0;
		if (pipe(p))
			return 1;
		if (!fork())
			child(n % 4, p[1]);
		close(p[1]);
		if (read(p[0], &got, 8) != 8)
			return 1;
		close(p[0]);
		wait(&status);
		mix(got + status);
	} while (++n < 5 || goes_on());
	note(1, mix(1));
	note(2, n);
	wiped();
	if (!vfork())
		_exit(6);
	wait(&status);
	note(3, status);
	if (!vfork()) {
		execl(argv[0], argv[0], "14", NULL);
		_exit(7);
	}
	wait(&status);
	note(4, status);
	char *args[] = {argv[0], "15", NULL};
	posix_spawn(&pid, argv[0], NULL, NULL, args, environ);
	waitpid(pid, &status, 0);
	note(5, status);
	note(6, mix(2));
	return 0;
}

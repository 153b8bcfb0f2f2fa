// SPDX-License-Identifier: LGPL-2.1-or-later
/* processes.c: fork, vfork, posix_spawn of the program itself, and exec of it in the middle of
 * calls. */
#include "case.h"

#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

FN void leaf(void)
{
	KEEP;
}
FN void work(int n)
{
	while (n--)
		leaf();
	KEEP;
}
FN void wait_for(pid_t pid)
{
	int status;
	if (waitpid(pid, &status, 0) != pid || status)
		abort();
	KEEP;
}
FN void as_child(void)
{
	work(2);
	_exit(0);
}
FN void forks(void)
{
	leaf();
	pid_t pid = fork();
	if (!pid)
		as_child();
	wait_for(pid);
	KEEP;
}
FN void returns_as_child(void)
{
	pid_t pid = fork();
	leaf();
	if (!pid)
		as_child();
	wait_for(pid);
	KEEP;
}
FN void vforks(char **argv)
{
	leaf();
	pid_t pid = vfork();
	if (!pid) {
		leaf();
		execv(argv[0], (char *[]){argv[0], "spawned", NULL});
		_exit(1);
	}
	wait_for(pid);
	KEEP;
}
FN void vforks_only(void)
{
	leaf();
	pid_t pid = vfork();
	if (!pid) {
		work(1);
		_exit(0);
	}
	wait_for(pid);
	KEEP;
}
FN void spawns(char **argv)
{
	pid_t pid;
	if (posix_spawn(&pid, argv[0], NULL, NULL, (char *[]){argv[0], "spawned", NULL}, environ))
		abort();
	wait_for(pid);
	KEEP;
}
FN void becomes(char **argv)
{
	leaf();
	fflush(stdout);
	execv(argv[0], (char *[]){argv[0], "last", NULL});
	leaf();
	KEEP;
}
FN void spawned(void)
{
	work(3);
	KEEP;
}
FN void last(void)
{
	work(4);
	KEEP;
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		if (!strcmp(argv[1], "spawned"))
			spawned();
		else
			last();
		return 0;
	}
	forks();
	returns_as_child();
	vforks_only();
	vforks(argv);
	spawns(argv);
	becomes(argv);
	return 1;
}

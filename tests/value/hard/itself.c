// SPDX-License-Identifier: LGPL-2.1-or-later
/* Memory that is written past all mappings, by its file in /proc: by the process itself, which is
 * a child, and by another child; and by others that come to it by other paths. */
#include "note.h"
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
static volatile long here = 3, there = 4, linked = 6, again = 7, own = 9;
static int opened(int pid)
{
	char name[40];
	snprintf(name, sizeof(name), "/proc/%d/mem", pid);
	return open(name, O_RDWR);
}
/* By a link of any name, and by the descriptor of one that was opened to be read. */
static int opened_by_link(void)
{
	unlink("m");
	return symlink("/proc/self/mem", "m") ? -1 : open("m", O_RDWR);
}
static int opened_again(void)
{
	char name[40];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", open("/proc/self/mem", O_RDONLY));
	return open(name, O_RDWR);
}
/* A child whose memory is written by the file that @opens opens. */
static void child(int kind, volatile long *at, int (*opens)(void))
{
	long v = 8;
	if (!fork()) {
		if (pwrite(opens(), &v, 8, (long)at) != 8)
			_exit(1);
		note(kind, *at);
		_exit(0);
	}
	wait(NULL);
}
int main(void)
{
	int parent = getpid();
	long v = 5;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	note(1, here + there + linked + again + own);
	child(12, &linked, opened_by_link);
	child(13, &again, opened_again);
	if (!fork()) {
		int fd = opened(getpid());
		if (lseek(fd, (long)&here, SEEK_SET) < 0 || write(fd, &v, 8) != 8)
			_exit(1);
		note(11, here);
		_exit(0);
	}
	wait(NULL);
	if (!fork())
		_exit(pwrite(opened(parent), &v, 8, (long)&there) != 8);
	wait(NULL);
	note(10, there);
	if (pwrite(opened_by_link(), &v, 8, (long)&own) != 8)
		return 1;
	note(14, own);
	return 0;
}

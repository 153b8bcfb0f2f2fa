// SPDX-License-Identifier: LGPL-2.1-or-later
/* Memory that is written past all mappings, by its file in /proc: by the process itself, which is
 * a child, and by another child. */
#include "note.h"
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
static volatile long here = 3, there = 4;
static int opened(int pid)
{
	char name[40];
	snprintf(name, sizeof(name), "/proc/%d/mem", pid);
	return open(name, O_RDWR);
}
int main(void)
{
	int parent = getpid();
	long v = 5;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	note(1, here + there);
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
	return 0;
}

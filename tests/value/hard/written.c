// SPDX-License-Identifier: LGPL-2.1-or-later
/* Memory that another process writes, past all mappings: by process_vm_writev(), by its file in
 * /proc. */
#include "note.h"
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
static volatile long here = 3, there = 4;
int main(void)
{
	int status, parent = getpid();
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	note(1, here + there);
	if (!fork()) {
		long v = 41;
		struct iovec from = {&v, 8}, to = {(void *)&here, 8};
		_exit(process_vm_writev(parent, &from, 1, &to, 1, 0) != 8);
	}
	wait(&status);
	note(10, here);
	if (!fork()) {
		char name[40];
		long v = 42;
		snprintf(name, sizeof(name), "/proc/%d/mem", parent);
		_exit(pwrite(open(name, O_RDWR), &v, 8, (long)&there) != 8);
	}
	wait(&status);
	note(11, there);
	return 0;
}

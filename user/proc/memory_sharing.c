// SPDX-License-Identifier: LGPL-2.1-or-later
/* memory_sharing.c: see memory_sharing.h. By kcmp(2). */
#include "user/proc/memory_sharing.h"

#include "user/proc/living_thread.h"

#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 0: it is the same; -1: that is not known. */
static long compare(pid_t a, pid_t b)
{
	return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);
}

static bool are_of_one_process(pid_t a, pid_t b)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", a, b);
	return !access(path, F_OK);
}

int memory_sharing(pid_t tid)
{
	struct dirent *e;
	int shared = 0;

	if (compare(tid, tid))
		return -errno;
	DIR *dir = opendir("/proc");
	if (!dir)
		return -errno;
	while (!shared && (e = readdir(dir))) {
		pid_t pid = atoi(e->d_name);

		shared = pid > 0 && !compare(tid, living_thread(pid)) &&
			 !are_of_one_process(tid, pid);
	}
	closedir(dir);
	return shared;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* living_thread.c: see living_thread.h. By the states of proc_pid_stat(5). */
#include "user/proc/living_thread.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool thread_has_ended(pid_t pid, pid_t tid)
{
	char path[48], line[512] = "";

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	errno = 0;
	FILE *f = fopen(path, "re");
	size_t len = f ? fread(line, 1, sizeof(line) - 1, f) : 0;
	bool gone = !len && (errno == ENOENT || errno == ESRCH);
	if (f)
		fclose(f);
	char *at = strrchr(line, ')'); /* behind the name, which may hold anything */
	return gone || (at && (!strncmp(at, ") Z", 3) || !strncmp(at, ") X", 3)));
}

pid_t living_thread(pid_t pid)
{
	char path[32];
	struct dirent *e;
	pid_t found = pid;

	if (!thread_has_ended(pid, pid))
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	while (dir && found == pid && (e = readdir(dir))) {
		pid_t tid = atoi(e->d_name);

		if (tid > 0 && !thread_has_ended(pid, tid))
			found = tid;
	}
	if (dir)
		closedir(dir);
	return found;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* turn_holder.c: see turn_holder.h. */
#include "user/patch/turn_holder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line "lock: 1: OFDLCK ADVISORY READ -1 DEVICE:INODE FIRST LAST". */
static bool has_lock(pid_t pid, const char *fd, off_t byte)
{
	char path[64], line[256], range[64];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.16s", pid, fd);
	snprintf(range, sizeof(range), " %lld %lld\n", (long long)byte, (long long)byte);
	FILE *f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, " OFDLCK ") && strstr(line, range);
	if (f)
		fclose(f);
	return found;
}

static bool holds(pid_t pid, const struct stat *st, off_t byte)
{
	char path[32];
	struct dirent *e;
	struct stat its;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *dir = opendir(path);
	while (dir && !found && (e = readdir(dir)))
		found = !fstatat(dirfd(dir), e->d_name, &its, 0) && its.st_ino == st->st_ino &&
			its.st_dev == st->st_dev && has_lock(pid, e->d_name, byte);
	if (dir)
		closedir(dir);
	return found;
}

pid_t turn_holder(const struct stat *st, off_t byte)
{
	struct dirent *e;
	pid_t pid = 0;
	bool found = false;

	DIR *dir = opendir("/proc");
	while (dir && !found && (e = readdir(dir))) {
		pid = atoi(e->d_name);
		found = pid > 0 && pid != getpid() && holds(pid, st, byte);
	}
	if (dir)
		closedir(dir);
	return found ? pid : 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* filters.c: see filters.h. */
#include "user/patch/process/filters.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What /proc/TID/status says: 0: no filter; 1: what is built in; 2: as many as that. */
struct filters {
	int mode, n;
};

static bool read_filters(pid_t tid, struct filters *f)
{
	char path[40], line[256];

	*f = (struct filters){.mode = -1};
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		sscanf(line, "Seccomp: %d", &f->mode);
		sscanf(line, "Seccomp_filters: %d", &f->n);
	}
	if (file)
		fclose(file);
	return f->mode >= 0;
}

bool filters_has(pid_t tid)
{
	struct filters its;

	return !read_filters(tid, &its) || its.mode != 0;
}

pid_t filters_without(const pid_t *tids, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!filters_has(tids[i]))
			return tids[i];
	return 0;
}

static bool differ(const struct filters *its)
{
	struct filters own;

	return its->mode == 1 ||
	       (its->mode == 2 && (!read_filters(getpid(), &own) || its->n != own.n));
}

bool filters_forbid(pid_t tid)
{
	struct filters its;

	return !read_filters(tid, &its) || differ(&its);
}

bool filters_forbid_any(pid_t pid)
{
	struct filters its;
	bool forbid = false;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && !forbid && (e = readdir(dir));)
		if (atoi(e->d_name) > 0) /* one that cannot be read has ended */
			forbid = read_filters(atoi(e->d_name), &its) && differ(&its);
	if (dir)
		closedir(dir);
	return forbid || !dir;
}

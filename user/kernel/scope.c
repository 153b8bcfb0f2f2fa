// SPDX-License-Identifier: LGPL-2.1-or-later
/* scope.c: see scope.h. */
#include "user/kernel/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Where cgroups of version 2 are mounted. */
static bool find_mount(char *out, size_t size)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	bool found = false;
	for (struct mntent *m; f && !found && (m = getmntent(f));)
		if (!strcmp(m->mnt_type, "cgroup2")) {
			snprintf(out, size, "%s", m->mnt_dir);
			found = true;
		}
	if (f)
		endmntent(f);
	return found;
}

int scope_cgroup_open(const char *path, int *out, struct pugmark_diag *diag)
{
	char mount[PATH_MAX], full[2 * PATH_MAX];
	struct statfs fs;
	if (*path != '/' && find_mount(mount, sizeof(mount))) {
		snprintf(full, sizeof(full), "%s/%s", mount, path);
		path = full;
	}
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return pugmark_diag_set(diag, -errno, path, PUGMARK_NO_OFFSET, "no such cgroup: %s",
					strerror(errno));
	if (!fstatfs(fd, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC) {
		*out = fd;
		return 0;
	}
	close(fd);
	return pugmark_diag_set(diag, -EINVAL, path, PUGMARK_NO_OFFSET,
				"not a cgroup of version 2");
}

int scope_pid_namespace(const char *text, uint32_t *number, struct pugmark_diag *diag)
{
	char path[PATH_MAX];
	struct statfs fs;
	struct stat st;
	bool is_pid = *text && strspn(text, "0123456789") == strlen(text);
	snprintf(path, sizeof(path), is_pid ? "/proc/%s/ns/pid" : "%s", text);
	if (stat(path, &st) || statfs(path, &fs))
		return pugmark_diag_set(
			diag, -errno, is_pid ? NULL : path, PUGMARK_NO_OFFSET,
			is_pid ? "no process %s, or its namespace cannot be seen: %s" : "%s: %s",
			text, strerror(errno));
	if (fs.f_type != NSFS_MAGIC)
		return pugmark_diag_set(diag, -EINVAL, path, PUGMARK_NO_OFFSET, "not a namespace");
	*number = st.st_ino;
	return 0;
}

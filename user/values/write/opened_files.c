// SPDX-License-Identifier: LGPL-2.1-or-later
/* opened_files.c: see opened_files.h. A table of fixed size: what was opened last in a slot is
 * known.
 */
#include "user/values/write/opened_files.h"

#include "offline/base/open_regular.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLOTS = 1024 };

struct opened {
	pid_t pid;
	int fd, dir_fd;
	char *path;
};

struct opened_files {
	struct opened at[SLOTS];
};

struct opened_files *opened_files_new(void)
{
	return calloc(1, sizeof(struct opened_files));
}

void opened_files_free(struct opened_files *o)
{
	for (int i = 0; o && i < SLOTS; i++)
		free(o->at[i].path);
	free(o);
}

static unsigned slot_of(pid_t pid, int fd)
{
	return ((unsigned)pid * 31 + (unsigned)fd) % SLOTS;
}

void opened_files_note(struct opened_files *o, pid_t pid, const struct capture *c)
{
	bool at = c->nr == SYS_openat || c->nr == SYS_openat2;

	if ((!at && c->nr != SYS_open && c->nr != SYS_creat) || c->result < 0 || !c->n_ranges)
		return;
	struct opened *slot = &o->at[slot_of(pid, c->result)];
	const struct capture_range *r = &c->ranges[0];
	free(slot->path);
	*slot = (struct opened){.pid = pid,
				.fd = c->result,
				.dir_fd = at ? (int)c->args[0] : AT_FDCWD,
				.path = r->unread || r->addr != c->args[at]
						? NULL
						: strndup((const char *)r->bytes, r->len)};
}

void opened_files_find(const struct opened_files *o, int fd, struct mapped_file *file)
{
	const struct opened *slot = &o->at[slot_of(file->pid, fd)];
	bool found = slot->pid == file->pid && slot->fd == fd;

	file->path = found ? slot->path : NULL;
	file->dir_fd = slot->dir_fd;
}

struct name_folders name_folders_of(pid_t pid)
{
	struct name_folders f;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	f.root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/cwd", pid);
	f.cwd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return f;
}

void name_folders_deinit(struct name_folders *f)
{
	if (f->root >= 0)
		close(f->root);
	if (f->cwd >= 0)
		close(f->cwd);
	*f = (struct name_folders){-1, -1};
}

/* The file that @name leads to from the folder @from, if it is the one of @file. */
static int open_same(const char *from, const struct mapped_file *file, struct stat *st)
{
	char path[PATH_MAX + 64];
	int len = snprintf(path, sizeof(path), "%s/%s", from, file->path);
	int fd = len < (int)sizeof(path) ? open_regular(path, st) : -ENAMETOOLONG;

	if (fd >= 0 && (st->st_ino != file->inode || (uint64_t)st->st_size != file->size)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

int opened_files_open(const struct mapped_file *file, const struct name_folders *folders,
		      struct stat *st)
{
	char from[64];
	bool absolute = file->path && *file->path == '/';

	if (!file->path || !file->inode)
		return -ENOENT;
	if (absolute)
		snprintf(from, sizeof(from), "/proc/%d/root", file->pid);
	else if (file->dir_fd == AT_FDCWD)
		snprintf(from, sizeof(from), "/proc/%d/cwd", file->pid);
	else
		snprintf(from, sizeof(from), "/proc/%d/fd/%d", file->pid, file->dir_fd);
	int fd = open_same(from, file, st);
	int folder = absolute ? folders->root : file->dir_fd == AT_FDCWD ? folders->cwd : -1;
	if (fd >= 0 || folder < 0)
		return fd;
	snprintf(from, sizeof(from), "/proc/self/fd/%d", folder);
	return open_same(from, file, st);
}

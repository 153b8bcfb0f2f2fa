// SPDX-License-Identifier: LGPL-2.1-or-later
/* opened_files.c: see opened_files.h. A table of fixed size: what was opened last in a slot is
 * known.
 */
#include "user/values/write/opened_files.h"

#include "offline/base/open_regular.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
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

/* Where the link @link leads to, or -1. */
static int text_of(const char *link, char text[PATH_MAX])
{
	ssize_t n = readlink(link, text, PATH_MAX - 1);

	text[n > 0 ? n : 0] = 0;
	return *text == '/' ? 0 : -1;
}

bool mapped_file_is_on(const struct mapped_file *file, int fd, const struct stat *st)
{
	struct statfs fs;

	return st->st_dev == file->device ||
	       (!fstatfs(fd, &fs) &&
		(fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC));
}

/* Whether that is the file: a number and a size may be another one's, by chance or on purpose. */
static bool is_same(int fd, const struct stat *st, const struct mapped_file *file)
{
	return st->st_ino == file->inode && (uint64_t)st->st_size == file->size &&
	       (st->st_dev == file->device || st->st_mode & S_IROTH) &&
	       mapped_file_is_on(file, fd, st);
}

/* The file that the name leads to in the folder @root, which absolute links lead from as well: its
 * process may have another one than this. @base: the folder that the name is relative to. */
static int open_same(int root, const char *base, const struct mapped_file *file, struct stat *st)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	char path[2 * PATH_MAX + 1], link[32], top[PATH_MAX];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", root);
	/* As this process sees @base, the root's own name may be before it. */
	if (!text_of(link, top) && top[1] && !strncmp(base, top, strlen(top)))
		base += strlen(top);
	int len = snprintf(path, sizeof(path), "%s/%s", base, file->path);

	if (len >= (int)sizeof(path))
		return -ENAMETOOLONG;
	int found = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	int fd = found < 0 ? -errno : open_regular_found(found, st);
	if (fd >= 0 && !is_same(fd, st, file)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* As long as the process is there. */
static int open_by_process(const struct mapped_file *file, struct stat *st)
{
	char link[64], base[PATH_MAX] = "";

	if (*file->path != '/') {
		snprintf(link, sizeof(link),
			 file->dir_fd == AT_FDCWD ? "/proc/%d/cwd" : "/proc/%d/fd/%d", file->pid,
			 file->dir_fd);
		if (text_of(link, base))
			return -ENOENT;
	}
	snprintf(link, sizeof(link), "/proc/%d/root", file->pid);
	int root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = root < 0 ? -errno : open_same(root, base, file, st);
	if (root >= 0)
		close(root);
	return fd;
}

int opened_files_open(const struct mapped_file *file, const struct name_folders *folders,
		      struct stat *st)
{
	char link[64], base[PATH_MAX] = "";

	if (!file->path || !file->inode)
		return -ENOENT;
	int fd = open_by_process(file, st);
	bool absolute = *file->path == '/';
	if (fd >= 0 || folders->root < 0 || (!absolute && file->dir_fd != AT_FDCWD))
		return fd;
	if (!absolute) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", folders->cwd);
		if (folders->cwd < 0 || text_of(link, base))
			return fd;
	}
	return open_same(folders->root, base, file, st);
}

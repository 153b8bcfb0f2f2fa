// SPDX-License-Identifier: LGPL-2.1-or-later
/* folder.c: see folder.h. What was made is looked at by its descriptor before it is used: between
 * mkdirat() and openat() somebody who may write in the parent can put something else there. */
#include "offline/base/folder.h"

#include "offline/base/write_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_MODE = 0700, FILE_MODE = 0600, RANDOM_BYTES = 8, NEW_TRIES = 16 };

/* A path that is walked: what of it is left, from the folder @fd on. */
struct walk {
	int fd;
	int links; /* how many were followed */
	struct folder_owner owner;
	char rest[PATH_MAX];
};

static bool is_trusted(const struct stat *st, struct folder_owner owner)
{
	return !st->st_uid || st->st_uid == geteuid() ||
	       (owner.uid != (uid_t)-1 && st->st_uid == owner.uid);
}

/* Takes the descriptor @next in the place of the folder. */
static int go_to(struct walk *w, int next)
{
	int err = next < 0 ? -errno : 0;
	if (!err) {
		close(w->fd);
		w->fd = next;
	}
	return err;
}

/* Puts what the link @fd says in the place of its name; @after: what follows. */
static int follow_link(struct walk *w, int fd, const struct stat *st, const char *after)
{
	enum { LINKS_MAX = 40 }; /* as many as the kernel follows */
	char to[PATH_MAX], rest[PATH_MAX];
	if (!is_trusted(st, w->owner))
		return -EPERM;
	if (w->links++ == LINKS_MAX)
		return -ELOOP;
	ssize_t n = readlinkat(fd, "", to, sizeof(to) - 1);
	if (n < 0)
		return -errno;
	to[n] = 0;
	if (snprintf(rest, sizeof(rest), "%s%s%s", to, *after ? "/" : "", after) >=
	    (int)sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(w->rest, rest, sizeof(rest));
	return *to == '/' ? go_to(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) : 0;
}

/* One name further. Returns 1 where @name, the last one, is no link, 0, or -errno. */
static int step(struct walk *w, char name[FOLDER_NAME_MAX])
{
	char *at = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(at, "/");
	const char *after = at + len + strspn(at + len, "/");
	struct stat st;
	if (!len || len >= FOLDER_NAME_MAX)
		return len ? -ENAMETOOLONG : -EINVAL;
	memcpy(name, at, len);
	name[len] = 0;
	int fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		int err = errno;
		if (fd >= 0)
			close(fd);
		return err == ENOENT && !*after ? 1 : -err;
	}
	if (S_ISLNK(st.st_mode)) {
		int err = follow_link(w, fd, &st, after);
		close(fd);
		return err;
	}
	if (!*after) {
		close(fd);
		return !strcmp(name, ".") || !strcmp(name, "..") ? -EINVAL : 1;
	}
	if (!S_ISDIR(st.st_mode)) {
		close(fd);
		return -ENOTDIR;
	}
	memmove(w->rest, after, strlen(after) + 1);
	return go_to(w, fd);
}

int folder_parent(const char *path, struct folder_owner owner, char name[FOLDER_NAME_MAX])
{
	struct walk w = {.owner = owner};
	if (snprintf(w.rest, sizeof(w.rest), "%s", path) >= (int)sizeof(w.rest))
		return -ENAMETOOLONG;
	w.fd = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int end = w.fd < 0 ? -errno : 0;
	while (!end)
		end = step(&w, name);
	if (end < 0 && w.fd >= 0)
		close(w.fd);
	return end < 0 ? end : w.fd;
}

int folder_open(int parent_fd, const char *name)
{
	int fd = openat(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static bool is_ours(const struct stat *st, struct folder_owner owner)
{
	return st->st_uid == geteuid() || (owner.uid != (uid_t)-1 && st->st_uid == owner.uid);
}

bool folder_is_ours(int fd, struct folder_owner owner)
{
	struct stat st;
	return !fstat(fd, &st) && S_ISDIR(st.st_mode) && is_ours(&st, owner) &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* Whether nothing is in the folder @fd. */
static bool is_empty(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	bool empty = dir != NULL;
	while (empty && (entry = readdir(dir)))
		empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
	return empty;
}

/* O_PATH descriptors are neither chmod'ed nor chown'ed: this one is for reading. What this process
 * made a moment ago is its own, and empty: not an older folder of its own that was moved here. */
static int open_made(int parent_fd, const char *name, struct folder_owner owner)
{
	struct stat st;
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP || errno == ENOTDIR || errno == ENOENT ? -ESTALE : -errno;
	int err = fstat(fd, &st) ? -errno : 0;
	if (!err && (st.st_uid != geteuid() || !is_empty(fd)))
		err = -ESTALE;
	if (!err && fchmod(fd, FOLDER_MODE))
		err = -errno;
	if (!err && owner.uid != (uid_t)-1 && fchown(fd, owner.uid, owner.gid))
		err = -errno;
	if (err)
		close(fd);
	return err ? err : fd;
}

int folder_make(int parent_fd, const char *name, struct folder_owner owner)
{
	if (mkdirat(parent_fd, name, FOLDER_MODE))
		return -errno;
	int fd = open_made(parent_fd, name, owner);
	if (fd < 0 && fd != -ESTALE)
		unlinkat(parent_fd, name, AT_REMOVEDIR);
	return fd;
}

/* @prefix and digits that nobody knew before. */
static int new_name(const char *prefix, char name[FOLDER_NAME_MAX])
{
	uint64_t number;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	int n = snprintf(name, FOLDER_NAME_MAX, "%s%0*llx", prefix, 2 * RANDOM_BYTES,
			 (unsigned long long)number);
	return n < FOLDER_NAME_MAX ? 0 : -ENAMETOOLONG;
}

int folder_make_new(int parent_fd, const char *prefix, struct folder_owner owner,
		    char name[FOLDER_NAME_MAX])
{
	int fd = -EEXIST;
	for (int i = 0; i < NEW_TRIES && fd == -EEXIST; i++) {
		int err = new_name(prefix, name);
		fd = err ? err : folder_make(parent_fd, name, owner);
	}
	return fd;
}

int folder_create(int fd, const char *name, struct folder_owner owner)
{
	int file =
		openat(fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (file < 0)
		return -errno;
	int err = fchmod(file, FILE_MODE) ? -errno : 0;
	if (!err && owner.uid != (uid_t)-1 && fchown(file, owner.uid, owner.gid))
		err = -errno;
	if (err) {
		close(file);
		unlinkat(fd, name, 0);
	}
	return err ? err : file;
}

int folder_create_new(int fd, const char *prefix, struct folder_owner owner,
		      char name[FOLDER_NAME_MAX])
{
	int file = -EEXIST;
	for (int i = 0; i < NEW_TRIES && file == -EEXIST; i++) {
		int err = new_name(prefix, name);
		file = err ? err : folder_create(fd, name, owner);
	}
	return file;
}

bool folder_has(int fd, const char *name)
{
	struct stat st;
	return !fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW);
}

int folder_name_new(int fd, const char *from, const char *to)
{
	if (!renameat2(fd, from, fd, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* A file system that cannot say whether a name is taken while it gives it. */
	if (folder_has(fd, to))
		return -EEXIST;
	return renameat(fd, from, fd, to) ? -errno : 0;
}

void folder_remove(int fd, const char *name)
{
	if (!unlinkat(fd, name, 0))
		return;
	int inner = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = inner < 0 ? NULL : fdopendir(inner);
	struct dirent *entry;
	while (dir && (entry = readdir(dir)))
		unlinkat(inner, entry->d_name, 0);
	if (dir)
		closedir(dir);
	else if (inner >= 0)
		close(inner);
	unlinkat(fd, name, AT_REMOVEDIR);
}

static int write_bytes(int file, const uint8_t *at, size_t len, bool sync)
{
	int err = write_all(file, at, len);
	return err ? err : sync && fsync(file) ? -errno : 0;
}

#define NEW_MARK ".new-"

/* The file with its mode, and when it is wanted on the disk. */
struct finish {
	mode_t mode;
	bool sync;
};

static int write_as(int fd, const char *name, const void *bytes, size_t len,
		    struct folder_owner owner, const struct finish *finish)
{
	char prefix[FOLDER_NAME_MAX], temp[FOLDER_NAME_MAX];
	if (snprintf(prefix, sizeof(prefix), "%s" NEW_MARK, name) >= (int)sizeof(prefix))
		return -ENAMETOOLONG;
	int file = folder_create_new(fd, prefix, owner, temp);
	if (file < 0)
		return file;
	int err = write_bytes(file, bytes, len, finish->sync);
	if (!err && finish->mode != FILE_MODE && fchmod(file, finish->mode))
		err = -errno;
	if (close(file) && !err)
		err = -errno;
	if (!err && renameat(fd, temp, fd, name))
		err = -errno;
	if (err)
		unlinkat(fd, temp, 0);
	return err;
}

int folder_write(int fd, const char *name, const void *bytes, size_t len, struct folder_owner owner,
		 bool sync)
{
	return write_as(fd, name, bytes, len, owner, &(struct finish){FILE_MODE, sync});
}

int folder_write_as(int fd, const char *name, const void *bytes, size_t len,
		    struct folder_owner owner, mode_t mode)
{
	return write_as(fd, name, bytes, len, owner, &(struct finish){mode, false});
}

bool folder_is_half_written(const char *name, const char *of)
{
	size_t len = strlen(of), mark = strlen(NEW_MARK);
	const char *digits = name + len + mark;
	return !strncmp(name, of, len) && !strncmp(name + len, NEW_MARK, mark) &&
	       strlen(digits) == 2 * RANDOM_BYTES &&
	       strspn(digits, "0123456789abcdef") == 2 * RANDOM_BYTES;
}

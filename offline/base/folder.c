// SPDX-License-Identifier: LGPL-2.1-or-later
/* folder.c: see folder.h. What was made is looked at by its descriptor before it is used: between
 * mkdirat() and openat() somebody who may write in the parent can put something else there. */
#include "offline/base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_MODE = 0700, FILE_MODE = 0600, RANDOM_BYTES = 8, NEW_TRIES = 16 };

int folder_parent(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char *dir = !slash	    ? strdup(".")
		    : slash == path ? strdup("/")
				    : strndup(path, slash - path);
	int fd = dir ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	int err = fd < 0 ? dir ? -errno : -ENOMEM : 0;
	free(dir);
	*name = slash ? slash + 1 : path;
	return err ? err : fd;
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

int folder_is_ours(int fd, struct folder_owner owner)
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

static int write_bytes(int file, const uint8_t *at, size_t len)
{
	while (len) {
		ssize_t n = write(file, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= n;
	}
	return fsync(file) ? -errno : 0;
}

int folder_write(int fd, const char *name, const void *bytes, size_t len, struct folder_owner owner)
{
	char prefix[FOLDER_NAME_MAX], temp[FOLDER_NAME_MAX];
	int file = -EEXIST;
	if (snprintf(prefix, sizeof(prefix), "%s.new-", name) >= (int)sizeof(prefix))
		return -ENAMETOOLONG;
	for (int i = 0; i < NEW_TRIES && file == -EEXIST; i++) {
		int err = new_name(prefix, temp);
		file = err ? err : folder_create(fd, temp, owner);
	}
	if (file < 0)
		return file;
	int err = write_bytes(file, bytes, len);
	if (close(file) && !err)
		err = -errno;
	if (!err && renameat(fd, temp, fd, name))
		err = -errno;
	if (err)
		unlinkat(fd, temp, 0);
	return err;
}

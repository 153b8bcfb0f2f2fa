// SPDX-License-Identifier: LGPL-2.1-or-later
/* own_cache.c: see own_cache.h. Folders are found and made by their descriptors; a link of anybody
 * else on the way is not followed (offline/base/folder.h). */
#include "user/file/own_cache.h"

#include "offline/base/folder.h"
#include "offline/base/open_regular.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *own_cache_path(const char *what, const char *name)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool has_xdg = xdg && *xdg == '/';
	char *path = NULL;
	if (!has_xdg && !(home && *home))
		return NULL;
	if (asprintf(&path, "%s%s/pugmark/%s%s%s", has_xdg ? xdg : home, has_xdg ? "" : "/.cache",
		     what ? what : "", what ? "/" : "", name) < 0)
		return NULL;
	return path;
}

/* The folder of @path, which is ours alone, and the name in it. Returns a descriptor or -errno. */
static int open_folder(const char *path, char name[FOLDER_NAME_MAX])
{
	int fd = folder_parent(path, FOLDER_OWN, name);
	if (fd < 0 || folder_is_ours(fd, FOLDER_OWN))
		return fd;
	close(fd);
	return -EPERM;
}

/* Those on the way to @path that are not there. */
static int make_folders(const char *path)
{
	char name[FOLDER_NAME_MAX], *copy = strdup(path);
	int err = copy ? 0 : -ENOMEM;
	for (char *slash = copy; !err && slash && (slash = strchr(slash + 1, '/'));) {
		*slash = 0;
		int fd = folder_parent(copy, FOLDER_OWN, name);
		if (fd >= 0) {
			err = mkdirat(fd, name, 0700) && errno != EEXIST ? -errno : 0;
			close(fd);
		} else if (fd != -EINVAL) {
			err = fd;
		}
		*slash = '/';
	}
	free(copy);
	return err;
}

int own_cache_read(const char *path, uint64_t max_bytes, struct private_file *out)
{
	char name[FOLDER_NAME_MAX];
	struct stat st;
	int folder = open_folder(path, name);
	if (folder < 0)
		return folder;
	int fd = open_regular_at(folder, name, &st);
	close(folder);
	if (fd < 0)
		return fd;
	bool ours = st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
	int err = ours ? private_file_read(fd, max_bytes, out) : -EPERM;
	close(fd);
	return err;
}

int own_cache_write(const char *path, const void *bytes, size_t len)
{
	char name[FOLDER_NAME_MAX];
	int err = make_folders(path);
	int folder = err ? err : open_folder(path, name);
	if (folder < 0)
		return folder;
	err = folder_write(folder, name, bytes, len, FOLDER_OWN, false);
	close(folder);
	return err;
}

void own_cache_remove(const char *path)
{
	char name[FOLDER_NAME_MAX];
	int folder = open_folder(path, name);
	if (folder < 0)
		return;
	unlinkat(folder, name, 0);
	close(folder);
}

const char *own_cache_why(int err)
{
	return err == -EPERM
		       ? "it, or a link on the way, belongs to another user, or others may write "
			 "there"
		       : private_file_why(err);
}

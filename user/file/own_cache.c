// SPDX-License-Identifier: LGPL-2.1-or-later
/* own_cache.c: see own_cache.h. Folders are found and made by their descriptors; a link of anybody
 * else on the way is not followed (offline/base/folder.h). */
#include "user/file/own_cache.h"

#include "offline/base/folder.h"
#include "offline/base/open_regular.h"
#include "offline/base/write_all.h"
#include "user/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* ---- from within a sandbox ---- */

enum { OP_READ = 'R', OP_WRITE = 'W', OP_REMOVE = 'D' };

static int ask_to_read(const char *path, uint64_t max_bytes, struct private_file *out)
{
	int fd, err = sandbox_ask(OP_READ, path, -1, &fd);
	if (err || fd < 0)
		return err ? err : -EIO;
	err = private_file_read(fd, max_bytes, out);
	close(fd);
	return err;
}

static int memory_of(const void *bytes, size_t len)
{
	int fd = memfd_create("pugmark-cache", MFD_CLOEXEC);
	int err = fd < 0 ? -errno : write_all(fd, bytes, len);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

static int ask_to_write(const char *path, const void *bytes, size_t len)
{
	int fd = memory_of(bytes, len), none;
	if (fd < 0)
		return fd;
	int err = sandbox_ask(OP_WRITE, path, fd, &none);
	close(fd);
	return err;
}

/* Whether @path is of a file that a sandbox may have. */
static bool may_have(const char *path, const char *tag, char op)
{
	static const char *const folders[] = {"plans", "taken-out", "counted"};
	char *costs = own_cache_path(NULL, "costs.json");
	bool may = costs && op == OP_READ && !strcmp(path, costs);
	free(costs);
	for (size_t i = 0; !may && i < sizeof(folders) / sizeof(*folders); i++) {
		char *start = own_cache_path(folders[i], tag);
		size_t len = start ? strlen(start) : 0;
		may = len && !strncmp(path, start, len) &&
		      !path[len + strspn(path + len, "0123456789abcdef-.pln")];
		free(start);
	}
	return may;
}

int own_cache_answer(void *tag, char op, const char *path, int sent, int *fd)
{
	struct private_file file = {.bytes = NULL};
	if (!may_have(path, tag, op))
		return -EPERM;
	if (op == OP_REMOVE) {
		own_cache_remove(path);
		return 0;
	}
	int err = op == OP_READ ? own_cache_read(path, SANDBOX_RESULT_MAX, &file)
		  : sent < 0	? -EBADF
				: private_file_read(sent, SANDBOX_RESULT_MAX, &file);
	if (!err && op == OP_WRITE) {
		err = own_cache_write(path, file.bytes, file.len_bytes);
	} else if (!err) {
		*fd = memory_of(file.bytes, file.len_bytes);
		err = *fd < 0 ? *fd : 0;
	}
	private_file_free(&file);
	return err;
}

int own_cache_read(const char *path, uint64_t max_bytes, struct private_file *out)
{
	if (sandbox_is_inside())
		return ask_to_read(path, max_bytes, out);
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
	if (sandbox_is_inside())
		return ask_to_write(path, bytes, len);
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
	int none;
	if (sandbox_is_inside()) {
		sandbox_ask(OP_REMOVE, path, -1, &none);
		return;
	}
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

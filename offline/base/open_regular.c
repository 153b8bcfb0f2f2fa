// SPDX-License-Identifier: LGPL-2.1-or-later
/* open_regular.c: see open_regular.h. O_PATH finds the file without opening it; the link to it in
 * /proc/self/fd is what is opened then. In a sandbox (user/sandbox/broker.h) what is found is open
 * for reading already: it was found and opened there in the same way. */
#include "offline/base/open_regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int open_regular_found(int found, struct stat *st)
{
	char link[32];
	struct stat own;
	st = st ? st : &own;
	int fd = fstat(found, st) ? -errno : 0;
	if (!fd && S_ISDIR(st->st_mode))
		fd = -EISDIR;
	else if (!fd && S_ISLNK(st->st_mode))
		fd = -ELOOP;
	else if (!fd && !S_ISREG(st->st_mode))
		fd = -ENXIO;
	if (!fd && !(fcntl(found, F_GETFL) & O_PATH))
		return found;
	if (!fd) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
		fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		fd = fd < 0 ? -errno : fd;
	}
	close(found);
	return fd;
}

int open_regular(const char *path, struct stat *st)
{
	int found = open(path, O_PATH | O_CLOEXEC);
	return found < 0 ? -errno : open_regular_found(found, st);
}

int open_regular_at(int dir_fd, const char *name, struct stat *st)
{
	int found = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return found < 0 ? -errno : open_regular_found(found, st);
}

FILE *open_regular_stream(const char *path)
{
	int fd = open_regular(path, NULL);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	int err = fd < 0 ? -fd : errno;
	if (!file && fd >= 0)
		close(fd);
	errno = err;
	return file;
}

const char *open_regular_why(int err)
{
	return err == -ENXIO
		       ? "not a regular file (a FIFO, a socket or a device is not read: write what "
			 "comes from it to a file, and give that)"
		       : strerror(-err);
}

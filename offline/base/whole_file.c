// SPDX-License-Identifier: LGPL-2.1-or-later
/* whole_file.c: a file that readers see as it was or as it will be, never in between: written next
 * to where it belongs, and renamed. What cannot be renamed over without destroying it (a device, a
 * pipe) is written straight; a symbolic link stays, and what it leads to is replaced. */
#include "offline/base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int write_all(int fd, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	while (len) {
		ssize_t n = write(fd, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= n;
	}
	return 0;
}

static int write_to(int fd, const void *bytes, size_t len)
{
	int err = fd < 0 ? -errno : write_all(fd, bytes, len);
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	return err;
}

/* Replaces @path, which is no link; @old: what is there, or NULL. */
static int replace(const char *path, const struct stat *old, const void *bytes, size_t len)
{
	char *temp = NULL;
	if (asprintf(&temp, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	int fd = mkostemp(temp, O_CLOEXEC), err = fd < 0 ? -errno : 0;
	if (fd >= 0) {
		/* Whoever it belonged to keeps it, where this user may say so. */
		if (old && fchown(fd, old->st_uid, old->st_gid) && errno != EPERM)
			err = -errno;
		if (!err && fchmod(fd, old ? old->st_mode & 07777 : 0644))
			err = -errno;
		int failed = write_to(fd, bytes, len);
		err = err ? err : failed;
		if (!err && rename(temp, path))
			err = -errno;
		if (err)
			unlink(temp);
	}
	free(temp);
	return err;
}

int whole_file_write(const char *path, const void *bytes, size_t len)
{
	struct stat st;
	if (stat(path, &st)) {
		if (errno != ENOENT)
			return -errno;
		/* Nothing there, or a link to nothing: what it leads to is made then. */
		if (lstat(path, &st))
			return errno == ENOENT ? replace(path, NULL, bytes, len) : -errno;
		return write_to(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644), bytes, len);
	}
	if (!S_ISREG(st.st_mode))
		return write_to(open(path, O_WRONLY | O_CLOEXEC), bytes, len);
	char *real = realpath(path, NULL);
	int err = real ? replace(real, &st, bytes, len) : -errno;
	free(real);
	return err;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* whole_file.c: a file that readers see as it was or as it will be, never in between: written next
 * to where it belongs, and renamed. What cannot be renamed over without destroying it (a device, a
 * pipe) is written straight; a symbolic link stays, and what it leads to is replaced, unless the
 * link belongs to another user (folder.h). */
#include "offline/base/whole_file.h"

#include "offline/base/folder.h"
#include "offline/base/write_all.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_to(int fd, const void *bytes, size_t len)
{
	int err = fd < 0 ? -errno : write_all(fd, bytes, len);
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	return err;
}

/* Whoever @old belonged to keeps it, where this user may say so. */
static int replace(int folder, const char *name, const struct stat *old, const void *bytes,
		   size_t len)
{
	struct folder_owner owner = {old->st_uid, old->st_gid};
	mode_t mode = old->st_mode & 07777;
	int err = folder_write_as(folder, name, bytes, len, owner, mode);
	return err == -EPERM ? folder_write_as(folder, name, bytes, len, FOLDER_OWN, mode) : err;
}

/* A device, or a FIFO that somebody reads: to open one that nobody does would wait for him. */
static int open_taker(int folder, const char *name)
{
	int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && fcntl(fd, F_SETFL, 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

int whole_file_write(const char *path, const void *bytes, size_t len)
{
	char name[FOLDER_NAME_MAX];
	struct stat st;
	int folder = folder_parent(path, FOLDER_OWN, name), err;
	if (folder < 0)
		return folder == -EINVAL ? -EISDIR : folder;
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW))
		err = errno == ENOENT ? folder_write_as(folder, name, bytes, len, FOLDER_OWN, 0644)
				      : -errno;
	else if (S_ISREG(st.st_mode))
		err = replace(folder, name, &st, bytes, len);
	else
		err = write_to(open_taker(folder, name), bytes, len);
	close(folder);
	return err;
}

const char *whole_file_why(int err)
{
	return err == -ENXIO
		       ? "a FIFO that nobody reads, or a socket (start its reader first, or give a "
			 "file)"
		       : strerror(-err);
}

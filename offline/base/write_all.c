// SPDX-License-Identifier: LGPL-2.1-or-later
/* write_all.c: see write_all.h. */
#include "offline/base/write_all.h"

#include <errno.h>
#include <unistd.h>

int write_all(int fd, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	while (len) {
		ssize_t n = write(fd, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		at += n;
		len -= n;
	}
	return 0;
}

int pwrite_all(int fd, const void *bytes, size_t len, uint64_t off)
{
	const uint8_t *at = bytes;
	while (len) {
		ssize_t n = pwrite(fd, at, len, off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		at += n;
		off += n;
		len -= n;
	}
	return 0;
}

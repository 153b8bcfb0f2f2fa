/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* as_file.h: an input as a file, for readers that take a path: memory, always the same. */
#ifndef TESTS_FUZZ_AS_FILE_H
#define TESTS_FUZZ_AS_FILE_H

#include "tests/fuzz/must.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A path that leads to these bytes until the next call. */
static inline const char *as_file(const uint8_t *data, size_t size)
{
	static char path[32];
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

#endif

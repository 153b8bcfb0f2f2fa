// SPDX-License-Identifier: LGPL-2.1-or-later
/* segment_find.c: segment_find() of segment.h. */
#include "offline/log/segment.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { SEARCH_BYTES = 8192 };

/* Where from @off on the file has bytes, or @size. A hole reads as zeros, and no header starts with
 * one. */
static uint64_t skip_hole(int fd, uint64_t off, uint64_t size)
{
	off_t data = lseek(fd, (off_t)off, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? size : off; /* else it does not tell its holes */
	return (uint64_t)data > off ? (uint64_t)data : off;
}

/* The first intact header that lies whole in these bytes; @n: there is none. */
static size_t find_here(const uint8_t *bytes, size_t n)
{
	struct segment_header header;

	for (size_t at = 0; at + SEGMENT_HEADER_BYTES <= n; at++) {
		const uint8_t *hit =
			memmem(bytes + at, n - at, segment_magic, sizeof(segment_magic));

		if (!hit || (size_t)(hit - bytes) + SEGMENT_HEADER_BYTES > n)
			return n;
		at = (size_t)(hit - bytes);
		if (!segment_header_read(hit, &header))
			return at;
	}
	return n;
}

uint64_t segment_find(int fd, uint64_t off, uint64_t size)
{
	uint8_t bytes[SEARCH_BYTES];

	while ((off = skip_hole(fd, off, size)) < size) {
		ssize_t n = pread(fd, bytes, sizeof(bytes), (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < SEGMENT_HEADER_BYTES)
			return size;
		size_t at = find_here(bytes, (size_t)n);
		if (at < (size_t)n)
			return off + at;
		off += (size_t)n - (SEGMENT_HEADER_BYTES - 1); /* one may begin there */
	}
	return size;
}

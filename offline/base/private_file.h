/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* private_file.h: a whole file in memory that nobody else can change. What is checked once and used
 * later must not lie in a mapping of the file: whoever may write the file changes what was checked,
 * and whoever cuts it short makes the reader fault. */
#ifndef OFFLINE_BASE_PRIVATE_FILE_H
#define OFFLINE_BASE_PRIVATE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct private_file {
	const uint8_t *bytes;		/* read-only; NULL where it is empty */
	uint64_t len_bytes, read_bytes; /* read_bytes: what of it was read, which takes memory */
	struct stat st;			/* of the file, as it was when it was read */
};

/* No file that is read whole may be larger. (Holes take no memory.) */
#define PRIVATE_FILE_MAX (UINT64_C(4) << 30)

/* Reads all of the regular file @fd, which stays open. Returns 0, and @out is freed by
 * private_file_free(); or -errno: -EFBIG more than @max_bytes, -EBUSY it was written to while it
 * was read, several times over, -ENOMEM. */
int private_file_read(int fd, uint64_t max_bytes, struct private_file *out);
/* The next part of a file of @len bytes that is wanted, from *@off to *@end, as what was read so
 * far says: @bytes, which have zeros elsewhere. @step counts from 0. Returns false: nothing more
 * is. */
typedef bool private_file_parts(const uint8_t *bytes, uint64_t len, uint32_t step, uint64_t *off,
				uint64_t *end);
/* The same, but that only these parts are read, of @max_bytes in all: the rest is zeros, and takes
 * no memory. Where one is no part of the file, or they are longer together than it, all is read. */
int private_file_read_parts(int fd, uint64_t max_bytes, private_file_parts *parts,
			    struct private_file *out);
/* Opens by open_regular() and reads. */
int private_file_open(const char *path, uint64_t max_bytes, struct private_file *out);
int private_file_open_at(int dir_fd, const char *name, uint64_t max_bytes,
			 struct private_file *out);
/* A copy of the regular file @fd as a descriptor, for libraries that read by those: memory that
 * nobody can write to any more. Returns a descriptor, which the caller closes, or -errno. */
int private_file_copy(int fd, uint64_t max_bytes);
void private_file_free(struct private_file *file);
/* Why, in words, of what these return. Borrowed, until the next call. */
const char *private_file_why(int err);
/* Whether @err says nothing of what is in the file: memory, descriptors or a disk that failed, or
 * the file is being written to, or is larger than any that is read. */
bool private_file_unknown(int err);

#endif

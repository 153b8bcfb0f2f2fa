/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* as_folder.h: an input as a folder of files. It is members one after the other: a byte, which
 * names one of the target's files (modulo their number), three bytes of length, low first, and the
 * contents; the last may be cut. So that a changed byte reaches a reader and not only a checksum,
 * the checksums of plans and of segments are made to hold; meta.json's does not need to.
 * seeds-from-folder.py makes such inputs of real folders. */
#ifndef TESTS_FUZZ_AS_FOLDER_H
#define TESTS_FUZZ_AS_FOLDER_H

#include "offline/log/segment.h"
#include "tests/fuzz/as_file.h"

#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum { AS_FOLDER_PLAN_CRC = 12, AS_FOLDER_PLAN_FROM = 16, AS_FOLDER_PLAN_MIN = 112 };

static char as_folder_dir[64];

static inline int as_folder_remove(const char *path, const struct stat *st, int kind,
				   struct FTW *at)
{
	(void)st, (void)kind;
	return at->level ? remove(path) : 0;
}

static inline void as_folder_empty(void)
{
	nftw(as_folder_dir, as_folder_remove, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void as_folder_end(void)
{
	as_folder_empty();
	rmdir(as_folder_dir);
}

static inline void as_folder_mend_plan(uint8_t *bytes, size_t len)
{
	if (len < AS_FOLDER_PLAN_MIN)
		return;
	uint64_t whole = len;
	memcpy(bytes + AS_FOLDER_PLAN_FROM, &whole, sizeof(whole));
	uint32_t crc = crc32(0, bytes + AS_FOLDER_PLAN_FROM, len - AS_FOLDER_PLAN_FROM);
	memcpy(bytes + AS_FOLDER_PLAN_CRC, &crc, sizeof(crc));
}

static inline void as_folder_mend_segments(uint8_t *bytes, size_t len)
{
	enum { AT_STORED = 32, AT_CRC = 36, AT_HEADER_CRC = 60 };
	uint32_t stored, crc;
	for (size_t at = 0; len - at >= SEGMENT_HEADER_BYTES; at += stored) {
		uint8_t *header = bytes + at;
		at += SEGMENT_HEADER_BYTES;
		memcpy(header, segment_magic, sizeof(segment_magic));
		memcpy(&stored, header + AT_STORED, sizeof(stored));
		stored = stored < len - at ? stored : (uint32_t)(len - at);
		memcpy(header + AT_STORED, &stored, sizeof(stored));
		crc = crc32(0, bytes + at, stored);
		memcpy(header + AT_CRC, &crc, sizeof(crc));
		crc = crc32(0, header, AT_HEADER_CRC);
		memcpy(header + AT_HEADER_CRC, &crc, sizeof(crc));
	}
}

static inline bool as_folder_ends(const char *name, const char *with)
{
	size_t n = strlen(name), m = strlen(with);
	return n >= m && !strcmp(name + n - m, with);
}

static inline void as_folder_write(const char *name, const uint8_t *data, size_t len)
{
	char path[160], *slash;
	uint8_t *bytes = malloc(len + 1);
	MUST(bytes);
	memcpy(bytes, data, len);
	if (as_folder_ends(name, ".pmp"))
		as_folder_mend_plan(bytes, len);
	else if (as_folder_ends(name, "events") || as_folder_ends(name, "captures"))
		as_folder_mend_segments(bytes, len);
	snprintf(path, sizeof(path), "%s/%s", as_folder_dir, name);
	if ((slash = strrchr(path + strlen(as_folder_dir) + 1, '/'))) {
		*slash = 0;
		mkdir(path, 0700);
		*slash = '/';
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	MUST(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	close(fd);
	free(bytes);
}

/* The folder with these files, until the next call. */
static inline const char *as_folder(const uint8_t *data, size_t size, const char *const *names,
				    unsigned n_names)
{
	if (!*as_folder_dir) {
		const char *tmp = getenv("TMPDIR");
		snprintf(as_folder_dir, sizeof(as_folder_dir), "%.40s/fuzzXXXXXX",
			 tmp ? tmp : "/tmp");
		MUST(mkdtemp(as_folder_dir));
		atexit(as_folder_end);
	}
	as_folder_empty();
	for (size_t at = 0; size - at >= 4;) {
		const char *name = names[data[at] % n_names];
		size_t len = data[at + 1] | data[at + 2] << 8 | (size_t)data[at + 3] << 16;
		at += 4;
		len = len < size - at ? len : size - at;
		as_folder_write(name, data + at, len);
		at += len;
	}
	return as_folder_dir;
}

#endif

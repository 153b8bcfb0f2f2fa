/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* elf_survive.h: the claim that holds for files of any bytes: a one-line error, or an image that
 * keeps elf_image.h's promises; never a crash, a hang or memory out of proportion. */
#ifndef TESTS_UNIT_ELF_SURVIVE_H
#define TESTS_UNIT_ELF_SURVIVE_H

#include "tests/unit/elf/elf_helper.h"

#include <errno.h>
#include <malloc.h>
#include <time.h>

/* Live bytes of one image, in proportion to its file; a little for the fixed parts. */
#define MEMORY_FACTOR 8
#define MEMORY_FIXED 65536
#define SECONDS_LIMIT 2.0

static inline size_t live_bytes(void)
{
	struct mallinfo2 info = mallinfo2();
	return info.uordblks + info.hblkhd;
}

static inline double cpu_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* Opens @bytes and, if that works, checks what came of it; returns the error. */
static inline int survive(const uint8_t *bytes, size_t len)
{
	struct pugmark_diag diag = {.offset = 1};
	struct elf_image *image = NULL;
	size_t before = live_bytes();
	double start = cpu_seconds();
	int err = open_bytes(bytes, len, &image, &diag);
	assert_true(cpu_seconds() - start < SECONDS_LIMIT);
	assert_true(live_bytes() - before < len * MEMORY_FACTOR + MEMORY_FIXED ||
		    live_bytes() < before);
	if (err) {
		assert_null(image);
		assert_true(err == -ENOEXEC || err == -EBADMSG);
		assert_true(diag.text[0] && !strchr(diag.text, '\n'));
		assert_non_null(strstr(diag.file, "/proc/self/fd/"));
		return err;
	}
	check_image(image);
	elf_image_free(image);
	return 0;
}

#endif

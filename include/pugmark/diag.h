/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* diag.h: what went wrong, where, in words. A library function that fails fills one of these and
 * returns -errno; the command prints it once. The library itself never prints and never exits. */
#ifndef PUGMARK_DIAG_H
#define PUGMARK_DIAG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PUGMARK_NO_OFFSET UINT64_MAX

struct pugmark_diag {
	char file[256];	 /* the file that the message is about, cut at the front when too long */
	uint64_t offset; /* byte offset in that file, or PUGMARK_NO_OFFSET */
	char text[512];	 /* one line, no newline: what is wrong (what to do) */
};

/* Fills @diag (which may be NULL) and returns @err, so that a failing function can end with
 * `return pugmark_diag_set(diag, -EINVAL, path, off, "...")`. */
int pugmark_diag_set(struct pugmark_diag *diag, int err, const char *file, uint64_t offset,
		     const char *format, ...) __attribute__((format(printf, 5, 6)));

#ifdef __cplusplus
}
#endif

#endif

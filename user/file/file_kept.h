/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* file_kept.h: what was found out before about a binary and a plan of it, in the cache
 * (own_cache.h): to find it out anew takes the model of the binary, and most of the time of an
 * attach. */
#ifndef USER_FILE_KEPT_H
#define USER_FILE_KEPT_H

#include "offline/base/private_file.h"

#include <pugmark/plan.h>

#include <stddef.h>

/* An answer, in the file that it was read from. */
struct file_kept {
	struct private_file file;
	const void *bytes;
	size_t len;
};

/* Where the answer to @question about the file @path and these @n_sites of @plan is kept; the
 * caller frees. NULL: nowhere. The name is a digest of the file's bytes, of which file it is and
 * since when it is as it is, and of the plan: what is found for one file is none of another's,
 * though that has the same bytes. @version: raised when the same question would be answered
 * differently. */
char *file_kept_path(const char *question, unsigned version, const char *path,
		     const struct pugmark_plan *plan, const struct pugmark_plan_site *sites,
		     uint32_t n_sites);
/* Reads the answer that is kept at @kept (NULL: there is none). Returns 0, and @out is released by
 * file_kept_deinit(), or -errno: there is none, or it is not as it was written (-EBADMSG). */
int file_kept_read(const char *kept, struct file_kept *out);
void file_kept_deinit(struct file_kept *answer);
/* Keeps it. A failure costs the next one time, and is no error. */
void file_kept_write(const char *kept, const void *bytes, size_t len);

#endif

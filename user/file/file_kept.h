/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* file_kept.h: what was found out before about a binary and a plan of it, in the cache
 * (own_cache.h): to find it again takes the model of the binary, which is most of the time of an
 * attach. */
#ifndef USER_FILE_KEPT_H
#define USER_FILE_KEPT_H

#include <pugmark/plan.h>

/* Where the answer to @question about the file @path and these @n_sites of @plan is kept
 * (own_cache_read(), own_cache_write()); the caller frees. NULL: nowhere. The name is a digest of
 * the file's bytes, of which file it is and since when it is as it is, and of the plan: what is
 * found for one file is none of another's, though that has the same bytes. @version: raised when
 * the same question would be answered differently. */
char *file_kept_path(const char *question, unsigned version, const char *path,
		     const struct pugmark_plan *plan, const struct pugmark_plan_site *sites,
		     uint32_t n_sites);

#endif

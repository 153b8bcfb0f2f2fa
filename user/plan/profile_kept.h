/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* profile_kept.h: what was counted in recordings, kept in the cache: the turns of a round are all
 * planned by the same recordings, and to count in these takes longer than to plan. */
#ifndef USER_PROFILE_KEPT_H
#define USER_PROFILE_KEPT_H

#include "user/plan/profile.h"

/* Where the counts of @model in the recordings @dirs are kept, by what these say of themselves;
 * @most_events as profile_read() has it, @tag as the planning options have it. The caller frees;
 * NULL: they cannot be kept. */
char *profile_kept_path(const struct pugmark_model *model, const char *const *dirs, uint32_t n,
			uint64_t most_events, const char *tag);
/* Returns 0 and a profile that the caller releases with profile_deinit(), or -errno: there is none
 * there, or none of such a binary (-EBADMSG). */
int profile_kept_read(const char *path, const struct pugmark_model *model, struct profile *out);
/* Returns 0 or -errno. */
int profile_kept_write(const char *path, const struct pugmark_model *model,
		       const struct profile *profile);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* profile.h: how often the blocks of a binary ran in an earlier recording of it, for planning by
 * what happens instead of by estimates. */
#ifndef USER_PROFILE_H
#define USER_PROFILE_H

#include <pugmark/model.h>

struct profile {
	uint64_t *counts; /* per block of the model; UINT64_MAX: not known */
	uint32_t hash;	  /* of what was counted: plans by other counts are other plans */
	uint64_t events;  /* recovered, of that binary */
};

/* Recovers the recording in @dir and counts, over all of its threads: each call site, each
 * activation of a function, and each block and branch that its plan had a witness for; of a
 * recording of level paths, each block. Returns 0
 * and a profile that the caller releases with profile_deinit(), or -errno with @diag filled
 * (-ENOENT: @model's binary is not in it). */
int profile_read(const char *dir, const struct pugmark_model *model, struct profile *out,
		 struct pugmark_diag *diag);
void profile_deinit(struct profile *profile);

#endif

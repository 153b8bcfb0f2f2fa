/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* profile.h: how often the blocks of a binary ran in earlier recordings of it, for planning by
 * what happens instead of by estimates. */
#ifndef USER_PROFILE_H
#define USER_PROFILE_H

#include <pugmark/model.h>

#include "offline/share/share_functions.h"

struct profile {
	uint64_t *counts;	  /* per block of the model; UINT64_MAX: not known */
	uint32_t hash;		  /* of what was counted: plans by other counts are other plans */
	uint64_t events;	  /* recovered, of that binary */
	double seconds;		  /* in which that was */
	struct share_call *calls; /* by pointers, by functions of the model, in order */
	uint32_t n_calls;
};

/* Recovers the recordings in @dirs and counts, over all of their threads: each call site, each
 * activation of a function, and each block and branch that their plans had a witness for; of a
 * recording of level paths, each block. A recording by a plan that another one's counts have chosen
 * has witnesses elsewhere, so that the two know more than each of them. Where one is a turn, or
 * another share of functions, what each of them has counted is weighed by its time, otherwise by
 * its calls. @most_events: count of each about so many events, from its
 * beginning on; 0: all. Returns 0 and a
 * profile that the caller releases with profile_deinit(), or -errno with @diag filled (-ENOENT:
 * @model's binary is not in one of them). */
int profile_read(const char *const *dirs, uint32_t n, const struct pugmark_model *model,
		 uint64_t most_events, struct profile *out, struct pugmark_diag *diag);
void profile_deinit(struct profile *profile);

#endif

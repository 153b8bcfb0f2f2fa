/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* divergence_words.h: where runs parted, for people. */
#ifndef USER_SHARE_DIVERGENCE_WORDS_H
#define USER_SHARE_DIVERGENCE_WORDS_H

#include "offline/share/share_merge.h"

#include <stdio.h>

/* Says how the runs under the @n_shares shares of @plan parted: where, the last landmark that they
 * have in common, and the first that differs, with who has what. */
void divergence_write(const struct share_divergence *d, const struct pugmark_plan *plan,
		      uint32_t n_shares, FILE *out);

/* A site as people know it: its function, with the distance from its entry if it is not there. */
void landmark_site_write(const struct pugmark_plan *plan, uint32_t site, FILE *out);

#endif

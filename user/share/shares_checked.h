/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shares_checked.h: `pugmark plan --check --plan FOLDER`: the proof that runs under the shares of a
 * folder can be put together, or what is wrong. */
#ifndef USER_SHARES_CHECKED_H
#define USER_SHARES_CHECKED_H

#include "user/cli/outbuf.h"

#include <pugmark/plan.h>

/* The shares that `plan --shares` has written to a folder. */
struct shares_read {
	struct pugmark_plan *plans[64];
	uint32_t n;
	struct pugmark_plan whole; /* all sites of all shares: borrows from the first */
	struct pugmark_plan_site *sites;
	uint64_t *members; /* per site, a bit for each share */
};

/* Reads DIR/share-1.pmp and so on. Returns 0 and shares that the caller releases, or -errno with
 * @diag filled (-EINVAL: they are not those of one set, or one is missing). */
int shares_read(const char *dir, struct shares_read *out, struct pugmark_diag *diag);
void shares_read_deinit(struct shares_read *shares);
/* Proves them and prints what comes out. Returns 0, -EILSEQ where there are faults, or -errno. */
int shares_checked(const struct shares_read *shares, const char *dir, bool json, struct outbuf *out,
		   struct pugmark_diag *diag);

#endif

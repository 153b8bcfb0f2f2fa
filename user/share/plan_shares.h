/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_shares.h: `pugmark plan --shares`: makes shares, writes them, and says what each costs. */
#ifndef USER_SHARE_PLAN_SHARES_H
#define USER_SHARE_PLAN_SHARES_H

#include "offline/share/share.h"
#include "user/plan/planning.h"

/* "fine", "function", "optimized", "best", or false. */
bool plan_shares_grouping(const char *name, enum share_grouping *out);
/* Makes the shares of @binary that @shares asks for, writes them into the folder options->output
 * and prints their table, as JSON or text. 0, or -errno with @diag filled. */
int plan_shares(const char *binary, const struct planning_options *options,
		const struct share_options *shares, bool json, struct pugmark_diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* share_plan.h: what shares rely on in a plan that somebody handed over, beyond what each reader of
 * plans checks. */
#ifndef USER_SHARE_PLAN_H
#define USER_SHARE_PLAN_H

#include <pugmark/plan.h>

/* Returns 0 where each function's decisions lead to its own nodes or to its exit; -EBADMSG with
 * @diag filled, which calls the plan @name, or -ENOMEM. */
int share_plan_check(const struct pugmark_plan *plan, const char *name, struct pugmark_diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* profile_calls.h: how often which function called which by a pointer, from the return addresses
 * that entries have: the counts of blocks do not tell. */
#ifndef USER_PROFILE_CALLS_H
#define USER_PROFILE_CALLS_H

#include <pugmark/event.h>
#include <pugmark/model.h>
#include <pugmark/plan.h>

#include "offline/share/share_functions.h"

struct profile_calls;

/* Returns 0 and what the caller frees with profile_calls_free(), or -ENOMEM. */
int profile_calls_new(const struct pugmark_model *model, struct profile_calls **out);
void profile_calls_free(struct profile_calls *calls);
/* Counts @event, of @plan, if it is the entry of a function that was called by a pointer. */
int profile_calls_count(struct profile_calls *calls, const struct pugmark_plan *plan,
			const struct pugmark_witness_event *event);
/* The calls by caller and callee, of all that was counted: *@n of them, which the caller frees. 0
 * or -ENOMEM. */
int profile_calls_list(const struct profile_calls *calls, struct share_call **out, uint32_t *n);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tail_jumps.h: which functions can take over a function's frame by tail jumps. */
#ifndef OFFLINE_RECOVER_TAIL_JUMPS_H
#define OFFLINE_RECOVER_TAIL_JUMPS_H

#include "offline/recover/tables/parse_tables.h"

/* Whether an activation that began in @from can be in @to by tail jumps from traced function to
 * traced function; PUGMARK_NONE: out of these. */
bool tail_jumps_lead(struct parse_tables *tables, uint32_t from, uint32_t to);
/* Whether a frame that was made for @from can be @to's: by such jumps, through functions that are
 * not traced and by pointers as well, none of which but the last shows. */
bool tail_jumps_may_lead(struct parse_tables *tables, uint32_t from, uint32_t to);
/* The function that the call or jump @n names, or PUGMARK_NONE: any. */
static inline uint32_t plan_named_callee(const struct pugmark_plan_node *n)
{
	return n->import && n->kind != PUGMARK_NODE_KIND_CALL ? PUGMARK_NONE : n->callee;
}

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_check_distinct.c: whether one event could fit two facts: by its site, by the frame that it
 * is in, by where that frame returns to. */
#include "offline/prove/plan_check_impl.h"

bool check_entry_fact(const struct checker *ck, struct fact fact)
{
	return fact.site == SITE_ENTRY_OF_ANY ||
	       (fact.site < ck->plan->n_sites && ck->is_entry[fact.site]);
}

static bool same_site(const struct checker *ck, struct fact a, struct fact b)
{
	if (a.site == b.site)
		return true;
	return (a.site == SITE_ENTRY_OF_ANY && check_entry_fact(ck, b)) ||
	       (b.site == SITE_ENTRY_OF_ANY && check_entry_fact(ck, a));
}

static uint64_t returns_at(const struct checker *ck, uint32_t call)
{
	return check_node(ck, call)->addr + check_node(ck, call)->call_len;
}

/* Whether the call @ret is known, and is no direct call at all, or one that leads neither to the
 * function of @site, an entry, nor to one that may have jumped there. */
static bool cannot_enter(const struct checker *ck, uint32_t ret, uint32_t site)
{
	if (ret >= ck->plan->n_nodes || site == SITE_ENTRY_OF_ANY)
		return false;
	const struct pugmark_plan_node *n = check_node(ck, ret);
	if (n->kind != PUGMARK_NODE_KIND_CALL)
		return true;
	return ck->is_entry[site] && n->callee != ck->plan->sites[site].func &&
	       !ck->jumps[n->callee];
}

static bool returns_differ(const struct checker *ck, struct fact a, struct fact b)
{
	if (a.ret < ck->plan->n_nodes && b.ret < ck->plan->n_nodes)
		return returns_at(ck, a.ret) != returns_at(ck, b.ret);
	return (a.ret == RETURNS_TO_DIRECT && cannot_enter(ck, b.ret, a.site)) ||
	       (b.ret == RETURNS_TO_DIRECT && cannot_enter(ck, a.ret, b.site));
}

bool check_distinct(const struct checker *ck, struct fact a, struct fact b)
{
	if (!same_site(ck, a, b))
		return true;
	uint32_t site = a.site == SITE_ENTRY_OF_ANY ? b.site : a.site;
	bool any = site == SITE_ENTRY_OF_ANY;
	bool depths = a.below != BELOW_UNKNOWN && b.below != BELOW_UNKNOWN;
	bool apart = (a.below < b.below && !a.further) || (b.below < a.below && !b.further);
	if ((any || ck->reads_cfa[site]) && depths && apart)
		return true;
	return (any || ck->reads_ret[site]) && returns_differ(ck, a, b);
}

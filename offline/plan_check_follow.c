// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_check_follow.c: rule 2 of docs/theory.md. Where a function may go on or end in silence, an
 * event is taken to be of its going on. So no such event may come first after the function has
 * ended. These events travel from each decision up to the callers, as long as those can end in
 * silence as well, and at every call are compared with what can come first after it.
 *
 * Calls of code that is not known stand for: an entry that returns to the call; the needs of a
 * function that was so entered; and those of one that unknown code has called, whose frame then
 * lies anywhere below. */
#include "offline/plan_check_impl.h"

#include <stdlib.h>

/* A fact that was added to a function's needs, and is still to be handed to its callers. */
struct handed {
	uint32_t func;
	struct fact fact;
};
typedef VEC(struct handed) handed_list;

static void add_need(struct checker *ck, handed_list *list, uint32_t func, struct fact fact)
{
	struct fact stored;
	enum facts_added added = facts_add(&ck->need[func], fact, &stored);
	if (added == FACTS_NO_MEMORY ||
	    (added == FACTS_GREW && !VEC_PUSH(list, ((struct handed){func, stored}))))
		ck->failed = true;
}

/* Whether the function of @n can end in silence once the call @n has returned. */
static bool ends_after(const struct checker *ck, const struct plan_node *n)
{
	return !(n->flags & (NODE_NORETURN | NODE_TAIL)) && n->next != PUGMARK_NONE &&
	       ck->decision_empty[n->next];
}

/* @fact of what the call @n, node @call, called, as the caller sees it. A call whose height is not
 * known tells by its event where that frame is: below the caller's, by the return address at least.
 */
static struct fact called_fact(const struct plan_node *n, struct fact fact, uint32_t call)
{
	bool told = n->flags & NODE_CALLEE_CFA && n->site != PUGMARK_NONE;
	if (n->height != PUGMARK_HEIGHT_UNKNOWN || !told || fact.below == BELOW_UNKNOWN)
		return fact_lifted(fact, n->height, call);
	fact.further = true;
	return fact_lifted(fact, RETURN_ADDRESS_BYTES, call);
}

static void seed_unknown_calls(struct checker *ck, handed_list *list)
{
	for (uint32_t i = 1; i < ck->plan->n_nodes; i++) {
		const struct plan_node *n = check_node(ck, i);
		if (n->kind != NODE_KIND_UNKNOWN || n->flags & NODE_NORETURN)
			continue;
		struct fact unknown = {SITE_UNKNOWN_CALL, 0, RETURNS_LIKE_SELF, false};
		if (n->flags & NODE_TAIL)
			add_need(ck, list, n->func, unknown);
		else if (ends_after(ck, n))
			add_need(ck, list, n->func, called_fact(n, unknown, i));
	}
}

/* Hands @fact, a need of the callee, to the caller at node @call. */
static void hand_up(struct checker *ck, handed_list *list, struct fact fact, uint32_t call)
{
	const struct plan_node *n = check_node(ck, call);
	bool tail = n->flags & NODE_TAIL;
	if (n->flags & NODE_NORETURN || (!tail && !ends_after(ck, n)))
		return;
	add_need(ck, list, n->func, tail ? fact : called_fact(n, fact, call));
}

/* Needs of decisions are there already. */
static void find_needs(struct checker *ck)
{
	handed_list list = {0};
	for (uint32_t f = 0; f < ck->plan->n_funcs; f++)
		for (uint32_t i = 0; i < ck->need[f].n; i++)
			if (!VEC_PUSH(&list, ((struct handed){f, ck->need[f].at[i]})))
				ck->failed = true;
	seed_unknown_calls(ck, &list);
	while (list.n && !ck->failed) {
		struct handed h = list.at[--list.n];
		for (uint32_t i = ck->caller_at[h.func]; i < ck->caller_at[h.func + 1]; i++)
			hand_up(ck, &list, h.fact, ck->callers[i]);
	}
	VEC_FREE(&list);
}

/* What functions that unknown code may enter need. */
static void find_world(struct checker *ck)
{
	for (uint32_t f = 0; f < ck->plan->n_funcs; f++) {
		if (!(ck->plan->funcs[f].flags & PLAN_FUNC_ENTERED))
			continue;
		for (uint32_t i = 0; i < ck->need[f].n; i++) {
			struct fact fact = ck->need[f].at[i];
			if (fact.site == SITE_UNKNOWN_CALL) {
				/* After it, an entry may be one more of its own. A jump: every call
				 * of unknown code is checked for that anyway. */
				if (fact.ret == RETURNS_LIKE_SELF)
					continue;
				if (fact.ret < ck->plan->n_nodes)
					ck->after_unknown[fact.ret] = true;
				fact.site = SITE_ENTRY_OF_ANY;
			}
			ck->failed |= facts_add(&ck->world, fact, NULL) == FACTS_NO_MEMORY;
		}
	}
}

/* Whether @fact, first after a call, is of a frame above the one @height below or further: then it
 * is told. */
static bool lies_above(const struct checker *ck, struct fact fact, int32_t height)
{
	bool reads = fact.site == SITE_ENTRY_OF_ANY || ck->reads_cfa[fact.site];
	return reads && fact.below != BELOW_UNKNOWN && !fact.further && height != BELOW_UNKNOWN &&
	       fact.below < height;
}

/* Whether @fact is told from @need, of a function that unknown code has called: its frame lies
 * below that of the unknown call, @height below, by at least the return address; it returns to
 * unknown code, or to a call that unknown code was entered from. */
static bool distinct_from_outside(const struct checker *ck, struct fact fact, struct fact need,
				  int32_t height)
{
	struct fact far = need;
	far.below = BELOW_UNKNOWN;
	far.further = false;
	bool self = need.ret == RETURNS_LIKE_SELF;
	if (self)
		far.ret = RETURNS_TO_US;
	if (check_distinct(ck, fact, far))
		return true;
	uint32_t site = fact.site == SITE_ENTRY_OF_ANY ? need.site : fact.site;
	bool any = site == SITE_ENTRY_OF_ANY;
	int64_t least = (int64_t)height + need.below;
	if ((any || ck->reads_cfa[site]) && fact.below != BELOW_UNKNOWN && !fact.further &&
	    height != BELOW_UNKNOWN && need.below != BELOW_UNKNOWN && fact.below <= least)
		return true;
	return self && (any || ck->reads_ret[site]) && fact.ret < ck->plan->n_nodes &&
	       !ck->after_unknown[fact.ret];
}

/* Whether @fact, first after a call, is told from what unknown code may do, by the call of it that
 * @entry tells of: how far below, or further, and where it returns to. */
static bool distinct_from_unknown(const struct checker *ck, struct fact fact, struct fact entry)
{
	int32_t height = entry.below;
	entry.site = SITE_ENTRY_OF_ANY;
	if (lies_above(ck, fact, height))
		return true;
	if (!check_distinct(ck, fact, entry))
		return false;
	uint32_t from[2], to[2];
	facts_of(&ck->world, fact.site, &from[0], &to[0]);
	from[1] = to[1] = 0;
	bool is_entry = check_entry_fact(ck, fact);
	if (fact.site == SITE_ENTRY_OF_ANY)
		from[0] = 0, to[0] = ck->world.n;
	else if (is_entry)
		facts_of(&ck->world, SITE_ENTRY_OF_ANY, &from[1], &to[1]);
	for (int k = 0; k < 2; k++)
		for (uint32_t i = from[k]; i < to[k]; i++) {
			struct fact need = ck->world.at[i];
			struct fact near = fact_lifted(need, height, entry.ret);
			near.further |= entry.further && near.below != BELOW_UNKNOWN;
			if (need.ret == RETURNS_ANYWHERE)
				near.ret = RETURNS_TO_US;
			if (!check_distinct(ck, fact, near) ||
			    !distinct_from_outside(ck, fact, need, height))
				return false;
		}
	return true;
}

/* Whether @fact, first after the call @call, is told from the needs of what was called. */
static bool follows(const struct checker *ck, struct fact fact, uint32_t call)
{
	const struct plan_node *n = check_node(ck, call);
	struct fact callee =
		called_fact(n, (struct fact){SITE_UNKNOWN_CALL, 0, RETURNS_LIKE_SELF, false}, call);
	if (lies_above(ck, fact, callee.below))
		return true;
	if (n->kind == NODE_KIND_UNKNOWN)
		return distinct_from_unknown(ck, fact, callee);
	const struct facts *need = &ck->need[n->callee];
	uint32_t from, to;
	facts_of(need, SITE_UNKNOWN_CALL, &from, &to);
	for (uint32_t i = from; i < to; i++) {
		struct fact unknown = called_fact(n, need->at[i], call);
		if (!distinct_from_unknown(ck, fact, unknown))
			return false;
	}
	bool is_entry = check_entry_fact(ck, fact);
	facts_of(need, fact.site, &from, &to);
	for (uint32_t i = is_entry ? 0 : from; i < (is_entry ? need->n : to); i++)
		if (need->at[i].site != SITE_UNKNOWN_CALL &&
		    !check_distinct(ck, fact, called_fact(n, need->at[i], call)))
			return false;
	return true;
}

static void check_call(struct checker *ck, uint32_t call, struct facts *set)
{
	const struct plan_node *n = check_node(ck, call);
	if (n->kind == NODE_KIND_CALL && !ck->need[n->callee].n)
		return;
	const struct plan_decision *d = &ck->plan->decisions[n->next];
	facts_clear(set);
	for (uint32_t i = 0; i < d->n; i++)
		check_first(ck, ck->plan->alternatives[d->first + i], set);
	ck->counts.calls++;
	for (uint32_t i = 0; i < set->n; i++) {
		if (follows(ck, set->at[i], call))
			continue;
		uint32_t site = set->at[i].site;
		check_fault(ck, (struct plan_fault){
					.kind = FAULT_FOLLOW,
					.func = n->func,
					.node = call,
					.other = PUGMARK_NONE,
					.site = site < ck->plan->n_sites ? site : PUGMARK_NONE,
				});
		return;
	}
}

/* Unknown code may call one function after the other from one place: a jump to the second must not
 * be an alternative to returning from the first. */
static void check_entered(struct checker *ck, uint32_t func)
{
	const struct facts *need = &ck->need[func];
	for (uint32_t i = 0; i < need->n; i++) {
		struct fact f = need->at[i];
		bool own = f.below == 0 || f.below == BELOW_UNKNOWN || (f.below < 0 && f.further);
		bool self = f.ret == RETURNS_LIKE_SELF || f.ret == RETURNS_ANYWHERE;
		if (f.site == SITE_UNKNOWN_CALL || !own || !self || !check_entry_fact(ck, f))
			continue;
		check_fault(ck, (struct plan_fault){
					.kind = FAULT_JUMP,
					.func = func,
					.node = PUGMARK_NONE,
					.other = PUGMARK_NONE,
					.site = f.site < ck->plan->n_sites ? f.site : PUGMARK_NONE,
				});
		return;
	}
}

void check_follow(struct checker *ck)
{
	struct facts set = {.unbounded = true};
	find_needs(ck);
	find_world(ck);
	for (uint32_t f = 0; f < ck->plan->n_funcs && !ck->failed; f++)
		if (ck->plan->funcs[f].flags & PLAN_FUNC_ENTERED)
			check_entered(ck, f);
	for (uint32_t i = 1; i < ck->plan->n_nodes && !ck->failed; i++) {
		const struct plan_node *n = check_node(ck, i);
		bool calls = n->kind == NODE_KIND_CALL || n->kind == NODE_KIND_UNKNOWN;
		if (calls && !(n->flags & (NODE_TAIL | NODE_NORETURN)) && n->next != PUGMARK_NONE)
			check_call(ck, i, &set);
	}
	facts_free(&set);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_check_follow.c: R2 of docs/theory.md. Where a function may either continue or end in
 * silence, an event is taken to mean that it continued. So no such event may come first after the
 * function has ended. These facts travel from each decision up to the callers, as long as those can
 * end in silence as well; at every call they are compared with what can come first after it.
 *
 * Code that is not known may, when it is called: enter a function, which returns to the call; need
 * what a function needs that was so entered; and need what a function needs that it called in turn,
 * whose frame then lies anywhere below. */
#include "offline/base/search.h"
#include "offline/prove/plan_check_impl.h"

#include <stdlib.h>

typedef VEC(struct fact) fact_list;

/* Reduces @fact, of a need, to what matters further up; false if nothing that follows a call could
 * be taken for it. Facts that return to calls which nothing is compared with need not be told from
 * each other. */
static bool worth_handing(const struct checker *ck, struct fact *fact)
{
	bool call = fact->ret < ck->plan->n_nodes && ck->other_return != PUGMARK_NONE;
	bool other = call && !ck->return_compared[fact->ret];
	if (fact->site == SITE_UNKNOWN_CALL) {
		fact->ret = other ? ck->other_return : fact->ret;
		return true;
	}
	if (fact->site == SITE_ENTRY_OF_ANY)
		return !other;
	bool reads = ck->reads_ret[fact->site];
	if (call && !reads)
		fact->ret = ck->other_return;
	if (ck->is_entry[fact->site])
		return !other || !reads;
	uint32_t ret = ck->compared[fact->site];
	return ret != COMPARED_NOT && !(call && reads && ret != COMPARED_ANY && ret != fact->ret);
}

static void add_need(struct checker *ck, uint32_t func, struct fact fact)
{
	if (!worth_handing(ck, &fact))
		return;
	enum facts_added added = facts_add(&ck->need[func], fact);
	ck->failed |= added == FACTS_NO_MEMORY;
	if (added == FACTS_GREW)
		check_again(ck, func);
}

/* Whether the function of @n can end in silence once the call @n has returned. */
static bool ends_after(const struct checker *ck, const struct pugmark_plan_node *n)
{
	return !(n->flags & (PUGMARK_NODE_NORETURN | PUGMARK_NODE_TAIL)) &&
	       pugmark_node_next(n) != PUGMARK_NONE && ck->decision_empty[pugmark_node_next(n)];
}

/* @fact of the callee of node @call, as the caller sees it. A call whose height is not known tells
 * by its event where the callee's frame is: below the caller's, by the return address at least. */
static struct fact called_fact(const struct checker *ck, struct fact fact, uint32_t call)
{
	const struct pugmark_plan_node *n = check_node(ck, call);
	if (n->height != PUGMARK_HEIGHT_UNKNOWN || !check_tells_callee(ck, n) ||
	    fact.below == BELOW_UNKNOWN)
		return fact_lifted(fact, n->height, call);
	fact.further = true;
	return fact_lifted(fact, RETURN_ADDRESS_BYTES, call);
}

/* Whether @fact, first after a call, is of a frame above the one that lies @height below or
 * further: then it is told from it. */
static bool lies_above(const struct checker *ck, struct fact fact, int32_t height)
{
	bool reads = fact.site == SITE_ENTRY_OF_ANY || ck->reads_cfa[fact.site];
	return reads && fact.below != BELOW_UNKNOWN && !fact.further && height != BELOW_UNKNOWN &&
	       fact.below < height;
}

/* The frame of the callee of @call, as a fact of an event in it. */
static struct fact frame_of_call(const struct checker *ck, uint32_t call)
{
	struct fact unknown = {SITE_UNKNOWN_CALL, 0, RETURNS_LIKE_SELF, false, false};
	return called_fact(ck, unknown, call);
}

/* Whether something of the function comes after @n, a call. */
static bool goes_on_after(const struct pugmark_plan_node *n)
{
	bool calls = n->kind == PUGMARK_NODE_KIND_CALL || n->kind == PUGMARK_NODE_KIND_UNKNOWN;
	return calls && !(n->flags & (PUGMARK_NODE_TAIL | PUGMARK_NODE_NORETURN)) &&
	       pugmark_node_next(n) != PUGMARK_NONE;
}

/* What can come first after the call @call. */
static void first_after(struct checker *ck, uint32_t call, struct facts *set)
{
	const struct pugmark_plan_decision *d =
		&ck->plan->decisions[pugmark_node_next(check_node(ck, call))];
	facts_clear(set);
	for (uint32_t i = 0; i < d->n; i++)
		check_first(ck, ck->plan->alternatives[d->first + i], set);
}

static void note_compared(struct checker *ck, struct fact fact)
{
	bool call = fact.ret < ck->plan->n_nodes;
	if (fact.site < ck->plan->n_sites) {
		uint32_t *ret = &ck->compared[fact.site];
		*ret = call && (*ret == COMPARED_NOT || *ret == fact.ret) ? fact.ret : COMPARED_ANY;
	}
	if (!check_entry_fact(ck, fact))
		return;
	if (call)
		ck->return_compared[fact.ret] = true;
	else
		ck->any_return_compared = true;
}

/* Finds which facts can come first after some call and could be taken for something inside of it:
 * only those are worth comparing with. (Most events after calls are of the caller's frame, which is
 * told from any need.) */
static void find_compared(struct checker *ck, struct facts *set)
{
	for (uint32_t i = 0; i < ck->plan->n_sites; i++)
		ck->compared[i] = COMPARED_NOT;
	for (uint32_t i = 1; i < ck->plan->n_nodes && !ck->failed; i++) {
		if (!goes_on_after(check_node(ck, i)))
			continue;
		int32_t height = frame_of_call(ck, i).below;
		first_after(ck, i, set);
		for (uint32_t k = 0; k < set->n; k++)
			if (!lies_above(ck, set->at[k], height))
				note_compared(ck, set->at[k]);
	}
	uint32_t other = 0;
	while (other < ck->plan->n_nodes && ck->return_compared[other])
		other++;
	ck->other_return =
		other < ck->plan->n_nodes && !ck->any_return_compared ? other : PUGMARK_NONE;
}

static void seed_unknown_calls(struct checker *ck)
{
	for (uint32_t i = 1; i < ck->plan->n_nodes; i++) {
		const struct pugmark_plan_node *n = check_node(ck, i);
		if (n->kind != PUGMARK_NODE_KIND_UNKNOWN || n->flags & PUGMARK_NODE_NORETURN)
			continue;
		struct fact unknown = {SITE_UNKNOWN_CALL, 0, RETURNS_LIKE_SELF, false, false};
		if (n->flags & PUGMARK_NODE_TAIL)
			add_need(ck, n->func, unknown);
		else if (ends_after(ck, n))
			add_need(ck, n->func, called_fact(ck, unknown, i));
	}
}

/* Hands needs of the callee on to the caller, at node @call. */
static void hand_up(struct checker *ck, const fact_list *facts, uint32_t call)
{
	const struct pugmark_plan_node *n = check_node(ck, call);
	bool tail = n->flags & PUGMARK_NODE_TAIL;
	if (n->flags & PUGMARK_NODE_NORETURN || (!tail && !ends_after(ck, n)))
		return;
	for (uint32_t i = 0; i < facts->n; i++) {
		struct fact fact = facts->at[i];
		add_need(ck, n->func, tail ? fact : called_fact(ck, fact, call));
	}
}

/* Appends to @list what is new in @set since this was last called, reduced to what matters further
 * up. */
static void take_fresh(struct checker *ck, struct facts *set, fact_list *list)
{
	list->n = 0;
	for (uint32_t i = 0; i < set->n; i++) {
		struct fact fact = set->at[i];
		set->at[i].fresh = false;
		if (fact.fresh && worth_handing(ck, &fact) && !VEC_PUSH(list, fact))
			ck->failed = true;
	}
}

/* Hands needs up until nothing is new; needs of decisions are there already. All that is new in a
 * function is handed on at once: much of it has become one fact by then. */
static void find_needs(struct checker *ck)
{
	fact_list fresh = {0};
	uint32_t func;
	for (uint32_t f = 0; f < ck->plan->n_funcs; f++)
		check_again(ck, f);
	seed_unknown_calls(ck);
	while (check_next(ck, &func)) {
		take_fresh(ck, &ck->need[func], &fresh);
		for (uint32_t i = ck->caller_at[func]; i < ck->caller_at[func + 1]; i++)
			hand_up(ck, &fresh, ck->callers[i]);
	}
	VEC_FREE(&fresh);
}

static int by_return(const void *a, const void *b)
{
	uint32_t x = ((const struct check_entry *)a)->ret, y = ((const struct check_entry *)b)->ret;
	return x < y ? -1 : x > y;
}

/* The call to which the entry @fact says, by its event, that it returns; or NONE. */
static uint32_t read_return(const struct checker *ck, struct fact fact)
{
	bool reads = fact.site == SITE_ENTRY_OF_ANY || ck->reads_ret[fact.site];
	return reads && fact.ret < ck->plan->n_nodes ? fact.ret : PUGMARK_NONE;
}

static void find_world_entries(struct checker *ck)
{
	ck->world_entries = calloc(ck->world.n + 1, sizeof(*ck->world_entries));
	if (!ck->world_entries) {
		ck->failed = true;
		return;
	}
	for (uint32_t i = 0; i < ck->world.n; i++) {
		struct fact fact = ck->world.at[i];
		if (check_entry_fact(ck, fact))
			ck->world_entries[ck->n_world_entries++] =
				(struct check_entry){fact, read_return(ck, fact)};
	}
	if (ck->n_world_entries)
		qsort(ck->world_entries, ck->n_world_entries, sizeof(*ck->world_entries),
		      by_return);
}

/* Collects what the functions need that unknown code may enter. */
static void find_world(struct checker *ck)
{
	for (uint32_t f = 0; f < ck->plan->n_funcs; f++) {
		if (!(ck->plan->funcs[f].flags & PUGMARK_PLAN_FUNC_ENTERED))
			continue;
		for (uint32_t i = 0; i < ck->need[f].n; i++) {
			struct fact fact = ck->need[f].at[i];
			if (fact.site == SITE_UNKNOWN_CALL) {
				/* A jump may lead to one more entry; every call of unknown code is
				 * checked for that anyway. */
				if (fact.ret == RETURNS_LIKE_SELF)
					continue;
				if (fact.ret < ck->plan->n_nodes)
					ck->after_unknown[fact.ret] = true;
				fact.site = SITE_ENTRY_OF_ANY;
			}
			ck->failed |= facts_add(&ck->world, fact) == FACTS_NO_MEMORY;
		}
	}
}

/* Whether @fact is told from @need of a function that unknown code has called. Its frame lies below
 * that of the unknown code, which is @height below, by the return address at least; it returns to
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

/* Whether @fact, first after a call of unknown code, is told from @need of a function that this
 * call may have entered. @entry describes the call. */
static bool distinct_from_need(const struct checker *ck, struct fact fact, struct fact entry,
			       struct fact need)
{
	struct fact near = fact_lifted(need, entry.below, entry.ret);
	near.further |= entry.further && near.below != BELOW_UNKNOWN;
	if (need.ret == RETURNS_ANYWHERE)
		near.ret = RETURNS_TO_US;
	return check_distinct(ck, fact, near) && distinct_from_outside(ck, fact, need, entry.below);
}

/* The first of the world's entries whose event says that it returns to @ret or to a call ordered
 * after it. */
static uint32_t world_entries_from(const struct checker *ck, uint32_t ret)
{
	uint32_t lo = SEARCH_FIRST_NOT(0, ck->n_world_entries, i, ck->world_entries[i].ret < ret);
	return lo;
}

/* The same where @fact is an entry, for all entries in the needs; entries whose events name another
 * call to return to are told from it. */
static bool distinct_from_entries(const struct checker *ck, struct fact fact, struct fact entry)
{
	uint32_t ret = read_return(ck, fact), from = 0, to = 0;
	uint32_t others = ret == PUGMARK_NONE ? 0 : world_entries_from(ck, PUGMARK_NONE);
	if (ret != PUGMARK_NONE) {
		from = world_entries_from(ck, ret);
		to = world_entries_from(ck, ret + 1);
	}
	for (uint32_t i = from; i < to; i++)
		if (!distinct_from_need(ck, fact, entry, ck->world_entries[i].fact))
			return false;
	for (uint32_t i = others; i < ck->n_world_entries; i++)
		if (!distinct_from_need(ck, fact, entry, ck->world_entries[i].fact))
			return false;
	return true;
}

/* Whether @fact, first after a call of unknown code, is told from all that this code may do. @entry
 * describes the call: how far below, or further, and where it returns to. */
static bool distinct_from_unknown(const struct checker *ck, struct fact fact, struct fact entry)
{
	entry.site = SITE_ENTRY_OF_ANY;
	if (lies_above(ck, fact, entry.below))
		return true;
	if (!check_distinct(ck, fact, entry))
		return false;
	if (check_entry_fact(ck, fact))
		return distinct_from_entries(ck, fact, entry);
	uint32_t from, to;
	facts_of(&ck->world, fact.site, &from, &to);
	for (uint32_t i = from; i < to; i++)
		if (!distinct_from_need(ck, fact, entry, ck->world.at[i]))
			return false;
	return true;
}

/* Whether @fact, first after the call @call, is told from the needs of the callee. */
static bool follows(const struct checker *ck, struct fact fact, uint32_t call)
{
	const struct pugmark_plan_node *n = check_node(ck, call);
	struct fact callee = frame_of_call(ck, call);
	if (lies_above(ck, fact, callee.below))
		return true;
	if (n->kind == PUGMARK_NODE_KIND_UNKNOWN)
		return distinct_from_unknown(ck, fact, callee);
	const struct facts *need = &ck->need[n->callee];
	uint32_t from, to;
	facts_of(need, SITE_UNKNOWN_CALL, &from, &to);
	for (uint32_t i = from; i < to; i++) {
		struct fact unknown = called_fact(ck, need->at[i], call);
		if (!distinct_from_unknown(ck, fact, unknown))
			return false;
	}
	bool is_entry = check_entry_fact(ck, fact);
	facts_of(need, fact.site, &from, &to);
	for (uint32_t i = is_entry ? 0 : from; i < (is_entry ? need->n : to); i++)
		if (need->at[i].site != SITE_UNKNOWN_CALL &&
		    !check_distinct(ck, fact, called_fact(ck, need->at[i], call)))
			return false;
	return true;
}

static void check_call(struct checker *ck, uint32_t call, struct facts *set)
{
	const struct pugmark_plan_node *n = check_node(ck, call);
	if (n->kind == PUGMARK_NODE_KIND_CALL && !ck->need[n->callee].n)
		return;
	first_after(ck, call, set);
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

/* Unknown code may call two functions one after the other from one place: so for a function that it
 * entered, a jump to the second must not be an alternative to returning. */
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
	find_compared(ck, &set);
	find_needs(ck);
	find_world(ck);
	find_world_entries(ck);
	for (uint32_t f = 0; f < ck->plan->n_funcs && !ck->failed; f++)
		if (ck->plan->funcs[f].flags & PUGMARK_PLAN_FUNC_ENTERED)
			check_entered(ck, f);
	for (uint32_t i = 1; i < ck->plan->n_nodes && !ck->failed; i++)
		if (goes_on_after(check_node(ck, i)))
			check_call(ck, i, &set);
	facts_free(&set);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_check.c: the proof that a plan's log parses in one way only (docs/theory.md, rule 1). For
 * each function it computes what the first event of an activation can be, as the least fixpoint
 * over all functions, and then looks at every decision: at most one alternative may reach the end
 * of the function in silence, and no event may begin two of them. Rule 2 is in
 * plan_check_follow.c, rule 3 and the tables themselves in plan_check_tables.c. */
#include "offline/prove/plan_check_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Whether the plan names a place of kind @u as one where nothing tells what @fault is about. */
static bool names_fault(const struct pugmark_plan_unresolved *u, const struct plan_fault *fault)
{
	bool here = u->node != PUGMARK_NONE && u->node == fault->node;
	switch (fault->kind) {
	case FAULT_TABLES: /* of a probe */
	case FAULT_STOP:
		return here || u->kind == PUGMARK_UNRESOLVED_ENTRY;
	case FAULT_FOLLOW:
		return here;
	case FAULT_LOOP:
	case FAULT_RECURSION: /* of several nodes: it may be named at any of them */
		return u->kind == PUGMARK_UNRESOLVED_ROUNDS || u->kind == PUGMARK_UNRESOLVED_WAY;
	default:
		return u->kind == PUGMARK_UNRESOLVED_WAY;
	}
}

static bool names_place(const struct pugmark_plan *plan, const struct plan_fault *fault)
{
	for (uint32_t i = 0; plan->unresolved_at && i < plan->unresolved; i++)
		if (plan->unresolved_at[i].func == fault->func &&
		    names_fault(&plan->unresolved_at[i], fault))
			return true;
	return false;
}

/* The same of a jump, where what has the place may be what the function has jumped to. */
static bool names_place_behind(struct checker *ck, const struct plan_fault *fault)
{
	const struct pugmark_plan *plan = ck->plan;
	bool *become = calloc(plan->n_funcs + 1, sizeof(*become)), named = false;
	if (!become) {
		ck->failed = true;
		return false;
	}
	become[fault->func] = true;
	for (bool grew = true; grew;) {
		grew = false;
		for (uint32_t i = 1; i < plan->n_nodes; i++) {
			const struct pugmark_plan_node *n = &plan->nodes[i];
			if (n->kind == PUGMARK_NODE_KIND_CALL && n->flags & PUGMARK_NODE_TAIL &&
			    become[n->func] && !become[n->callee])
				grew = become[n->callee] = true;
		}
	}
	for (uint32_t f = 0; f < plan->n_funcs && !named; f++) {
		struct plan_fault there = *fault;
		there.func = f;
		named = become[f] && names_place(plan, &there);
	}
	free(become);
	return named;
}

void check_fault(struct checker *ck, struct plan_fault fault)
{
	fault.told = fault.kind == FAULT_JUMP ? names_place_behind(ck, &fault)
					      : names_place(ck->plan, &fault);
	if (fault.told)
		ck->counts.told++;
	else
		ck->counts.faults++;
	if (ck->sink)
		ck->sink(ck->ctx, &fault);
}

bool check_passes(const struct checker *ck, const struct pugmark_plan_node *n)
{
	if (n->site != PUGMARK_NONE || n->flags & PUGMARK_NODE_NORETURN)
		return false;
	return n->kind != PUGMARK_NODE_KIND_CALL || ck->func_empty[n->callee];
}

static bool node_empty(const struct checker *ck, const struct pugmark_plan_node *n)
{
	if (!check_passes(ck, n))
		return false;
	return check_leaves(n) || (n->next != PUGMARK_NONE && ck->decision_empty[n->next]);
}

/* What can run in silence to the end of its function: the least fixpoint. */
static void find_empty(struct checker *ck)
{
	const struct pugmark_plan *plan = ck->plan;
	for (bool grew = true; grew;) {
		grew = false;
		for (uint32_t d = plan->n_decisions; d-- > 0;) {
			const struct pugmark_plan_decision *dec = &plan->decisions[d];
			for (uint32_t i = 0; i < dec->n && !ck->decision_empty[d]; i++)
				if (node_empty(ck,
					       check_node(ck, plan->alternatives[dec->first + i])))
					grew = ck->decision_empty[d] = true;
		}
		for (uint32_t f = 0; f < plan->n_funcs; f++) {
			uint32_t entry = plan->funcs[f].entry;
			/* What is not modelled shows nothing. */
			if (!ck->func_empty[f] &&
			    (entry == PUGMARK_NONE || ck->decision_empty[entry]))
				grew = ck->func_empty[f] = true;
		}
	}
}

/* ---- what can come first ---- */

static void add(struct checker *ck, struct facts *set, struct fact fact)
{
	enum facts_added added = facts_add(set, fact);
	ck->failed |= added == FACTS_NO_MEMORY;
	ck->grew |= added == FACTS_GREW;
}

static void visit(struct checker *ck, uint32_t node)
{
	if (ck->seen[node] == ck->stamp)
		return;
	ck->seen[node] = ck->stamp;
	ck->stack[ck->n_stack++] = node;
}

void check_visit(struct checker *ck, uint32_t decision)
{
	if (decision == PUGMARK_NONE)
		return;
	const struct pugmark_plan_decision *d = &ck->plan->decisions[decision];
	for (uint32_t i = 0; i < d->n; i++)
		visit(ck, ck->plan->alternatives[d->first + i]);
}

/* What the call in @node shows first. */
static void first_of_call(struct checker *ck, uint32_t node, struct facts *out)
{
	const struct pugmark_plan_node *n = check_node(ck, node);
	bool tail = n->flags & PUGMARK_NODE_TAIL;
	if (n->kind == PUGMARK_NODE_KIND_UNKNOWN) {
		struct fact any = {SITE_ENTRY_OF_ANY, 0, RETURNS_LIKE_SELF, false, false};
		add(ck, out, tail ? any : fact_lifted(any, n->height, node));
	}
	if (n->kind != PUGMARK_NODE_KIND_CALL)
		return;
	const struct facts *callee = &ck->first[n->callee];
	for (uint32_t i = 0; i < callee->n; i++)
		add(ck, out, tail ? callee->at[i] : fact_lifted(callee->at[i], n->height, node));
}

bool check_first(struct checker *ck, uint32_t node, struct facts *out)
{
	bool empty = false;
	ck->stamp++;
	ck->n_stack = 0;
	visit(ck, node);
	while (ck->n_stack) {
		uint32_t at = ck->stack[--ck->n_stack];
		const struct pugmark_plan_node *n = check_node(ck, at);
		if (n->site != PUGMARK_NONE) {
			add(ck, out, (struct fact){n->site, 0, RETURNS_LIKE_SELF, false, false});
			continue;
		}
		first_of_call(ck, at, out);
		if (!check_passes(ck, n))
			continue;
		if (check_leaves(n))
			empty = true;
		else
			check_visit(ck, n->next);
	}
	return empty;
}

void check_again(struct checker *ck, uint32_t func)
{
	if (ck->queued[func])
		return;
	ck->queued[func] = true;
	ck->queue[(ck->queue_head + ck->n_queue++) % ck->plan->n_funcs] = func;
}

bool check_next(struct checker *ck, uint32_t *func)
{
	if (!ck->n_queue || ck->failed)
		return false;
	*func = ck->queue[ck->queue_head];
	ck->queue_head = (ck->queue_head + 1) % ck->plan->n_funcs;
	ck->n_queue--;
	ck->queued[*func] = false;
	return true;
}

static void find_first(struct checker *ck)
{
	const struct pugmark_plan *plan = ck->plan;
	uint32_t f;
	for (f = 0; f < plan->n_funcs; f++)
		check_again(ck, f);
	while (check_next(ck, &f)) {
		uint32_t entry = plan->funcs[f].entry;
		if (entry == PUGMARK_NONE)
			continue;
		ck->grew = false;
		for (uint32_t i = 0; i < plan->decisions[entry].n; i++)
			check_first(ck, plan->alternatives[plan->decisions[entry].first + i],
				    &ck->first[f]);
		if (!ck->grew)
			continue;
		for (uint32_t i = ck->caller_at[f]; i < ck->caller_at[f + 1]; i++)
			check_again(ck, check_node(ck, ck->callers[i])->func);
	}
}

/* ---- each decision ---- */

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

/* Whether the call @ret is known and leads neither to the function of @site nor to one that may
 * have jumped there. */
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

/* What one alternative begins with. */
struct sighting {
	struct fact fact;
	uint32_t alt; /* node */
};
typedef VEC(struct sighting) sightings;

static int by_site(const void *a, const void *b)
{
	uint32_t x = ((const struct sighting *)a)->fact.site;
	uint32_t y = ((const struct sighting *)b)->fact.site;
	return x < y ? -1 : x > y;
}

/* Whether a pair is of two alternatives and cannot be told apart: the first is reported, where that
 * is asked for. */
static bool pair_fault(struct checker *ck, const struct sighting *s, uint32_t n, bool report)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < i; j++) {
			if (s[i].alt == s[j].alt || check_distinct(ck, s[i].fact, s[j].fact))
				continue;
			if (!report)
				return true;
			const struct pugmark_plan_node *node =
				check_node(ck, s[i].alt ? s[i].alt : s[j].alt);
			bool any = s[i].fact.site == SITE_ENTRY_OF_ANY;
			uint32_t site = any ? s[j].fact.site : s[i].fact.site;
			check_fault(ck,
				    (struct plan_fault){
					    .kind = FAULT_EVENT,
					    .func = node->func,
					    .node = s[j].alt,
					    .other = s[i].alt,
					    .site = site < ck->plan->n_sites ? site : PUGMARK_NONE,
				    });
			return true;
		}
	return false;
}

/* Whether the alternatives are told apart by what they begin with. */
static bool compare_sightings(struct checker *ck, sightings *all, bool report)
{
	sightings entries = {0};
	bool fault = false;
	if (all->n)
		qsort(all->at, all->n, sizeof(*all->at), by_site);
	for (uint32_t i = 0, end; i < all->n && !fault; i = end) {
		bool entry = check_entry_fact(ck, all->at[i].fact);
		for (end = i; end < all->n && all->at[end].fact.site == all->at[i].fact.site; end++)
			if (entry && !VEC_PUSH(&entries, all->at[end]))
				ck->failed = true;
		fault = !entry && pair_fault(ck, all->at + i, end - i, report);
	}
	if (report || !fault)
		fault |= pair_fault(ck, entries.at, entries.n, report);
	VEC_FREE(&entries);
	return !fault;
}

/* Fills @all with what each alternative of @d begins with, @closer: with what returns to different
 * calls kept apart, however many these are; returns how many can be silent, and in *@last the last
 * of these. */
static uint32_t look_at(struct checker *ck, const struct pugmark_plan_decision *d, bool closer,
			sightings *all, uint32_t *last)
{
	uint32_t silent = PUGMARK_NONE, n = 0;
	struct facts set = {.wide = true, .apart = closer};
	all->n = 0;
	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t alt = ck->plan->alternatives[d->first + i];
		facts_clear(&set);
		if (check_first(ck, alt, &set)) {
			if (silent != PUGMARK_NONE && !closer)
				check_fault(
					ck,
					(struct plan_fault){
						.kind = FAULT_SILENT,
						.func = check_node(ck, alt ? alt : silent)->func,
						.node = silent,
						.other = alt,
						.site = PUGMARK_NONE,
					});
			silent = alt;
			n++;
		}
		for (uint32_t k = 0; k < set.n; k++)
			if (!VEC_PUSH(all, ((struct sighting){set.at[k], alt})))
				ck->failed = true;
	}
	facts_free(&set);
	*last = silent;
	return n;
}

/* If an alternative can be silent, what the others begin with must not come after the function. */
static void check_decision(struct checker *ck, const struct pugmark_plan_decision *d,
			   sightings *all)
{
	uint32_t silent, n_silent = look_at(ck, d, false, all, &silent);
	ck->counts.decisions++;
	if (!compare_sightings(ck, all, false)) {
		look_at(ck, d, true, all, &silent);
		compare_sightings(ck, all, true);
	}
	for (uint32_t i = 0; n_silent && i < all->n; i++)
		if (n_silent > 1 || all->at[i].alt != silent)
			add(ck, &ck->need[check_node(ck, all->at[i].alt)->func], all->at[i].fact);
}

static void check_decisions(struct checker *ck)
{
	sightings all = {0};
	for (uint32_t i = 0; i < ck->plan->n_decisions && !ck->failed; i++)
		if (ck->plan->decisions[i].n > 1)
			check_decision(ck, &ck->plan->decisions[i], &all);
	VEC_FREE(&all);
}

/* ---- the whole ---- */

static void find_callers(struct checker *ck)
{
	const struct pugmark_plan *plan = ck->plan;
	uint32_t *at = ck->caller_at;
	for (uint32_t i = 1; i < plan->n_nodes; i++) {
		const struct pugmark_plan_node *n = &plan->nodes[i];
		if (n->kind != PUGMARK_NODE_KIND_CALL)
			continue;
		at[n->callee + 2]++;
		ck->jumps[n->func] |= n->flags & PUGMARK_NODE_TAIL;
	}
	for (uint32_t f = 0; f < plan->n_funcs; f++)
		at[f + 2] += at[f + 1];
	for (uint32_t i = 1; i < plan->n_nodes; i++)
		if (plan->nodes[i].kind == PUGMARK_NODE_KIND_CALL)
			ck->callers[at[plan->nodes[i].callee + 1]++] = i;
}

static void describe_sites(struct checker *ck)
{
	const struct pugmark_plan *plan = ck->plan;
	for (uint32_t i = 0; i < plan->n_sites; i++) {
		const struct pugmark_plan_site *s = &plan->sites[i];
		ck->reads_cfa[i] = s->cfa_reg != PUGMARK_CFA_UNKNOWN;
		ck->reads_ret[i] = ck->reads_cfa[i] && s->capture & PUGMARK_CAPTURE_RET;
	}
	for (uint32_t i = 1; i < plan->n_nodes; i++)
		if (plan->nodes[i].site != PUGMARK_NONE &&
		    plan->nodes[i].flags & PUGMARK_NODE_CALLEE_CFA)
			ck->reads_cfa[plan->nodes[i].site] = ck->reads_ret[plan->nodes[i].site] =
				false; /* it tells the callee's frame */
	for (uint32_t f = 0; f < plan->n_funcs; f++) {
		const struct pugmark_plan_func *func = &plan->funcs[f];
		if (!(func->flags & PUGMARK_PLAN_FUNC_ENTERED) || func->entry == PUGMARK_NONE ||
		    plan->decisions[func->entry].n != 1)
			continue;
		uint32_t node = plan->alternatives[plan->decisions[func->entry].first];
		uint32_t site = plan->nodes[node].site;
		if (site == PUGMARK_NONE)
			continue;
		ck->is_entry[site] = true;
		/* What the kernel enters has no caller, and so no frame to speak of. */
		if (func->flags & PUGMARK_PLAN_FUNC_START &&
		    ck->caller_at[f] == ck->caller_at[f + 1])
			ck->start = site;
	}
}

static int checker_init(struct checker *ck, const struct pugmark_plan *plan)
{
	size_t n_sites = plan->n_sites + 1, n_funcs = plan->n_funcs + 2,
	       n_nodes = plan->n_nodes + 1;
	ck->plan = plan;
	ck->is_entry = calloc(n_sites, sizeof(bool));
	ck->reads_cfa = calloc(n_sites, sizeof(bool));
	ck->reads_ret = calloc(n_sites, sizeof(bool));
	ck->compared = calloc(n_sites, sizeof(*ck->compared));
	ck->return_compared = calloc(n_nodes, sizeof(bool));
	ck->decision_empty = calloc(plan->n_decisions + 1, sizeof(bool));
	ck->func_empty = calloc(n_funcs, sizeof(bool));
	ck->first = calloc(n_funcs, sizeof(*ck->first));
	ck->need = calloc(n_funcs, sizeof(*ck->need));
	ck->jumps = calloc(n_funcs, sizeof(bool));
	ck->after_unknown = calloc(n_nodes, sizeof(bool));
	ck->callers = calloc(n_nodes, sizeof(uint32_t));
	ck->caller_at = calloc(n_funcs + 1, sizeof(uint32_t));
	ck->queue = calloc(n_funcs, sizeof(uint32_t));
	ck->queued = calloc(n_funcs, sizeof(bool));
	ck->stack = calloc(n_nodes, sizeof(uint32_t));
	ck->seen = calloc(n_nodes, sizeof(uint32_t));
	bool ok = ck->is_entry && ck->compared && ck->return_compared && ck->reads_cfa &&
		  ck->reads_ret && ck->decision_empty && ck->func_empty && ck->first && ck->need &&
		  ck->jumps && ck->after_unknown && ck->callers && ck->caller_at && ck->queue &&
		  ck->queued && ck->stack && ck->seen;
	return ok ? 0 : -ENOMEM;
}

static void checker_deinit(struct checker *ck)
{
	for (uint32_t f = 0; f < ck->plan->n_funcs; f++) {
		if (ck->first)
			facts_free(&ck->first[f]);
		if (ck->need)
			facts_free(&ck->need[f]);
	}
	facts_free(&ck->world);
	free(ck->world_entries);
	void *heap[] = {ck->is_entry,	    ck->reads_cfa, ck->reads_ret, ck->decision_empty,
			ck->func_empty,	    ck->first,	   ck->need,	  ck->jumps,
			ck->after_unknown,  ck->callers,   ck->caller_at, ck->queue,
			ck->queued,	    ck->stack,	   ck->seen,	  ck->compared,
			ck->return_compared};
	for (size_t i = 0; i < sizeof(heap) / sizeof(*heap); i++)
		free(heap[i]);
}

int plan_check(const struct pugmark_plan *plan, plan_fault_sink *sink, void *ctx,
	       struct plan_check_counts *counts)
{
	struct checker ck = {.sink = sink, .ctx = ctx, .start = PUGMARK_NONE};
	int err = checker_init(&ck, plan);
	if (!err) {
		find_callers(&ck);
		describe_sites(&ck);
		check_tables(&ck);
		find_empty(&ck);
		check_loops(&ck);
		find_first(&ck);
		check_decisions(&ck);
		check_follow(&ck);
		for (uint32_t f = 0; f < plan->n_funcs; f++)
			ck.counts.facts += ck.first[f].n + ck.need[f].n;
		err = ck.failed ? -ENOMEM : 0;
	}
	checker_deinit(&ck);
	*counts = ck.counts;
	return err;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_check.c: the proof that a plan's log parses in one way only, and its R1
 * (docs/theory.md): of each decision at most one alternative may reach the end of the function in
 * silence, and no event may begin two of them. R2 is in plan_check_follow.c, R3 and the
 * tables themselves in plan_check_tables.c. */
#include "offline/prove/plan_check_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- each decision ---- */

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

/* Whether some pair of two alternatives cannot be told apart; the first such pair is reported, if
 * that is asked for. */
static bool pair_fault(struct checker *ck, uint32_t decision, const struct sighting *s, uint32_t n,
		       bool report)
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
					    .decision = decision,
					    .site = site < ck->plan->n_sites ? site : PUGMARK_NONE,
				    });
			return true;
		}
	return false;
}

/* Whether the alternatives are told apart by what they begin with. */
static bool compare_sightings(struct checker *ck, uint32_t decision, sightings *all, bool report)
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
		fault = !entry && pair_fault(ck, decision, all->at + i, end - i, report);
	}
	if (report || !fault)
		fault |= pair_fault(ck, decision, entries.at, entries.n, report);
	VEC_FREE(&entries);
	return !fault;
}

/* Fills @all with the facts that each alternative of @decision begins with. @closer: facts that
 * return to different calls are kept apart, however many there are. Returns how many alternatives
 * can be silent, and in *@last the last of these. */
static uint32_t look_at(struct checker *ck, uint32_t decision, bool closer, sightings *all,
			uint32_t *last)
{
	const struct pugmark_plan_decision *d = &ck->plan->decisions[decision];
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
						.decision = decision,
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
static void check_decision(struct checker *ck, uint32_t decision, sightings *all)
{
	uint32_t silent, n_silent = look_at(ck, decision, false, all, &silent);
	ck->counts.decisions++;
	if (!compare_sightings(ck, decision, all, false)) {
		look_at(ck, decision, true, all, &silent);
		compare_sightings(ck, decision, all, true);
	}
	for (uint32_t i = 0; n_silent && i < all->n; i++)
		if (n_silent > 1 || all->at[i].alt != silent)
			check_add(ck, &ck->need[check_node(ck, all->at[i].alt)->func],
				  all->at[i].fact);
}

static void check_decisions(struct checker *ck)
{
	sightings all = {0};
	for (uint32_t i = 0; i < ck->plan->n_decisions && !ck->failed; i++)
		if (ck->plan->decisions[i].n > 1)
			check_decision(ck, i, &all);
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
		/* What the kernel enters has no caller, and so no frame of one. */
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
	for (uint32_t f = 0; ok && f < plan->n_funcs; f++)
		ck->need[f].near = true;
	ck->world.near = true;
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
		check_find_empty(&ck);
		check_loops(&ck);
		check_find_first(&ck);
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

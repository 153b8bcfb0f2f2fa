// SPDX-License-Identifier: LGPL-2.1-or-later
/* parse_tables.c: FIRST sets of the grammar in a plan, one decision at a time: first terms are
 * collected by a walk from the decision through everything silent, callees included. What can be
 * silent is for first_nullable.c to say. */
#include "offline/recover/tables/parse_tables.h"

#include "offline/recover/tables/first_nullable.h"
#include "offline/recover/tables/parse_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TERMS_MAX 65536 /* of one decision; past that it is top */
#define FEW 32		/* terms */

static bool node_silent(const struct parse_tables *t, const struct pugmark_plan_node *n)
{
	if (n->site != PUGMARK_NONE)
		return false;
	return n->kind != PUGMARK_NODE_KIND_CALL || parse_tables_func_empty(t, n->callee);
}

/* Whether the rest of the function from @n on can be silent. */
static bool node_empty(const struct parse_tables *t, const struct pugmark_plan_node *n)
{
	if (!node_silent(t, n) || n->flags & PUGMARK_NODE_NORETURN)
		return false;
	return parse_leaves(n) || (pugmark_node_next(n) != PUGMARK_NONE &&
				   first_nullable_decision(t->silent, pugmark_node_next(n)));
}

/* Where the call @node returns to. */
static inline uint64_t return_to(const struct parse_tables *t, uint32_t node)
{
	return t->plan->nodes[node].addr + t->plan->nodes[node].call_len;
}

static uint32_t run_end(const struct parse_tables *t, const uint32_t *nodes, uint32_t i, uint32_t n)
{
	while (++i < n && return_to(t, nodes[i - 1]) <= return_to(t, nodes[i]))
		;
	return i;
}

/* Sorts t->returns, which come in a few runs that are sorted, as functions do in a file: in a pass
 * every two of them become one. */
static int sort_returns(struct parse_tables *t)
{
	uint32_t n = t->n_returns;
	if (run_end(t, t->returns, 0, n) >= n)
		return 0;
	uint32_t runs = 2, *to = malloc(n * sizeof(*to));
	if (!to)
		return -ENOMEM;
	while (runs > 1) {
		uint32_t *from = t->returns, *out = to;
		runs = 0;
		for (uint32_t i = 0; i < n; runs++) {
			uint32_t mid = run_end(t, from, i, n);
			uint32_t end = mid < n ? run_end(t, from, mid, n) : n, k = mid;
			while (i < mid || k < end) {
				bool first = k == end || (i < mid && return_to(t, from[i]) <=
									     return_to(t, from[k]));
				*out++ = from[first ? i++ : k++];
			}
			i = end;
		}
		t->returns = to;
		to = from;
	}
	free(to);
	return 0;
}

/* What a site is by itself. */
static struct site_facts facts_of(const struct pugmark_plan_site *s)
{
	bool returns = s->kind == PUGMARK_WITNESS_RETURN;
	return (struct site_facts){
		.addr = UINT64_MAX,
		.node = PUGMARK_NONE,
		.entered = PUGMARK_NONE,
		.begins = PUGMARK_NONE,
		.returns = returns,
		.times_call = !returns && s->reads & PUGMARK_READS_TIME &&
			      !(s->reads & PUGMARK_READS_CALL),
	};
}

/* And what it is as the witness of node @node. */
static void add_node(const struct pugmark_plan *plan, uint32_t node, struct site_facts *facts)
{
	const struct pugmark_plan_node *n = &plan->nodes[node];
	facts->node = node;
	facts->addr = n->addr;
	bool begins = n->kind == PUGMARK_NODE_KIND_MARK && n->addr == plan->funcs[n->func].addr;
	facts->begins = begins ? n->func : PUGMARK_NONE;
	facts->own_cfa = plan->sites[n->site].cfa_reg != PUGMARK_CFA_UNKNOWN &&
			 !(n->flags & PUGMARK_NODE_CALLEE_CFA);
}

static int index_nodes(struct parse_tables *t)
{
	const struct pugmark_plan *plan = t->plan;
	for (uint32_t i = 0; i < plan->n_sites; i++)
		t->sites[i] = facts_of(&plan->sites[i]);
	for (uint32_t i = 1; i < plan->n_nodes; i++) {
		const struct pugmark_plan_node *n = &plan->nodes[i];
		if (n->site != PUGMARK_NONE)
			add_node(plan, i, &t->sites[n->site]);
		bool call =
			n->kind == PUGMARK_NODE_KIND_CALL || n->kind == PUGMARK_NODE_KIND_UNKNOWN ||
			n->kind == PUGMARK_NODE_KIND_LEAF || n->kind == PUGMARK_NODE_KIND_OPAQUE;
		if (call && !(n->flags & PUGMARK_NODE_TAIL))
			t->returns[t->n_returns++] = i;
	}
	for (uint32_t f = 0; f < plan->n_funcs; f++) {
		const struct pugmark_plan_func *func = &plan->funcs[f];
		if (!(func->flags & PUGMARK_PLAN_FUNC_ENTERED) || func->entry == PUGMARK_NONE)
			continue;
		const struct pugmark_plan_decision *d = &plan->decisions[func->entry];
		if (d->n != 1)
			continue;
		uint32_t site = plan->nodes[plan->alternatives[d->first]].site;
		if (site != PUGMARK_NONE)
			t->sites[site].entered = t->sites[site].begins = f;
	}
	for (struct site_facts *s = t->sites; s < t->sites + plan->n_sites; s++)
		s->times_more = s->returns || s->times_call || s->begins != PUGMARK_NONE;
	return sort_returns(t);
}

int parse_tables_new(const struct pugmark_plan *plan, struct parse_tables **out)
{
	struct parse_tables *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->plan = plan;
	t->at = calloc(plan->n_decisions + 1, sizeof(*t->at));
	t->sites = calloc(plan->n_sites + 1, sizeof(*t->sites));
	t->enterable = calloc(plan->n_funcs + 1, sizeof(bool));
	t->enterable_unseen = calloc(plan->n_funcs + 1, sizeof(bool));
	t->jumps_out = calloc(plan->n_funcs + 1, sizeof(bool));
	t->stays_inside = calloc(plan->n_funcs + 1, sizeof(bool));
	t->returns = calloc(plan->n_nodes + 1, sizeof(*t->returns));
	t->jumps.funcs = calloc(plan->n_funcs + 1, sizeof(*t->jumps.funcs));
	t->jumps.seen = calloc(plan->n_funcs + 1, sizeof(*t->jumps.seen));
	if (!t->enterable || !t->enterable_unseen || !t->jumps_out || !t->stays_inside || !t->at ||
	    !t->sites || !t->returns || !t->jumps.funcs || !t->jumps.seen ||
	    first_nullable_new(plan, &t->silent) || parse_facts_outward(t) ||
	    parse_facts_unsure(t) || index_nodes(t)) {
		parse_tables_free(t);
		return -ENOMEM;
	}
	parse_facts_inside(t);
	parse_facts_go(t);
	*out = t;
	return 0;
}

void parse_tables_free(struct parse_tables *t)
{
	if (!t)
		return;
	for (struct decision_table *d = t->last, *older; d; d = older) {
		older = d->older;
		free(d);
	}
	free(t->at);
	first_nullable_free(t->silent);
	free(t->sites);
	free(t->enterable);
	free(t->enterable_unseen);
	free(t->jumps_out);
	free(t->stays_inside);
	free(t->returns);
	free(t->jumps.funcs);
	free(t->jumps.seen);
	free(t->unsure_decision);
	free(t->unsure_call);
	free(t->unsure_root);
	free(t->hides_frames);
	free(t);
}

bool parse_tables_func_empty(const struct parse_tables *t, uint32_t func)
{
	return first_nullable_func(t->silent, t->plan, func);
}

uint32_t parse_tables_return_to(const struct parse_tables *t, uint64_t addr)
{
	uint32_t low = 0, high = t->n_returns;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		uint64_t at = return_to(t, t->returns[mid]);
		if (at == addr)
			return t->returns[mid];
		low = at < addr ? mid + 1 : low;
		high = at < addr ? high : mid;
	}
	return PUGMARK_NONE;
}

bool parse_tables_enterable_unseen(const struct parse_tables *t, uint32_t func)
{
	return t->enterable_unseen[func];
}

bool parse_tables_enterable(const struct parse_tables *t, uint32_t func)
{
	return t->enterable[func];
}

bool parse_tables_jumps_out(const struct parse_tables *t, uint32_t func)
{
	return t->jumps_out[func];
}

bool parse_tables_stays_inside(const struct parse_tables *t, uint32_t func)
{
	return t->stays_inside[func];
}

/* A place that the walk has reached in silence: @decision of a frame whose CFA is @depth bytes
 * lower than the deciding function's (`or_below`: or more), and whose activation returns to @ret.
 */
struct place {
	uint32_t decision;
	int32_t depth;
	uint32_t ret;
	uint32_t or_below; /* 0 or 1: places are compared whole */
};

/* As many depths of one place are told apart, then only how deep it is at the least. The check of a
 * plan joins what it knows no later, so a plan that it accepts needs no more. */
#define DEPTHS_MAX 64

struct walk {
	struct parse_tables *t;
	struct place *queue; /* every place seen, in order; the ones before `next` are done */
	uint32_t n, cap, next;
	uint32_t *seen; /* hash of places: index + 1 */
	uint32_t seen_size;
	struct first_entry *found;
	uint32_t n_found, cap_found;
	uint32_t alt;
	bool failed, top, unplaced;
};

static uint32_t place_hash(struct place p)
{
	return (p.decision * 2654435761u) ^ (p.ret * 2246822519u); /* at any depth */
}

static void see_again(struct walk *w)
{
	uint32_t size = w->seen_size ? 2 * w->seen_size : 64;
	free(w->seen);
	w->seen = calloc(size, sizeof(*w->seen));
	w->seen_size = w->seen ? size : 0;
	w->failed |= !w->seen;
	for (uint32_t i = 0; w->seen && i < w->n; i++) {
		uint32_t h = place_hash(w->queue[i]);
		while (w->seen[h & (size - 1)])
			h++;
		w->seen[h & (size - 1)] = i + 1;
	}
}

/* Whether place @q, the same but for its depth, is @p or stands for it as well. */
static bool stands_for(const struct place *q, const struct place *p)
{
	if (q->depth == FIRST_DEPTH_UNKNOWN || p->depth == FIRST_DEPTH_UNKNOWN)
		return q->depth == p->depth;
	return q->or_below ? q->depth <= p->depth : q->depth == p->depth && !p->or_below;
}

static void go_to(struct walk *w, struct place p)
{
	if (p.decision == PUGMARK_NONE)
		return;
	if (2 * w->n >= w->seen_size)
		see_again(w);
	if (w->failed)
		return;
	uint32_t h = place_hash(p), n_depths = 0;
	for (uint32_t i; (i = w->seen[h & (w->seen_size - 1)]); h++) {
		const struct place *q = &w->queue[i - 1];
		if (q->decision != p.decision || q->ret != p.ret)
			continue;
		if (stands_for(q, &p))
			return;
		n_depths += q->depth != FIRST_DEPTH_UNKNOWN;
	}
	if (n_depths >= DEPTHS_MAX)
		p.or_below = true;
	if (w->n == TERMS_MAX) {
		w->top = true;
		return;
	}
	if (w->n == w->cap) {
		uint32_t cap = w->cap ? 2 * w->cap : 32;
		struct place *queue = realloc(w->queue, cap * sizeof(*queue));
		if (!queue) {
			w->failed = true;
			return;
		}
		w->queue = queue;
		w->cap = cap;
	}
	w->queue[w->n++] = p;
	w->seen[h & (w->seen_size - 1)] = w->n;
}

static void find(struct walk *w, uint32_t site, struct place p)
{
	for (uint32_t i = w->n_found; i-- > 0 && w->found[i].alt == w->alt;)
		if (w->found[i].site == site && w->found[i].depth == p.depth &&
		    w->found[i].ret == p.ret && w->found[i].or_below == p.or_below)
			return;
	if (w->n_found == TERMS_MAX) {
		w->top = true;
		return;
	}
	if (w->n_found == w->cap_found) {
		uint32_t cap = w->cap_found ? 2 * w->cap_found : 32;
		struct first_entry *found = realloc(w->found, cap * sizeof(*found));
		if (!found) {
			w->failed = true;
			return;
		}
		w->found = found;
		w->cap_found = cap;
	}
	w->found[w->n_found++] = (struct first_entry){site, p.depth, p.ret, w->alt, p.or_below};
}

static int32_t below(int32_t depth, int32_t height)
{
	bool known = depth != FIRST_DEPTH_UNKNOWN && height != PUGMARK_HEIGHT_UNKNOWN;
	if (!known || __builtin_add_overflow(depth, height, &depth))
		return FIRST_DEPTH_UNKNOWN;
	return depth;
}

/* One node met in silence at place @p. */
static void pass(struct walk *w, uint32_t node, struct place p)
{
	const struct pugmark_plan_node *n = &w->t->plan->nodes[node];
	if (n->site != PUGMARK_NONE) {
		const struct pugmark_plan_site *site = &w->t->plan->sites[n->site];
		bool own = site->cfa_reg != PUGMARK_CFA_UNKNOWN &&
			   !(n->flags & PUGMARK_NODE_CALLEE_CFA);
		if (!own)
			p.depth = FIRST_DEPTH_UNKNOWN;
		find(w, n->site, p);
		return;
	}
	bool tail = n->flags & PUGMARK_NODE_TAIL;
	struct place callee = {
		.depth = below(p.depth, tail ? 0 : n->height),
		.ret = tail ? p.ret : node,
		.or_below = p.or_below,
	};
	if (n->kind == PUGMARK_NODE_KIND_CALL) {
		callee.decision = w->t->plan->funcs[n->callee].entry;
		w->unplaced |= !tail && n->height == PUGMARK_HEIGHT_UNKNOWN;
		go_to(w, callee);
	}
	if (n->kind == PUGMARK_NODE_KIND_UNKNOWN)
		find(w, FIRST_ANY_ENTRY, callee);
	p.decision = pugmark_node_next(n);
	if (node_silent(w->t, n) && !parse_leaves(n) && !(n->flags & PUGMARK_NODE_NORETURN))
		go_to(w, p);
}

static int by_site(const void *a, const void *b)
{
	const struct first_entry *x = a, *y = b;
	return x->site < y->site ? -1 : x->site > y->site;
}

/* In each site's own order. Most are few: moving each to its place is less than a call of qsort().
 */
static void sort_found(struct first_entry *found, uint32_t n)
{
	if (n > FEW) {
		qsort(found, n, sizeof(*found), by_site);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		struct first_entry moved = found[i];
		uint32_t to = i;
		for (; to && found[to - 1].site > moved.site; to--)
			found[to] = found[to - 1];
		found[to] = moved;
	}
}

/* A table in one allocation: itself, its slots, its entries. */
static struct decision_table *table_of(const struct decision_table *summary,
				       const struct first_entry *found, uint32_t n)
{
	uint32_t n_sites = 0, n_any = 0, bits = 1;
	while (n_any < n && found[n - 1 - n_any].site == FIRST_ANY_ENTRY)
		n_any++;
	for (uint32_t i = 0; i < n - n_any; i++)
		n_sites += !i || found[i].site != found[i - 1].site;
	while (1u << bits < 2 * n_sites)
		bits++;
	struct decision_table *table =
		malloc(sizeof(*table) + (sizeof(uint32_t) << bits) + n * sizeof(*found));
	if (!table)
		return NULL;
	uint32_t *slots = (uint32_t *)(table + 1), mask = (1u << bits) - 1;
	struct first_entry *entries = (struct first_entry *)(slots + (1u << bits));
	*table = *summary;
	table->entries = entries;
	table->slots = slots;
	table->n = n;
	table->n_any = n_any;
	table->slot_shift = 32 - bits;
	if (n)
		memcpy(entries, found, n * sizeof(*found));
	memset(slots, 0xff, sizeof(uint32_t) << bits);
	for (uint32_t i = 0; i < n - n_any; i++) {
		if (i && found[i].site == found[i - 1].site)
			continue;
		uint32_t at = first_slot(found[i].site, table->slot_shift);
		while (slots[at] != UINT32_MAX)
			at = (at + 1) & mask;
		slots[at] = i;
	}
	return table;
}

static struct decision_table *build(struct parse_tables *t, uint32_t decision)
{
	const struct pugmark_plan_decision *d = &t->plan->decisions[decision];
	struct walk w = {.t = t};
	struct decision_table summary = {.empty = PUGMARK_NONE};
	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t node = t->plan->alternatives[d->first + i];
		w.alt = node;
		w.n = w.next = 0;
		if (w.seen)
			memset(w.seen, 0, w.seen_size * sizeof(*w.seen));
		if (node_empty(t, &t->plan->nodes[node])) {
			summary.empty = node;
			summary.n_empty++;
		}
		pass(&w, node, (struct place){decision, 0, FIRST_SELF, false});
		while (w.next < w.n && !w.failed) {
			struct place p = w.queue[w.next++];
			const struct pugmark_plan_decision *at = &t->plan->decisions[p.decision];
			for (uint32_t k = 0; k < at->n; k++)
				pass(&w, t->plan->alternatives[at->first + k], p);
		}
	}
	sort_found(w.found, w.n_found);
	summary.top = w.top;
	/* An event in a callee of which nothing tells where its frame lies may as well be of
	 * another activation, further out. */
	summary.unsure = w.unplaced || (t->unsure_decision && t->unsure_decision[decision]);
	struct decision_table *table = w.failed ? NULL : table_of(&summary, w.found, w.n_found);
	free(w.queue);
	free(w.seen);
	free(w.found);
	return table;
}

const struct decision_table *parse_tables_build(struct parse_tables *t, uint32_t decision)
{
	struct decision_table *table = build(t, decision);
	if (table) {
		table->older = t->last;
		t->last = t->at[decision] = table;
	}
	return table;
}

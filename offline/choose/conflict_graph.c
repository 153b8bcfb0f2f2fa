// SPDX-License-Identifier: LGPL-2.1-or-later
/* conflict_graph.c: the conflict graph of a function (Definition 8 of the Casper paper): which
 * of its nodes some decision cannot tell apart. As pairs, or where those are too many, as groups.
 */
#include "offline/choose/conflict_impl.h"

#include <stdlib.h>
#include <string.h>

/* What groups may have together, each with its end. No function of gdb, perl, SQLite, redis or Node
 * has a 32nd of that. */
#define MEMBERS_MAX (32u << 20)

/* What is being collected of the decisions of a function. */
struct collection {
	struct vec_u32 *out;
	bool pairs;	/* as pairs, each once; or as groups */
	uint32_t max;	/* pairs: so many may there be */
	bool full;	/* there are more */
	uint32_t stamp; /* pairs: decisions for which ch->seen_alike has this value are done */
};

/* In any order. */
static int by_pair(const void *a, const void *b)
{
	uint64_t x, y;
	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

/* Leaves each pair once. */
static void sort_edges(struct vec_u32 *edges)
{
	uint32_t n = 0;
	if (edges->n)
		qsort(edges->at, edges->n / 2, 2 * sizeof(uint32_t), by_pair);
	for (uint32_t i = 0; i < edges->n; i += 2)
		if (!n || by_pair(&edges->at[i], &edges->at[2 * (n - 1)])) {
			edges->at[2 * n] = edges->at[i];
			edges->at[2 * n++ + 1] = edges->at[i + 1];
		}
	edges->n = 2 * n;
}

/* Whether there is room for more. Many decisions have the same pairs. */
static bool has_room(struct collection *to)
{
	if (!to->pairs)
		to->full |= to->out->n > MEMBERS_MAX;
	if (!to->pairs || to->full || to->out->n / 2 < 2 * to->max)
		return !to->full;
	sort_edges(to->out);
	to->full = to->out->n / 2 > to->max;
	return !to->full;
}

static void add_pair(struct conflicts *ch, struct collection *to, uint32_t a, uint32_t b)
{
	if (a == b)
		return;
	ch->work++;
	push(ch, to->out, a < b ? a : b);
	push(ch, to->out, a < b ? b : a);
	if (!to->pairs)
		push(ch, to->out, NODE_NONE);
}

static void add_group(struct conflicts *ch, struct collection *to, const uint32_t *nodes,
		      uint32_t n)
{
	for (uint32_t i = 0; i < n && has_room(to) && !conflict_spent(ch); i++)
		for (uint32_t k = 0; to->pairs && k < i; k++)
			add_pair(ch, to, nodes[i], nodes[k]);
	for (uint32_t i = 0; i < n && !to->pairs; i++)
		push(ch, to->out, nodes[i]);
	if (!to->pairs)
		push(ch, to->out, NODE_NONE);
}

/* The alternatives of @d, which the caller frees; no terminals are found yet. */
static struct vec_u32 begin_decision(struct conflicts *ch, struct decision d)
{
	struct vec_u32 nodes = {0};
	conflict_alternatives(ch, d, &ch->alts);
	for (uint32_t i = 0; i < ch->alts.n; i++)
		push(ch, &nodes, ch->alts.at[i]);
	ch->n_found = 0;
	return nodes;
}

static int by_event(const void *a, const void *b)
{
	const struct found_term *x = a, *y = b;
	if (x->term.w != y->term.w)
		return x->term.w < y->term.w ? -1 : 1;
	return x->alt < y->alt ? -1 : x->alt > y->alt;
}

/* Adds the alternatives in found[@from .. @end), which is sorted and all of one event, to @to as a
 * group. Entries say where they return to, so these are compared pair by pair. */
static void group_event(struct conflicts *ch, const struct vec_u32 *nodes, uint32_t from,
			uint32_t end, struct collection *to)
{
	const struct found_term *found = ch->found;
	struct vec_u32 group = {0};
	if (found[from].alt == found[end - 1].alt)
		return;
	for (uint32_t i = from; i < end; i++)
		if (i == from || found[i].alt != found[i - 1].alt)
			push(ch, &group, nodes->at[found[i].alt]);
	add_group(ch, to, group.at, group.n);
	free(group.at);
}

static void pair_entries(struct conflicts *ch, const struct vec_u32 *nodes, struct collection *to)
{
	struct vec_u32 entries = {0};
	for (uint32_t i = 0; i < ch->n_found; i++)
		if (conflict_is_entry_term(ch, ch->found[i].term.w))
			push(ch, &entries, i);
	for (uint32_t i = 0; i < entries.n && has_room(to) && !conflict_spent(ch); i++)
		for (uint32_t j = 0; j < i; j++) {
			ch->work++;
			const struct found_term *a = &ch->found[entries.at[i]];
			const struct found_term *b = &ch->found[entries.at[j]];
			if (a->alt != b->alt && !conflict_distinguishable(ch, a->term, b->term))
				add_pair(ch, to, nodes->at[a->alt], nodes->at[b->alt]);
		}
	free(entries.at);
}

/* Whether @d has the same alternatives as a decision that was collected before: behind many copies
 * of one dispatch there are thousands. */
static bool seen_before(struct conflicts *ch, struct decision d, const struct collection *to)
{
	uint32_t c = to->pairs ? conflict_continuation(ch, d) : PUGMARK_NONE;
	if (c == PUGMARK_NONE)
		return false;
	uint32_t *seen = &ch->seen_alike[conflict_place(ch, c)];
	bool before = *seen == to->stamp;
	*seen = to->stamp;
	return before;
}

static bool collect_decision(struct conflicts *ch, struct decision d, struct collection *to)
{
	if (seen_before(ch, d, to))
		return true;
	struct vec_u32 nodes = begin_decision(ch, d);
	for (uint32_t i = 0; i < nodes.n && nodes.n > 1; i++) {
		bool top = false;
		bool empty = conflict_close_over(ch, nodes.at[i], i, &top);
		for (uint32_t j = 0; j < nodes.n && (empty || top); j++)
			add_pair(ch, to, nodes.at[i], nodes.at[j]);
		if (!has_room(to) || conflict_spent(ch))
			break;
	}
	if (ch->n_found)
		qsort(ch->found, ch->n_found, sizeof(*ch->found), by_event);
	for (uint32_t i = 0, end; i < ch->n_found && has_room(to); i = end) {
		uint32_t w = ch->found[i].term.w;
		for (end = i; end < ch->n_found && ch->found[end].term.w == w; end++)
			;
		if (!conflict_is_entry_term(ch, w))
			group_event(ch, &nodes, i, end, to);
	}
	pair_entries(ch, &nodes, to);
	free(nodes.at);
	return has_room(to) && !ch->failed && !conflict_spent(ch);
}

/* Collects what all decisions of @func cannot tell apart; returns whether there was room. */
static bool collect(struct conflicts *ch, uint32_t func, struct collection *to)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	if (!collect_decision(ch, (struct decision){func, PUGMARK_NONE, WAY_ALL}, to))
		return false;
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		if (!(ch->prog->blocks[b].flags & PROG_REACHED) || !conflict_is_node(ch, b))
			continue;
		for (uint32_t i = 0; i < conflict_ways(ch, b); i++) {
			struct decision d = {func, b, conflict_decision_way(ch, b, i)};
			if (!collect_decision(ch, d, to))
				return false;
		}
	}
	return true;
}

bool conflict_edges(struct conflicts *ch, uint32_t func, struct vec_u32 *edges, uint32_t max)
{
	struct collection to = {.out = edges, .pairs = true, .max = max, .stamp = ++ch->stamp};
	conflict_keep(ch, func);
	bool all = collect(ch, func, &to);
	conflict_keep_nothing(ch);
	if (!all)
		return false;
	sort_edges(edges);
	return edges->n / 2 <= max;
}

uint32_t conflict_groups(struct conflicts *ch, uint32_t func, struct vec_u32 *members)
{
	struct collection to = {.out = members};
	uint32_t n = 0;
	collect(ch, func, &to);
	if (to.full)
		conflict_spend(ch);
	for (uint32_t i = 0; i < members->n; i++)
		n += members->at[i] == NODE_NONE;
	return n;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* chooser_conflicts.c: the conflict graph of a function (Definition 8 of the Casper paper): which
 * of its nodes some decision cannot tell apart. As pairs, or where those are too many, as groups.
 */
#include "offline/chooser_impl.h"

#include <stdlib.h>
#include <string.h>

typedef bool decision_visitor(struct chooser *ch, struct decision d, struct vec *out, uint32_t max);

/* Calls @visit for each decision of @func until it returns false. */
static bool each_decision(struct chooser *ch, uint32_t func, decision_visitor *visit,
			  struct vec *out, uint32_t max)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	if (!visit(ch, (struct decision){func, PUGMARK_NONE, WAY_ALL}, out, max))
		return false;
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		if (!(ch->prog->blocks[b].flags & PROG_REACHED) || !chooser_is_node(ch, b))
			continue;
		for (uint32_t i = 0; i < chooser_ways(ch, b); i++) {
			struct decision d = {func, b, chooser_decision_way(ch, b, i)};
			if (!visit(ch, d, out, max))
				return false;
		}
	}
	return true;
}

static void add_edge(struct chooser *ch, struct vec *edges, uint32_t a, uint32_t b)
{
	if (a == b)
		return;
	push(ch, edges, a < b ? a : b);
	push(ch, edges, a < b ? b : a);
}

static int by_pair(const void *a, const void *b)
{
	return memcmp(a, b, 2 * sizeof(uint32_t));
}

/* Leaves each pair once. */
static void sort_edges(struct vec *edges)
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

/* Whether there is room for more pairs. Many decisions have the same ones. */
static bool has_room(struct vec *edges, uint32_t max)
{
	if (edges->n / 2 < 2 * max)
		return true;
	sort_edges(edges);
	return edges->n / 2 <= max;
}

/* The alternatives of @d, to be freed; nothing is found of them yet. */
static struct vec begin_decision(struct chooser *ch, struct decision d)
{
	struct vec nodes = {0};
	chooser_alternatives(ch, d, &ch->alts);
	for (uint32_t i = 0; i < ch->alts.n; i++)
		push(ch, &nodes, ch->alts.at[i]);
	ch->n_found = 0;
	return nodes;
}

static bool decision_edges(struct chooser *ch, struct decision d, struct vec *edges, uint32_t max)
{
	struct vec nodes = begin_decision(ch, d);
	for (uint32_t i = 0; i < nodes.n && nodes.n > 1; i++) {
		bool top = false;
		bool empty = chooser_close_over(ch, nodes.at[i], i, &top);
		if (!empty && !top)
			continue;
		for (uint32_t j = 0; j < nodes.n; j++)
			add_edge(ch, edges, nodes.at[i], nodes.at[j]);
	}
	bool room = true;
	for (uint32_t i = 0; i < ch->n_found && (room = has_room(edges, max)); i++)
		for (uint32_t j = 0; j < i; j++)
			if (ch->found[i].alt != ch->found[j].alt &&
			    !chooser_distinguishable(ch, ch->found[i].term, ch->found[j].term))
				add_edge(ch, edges, nodes.at[ch->found[i].alt],
					 nodes.at[ch->found[j].alt]);
	free(nodes.at);
	return room;
}

bool chooser_conflict_edges(struct chooser *ch, uint32_t func, struct vec *edges, uint32_t max)
{
	if (!each_decision(ch, func, decision_edges, edges, max))
		return false;
	sort_edges(edges);
	return edges->n / 2 <= max;
}

/* ---- groups ---- */

static void add_pair(struct chooser *ch, struct vec *members, uint32_t a, uint32_t b)
{
	if (a == b)
		return;
	push(ch, members, a);
	push(ch, members, b);
	push(ch, members, NODE_NONE);
}

static int by_event(const void *a, const void *b)
{
	const struct found_term *x = a, *y = b;
	if (x->term.w != y->term.w)
		return x->term.w < y->term.w ? -1 : 1;
	return x->alt < y->alt ? -1 : x->alt > y->alt;
}

/* The alternatives in found[@from .. @to), which is ordered, all of one event. Entries say where
 * they return to, so of them it is the pairs that are compared. */
static void group_event(struct chooser *ch, const struct vec *nodes, uint32_t from, uint32_t to,
			struct vec *members)
{
	const struct found_term *found = ch->found;
	if (found[from].alt == found[to - 1].alt)
		return;
	for (uint32_t i = from; i < to; i++)
		if (i == from || found[i].alt != found[i - 1].alt)
			push(ch, members, nodes->at[found[i].alt]);
	push(ch, members, NODE_NONE);
}

static void pair_entries(struct chooser *ch, const struct vec *nodes, struct vec *members)
{
	struct vec entries = {0};
	for (uint32_t i = 0; i < ch->n_found; i++)
		if (chooser_is_entry_term(ch, ch->found[i].term.w))
			push(ch, &entries, i);
	for (uint32_t i = 0; i < entries.n; i++)
		for (uint32_t j = 0; j < i; j++) {
			const struct found_term *a = &ch->found[entries.at[i]];
			const struct found_term *b = &ch->found[entries.at[j]];
			if (a->alt != b->alt && !chooser_distinguishable(ch, a->term, b->term))
				add_pair(ch, members, nodes->at[a->alt], nodes->at[b->alt]);
		}
	free(entries.at);
}

static bool decision_groups(struct chooser *ch, struct decision d, struct vec *members,
			    uint32_t max)
{
	(void)max;
	struct vec nodes = begin_decision(ch, d);
	for (uint32_t i = 0; i < nodes.n && nodes.n > 1; i++) {
		bool top = false;
		bool empty = chooser_close_over(ch, nodes.at[i], i, &top);
		for (uint32_t j = 0; j < nodes.n && (empty || top); j++)
			add_pair(ch, members, nodes.at[i], nodes.at[j]);
	}
	if (ch->n_found)
		qsort(ch->found, ch->n_found, sizeof(*ch->found), by_event);
	for (uint32_t i = 0, end; i < ch->n_found; i = end) {
		uint32_t w = ch->found[i].term.w;
		for (end = i; end < ch->n_found && ch->found[end].term.w == w; end++)
			;
		if (!chooser_is_entry_term(ch, w))
			group_event(ch, &nodes, i, end, members);
	}
	pair_entries(ch, &nodes, members);
	free(nodes.at);
	return !ch->failed;
}

uint32_t chooser_conflict_groups(struct chooser *ch, uint32_t func, struct vec *members)
{
	uint32_t n = 0;
	each_decision(ch, func, decision_groups, members, 0);
	for (uint32_t i = 0; i < members->n; i++)
		n += members->at[i] == NODE_NONE;
	return n;
}

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

/* Pairs of nodes, each once, by a hash of both; many decisions have the same. */
struct pair_set {
	uint64_t *slots; /* the lesser node in the upper half; 0: empty, since no node is less than
			    0 */
	uint32_t size, n;
};

/* What is being collected of the decisions of a function. */
struct collection {
	struct vec_u32 *out; /* groups */
	struct pair_set pairs;
	bool as_pairs;	/* or as groups */
	uint32_t max;	/* pairs: so many may there be */
	bool full;	/* there are more */
	uint32_t stamp; /* pairs: decisions for which ch->seen_alike has this value are done */
};

/* The slot of @pair, or the empty one where it would be. */
static uint64_t *slot_of(const struct pair_set *set, uint64_t pair)
{
	uint32_t i = (uint32_t)(pair * UINT64_C(0x9e3779b97f4a7c15) >> 32);
	while (set->slots[i & (set->size - 1)] && set->slots[i & (set->size - 1)] != pair)
		i++;
	return &set->slots[i & (set->size - 1)];
}

static bool make_room_for_pair(struct pair_set *set)
{
	if (4 * (uint64_t)set->n < 3 * (uint64_t)set->size)
		return true;
	struct pair_set more = {.size = set->size ? 2 * set->size : 64, .n = set->n};
	more.slots = calloc(more.size, sizeof(*more.slots));
	if (!more.slots)
		return false;
	for (uint32_t i = 0; i < set->size; i++)
		if (set->slots[i])
			*slot_of(&more, set->slots[i]) = set->slots[i];
	free(set->slots);
	*set = more;
	return true;
}

/* Whether there is room for more. */
static bool has_room(struct collection *to)
{
	to->full |= to->as_pairs ? to->pairs.n > to->max : to->out->n > MEMBERS_MAX;
	return !to->full;
}

static void add_pair(struct conflicts *ch, struct collection *to, uint32_t a, uint32_t b)
{
	if (a == b)
		return;
	ch->work++;
	uint32_t least = a < b ? a : b, most = a < b ? b : a;
	if (!to->as_pairs) {
		push(ch, to->out, least);
		push(ch, to->out, most);
		push(ch, to->out, NODE_NONE);
		return;
	}
	if (!make_room_for_pair(&to->pairs)) {
		ch->failed = true;
		return;
	}
	uint64_t pair = (uint64_t)least << 32 | most, *slot = slot_of(&to->pairs, pair);
	to->pairs.n += !*slot;
	*slot = pair;
}

static void add_group(struct conflicts *ch, struct collection *to, const uint32_t *nodes,
		      uint32_t n)
{
	for (uint32_t i = 0; i < n && has_room(to) && !conflict_spent(ch); i++)
		for (uint32_t k = 0; to->as_pairs && k < i; k++)
			add_pair(ch, to, nodes[i], nodes[k]);
	for (uint32_t i = 0; i < n && !to->as_pairs; i++)
		push(ch, to->out, nodes[i]);
	if (!to->as_pairs)
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
	uint32_t c = to->as_pairs ? conflict_continuation(ch, d) : PUGMARK_NONE;
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
	struct collection to = {.as_pairs = true, .max = max, .stamp = ++ch->stamp};
	conflict_keep(ch, func);
	bool all = collect(ch, func, &to);
	conflict_keep_nothing(ch);
	for (uint32_t i = 0; all && i < to.pairs.size; i++)
		if (to.pairs.slots[i]) {
			push(ch, edges, (uint32_t)(to.pairs.slots[i] >> 32));
			push(ch, edges, (uint32_t)to.pairs.slots[i]);
		}
	free(to.pairs.slots);
	return all;
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

// SPDX-License-Identifier: LGPL-2.1-or-later
/* choose_cover.c: the greedy vertex cover of Algorithm 1 (section 4.2 of the Casper paper): again
 * and again the node with the most conflicts is marked. Where thousands of nodes show the same
 * event their pairs are millions; then conflicts are kept as groups of nodes that all conflict with
 * each other, one group for each event and decision. */
#include "offline/choose/choose_casper.h"

#include <stdlib.h>
#include <string.h>

/* Pairs up to which the graph is made as such. */
#define EDGES_MAX (1u << 20)

/* Marks the call or return in @block, or the jcc that it is one way of. */
bool casper_mark_site(struct conflicts *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	if (ch->marks[block])
		return false;
	if (prog_probeable(&b->last)) {
		ch->marks[block] = MARK_LAST;
		return true;
	}
	if (prog_probeable(&b->any)) {
		ch->marks[block] = MARK_BLOCK;
		return true;
	}
	if (b->flags & PROG_VIRTUAL)
		for (uint32_t p = ch->pred_at[block]; p < ch->pred_at[block + 1]; p++)
			if (ch->prog->blocks[ch->preds[p]].flags & PROG_BRANCH)
				ch->marks[ch->preds[p]] = MARK_BRANCH;
	return false;
}

static void cover_edges(struct conflicts *ch, uint32_t func, struct vec_u32 *edges)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	uint32_t *degree = calloc(f->n_blocks, sizeof(*degree));
	uint32_t n = edges->n / 2;
	ch->failed |= !degree;
	while (n && degree && !conflict_spent(ch)) {
		ch->work += 2 * n + f->n_blocks;
		memset(degree, 0, f->n_blocks * sizeof(*degree));
		for (uint32_t i = 0; i < 2 * n; i++)
			if (edges->at[i] != NODE_EXIT)
				degree[edges->at[i] - f->block]++;
		uint32_t best = 0;
		for (uint32_t i = 1; i < f->n_blocks; i++)
			best = degree[i] > degree[best] ? i : best;
		best += f->block;
		casper_mark_site(ch, best);
		uint32_t kept = 0;
		for (uint32_t i = 0; i < n; i++)
			if (edges->at[2 * i] != best && edges->at[2 * i + 1] != best) {
				edges->at[2 * kept] = edges->at[2 * i];
				edges->at[2 * kept++ + 1] = edges->at[2 * i + 1];
			}
		n = kept;
	}
	free(degree);
}

/* ---- groups ---- */

struct membership {
	uint32_t block, group;
};

struct cover {
	const struct prog_func *f;
	struct membership *by_block; /* ordered by block; those of a block from at[] on */
	uint32_t *at, *degree;
	uint32_t *start, *live; /* per group: its first in the list of members; not yet marked */
};

static void cover_deinit(struct cover *c)
{
	free(c->by_block);
	free(c->at);
	free(c->degree);
	free(c->start);
	free(c->live);
}

/* @members: the nodes of one group after the other, each ended by NODE_NONE. */
static bool cover_init(struct cover *c, const struct vec_u32 *members, uint32_t n_groups)
{
	uint32_t n_blocks = c->f->n_blocks, group = 0;
	c->by_block = calloc(members->n + 1, sizeof(*c->by_block));
	c->at = calloc(n_blocks + 2, sizeof(*c->at));
	c->degree = calloc(n_blocks, sizeof(*c->degree));
	c->start = calloc(n_groups + 1, sizeof(*c->start));
	c->live = calloc(n_groups + 1, sizeof(*c->live));
	if (!c->by_block || !c->at || !c->degree || !c->start || !c->live)
		return false;
	for (uint32_t i = 0; i < members->n; i++) {
		uint32_t b = members->at[i];
		if (b == NODE_NONE) {
			c->start[++group] = i + 1;
			continue;
		}
		c->live[group]++;
		if (b != NODE_EXIT)
			c->at[b - c->f->block + 2]++;
	}
	for (uint32_t i = 0; i < n_blocks; i++)
		c->at[i + 2] += c->at[i + 1];
	for (uint32_t i = 0, g = 0; i < members->n; i++) {
		uint32_t b = members->at[i];
		if (b == NODE_NONE) {
			g++;
		} else if (b != NODE_EXIT) {
			c->by_block[c->at[b - c->f->block + 1]++] = (struct membership){b, g};
			c->degree[b - c->f->block] += c->live[g] - 1;
		}
	}
	return true;
}

static void cover_groups(struct conflicts *ch, uint32_t func, const struct vec_u32 *members,
			 uint32_t n_groups)
{
	struct cover c = {.f = &ch->prog->funcs[func]};
	if (!cover_init(&c, members, n_groups)) {
		ch->failed = true;
		cover_deinit(&c);
		return;
	}
	while (!conflict_spent(ch)) {
		uint32_t best = 0;
		ch->work += c.f->n_blocks;
		for (uint32_t i = 1; i < c.f->n_blocks; i++)
			best = c.degree[i] > c.degree[best] ? i : best;
		if (!c.degree[best])
			break;
		c.degree[best] = 0;
		casper_mark_site(ch, c.f->block + best);
		for (uint32_t i = c.at[best]; i < c.at[best + 1]; i++) {
			uint32_t group = c.by_block[i].group;
			c.live[group]--;
			for (uint32_t k = c.start[group]; members->at[k] != NODE_NONE; k++) {
				ch->work++;
				uint32_t b = members->at[k];
				if (b != NODE_EXIT && c.degree[b - c.f->block])
					c.degree[b - c.f->block]--;
			}
		}
	}
	cover_deinit(&c);
}

void casper_cover_conflicts(struct conflicts *ch, uint32_t func)
{
	struct vec_u32 edges = {0}, members = {0};
	if (conflict_edges(ch, func, &edges, EDGES_MAX))
		cover_edges(ch, func, &edges);
	else
		cover_groups(ch, func, &members, conflict_groups(ch, func, &members));
	free(edges.at);
	free(members.at);
}

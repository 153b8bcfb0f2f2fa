// SPDX-License-Identifier: LGPL-2.1-or-later
/* conflict.c: the conflict rule. Answers, for the marks as they stand: between which nodes a
 * decision is (conflict_walk.c), by which first events they show, and whether those tell them apart
 * (conflict_first.c). Everything is computed on demand by short walks, because marks are dense
 * while the choice is made. Here: what the walks need of a program, made once. */
#include "offline/choose/conflict_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Which marks of @b tell by their events in which frame they are. That of a call at an unknown
 * height tells the callee's frame, not this one. */
static uint8_t frames_told(const struct prog_block *b)
{
	bool hidden = (b->call == CALL_DIRECT || b->call == CALL_UNKNOWN) &&
		      !(b->flags & (PROG_TAIL | PROG_ROOT)) && b->height == PUGMARK_HEIGHT_UNKNOWN;
	return (b->any.cfa_known ? HOP_CFA_ANY : 0) | (b->last.cfa_known ? HOP_CFA_LAST : 0) |
	       (b->last.cfa_known && !hidden ? HOP_CFA_CALL : 0);
}

static int build_hops(struct conflicts *ch)
{
	const struct program *prog = ch->prog;
	ch->hops = calloc(prog->n_blocks + 1, sizeof(*ch->hops));
	if (!ch->hops)
		return -ENOMEM;
	for (uint32_t b = 0; b < prog->n_blocks; b++) {
		const struct prog_block *block = &prog->blocks[b];
		const struct prog_func *f = &prog->funcs[block->func];
		struct hop *hop = &ch->hops[b];
		*hop = (struct hop){.succ = block->succ, .n_succ = block->n_succ};
		hop->is_node = block->call != CALL_NONE || f->flags & PROG_PATHS;
		if (block->flags & PROG_RET)
			hop->flags |= HOP_RET;
		if (block->flags & PROG_RET &&
		    (prog_probeable(&block->any) || prog_probeable(&block->last)))
			hop->flags |= HOP_RET_APART;
		if (f->flags & PROG_ENTRY_WITNESS && f->block == b)
			hop->flags |= HOP_ENTRY;
		hop->flags |= frames_told(block);
	}
	return 0;
}

/* What never runs leads nowhere. */
static uint32_t reached_succs(const struct program *prog, uint32_t block)
{
	return prog->blocks[block].flags & PROG_REACHED ? prog->blocks[block].n_succ : 0;
}

static int build_preds(struct conflicts *ch)
{
	const struct program *prog = ch->prog;
	ch->pred_at = calloc(prog->n_blocks + 2, sizeof(uint32_t));
	ch->preds = calloc(prog->n_succs + 1, sizeof(uint32_t));
	if (!ch->pred_at || !ch->preds)
		return -ENOMEM;
	for (uint32_t b = 0; b < prog->n_blocks; b++)
		for (uint32_t i = 0; i < reached_succs(prog, b); i++)
			ch->pred_at[prog_succs(prog, b)[i] + 2]++;
	for (uint32_t b = 0; b < prog->n_blocks; b++)
		ch->pred_at[b + 2] += ch->pred_at[b + 1];
	for (uint32_t b = 0; b < prog->n_blocks; b++)
		for (uint32_t i = 0; i < reached_succs(prog, b); i++)
			ch->preds[ch->pred_at[prog_succs(prog, b)[i] + 1]++] = b;
	return 0;
}

static uint32_t succs_hash(const struct program *prog, uint32_t block)
{
	uint32_t h = 2166136261u;
	for (uint32_t i = 0; i < prog->blocks[block].n_succ; i++)
		h = (h ^ prog_succs(prog, block)[i]) * 16777619u;
	return h ^ h >> 15;
}

static bool same_succs(const struct program *prog, uint32_t a, uint32_t b)
{
	const struct prog_block *x = &prog->blocks[a], *y = &prog->blocks[b];
	return x->n_succ == y->n_succ &&
	       !memcmp(prog_succs(prog, a), prog_succs(prog, b), x->n_succ * sizeof(uint32_t));
}

/* Only blocks of one function have the same successors, so its size is enough for the table. */
static int find_alike(struct conflicts *ch)
{
	const struct program *prog = ch->prog;
	uint32_t mask = 2 * ch->places_mask + 1;
	struct place_head *table = calloc((size_t)mask + 1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (uint32_t b = 0; b < prog->n_blocks; b++) {
		uint32_t stamp = prog->blocks[b].func + 1;
		ch->alike[b] = b;
		if (prog->blocks[b].n_succ < 2)
			continue;
		uint32_t h = succs_hash(prog, b) & mask;
		while (table[h].stamp == stamp && !same_succs(prog, table[h].first, b))
			h = (h + 1) & mask;
		if (table[h].stamp == stamp)
			ch->alike[b] = table[h].first;
		else
			table[h] = (struct place_head){stamp, b};
	}
	free(table);
	return 0;
}

/* Scratch of as many places as the largest function has blocks. */
static bool make_places(struct conflicts *ch)
{
	const struct program *prog = ch->prog;
	struct watch *w = &ch->watch;
	uint32_t most = 1;
	for (uint32_t f = 0; f < prog->n_funcs; f++)
		most = prog->funcs[f].n_blocks > most ? prog->funcs[f].n_blocks : most;
	while (ch->places_mask < most)
		ch->places_mask = 2 * ch->places_mask + 1;
	size_t n = (size_t)ch->places_mask + 1;
	uint32_t **stamps[] = {&ch->seen_walk,	&ch->seen_closure, &ch->seen_back,
			       &ch->seen_alike, &ch->seen_fan,	   &ch->seen_end,
			       &w->new_alts,	&w->term_at,	   &w->ahead};
	uint8_t **flags[] = {&w->loops,	     &w->held,		&w->passed,	 &w->ours.starts,
			     &w->ours.nodes, &w->rivals.starts, &w->rivals.nodes};
	ch->heads = calloc(n, sizeof(*ch->heads));
	bool ok = ch->heads;
	for (size_t i = 0; i < sizeof(stamps) / sizeof(*stamps); i++) {
		*stamps[i] = calloc(n, sizeof(uint32_t));
		ok = ok && *stamps[i];
	}
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		*flags[i] = calloc(n, 1);
		ok = ok && *flags[i];
	}
	return ok;
}

int conflict_init_walks(struct conflicts *ch, const struct program *prog)
{
	*ch = (struct conflicts){.prog = prog, .work_end = UINT64_MAX, .work_spare = WORK_SPARE};
	size_t n = prog->n_blocks + 1;
	ch->marks = calloc(n, 1);
	ch->alike = calloc(n, sizeof(uint32_t));
	if (!ch->marks || !ch->alike || !make_places(ch) || build_hops(ch) || find_alike(ch)) {
		conflict_deinit(ch);
		return -ENOMEM;
	}
	return 0;
}

int conflict_init(struct conflicts *ch, const struct program *prog)
{
	int err = conflict_init_walks(ch, prog);
	size_t n = prog->n_blocks + 1;
	if (err)
		return err;
	ch->capture_ret = calloc(n, sizeof(bool));
	ch->sums = calloc(prog->n_funcs + 1, sizeof(*ch->sums));
	ch->global = calloc(n, sizeof(*ch->global));
	ch->hubs = calloc(prog->n_funcs + 1, sizeof(bool));
	ch->whole = calloc(prog->n_funcs + 1, sizeof(bool));
	ch->stale = calloc(prog->n_funcs + 1, sizeof(bool));
	if (!ch->capture_ret || !ch->sums || !ch->global || !ch->hubs || !ch->whole || !ch->stale ||
	    build_preds(ch) || conflict_checked_init(ch)) {
		conflict_deinit(ch);
		return -ENOMEM;
	}
	return 0;
}

static void free_summaries(struct conflicts *ch)
{
	for (uint32_t f = 0; ch->sums && f < ch->prog->n_funcs; f++) {
		terminal_set_free(&ch->sums[f].first);
		terminal_set_free(&ch->sums[f].need);
	}
}

/* An array of @n bytes, all zero: @at, or a new one where that is NULL. */
static void *zeroed(void *at, size_t n)
{
	return at ? memset(at, 0, n) : calloc(n, 1);
}

int conflict_restart(struct conflicts *ch)
{
	size_t n = ch->prog->n_blocks + 1, n_funcs = ch->prog->n_funcs + 1;
	free_summaries(ch);
	ch->marks = zeroed(ch->marks, n);
	ch->capture_ret = zeroed(ch->capture_ret, n * sizeof(*ch->capture_ret));
	ch->whole = zeroed(ch->whole, n_funcs * sizeof(*ch->whole));
	ch->sums = zeroed(ch->sums, n_funcs * sizeof(*ch->sums));
	ch->global = zeroed(ch->global, n * sizeof(*ch->global));
	ch->hubs = zeroed(ch->hubs, n_funcs * sizeof(*ch->hubs));
	ch->stale = zeroed(ch->stale, n_funcs * sizeof(*ch->stale));
	for (uint32_t f = 0; f < ch->prog->n_funcs; f++)
		conflict_uncheck(ch, f);
	ch->returns_apart = ch->plain = ch->some_empty = ch->note_rets = ch->keeps_rets = false;
	ch->global_jumps = ch->global_top = ch->global_grew = ch->global_kept = false;
	ch->given = NULL;
	ch->checked_rets.n = ch->global_before.n = ch->unresolved.n = 0;
	ch->steps = ch->spent = ch->work = ch->looks = 0;
	ch->work_end = UINT64_MAX;
	ch->work_spare = WORK_SPARE;
	conflict_keep_nothing(ch);
	return ch->marks && ch->capture_ret && ch->whole ? 0 : -ENOMEM;
}

void conflict_deinit(struct conflicts *ch)
{
	free_summaries(ch);
	struct watch *w = &ch->watch;
	void *watched[] = {w->terms,
			   w->term_at,
			   w->new_alts,
			   w->ahead,
			   w->loops,
			   w->held,
			   w->passed,
			   w->ours.starts,
			   w->ours.nodes,
			   w->ours.some_starts.at,
			   w->ours.some_nodes.at,
			   w->rivals.starts,
			   w->rivals.nodes,
			   w->rivals.some_starts.at,
			   w->rivals.some_nodes.at};
	for (size_t i = 0; i < sizeof(watched) / sizeof(*watched); i++)
		free(watched[i]);
	void *heap[] = {ch->hops,    ch->marks,		 ch->capture_ret,      ch->sums,
			ch->global,  ch->seen_walk,	 ch->seen_closure,     ch->seen_back,
			ch->heads,   ch->stale,		 ch->global_before.at, ch->preds,
			ch->pred_at, ch->alts.at,	 ch->walk.at,	       ch->closure.at,
			ch->back.at, ch->found,		 ch->decisions.at,     ch->seen_alike,
			ch->alike,   ch->seen_fan,	 ch->unresolved.at,    ch->whole,
			ch->hubs,    ch->kept.walks,	 ch->kept.nodes.at,    ch->seen_end,
			ch->checked, ch->checked_rets.at};
	for (size_t i = 0; i < sizeof(heap) / sizeof(*heap); i++)
		free(heap[i]);
	*ch = (struct conflicts){0};
}

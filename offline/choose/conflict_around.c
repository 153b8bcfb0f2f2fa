// SPDX-License-Identifier: LGPL-2.1-or-later
/* conflict_around.c: which decisions could feel the change of one mark, and whether all of them
 * hold; and R3, that no cycle makes calls in silence. */
#include "offline/choose/conflict_impl.h"

#include <stdlib.h>

/* Walks on from @block in silence along all ways, through each block at most once before and once
 * after a call; if it comes back to @block after a call, there is a cycle. What is still to be
 * walked is a block's number times two, and one more after a call. What the loop needs is in
 * variables of its own, as in walks to nodes. */
bool conflict_progress_holds(struct conflicts *ch, uint32_t block)
{
	const uint32_t *succs = ch->prog->succs;
	const struct hop *hops = ch->hops;
	const uint8_t *marks = ch->marks;
	uint32_t *seen[] = {ch->seen_back, ch->seen_closure};
	if (marks[block])
		return true;
	uint32_t stamp = ++ch->stamp, mask = ch->places_mask;
	bool blocks = conflict_shows_blocks(ch, block), holds = true;
	struct vec_u32 back = ch->back;
	back.n = 0;
	bool ok = VEC_PUSH(&back, 2 * block);
	for (bool first = true; back.n && ok && holds; first = false) {
		bool called = back.at[--back.n] & 1;
		uint32_t b = back.at[back.n] / 2;
		const struct hop *hop = &hops[b];
		holds = b != block || (!called && (!blocks || first));
		if (!holds || seen[called][b & mask] == stamp || marks[b])
			continue;
		if (!first)
			seen[called][b & mask] = stamp;
		ch->steps++;
		ch->work += 1 + hop->n_succ;
		holds = !conflict_spent(ch);
		if (!holds)
			continue;
		if (hop->is_node && ch->prog->blocks[b].call != CALL_NONE) {
			if (!conflict_call_silent(ch, b) ||
			    (ch->prog->blocks[b].flags & (PROG_TAIL | PROG_NORETURN)))
				continue;
			called = true;
		}
		ok = VEC_RESERVE(&back, hop->n_succ);
		for (uint32_t i = hop->succ; ok && i < hop->succ + hop->n_succ; i++)
			if (succs[i] == block || seen[called][succs[i] & mask] != stamp)
				back.at[back.n++] = 2 * succs[i] + called;
	}
	ch->back = back;
	ch->failed |= !ok;
	return holds && ok;
}

/* Whether each call that @func can begin with in silence is of a function that is not @left. */
static bool begins_well(struct conflicts *ch, uint32_t func, const bool *left)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	uint32_t stamp = ++ch->stamp;
	ch->back.n = 0;
	if (f->n_blocks)
		push(ch, &ch->back, f->block);
	while (ch->back.n) {
		uint32_t b = ch->back.at[--ch->back.n];
		const struct prog_block *block = &ch->prog->blocks[b];
		uint32_t *seen = &ch->seen_back[conflict_place(ch, b)];
		if (*seen == stamp || ch->marks[b])
			continue;
		*seen = stamp;
		if (block->call == CALL_DIRECT && left[block->callee])
			return false;
		if (!conflict_passes_silently(ch, b) || block->flags & (PROG_TAIL | PROG_NORETURN))
			continue;
		for (uint32_t i = 0; i < block->n_succ; i++)
			push(ch, &ch->back, prog_succs(ch->prog, b)[i]);
	}
	return true;
}

void conflict_left_recursion(struct conflicts *ch, const uint32_t *funcs, bool *left)
{
	for (uint32_t f = 0; f < ch->prog->n_funcs; f++)
		left[f] = true;
	for (bool fewer = true; fewer && !ch->failed;) {
		fewer = false;
		for (uint32_t i = 0; i < ch->prog->n_funcs; i++)
			if (left[funcs[i]] && begins_well(ch, funcs[i], left)) {
				left[funcs[i]] = false;
				fewer = true;
			}
	}
}

uint32_t conflict_faults_after(struct conflicts *ch, uint32_t block)
{
	uint32_t func = ch->prog->blocks[block].func, faults = 0;
	for (uint32_t i = 0; i < conflict_ways(ch, block); i++)
		if (!conflict_decision_holds(
			    ch,
			    (struct decision){func, block, conflict_decision_way(ch, block, i)}))
			faults |= 1u << PUGMARK_UNRESOLVED_WAY;
	if (!conflict_follow_holds(ch, block))
		faults |= 1u << PUGMARK_UNRESOLVED_END;
	if (!conflict_progress_holds(ch, block))
		faults |= 1u << PUGMARK_UNRESOLVED_ROUNDS;
	return faults;
}

bool conflict_all_marked(const struct conflicts *ch, const struct prog_func *f)
{
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		const struct hop *hop = &ch->hops[b];
		if (!ch->marks[b] && (hop->is_node || hop->flags & HOP_RET) &&
		    ch->prog->blocks[b].flags & PROG_REACHED)
			return false;
	}
	return true;
}

/* Whether all behind @block holds; @told: its decisions are known to. */
static bool holds_after(struct conflicts *ch, uint32_t block, bool told)
{
	if (!(ch->prog->blocks[block].flags & PROG_REACHED) || !conflict_is_node(ch, block))
		return true;
	return told ? conflict_follow_holds(ch, block) : !conflict_faults_after(ch, block);
}

bool conflict_function_holds(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	if (!f->n_blocks)
		return true;
	conflict_begin(ch, func);
	conflict_keep(ch, func);
	bool told = conflict_all_marked(ch, f);
	bool holds =
		told || conflict_decision_holds(ch, (struct decision){func, PUGMARK_NONE, WAY_ALL});
	for (uint32_t b = f->block; b < f->block + f->n_blocks && holds; b++)
		holds = holds_after(ch, b, told);
	conflict_keep_nothing(ch);
	return !conflict_end(ch) && holds;
}

/* Whether a walk forwards in silence ends at @block. */
static bool ends_way(const struct conflicts *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	return conflict_is_node(ch, block) || b->flags & PROG_RET || !b->n_succ;
}

/* A block that stands for what follows @b, the same for all that go on alike; or NONE. */
static uint32_t continuation(const struct conflicts *ch, uint32_t b)
{
	const struct program *prog = ch->prog;
	for (int i = 0; i < 16 && prog->blocks[b].n_succ == 1; i++) {
		b = prog_succs(prog, b)[0];
		if (ends_way(ch, b))
			return PUGMARK_NONE; /* at most one alternative */
	}
	return ch->prog->blocks[b].n_succ > 1 ? ch->alike[b] : PUGMARK_NONE;
}

uint32_t conflict_continuation(const struct conflicts *ch, struct decision d)
{
	if (d.block == PUGMARK_NONE)
		return PUGMARK_NONE;
	const struct prog_block *b = &ch->prog->blocks[d.block];
	if (b->flags & (PROG_RET | PROG_TAIL | PROG_NORETURN) || !b->n_succ)
		return PUGMARK_NONE;
	if (d.way == WAY_ALL)
		return continuation(ch, d.block);
	uint32_t next = prog_succs(ch->prog, d.block)[d.way];
	return ends_way(ch, next) ? PUGMARK_NONE : continuation(ch, next);
}

bool conflict_node_decisions_hold(struct conflicts *ch, uint32_t func, uint32_t node,
				  uint32_t stamp)
{
	for (uint32_t w = 0;
	     conflict_decision_way(ch, node, w) != WAY_ALL && w < conflict_ways(ch, node); w++)
		if (!conflict_decision_holds(ch, (struct decision){func, node, w}))
			return false;
	if (conflict_decision_way(ch, node, 0) != WAY_ALL)
		return true;
	uint32_t c = conflict_continuation(ch, (struct decision){func, node, WAY_ALL});
	uint32_t *seen = c == PUGMARK_NONE ? NULL : &ch->seen_alike[conflict_place(ch, c)];
	if (seen && *seen == stamp)
		return true;
	bool holds = conflict_decision_holds(ch, (struct decision){func, node, WAY_ALL});
	if (seen && holds)
		*seen = stamp;
	return holds;
}

/* Walks back from @block to the nodes whose decisions reach it in silence. */
bool conflict_surroundings_hold(struct conflicts *ch, uint32_t func, uint32_t block)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	struct vec_u32 *queue = &ch->back;
	if (!conflict_progress_holds(ch, block))
		return false;
	bool entry = block == f->block;
	uint32_t stamp = ++ch->stamp;
	struct vec_u32 nodes = {0};
	if (conflict_shows_blocks(ch, block) && !VEC_PUSH(&nodes, block))
		ch->failed =
			true; /* without its mark, its own way out becomes a decision as well */
	queue->n = 0;
	for (uint32_t p = ch->pred_at[block]; p < ch->pred_at[block + 1]; p++)
		VEC_PUSH(queue, ch->preds[p]);
	while (queue->n) {
		uint32_t b = queue->at[--queue->n];
		uint32_t *seen = &ch->seen_back[conflict_place(ch, b)];
		if (*seen == stamp)
			continue;
		*seen = stamp;
		ch->steps++;
		ch->work += 1 + ch->pred_at[b + 1] - ch->pred_at[b];
		bool node = conflict_is_node(ch, b);
		if (node && !VEC_PUSH(&nodes, b))
			ch->failed = true;
		if (node && !conflict_passes_silently(ch, b))
			continue;
		entry |= b == f->block;
		for (uint32_t p = ch->pred_at[b]; p < ch->pred_at[b + 1]; p++)
			if (!VEC_PUSH(queue, ch->preds[p]))
				ch->failed = true;
	}
	bool holds = !entry ||
		     conflict_decision_holds(ch, (struct decision){func, PUGMARK_NONE, WAY_ALL});
	for (uint32_t i = 0; holds && i < nodes.n; i++) {
		holds = conflict_node_decisions_hold(ch, func, nodes.at[i], stamp) &&
			conflict_follow_holds(ch, nodes.at[i]);
	}
	free(nodes.at);
	return holds;
}

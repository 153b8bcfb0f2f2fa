// SPDX-License-Identifier: LGPL-2.1-or-later
/* conflict_take_away.c: whether everything in a function still holds without one of its marks.
 *
 * Let m be the marked block. Without its mark, decisions on the way to m see what comes after m
 * instead: the new terminals T and, if m is then no node any more, the nodes N after it. Only T can
 * break what held before, and only in a decision from which something else can be reached in
 * silence, by a way that does not lead through m, that T is not told from. So of all decisions from
 * which m is reached (in a large function hundreds), only those are checked again from which such a
 * place is reached as well; the others cost one step of a walk. Of those, a decision is hurt only
 * if T lies behind one of its alternatives and such a place behind another one: what lies behind
 * the same alternative need not be told apart. After each call only T is compared with what the
 * callee needs.
 *
 * Such places are looked for ahead of the decisions on the way to m, which is seldom far, and the
 * walks back from them stay there. The walks go back from a place to the decisions that have it as
 * an alternative itself, or behind a call that is silent. The first kind is harmless if the place
 * is in N and the decision had m: then both are one alternative. */
#include "offline/choose/conflict_impl.h"
#include "offline/choose/conflict_rivals.h"

#include <stdlib.h>
#include <string.h>

/* What is known to hold of a node: watch.held. */
enum held { HELD_DECISIONS = 1, HELD_FOLLOW = 2, HELD_ENTRY = 4 };

/* Whether the call in @block can show something first. */
static bool call_shows(const struct conflicts *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	if (b->call != CALL_DIRECT)
		return b->call == CALL_UNKNOWN;
	const struct summary *callee = &ch->sums[b->callee];
	return !callee->known || callee->first.top || callee->first.n;
}

/* What @block is to walks, until its mark changes: callees' summaries do not change meanwhile. */
static void note_passed(struct conflicts *ch, uint32_t block)
{
	bool ends = ch->hops[block].flags & HOP_RET || ch->prog->blocks[block].flags & PROG_TAIL;
	ch->watch.passed[conflict_place(ch, block)] =
		(conflict_is_node(ch, block) ? PASSED_NODE : 0) |
		(conflict_passes_silently(ch, block) ? PASSED_IN_SILENCE : 0) |
		(!ch->marks[block] && call_shows(ch, block) ? PASSED_SHOWS : 0) |
		(ends ? PASSED_ENDS : 0) | (ch->marks[block] ? PASSED_MARKED : 0);
}

/* Whether something in @f shows as if it had jumped there. */
static bool shows_jumps(struct conflicts *ch, const struct prog_func *f)
{
	bool jumps = ch->hops[f->block].flags & HOP_ENTRY &&
		     ch->pred_at[f->block + 1] > ch->pred_at[f->block];
	for (uint32_t b = f->block; b < f->block + f->n_blocks && !jumps; b++) {
		const struct prog_block *block = &ch->prog->blocks[b];
		bool top = false;
		ch->n_found = 0;
		if (block->flags & PROG_REACHED && block->call != CALL_NONE)
			conflict_call_first(ch, b, 0, &top);
		for (uint32_t i = 0; i < ch->n_found && !jumps; i++)
			jumps = conflict_is_jump_term(ch, ch->found[i].term);
	}
	return jumps;
}

/* Finds the blocks that a cycle may lead through: jumps lead back past them. */
static void find_loops(struct conflicts *ch, const struct prog_func *f)
{
	uint32_t first = UINT32_MAX; /* where the jumps from here on lead back to */
	for (uint32_t b = f->block + f->n_blocks; b-- > f->block;) {
		const struct hop *hop = &ch->hops[b];
		for (uint32_t i = 0; i < hop->n_succ; i++) {
			uint32_t next = ch->prog->succs[hop->succ + i];
			first = next <= b && next < first ? next : first;
		}
		ch->watch.loops[conflict_place(ch, b)] = first <= b;
	}
}

void conflict_watch(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	struct watch *w = &ch->watch;
	w->func = func;
	w->jumps = f->flags & PROG_ENTERED_TAIL && shows_jumps(ch, f);
	find_loops(ch, f);
	bool told = conflict_all_marked(ch, f);
	uint32_t stamp = ++ch->stamp;
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		uint8_t *held = &w->held[conflict_place(ch, b)];
		*held = 0;
		note_passed(ch, b);
		if (!(ch->prog->blocks[b].flags & PROG_REACHED) || !conflict_is_node(ch, b))
			continue;
		if (told || conflict_node_decisions_hold(ch, func, b, stamp))
			*held |= HELD_DECISIONS;
		if (conflict_follow_holds(ch, b))
			*held |= HELD_FOLLOW;
	}
	if (told || conflict_decision_holds(ch, (struct decision){func, PUGMARK_NONE, WAY_ALL}))
		w->held[conflict_place(ch, f->block)] |= HELD_ENTRY;
}

/* Puts T into watch.terms and N into watch.new_alts. Returns whether the nodes of N are told from
 * each other. */
static bool look_behind(struct conflicts *ch, struct removal *r)
{
	struct watch *w = &ch->watch;
	bool top = false;
	ch->n_found = 0;
	if (r->node) {
		r->empty = conflict_close_over(ch, r->block, 0, &top);
	} else {
		struct decision d = {r->func, r->block, WAY_ALL};
		uint32_t empty;
		conflict_alternatives(ch, d, &ch->alts);
		if (ch->alts.n <= 1)
			empty = conflict_first(ch, &ch->alts, &top);
		else if (!conflict_alternatives_told(ch, d, &empty))
			return false;
		r->empty = empty;
		for (uint32_t i = 0; i < ch->alts.n; i++)
			if (ch->alts.at[i] == NODE_EXIT)
				r->exit = true;
			else
				w->new_alts[conflict_place(ch, ch->alts.at[i])] = r->q;
	}
	r->top = top;
	if (ch->n_found > w->cap_terms) {
		struct terminal *terms = realloc(w->terms, ch->n_found * sizeof(*terms));
		if (!terms) {
			ch->failed = true;
			return false;
		}
		w->terms = terms;
		w->cap_terms = ch->n_found;
	}
	w->n_terms = ch->n_found;
	for (uint32_t i = 0; i < ch->n_found; i++) {
		struct terminal t = w->terms[i] = ch->found[i].term;
		r->jump |= conflict_is_jump_term(ch, t);
		r->entries |= conflict_is_entry_term(ch, t.w);
		r->any |= t.w == TERMINAL_ANY_ENTRY;
		w->term_at[conflict_place(ch, t.w)] = r->q;
	}
	return true;
}

/* Whether what comes after the block may break any decision that leads to it. */
static bool hurts_all(const struct conflicts *ch, const struct removal *r)
{
	bool returns_by_jump = ch->prog->funcs[r->func].flags & PROG_ENTERED_TAIL;
	return r->top || (r->empty && ch->plain) ||
	       (returns_by_jump && (r->jump || (r->empty && ch->watch.jumps)));
}

/* Whether decisions from which @ours leads to the block may be broken: @rival leads from them to
 * something that shows the same event as what comes after the block. */
static bool may_be_hurt(uint8_t ours, uint8_t rival)
{
	return ours & REACHED_BEHIND ? rival : rival & REACHED_BEHIND;
}

/* Whether @d, from which @ours leads to the block, has no two alternatives of which one leads to T
 * and the other to a rival. Those in N were told from each other before. */
static bool told_apart(struct conflicts *ch, const struct removal *r, struct decision d,
		       uint8_t ours)
{
	const struct watch *w = &ch->watch;
	uint32_t n_behind = 0, n_new = 0, n_rivals = 0, n_both = 0, n_new_rivals = 0;
	conflict_alternatives(ch, d, &ch->alts);
	ch->steps += ch->alts.n;
	ch->work += ch->alts.n;
	for (uint32_t i = 0; i < ch->alts.n; i++) {
		uint32_t a = ch->alts.at[i], place = conflict_place(ch, a);
		bool exit = a == NODE_EXIT;
		bool new_alt = ours & REACHED_ITSELF && !r->node &&
			       (exit ? r->exit : conflict_is_new_alt(ch, r, a));
		bool behind = !exit && w->ours.starts[place];
		bool rival = exit ? r->empty : w->rivals.starts[place];
		n_behind += behind;
		n_new += new_alt;
		n_rivals += rival;
		n_both += behind && rival;
		n_new_rivals += new_alt && rival;
	}
	bool same = n_behind == 1 && n_both == 1; /* one alternative leads to both */
	return (!n_behind || n_rivals <= same) && (!n_new || n_rivals == n_new_rivals);
}

/* The same of all decisions behind @node. Those for which ch->seen_alike is @stamp are known to. */
static bool node_told_apart(struct conflicts *ch, const struct removal *r, uint32_t node,
			    uint32_t stamp)
{
	uint8_t ours = ch->watch.ours.nodes[conflict_place(ch, node)];
	for (uint32_t i = 0; i < conflict_ways(ch, node); i++) {
		struct decision d = {r->func, node, conflict_decision_way(ch, node, i)};
		uint32_t c = d.way == WAY_ALL ? conflict_continuation(ch, d) : PUGMARK_NONE;
		uint32_t *seen = c == PUGMARK_NONE ? NULL : &ch->seen_alike[conflict_place(ch, c)];
		if (seen && *seen == stamp)
			continue;
		if (!told_apart(ch, r, d, ours))
			return false;
		if (seen)
			*seen = stamp;
	}
	return true;
}

static bool node_decisions_hold(struct conflicts *ch, const struct removal *r, uint32_t node,
				uint32_t stamp)
{
	const struct watch *w = &ch->watch;
	uint32_t place = conflict_place(ch, node);
	if (w->held[place] & HELD_DECISIONS && !r->everywhere &&
	    (!may_be_hurt(w->ours.nodes[place], w->rivals.nodes[place]) ||
	     node_told_apart(ch, r, node, stamp)))
		return true;
	return conflict_node_decisions_hold(ch, r->func, node, stamp);
}

static bool node_holds(struct conflicts *ch, const struct removal *r, uint32_t node, uint32_t stamp)
{
	const struct watch *w = &ch->watch;
	if (!node_decisions_hold(ch, r, node, stamp))
		return false;
	if (!(w->held[conflict_place(ch, node)] & HELD_FOLLOW) || r->top)
		return conflict_follow_holds(ch, node);
	return conflict_terms_follow(ch, node, w->terms, w->n_terms);
}

static bool entry_holds(struct conflicts *ch, const struct removal *r)
{
	const struct watch *w = &ch->watch;
	struct decision d = {r->func, PUGMARK_NONE, WAY_ALL};
	uint32_t first = conflict_place(ch, ch->prog->funcs[r->func].block);
	uint8_t ours = w->ours.starts[first];
	if (!ours)
		return true;
	if (w->held[first] & HELD_ENTRY && !r->everywhere &&
	    (!may_be_hurt(ours, w->rivals.starts[first]) || told_apart(ch, r, d, ours)))
		return true;
	return conflict_decision_holds(ch, d);
}

static bool holds_without(struct conflicts *ch, struct removal *r)
{
	struct watch *w = &ch->watch;
	const struct prog_func *f = &ch->prog->funcs[r->func];
	bool goes_on =
		!w->loops[conflict_place(ch, r->block)] || conflict_progress_holds(ch, r->block);
	if (!goes_on || !look_behind(ch, r))
		return false;
	r->everywhere = hurts_all(ch, r);
	conflict_find_ours(ch, r);
	if (!r->everywhere)
		conflict_find_rivals(ch, r);
	if (!entry_holds(ch, r))
		return false;
	const struct vec_u32 *nodes = &w->ours.some_nodes;
	uint32_t stamp = ++ch->stamp, first = conflict_place(ch, f->block);
	for (uint32_t i = 0; i < nodes->n; i++)
		if (!node_holds(ch, r, nodes->at[i], stamp))
			return false;
	uint8_t *held = w->held;
	uint32_t mask = ch->places_mask;
	for (uint32_t i = 0, n = nodes->n; i < n; i++)
		held[nodes->at[i] & mask] |= HELD_DECISIONS | HELD_FOLLOW;
	if (w->ours.starts[first])
		w->held[first] |= HELD_ENTRY;
	return true;
}

bool conflict_do_without(struct conflicts *ch, uint32_t func, uint32_t block)
{
	uint8_t mark = ch->marks[block];
	bool was_node = conflict_is_node(ch, block);
	ch->marks[block] = MARK_NONE;
	struct removal r = {
		.func = func,
		.block = block,
		.node = conflict_is_node(ch, block),
		.q = ++ch->watch.removals,
	};
	if (r.node != was_node)
		conflict_forget(ch, block);
	note_passed(ch, block);
	bool paths = ch->prog->funcs[func].flags & PROG_PATHS;
	bool holds = paths ? conflict_surroundings_hold(ch, func, block) : holds_without(ch, &r);
	holds = holds && !conflict_spent(ch);
	if (!holds) {
		ch->marks[block] = mark;
		note_passed(ch, block);
		if (r.node != was_node)
			conflict_forget(ch, block);
	}
	return holds;
}

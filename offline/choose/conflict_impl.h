/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* conflict_impl.h: what the parts of the conflict rule share. conflict_walk.c walks from a decision
 * to its alternatives, conflict_first.c tells them by first events, conflict_needs.c has what must
 * not follow a function, conflict_around.c what one mark touches, conflict_take_away.c (and
 * conflict_rivals.c) what goes with a mark, conflict_checked.c what is known.
 * Private to them. */
#ifndef OFFLINE_CONFLICT_IMPL_H
#define OFFLINE_CONFLICT_IMPL_H

#include "offline/choose/conflict.h"

static inline void push(struct conflicts *ch, struct vec_u32 *vec, uint32_t value)
{
	if (!VEC_PUSH(vec, value))
		ch->failed = true;
}

/* Whether @w is the entry of a function that may be entered from anywhere, or of any. */
static inline bool conflict_is_entry_term(const struct conflicts *ch, uint32_t w)
{
	return w == TERMINAL_ANY_ENTRY || ch->hops[w].flags & HOP_ENTRY;
}

/* Whether one event can be of both witnesses. */
static inline bool conflict_same_event(const struct conflicts *ch, uint32_t a, uint32_t b)
{
	return a == b || (a == TERMINAL_ANY_ENTRY && conflict_is_entry_term(ch, b)) ||
	       (b == TERMINAL_ANY_ENTRY && conflict_is_entry_term(ch, a));
}

/* Whether @t is an entry that looks as if this function, entered by foreign code, had jumped there:
 * or as if it had returned, and foreign code had entered the next function from the same place. */
static inline bool conflict_is_jump_term(const struct conflicts *ch, struct terminal t)
{
	bool own = t.depth == 0 || t.depth == DEPTH_UNKNOWN || (t.depth < 0 && t.or_below);
	return own && t.ret >= RET_UNKNOWN && conflict_is_entry_term(ch, t.w);
}

/* Notes that a comparison holds only by the return address that @w reads. */
void conflict_note_ret(struct conflicts *ch, uint32_t w);
int conflict_checked_init(struct conflicts *ch);
/* Whether no one event fits both terminals, seen from the same function. */
bool conflict_distinguishable(struct conflicts *ch, struct terminal a, struct terminal b);
/* Adds to ch->found what the call in @block shows first; returns whether it can show nothing. */
bool conflict_call_first(struct conflicts *ch, uint32_t block, uint32_t alt, bool *top);
/* Whether that call can show nothing; takes as much work. */
bool conflict_call_silent(struct conflicts *ch, uint32_t block);
/* Adds the first terminals of alternative @alt, from @node on; returns whether the function's exit
 * can be reached in silence. */
bool conflict_close_over(struct conflicts *ch, uint32_t node, uint32_t alt, bool *top);
/* Whether the alternatives of @d, which are in ch->alts, are pairwise distinguishable. If so,
 * ch->found has the first terminals of all, and @empty how many may be empty. */
bool conflict_alternatives_told(struct conflicts *ch, struct decision d, uint32_t *empty);
/* Whether each call of @f, and each place where it can end, is marked. Then each decision is
 * between marks, which their events tell apart. */
bool conflict_all_marked(const struct conflicts *ch, const struct prog_func *f);
/* Finds the blocks of @func from whose start it can end without an event. While marks and summaries
 * stay as they are then: whether that can be behind @d, which has a block. */
void conflict_find_ends(struct conflicts *ch, uint32_t func);
bool conflict_may_end(const struct conflicts *ch, struct decision d);
/* Whether a node can be passed without an event. */
bool conflict_passes_silently(const struct conflicts *ch, uint32_t block);
/* A block that stands for what follows @d: decisions with the same one have the same alternatives.
 * NONE: not known; often there is only one alternative. */
uint32_t conflict_continuation(const struct conflicts *ch, struct decision d);
/* Whether the decisions behind @node hold. Those for which ch->seen_alike is @stamp are known
 * to. */
bool conflict_node_decisions_hold(struct conflicts *ch, uint32_t func, uint32_t node,
				  uint32_t stamp);
/* Whether @n terminals that come first after the call in @block are told from what its callee
 * needs. */
bool conflict_terms_follow(struct conflicts *ch, uint32_t block, const struct terminal *terms,
			   uint32_t n);
/* @block has become a node, or is none any more: kept walks that it lies on are not kept. */
void conflict_forget(struct conflicts *ch, uint32_t block);
/* How many decisions follow a node: one for each successor where its mark says which is next, else
 * one for all; and decision.way of the i-th. */
uint32_t conflict_ways(const struct conflicts *ch, uint32_t block);
uint32_t conflict_decision_way(const struct conflicts *ch, uint32_t block, uint32_t i);

#endif

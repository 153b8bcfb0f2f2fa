/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* chooser_impl.h: what the parts of the conflict rule share. chooser.c walks from a decision to its
 * alternatives, chooser_first.c tells them by first events, chooser_needs.c has what must not
 * follow a function, chooser_around.c what one mark touches. Private to them. */
#ifndef OFFLINE_CHOOSER_IMPL_H
#define OFFLINE_CHOOSER_IMPL_H

#include "offline/chooser.h"

static inline void push(struct chooser *ch, struct vec *vec, uint32_t value)
{
	if (vec->n < vec->cap)
		vec->at[vec->n++] = value;
	else if (!vec_push(vec, value))
		ch->failed = true;
}

/* Whether @w is the entry of a function that may be entered from anywhere, or of any. */
static inline bool chooser_is_entry_term(const struct chooser *ch, uint32_t w)
{
	return w == TERM_ANY_ENTRY || ch->hops[w].flags & HOP_ENTRY;
}

/* The comparison just made holds by the return address that @w reads. */
void chooser_note_ret(struct chooser *ch, uint32_t w);
/* Whether no one event fits both terms, seen from the same function. */
bool chooser_distinguishable(struct chooser *ch, struct term a, struct term b);
/* Adds to ch->found what the call in @block shows first; returns whether it can show nothing. */
bool chooser_call_first(struct chooser *ch, uint32_t block, uint32_t alt, bool *top);
/* Adds the first terms of alternative @alt, from @node on; returns whether the function's exit can
 * be reached in silence. */
bool chooser_close_over(struct chooser *ch, uint32_t node, uint32_t alt, bool *top);
/* Whether a node can be passed without an event. */
bool chooser_passes_silently(const struct chooser *ch, uint32_t block);
/* A block that stands for what follows @d: decisions for which it is the same have the same
 * alternatives. NONE: not known; often there is only one. */
uint32_t chooser_continuation(const struct chooser *ch, struct decision d);
/* Whether the decisions behind @node hold. Those that @ch->seen_alike has at @stamp do. */
bool chooser_node_decisions_hold(struct chooser *ch, uint32_t func, uint32_t node, uint32_t stamp);
/* Whether @n terms that come first after the call in @block are told from what its callee needs. */
bool chooser_terms_follow(struct chooser *ch, uint32_t block, const struct term *terms, uint32_t n);
/* How many decisions follow a node, and the way of the i-th. */
uint32_t chooser_ways(const struct chooser *ch, uint32_t block);
uint32_t chooser_decision_way(const struct chooser *ch, uint32_t block, uint32_t i);

#endif

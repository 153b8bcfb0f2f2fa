/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terminals.h: the enriched terminals of the grammar, and small sets of them.
 *
 * A terminal says "the next event is that of witness w, in the frame `depth` bytes below this one,
 * in an activation that returns to call site `ret`". Below means: this function's CFA minus the CFA
 * of the event, so 0 is this function's own frame. Depth and ret are relative to one function;
 * terminal_lift() carries them over a call site into the caller's view. */
#ifndef OFFLINE_TERMINALS_H
#define OFFLINE_TERMINALS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define TERMINAL_ANY_ENTRY UINT32_MAX /* w: the entry of any function with PROG_ENTRY_WITNESS */
#define DEPTH_UNKNOWN INT32_MIN
#define RETURN_ADDRESS_BYTES 8	   /* a callee's CFA is that far below its caller's, at the least */
#define RET_SELF (UINT32_MAX >> 1) /* where this function's own activation returns to */
#define RET_UNKNOWN (RET_SELF - 1) /* may be equal to anything */

struct terminal {
	uint32_t w; /* block of the program whose mark it is, or TERMINAL_ANY_ENTRY */
	int32_t depth;
	uint32_t ret : 31; /* block of the program that holds the call, or RET_SELF, RET_UNKNOWN */
	uint32_t or_below : 1; /* at `depth` or any further below: a recursion's frames */
};

_Static_assert(sizeof(struct terminal) == 12, "terminal_of() writes three words");

/* Written word by word: bit-fields that are written one by one, and then read together, make the
 * processor wait for the first. The ABI has the first of them lowest. */
static inline struct terminal terminal_of(uint32_t w, int32_t depth, uint32_t ret, bool or_below)
{
	const uint32_t words[3] = {w, (uint32_t)depth, (ret & RET_SELF) | (uint32_t)or_below << 31};
	struct terminal term;
	memcpy(&term, words, sizeof(term));
	return term;
}

/* A small set holds its terminals as they are. Past TERMINAL_SET_EXACT it is *joined*: one terminal
 * for each witness (for TERMINAL_ANY_ENTRY: for each return address), in order. Where the joined
 * ones differ, the field is unknown; only of the depth the least is kept, since it tells all of
 * them from frames further out. Past TERMINAL_SET_MAX the set is "anything at all" (top), which
 * nothing is told from. Both bounds can only cost witnesses, never exactness: each step stands for
 * more events than the one before. */
#define TERMINAL_SET_EXACT 32
#define TERMINAL_SET_MAX 1024
struct terminal_set {
	struct terminal *terms; /* heap, owned by the set */
	uint32_t n, cap;
	uint32_t last; /* joined: where the last one was added; most come in order */
	bool joined, top;
	bool rets_apart; /* joined: one terminal for each witness and return */
};

void terminal_set_free(struct terminal_set *set);
/* Adds @term; returns whether the set changed. Out of memory makes it top. */
bool terminal_set_add(struct terminal_set *set, struct terminal term);
/* Whether both hold the same terminals in the same order. */
bool terminal_set_same(const struct terminal_set *a, const struct terminal_set *b);
/* Where terminals of witness @w can be: [*from, *to). Not for top. */
void terminal_set_range(const struct terminal_set *set, uint32_t w, uint32_t *from, uint32_t *to);

/* @term of a callee as its caller sees it: @height is the caller's CFA minus the callee's, @call
 * the block of the call site; @or_below: the callee's frame may lie further below. */
static inline struct terminal terminal_lift_from(struct terminal term, int32_t height,
						 uint32_t call, bool or_below)
{
	uint32_t words[3];
	int32_t depth;
	memcpy(words, &term, sizeof(words)); /* read as terminal_of() writes them */
	uint32_t ret = words[2] & RET_SELF;
	bool below = words[2] >> 31 | or_below;
	bool known = (int32_t)words[1] != DEPTH_UNKNOWN && height != DEPTH_UNKNOWN;
	if (!known || __builtin_add_overflow((int32_t)words[1], height, &depth) || depth < 0)
		depth = DEPTH_UNKNOWN;
	return terminal_of(words[0], depth, ret == RET_SELF ? call : ret,
			   below && depth != DEPTH_UNKNOWN);
}

static inline struct terminal terminal_lift(struct terminal term, int32_t height, uint32_t call)
{
	return terminal_lift_from(term, height, call, false);
}

/* Whether no frame can be that of both terms. */
static inline bool terminal_depths_differ(struct terminal a, struct terminal b)
{
	if (a.depth == DEPTH_UNKNOWN || b.depth == DEPTH_UNKNOWN)
		return false;
	return (a.depth < b.depth && !a.or_below) || (b.depth < a.depth && !b.or_below);
}

#endif

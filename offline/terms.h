/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms.h: the enriched terminals of the grammar, and small sets of them.
 *
 * A term says "the next event is that of witness w, in the frame `depth` bytes below this one, in
 * an activation that returns to call site `ret`". Below means: this function's CFA minus the CFA
 * of the event, so 0 is this function's own frame. Depth and ret are relative to one function;
 * term_lift() carries them over a call site into the caller's view. */
#ifndef OFFLINE_TERMS_H
#define OFFLINE_TERMS_H

#include <stdbool.h>
#include <stdint.h>

#define TERM_ANY_ENTRY UINT32_MAX /* w: the entry of any function with PROG_ENTRY_WITNESS */
#define DEPTH_UNKNOWN INT32_MIN
#define RETURN_ADDRESS_BYTES 8 /* a callee's CFA is that far below its caller's, at the least */
#define RET_SELF UINT32_MAX    /* where this function's own activation returns to */
#define RET_UNKNOWN (UINT32_MAX - 1) /* may be equal to anything */

struct term {
	uint32_t w; /* block of the program whose mark it is, or TERM_ANY_ENTRY */
	int32_t depth;
	uint32_t ret;  /* block of the program that holds the call, or RET_SELF, RET_UNKNOWN */
	bool or_below; /* at `depth` or any further below: a recursion's frames */
};

/* A small set holds its terms as they are. Past TERMSET_EXACT it is *joined*: one term for each
 * witness (for TERM_ANY_ENTRY: and each return), in order, with what differs made unknown, but for
 * the depth: of that the least is kept, because it tells all of them from frames further up. Past
 * TERMSET_MAX it is "anything at all" (top), which nothing is distinguishable from. Both bounds
 * can only cost witnesses, never exactness: each step stands for more events than the one before.
 */
#define TERMSET_EXACT 32
#define TERMSET_MAX 1024
struct termset {
	struct term *terms; /* heap, owned by the set */
	uint32_t n, cap;
	bool joined, top;
	bool rets_apart; /* joined: one term for each witness and return */
};

void termset_free(struct termset *set);
/* Adds @term; returns whether the set changed. Out of memory makes it top. */
bool termset_add(struct termset *set, struct term term);
/* Whether both hold the same terms in the same order. */
bool termset_same(const struct termset *a, const struct termset *b);
/* Where terms of witness @w can be: [*from, *to). Not for top. */
void termset_range(const struct termset *set, uint32_t w, uint32_t *from, uint32_t *to);

/* @term of a callee as its caller sees it: @height is the caller's CFA minus the callee's, @call
 * the block of the call site. */
static inline struct term term_lift(struct term term, int32_t height, uint32_t call)
{
	bool known = term.depth != DEPTH_UNKNOWN && height != DEPTH_UNKNOWN;
	if (!known || __builtin_add_overflow(term.depth, height, &term.depth) || term.depth < 0)
		term.depth = DEPTH_UNKNOWN;
	return (struct term){
		.w = term.w,
		.depth = term.depth,
		.ret = term.ret == RET_SELF ? call : term.ret,
		.or_below = term.or_below && term.depth != DEPTH_UNKNOWN,
	};
}

/* Whether no frame can be that of both terms. */
static inline bool term_depths_differ(struct term a, struct term b)
{
	if (a.depth == DEPTH_UNKNOWN || b.depth == DEPTH_UNKNOWN)
		return false;
	return (a.depth < b.depth && !a.or_below) || (b.depth < a.depth && !b.or_below);
}

#endif

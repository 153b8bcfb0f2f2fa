/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* conflict_rivals.h: where in a function decisions can see what comes after a mark that is being
 * taken away (T and N of conflict_take_away.c), and where they can see something that is not told
 * from it: its rivals. Private to the conflict rule. */
#ifndef OFFLINE_CONFLICT_RIVALS_H
#define OFFLINE_CONFLICT_RIVALS_H

#include "offline/choose/conflict.h"

/* How a walk back has come to a place: watch_ways. */
enum reached { REACHED_ITSELF = 1, REACHED_BEHIND = 2 };

/* What a block is to walks: watch.passed. */
enum passed {
	PASSED_NODE = 1,
	PASSED_IN_SILENCE = 2,
	PASSED_SHOWS = 4, /* it is no mark, but calls what may show */
	PASSED_ENDS = 8,  /* the function can end with it */
	PASSED_MARKED = 16,
};

/* One removal: what the decisions on the way to the block see without its mark. */
struct removal {
	uint32_t func, block;
	bool node;  /* the block stays a node: it holds a call */
	bool top;   /* what comes after it may be anything */
	bool empty; /* the function may return in silence after it */
	bool jump;  /* an entry that looks as if this function had jumped there may come after it */
	bool exit;  /* the exit is in N */
	bool everywhere; /* hurts_all() */
	bool entries;	 /* some of T are entries that may be entered from anywhere */
	bool any;	 /* one of T is of any such */
	uint32_t q;	 /* stamp of N in watch.new_alts, T in watch.term_at, and of watch.ahead */
};

static inline bool conflict_is_new_alt(const struct conflicts *ch, const struct removal *r,
				       uint32_t block)
{
	return ch->watch.new_alts[conflict_place(ch, block)] == r->q;
}

/* Finds from which starts and decisions the block is reached: watch.ours. Clears the rivals. */
void conflict_find_ours(struct conflicts *ch, const struct removal *r);
/* Finds from which of those rivals are reached: watch.rivals. */
void conflict_find_rivals(struct conflicts *ch, const struct removal *r);

#endif

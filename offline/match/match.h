/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* match.h: for each instruction of one program, the instruction of another program that does the
 * same (Zhang and Gupta, "Matching execution histories of program versions", FSE 2005):
 *
 *   signature   the history of b is consistent with that of a: all its values, in order, are among
 *               a's. An optimised program leaves executions out (unrolled and hoisted code), so b
 *               may have fewer; it never has one that a has not.
 *   structure   the makers of b's operands match makers of a's operands
 *
 * Both together are a match; the signature alone is one where it could hardly be by chance, that is
 * where it has several different values. Candidates in the function of the same name come first,
 * then those of the other functions, because functions are inlined.
 *
 * An instruction without a match is *unmatched* from the first execution on that is consistent
 * with no candidate. */
#ifndef OFFLINE_MATCH_MATCH_H
#define OFFLINE_MATCH_MATCH_H

#include "offline/match/history.h"

#define MATCH_NONE UINT32_MAX

struct match_side {
	const struct match_insn *insns;
	const uint32_t *functions; /* of each instruction; equal numbers: equal names */
	uint32_t n;
};

struct match_found {
	uint32_t partner; /* of the other side; MATCH_NONE. If @agreed < n, only of the first
			     @agreed */
	uint32_t agreed;  /* executions that are consistent with the partner's */
	uint32_t at;	  /* the partner's execution that would have been next */
	uint16_t alike; /* instructions of the partner's function that fit as well as it, with it */
	uint8_t makers, makers_matched; /* of the instruction's operands */
	bool matched;
};

/* One for each of @b's instructions, those without a history included. The caller frees *@out.
 * 0 or -ENOMEM. */
int match_find(const struct match_side *a, const struct match_side *b, struct match_found **out);

#endif

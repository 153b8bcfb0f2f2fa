/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* suspects.h: unmatched instructions in the order in which they are worth looking at. An error is
 * followed by turns (parting.h), many and soon. Of instructions that as many follow as soon
 *
 *   8 times as suspicious   what has never done anything that the first run has done at that time
 *   half as suspicious      what has an operand made by one that is unmatched and was strange
 *                           before: it may follow from that
 *
 * The factors were found by trial, on errors that were planted (tests/faults/match.py). */
#ifndef OFFLINE_MATCH_SUSPECTS_H
#define OFFLINE_MATCH_SUSPECTS_H

#include "offline/match/parting.h"

struct match_suspect {
	uint32_t insn, when; /* when it is no longer matched */
	float suspicion;
};

/* @left: of each of b's instructions, when it is no longer matched; UINT32_MAX: never. Writes those
 * that are not, the most suspicious first, to @out, which has room for all instructions. Returns
 * how many. */
uint32_t match_suspects(const struct match_side *b, const struct match_parting *p,
			const uint32_t *left, struct match_suspect *out);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* chain.h: which calls in progress a stack snapshot allows between the entry of a function
 * and an open frame. */
#ifndef OFFLINE_STACK_CHAIN_H
#define OFFLINE_STACK_CHAIN_H

#include "offline/recover/stack/cursor.h"

/* Where a chain of frames leads, each at the return address of the call that made it:
 * CHAIN_OPEN    to an open frame
 * CHAIN_OUT     to code that the plans do not know
 * CHAIN_HEIGHT  to a frame whose height is not known
 * CHAIN_BEYOND  out of the snapshot
 * CHAIN_WRONG   to a return address that is not of a call that can have made the frame: it is none
 *		 of calls in progress */
enum chain_end { CHAIN_OPEN, CHAIN_OUT, CHAIN_HEIGHT, CHAIN_BEYOND, CHAIN_WRONG };

struct chain {
	uint8_t end;	 /* enum chain_end */
	uint16_t module; /* of func */
	uint32_t func;	 /* CHAIN_HEIGHT: whose frame that is */
	uint64_t cfa;	 /* the outermost frame that is known ends there */
	uint32_t level;	 /* CHAIN_OPEN: the frame */
	bool anew;	 /* or one that was made in its place, which did not come by a jump */
	/* CHAIN_OPEN: the innermost call of a traced function, or PUGMARK_NONE: the open frame
	 * itself has become another function's by a jump; its callee's CFA, and return address. */
	uint16_t from;
	uint32_t origin;
	uint64_t origin_cfa, origin_ret;
};

/* The chain outwards from the event @e, the entry of @func. */
void chain_from_entry(const struct parser *p, const struct pugmark_witness_event *e, uint32_t func,
		      struct chain *chain);
/* Whether the frame that open frame @i was made by may still be there. */
bool chain_supports(const struct parser *p, const struct pugmark_witness_event *e, uint32_t i);

#define CHAIN_KNOWN_MAX 16

/* Goes over the words of a snapshot from where a chain has ended, and finds the chains that can
 * lead on from there: up to the open frame @level, or past it, which is possible only if that frame
 * is gone. */
struct chain_scan {
	uint32_t level;
	struct frame_cursor at; /* the last word that was looked at */
	/* What the next call found may have entered: a function of the plan, of which one frame
	 * ends higher than this address; PUGMARK_NONE: code that is not known. */
	struct chain_callee {
		uint16_t module;
		uint32_t func;
		uint64_t above;
	} callees[CHAIN_KNOWN_MAX];
	uint32_t n_callees;
	bool any;      /* what was entered is not known at all */
	bool too_many; /* not all could be found */
};

/* Starts where @from has ended. */
void chain_scan_begin(struct chain_scan *scan, const struct parser *p,
		      const struct pugmark_witness_event *e, const struct chain *from,
		      uint32_t level);
/* The next such chain, the innermost first. The last of those up to the level is the call that
 * entered the frame there: the frame itself may have jumped to another module. False: there is no
 * other chain. */
bool chain_scan_next(struct chain_scan *scan, struct chain *chain);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* settle_impl.h: how a thread came in silence to where a moment that no witness marks finds it,
 * among its parts: ways through a function (ways.c), readings of the stack (readings.c), and what
 * the grammar says of one (allowed.c). settle.c does what follows from it. */
#ifndef OFFLINE_RECOVER_SETTLE_IMPL_H
#define OFFLINE_RECOVER_SETTLE_IMPL_H

#include "offline/recover/settle/settle.h"
#include "offline/recover/stack/snapshot.h"

#define WAYS_MAX 4096  /* decisions looked at for one */
#define STEPS_MAX 4096 /* nodes passed in all */

/* A decision that a search came to, by passing @node of an earlier one. */
struct way {
	uint32_t decision, func;
	uint32_t node;
	int from; /* which of the ways that earlier decision is; -1: none, the search began here */
	bool twice; /* another way leads there as well */
};

struct step {
	uint32_t node;
	bool into; /* it is a call in progress: else it is passed */
};

/* What a way leads to: that a node is next, that it was last (0: the entry of a function), or a
 * jump out of the module. */
enum goal { GOAL_NODE, GOAL_AFTER, GOAL_OUT };

struct settling {
	const struct parser *p; /* as it was asked of */
	const struct pugmark_witness_event *e;
	uint64_t sp;
	/* Where the instruction pointer is; func NONE: in code that is not traced. */
	uint16_t module;
	uint32_t func, next;
	uint64_t cfa;	  /* of that frame; 0: not known */
	uint64_t top_cfa; /* of the innermost frame, if the place has told it; else 0 */
	bool settled;
	uint64_t caller; /* where the return address of its innermost call of ours lies; or 0 */
	/* Which open frame lies at each place of the snapshot, plus one; the innermost, and whether
	 * there are more. */
	uint32_t *frame_at;
	bool twice;
	/* One reading of the stack: frame @level is open, and these calls are in progress. */
	uint32_t level;
	struct stack_link links[STACK_LINKS_MAX]; /* the innermost first */
	int n_links;
	/* What is to be done for it. */
	uint32_t open;	/* so many frames are, without those of a handler that has returned */
	bool keep;	/* nothing but to end the frames past @open: the parser is at the place */
	bool all_ended; /* all frames have ended in silence */
	bool leave;	/* the call that frame @level is in has come back */
	bool announce;	/* that call, or the last of the steps, is in progress in code that is not
			   traced */
	uint32_t enter; /* function that the last call has entered, or NONE */
	struct step steps[STEPS_MAX];
	uint32_t n_steps;
	/* A search. */
	struct way ways[WAYS_MAX];
	uint16_t table[2 * WAYS_MAX]; /* hash of them: index + 1 */
	int n_ways;
	bool too_many; /* there are more than were looked at */
	bool torn;     /* several ways lead to what was found: nothing tells them apart */
};

/* ---- of ways.c ---- */

/* Adds the steps from @from's decision to the goal, @node and @node_func. Returns false where there
 * is no such way; else in *@alt what is next, but for GOAL_AFTER. */
bool settle_find_way(struct settling *s, uint16_t module, struct way from, enum goal goal,
		     uint32_t node, uint32_t node_func, uint32_t *alt);
bool settle_add_step(struct settling *s, uint32_t node, bool into);

/* ---- of readings.c ---- */

/* Finds the first reading of the stack that the grammar allows. */
bool settle_find_reading(struct settling *s);

/* ---- of allowed.c ---- */

/* Whether what the thread is in, of @func of its module, has been entered but its first witness is
 * still to come. */
bool settle_just_entered(const struct settling *s);
/* Whether the grammar allows this reading; then what is to be done for it is in @s. */
bool settle_allowed(struct settling *s);

#endif

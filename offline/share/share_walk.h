/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* share_walk.h: what a walk of share_merge.h consists of, and its parts: what each has next, where
 * its run has what the first run has elsewhere, and whether runs agree (share_parts.c). */
#ifndef OFFLINE_SHARE_SHARE_WALK_H
#define OFFLINE_SHARE_SHARE_WALK_H

#include "offline/share/share.h"
#include "offline/share/share_tell.h"

/* Steps without an event of any part after which a walk goes round in circles. */
#define SILENT_MAX (1u << 20)

enum walk_position {
	WALK_OUTSIDE, /* in no function of ours */
	WALK_AT,      /* comes to node `at` of the top frame's graph */
	WALK_IN_CALL, /* in the top frame's call, which may enter any function, or end */
	WALK_STUCK,   /* nothing follows */
	WALK_LOST,    /* somewhere: only the events of a single part have an order */
};

struct walk_frame {
	uint32_t func;
	uint32_t node; /* the call in progress, of the plan */
	struct tell_func *f;
	uint64_t cfa, ret; /* of the first part's run; 0: not known */
	uint32_t was_at;   /* handler: where what it interrupts was */
	uint8_t was;	   /* enum walk_position */
	bool handler;
	bool direct; /* entered by the call in progress below itself, which ends with it */
};

struct share_walk {
	struct share_teller *t;
	const struct pugmark_plan *plan;
	struct share_io io;
	/* Per part: its next event, borrowed from who reads it; NULL: there is no more. */
	const struct pugmark_witness_event **fronts;
	uint64_t ordinary; /* a bit for each part whose next event is an ordinary witness */
	uint64_t all;	   /* the bits of all shares */
	bool handler_next; /* the first part comes to the entry of a signal's handler next */
	struct walk_frame *frames;
	uint32_t n_frames, cap_frames;
	uint32_t *ways, cap_ways; /* scratch */
	uint32_t at;
	uint8_t position; /* enum walk_position */
	bool base_lost;	  /* where the lowest frame came from is not known */
	uint64_t bias;
	uint64_t callee_cfa; /* of the last unknown call, of the frame that made it */
	uint32_t callee_of;
	uint64_t target; /* ELF address that the last call or jump went to, if its event tells */
	bool target_told;
	uint64_t cfa_off[SHARES_MAX]; /* to a part's stack addresses: the first part's */
	uint64_t cfa_known;	      /* a bit for each part */
	uint64_t ns_off[SHARES_MAX];  /* and times, since the last landmark */
	uint64_t last_ns;
	uint64_t taken, landmarks;
	uint64_t silent;	    /* steps since the last event */
	struct share_landmark last; /* that was taken */
	uint64_t *landmark_hits;    /* per site */
	struct share_divergence diverged;
};

static inline struct walk_frame *walk_top(struct share_walk *w)
{
	return &w->frames[w->n_frames - 1];
}

/* Whether what comes in place of a witness says that its part sees none before the others come
 * there as well. A kill may come anywhere, and where events were lost there may be any. */
bool walk_is_at_a_place(const struct pugmark_witness_event *e);
/* Reads what is next in part @part. 0 or -errno. */
int walk_fill(struct share_walk *w, uint32_t part);
/* Whether the event @e of @part is of the activation @f, as far as frames tell. */
bool walk_in_frame(const struct share_walk *w, uint32_t part, const struct walk_frame *f,
		   const struct pugmark_witness_event *e);
/* Takes the event of @site from all parts that have it, which must have it next, and emits it.
 * *@event: what the first of them says; its stack is gone. 0, -ESTALE, -EDOM: where that run has
 * its stack is not known, or -errno. */
int walk_take(struct share_walk *w, uint32_t site, struct pugmark_witness_event *event);
/* As walk_take(), at node @n, which is `alone`, of the top frame: most events. 1, -errno, or 0 and
 * nothing is done: something is to be asked or noted beside. */
int walk_take_alone(struct share_walk *w, const struct tell_node *n,
		    struct pugmark_witness_event *event);
/* Takes what no ordinary witness is, and all parts have next. *@event: what the first one says, and
 * the stack is gone. 0, -ESTALE or -errno. */
int walk_take_special(struct share_walk *w, struct pugmark_witness_event *event);

/* ---- share_quick.c ---- */

/* Makes steps of a walk, as long as they are those that most steps are: share_walk.c's, but without
 * what they need not ask. 0 where another comes, or -errno. */
int walk_quickly(struct share_walk *w);

/* ---- share_forks.c ---- */

/* Which way the fork at @node of the top frame goes. 0; -EDOM: that is not told; -ESTALE: no way
 * goes with what the parts have; or -ENOMEM. */
int walk_tell(struct share_walk *w, uint32_t node, uint32_t *way);
/* The same where one share tells it and has seen enough; else PUGMARK_NONE. */
uint32_t walk_way_told(const struct share_walk *w, uint32_t node);

/* ---- share_left.c ---- */

/* Whether the frame at @index may have been left in silence since the last event, and another
 * activation stand in its place; @same_call: called from the same place. 1, 0 or -ENOMEM. */
int walk_may_be_another(const struct share_walk *w, uint32_t index, bool same_call);

/* ---- share_entries.c ---- */

/* How the entry that is next came to be. */
enum walk_entered {
	ENTERED_NOT_BY_CALL, /* the call in progress has ended in silence */
	ENTERED_BY_CALL,     /* by that itself */
	ENTERED_BEHIND_CALL, /* by other code, which the call has entered */
	ENTERED_UNSURE,	     /* nothing tells */
};

/* The entry that the first part, which has all of them, comes to next; NULL: none. */
const struct pugmark_witness_event *walk_next_entry(const struct share_walk *w);
/* How the thread came to the entry @a, where the top frame is in a call of what is not known. */
enum walk_entered walk_how_entered(const struct share_walk *w,
				   const struct pugmark_witness_event *a);

/* ---- share_parts.c ---- */

/* Part @part has @found where @expected was to come. Returns -ESTALE. */
int walk_parted(struct share_walk *w, uint32_t part, uint32_t expected,
		const struct pugmark_witness_event *found);
/* Looks for the first landmark in which the runs differ. 0 or -errno. */
int walk_compare_landmarks(struct share_walk *w);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* share_walk.h: what a walk of share_merge.h consists of. */
#ifndef OFFLINE_SHARE_SHARE_WALK_H
#define OFFLINE_SHARE_SHARE_WALK_H

#include "offline/share/share.h"
#include "offline/share/share_tell.h"

enum walk_position {
	WALK_OUTSIDE, /* in no function of ours */
	WALK_AT,      /* comes to node `at` of the top frame's graph */
	WALK_IN_CALL, /* in the top frame's call, which may enter any function, or end */
	WALK_STUCK,   /* nothing follows */
};

/* One part: its next event, borrowed from who reads it. */
struct walk_part {
	const struct pugmark_witness_event *front;
	bool read; /* front is what is next; NULL: nothing is */
};

struct walk_frame {
	uint32_t func;
	uint32_t node; /* the call in progress, of the plan */
	struct tell_func *f;
	uint64_t cfa, ret; /* of the first part's run; 0: not known */
	uint32_t was_at;   /* handler: where what it interrupts was */
	uint8_t was;	   /* enum walk_position */
	bool handler;
};

struct share_walk {
	struct share_teller *t;
	const struct pugmark_plan *plan;
	struct share_io io;
	struct walk_part *parts;
	struct walk_frame *frames;
	uint32_t n_frames, cap_frames;
	uint32_t at;
	uint8_t position; /* enum walk_position */
	uint64_t all;	  /* the bits of all shares */
	uint64_t bias;
	uint64_t callee_cfa; /* of the last unknown call, of the frame that made it */
	uint32_t callee_of;
	uint64_t cfa_off[SHARES_MAX]; /* to a part's stack addresses: the first part's */
	uint64_t cfa_known;	      /* a bit for each part */
	uint64_t ns_off[SHARES_MAX];  /* and times, since the last landmark */
	uint64_t last_ns;
	uint64_t taken, emitted, landmarks;
	uint64_t silent_since, silent; /* steps since that many were taken */
	uint32_t last_landmark;
	struct share_divergence diverged;
};

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* share_merge.h: the events of one thread, put together from runs under all shares of a plan: the
 * paper's Figure 8 over whole programs. The merge walks the grammar. At a fork the shares that tell
 * it say which way was taken, by what they see next; each witness that is passed takes its event
 * from the parts that have it. What comes out is what one run under all shares' witnesses would
 * have recorded, and nothing else. */
#ifndef OFFLINE_SHARE_SHARE_MERGE_H
#define OFFLINE_SHARE_SHARE_MERGE_H

#include <pugmark/event.h>
#include <pugmark/plan.h>

/* What all threads of a merge share: by which share each fork is told, found as it is asked. */
struct share_teller;

/* @members: per site of @plan, a bit for each of @n_shares shares that has it. Both outlive it. 0
 * or -ENOMEM. */
int share_teller_new(const struct pugmark_plan *plan, const uint64_t *members, uint32_t n_shares,
		     struct share_teller **out);
void share_teller_free(struct share_teller *teller);
/* Whether a walk came to @func. */
bool share_teller_came_to(const struct share_teller *teller, uint32_t func);

/* Where the events come from and go to. Both return -errno for an error. */
struct share_io {
	/* The next event of the thread under share @part, borrowed until the next call for that
	 * part: 1; 0 at the end. */
	int (*next)(void *ctx, uint32_t part, const struct pugmark_witness_event **event);
	/* One of the merged thread; its stack is that of the first part. */
	int (*emit)(void *ctx, const struct pugmark_witness_event *event);
	void *ctx;
};

/* Something that all shares see: of a witness that all have, or of what is none. */
struct share_landmark {
	uint8_t kind;  /* enum pugmark_event_kind; SHARE_NO_LANDMARK: nothing more */
	uint32_t site; /* of a witness */
};
enum { SHARE_NO_LANDMARK = 255 };

/* Two runs were not the same run. */
struct share_divergence {
	uint32_t part;		    /* index of the one that does not fit, */
	uint32_t expected_site;	    /* where this was to come: PUGMARK_NONE: something else */
	uint32_t found_site;	    /* and this came: PUGMARK_NONE: no witness */
	uint8_t found_kind;	    /* enum pugmark_event_kind; 255: nothing */
	bool untold;		    /* no share tells where it went on: no run was at fault */
	uint64_t landmarks;	    /* that were the same in all runs */
	struct share_landmark last; /* of these */
	uint64_t last_time;	    /* of a witness: how often it has come by then */
	/* The landmark after these, in which runs differ: in the first run, and in that of @other.
	 * @as_first, @as_other: a bit for each run that has the same as this one. */
	bool differ;
	uint32_t other;
	struct share_landmark here, there;
	uint64_t as_first, as_other;
	uint32_t func; /* where the walk was; PUGMARK_NONE: in none */
};

struct share_walk;

/* A walk through one thread. @parent: the walk of the one that it was forked by, at the fork, or
 * NULL. 0 or -ENOMEM. */
int share_walk_new(struct share_teller *teller, const struct share_io *io,
		   const struct share_walk *parent, struct share_walk **out);
void share_walk_free(struct share_walk *walk);
/* The same place, for a child that goes on from it. NULL: no memory. */
struct share_walk *share_walk_copy(const struct share_walk *walk);
/* Walks until the thread forks or ends. Returns 1 after an PUGMARK_EVENT_FORK was emitted (a child
 * goes on from here), 0 at the end, -ESTALE where the runs part, with @diverged filled, or -errno.
 */
int share_walk_run(struct share_walk *walk, struct share_divergence *diverged);
/* Events that were taken from the parts, and those of them that all parts had. */
void share_walk_counts(const struct share_walk *walk, uint64_t *taken, uint64_t *landmarks);

#endif

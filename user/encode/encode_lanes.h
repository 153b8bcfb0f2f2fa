/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_lanes.h: reads all threads of a recording together, in the order of time, for selections
 * whose sequences cross threads: what is done with one object, and the calls on a class merged.
 * Each thread is a lane, with a walk and a filter of its own. The order of what two threads did
 * between the same two witnesses is not known: the later bound decides. */
#ifndef USER_ENCODE_LANES_H
#define USER_ENCODE_LANES_H

#include "user/encode/encode.h"

/* A call of SELECT_OBJECT. */
struct object_call {
	struct tree_call of; /* of.symbol 0: there is none */
	bool placed;	     /* it is in a sequence */
};

struct encode_lane {
	struct encode *e;
	uint32_t task;
	struct filter *filter;
	struct tree_walk *walk;
	struct pugmark_trace_iter *it;
	const struct pugmark_trace_event *event; /* the next one; NULL: there is none */
	struct tree_sink sink;
	/* SELECT_OBJECT: the call that is open (what is called inside of it is not shown), and the
	 * one that ended last: what it gives out may come yet. */
	struct object_call open, ended;
	uint32_t unknown; /* its sequence of calls of which the object is not known, + 1 */
};

/* Whether the selection is read so. */
bool encode_has_lanes(const struct encode *e);
/* Reads all threads that are shown. 0, -ENOMEM, or -errno with @diag filled. */
int encode_lanes_read(struct encode *e, struct pugmark_diag *diag);

/* ---- encode_objects.c: a sequence for each object ---- */

/* What a lane of SELECT_OBJECT tells; its ctx is the lane. */
extern const struct tree_sink encode_object_sink;
int encode_objects_new(struct encode *e);
void encode_objects_free(struct encode *e);
/* All that is alive ends here. */
int encode_objects_end(struct encode *e, enum tree_edge why);

#endif

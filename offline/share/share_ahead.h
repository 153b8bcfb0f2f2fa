/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* share_ahead.h: one part of a merge, read ahead: its next event, and the next one of a given
 * function. What lies between the two is kept. */
#ifndef OFFLINE_SHARE_SHARE_AHEAD_H
#define OFFLINE_SHARE_SHARE_AHEAD_H

#include "offline/share/share_tell.h"

struct ahead_event {
	struct pugmark_witness_event e; /* its stack is a copy: stack_copy, or NULL */
	uint64_t *stack_copy;
	uint64_t next;	 /* number of the next one of the same function; AHEAD_NONE: not read yet */
	uint8_t special; /* no witness, or one that is entered by unwinding */
};
#define AHEAD_NONE UINT64_MAX

struct share_ahead {
	const struct share_teller *t;
	const struct share_io *io;
	uint32_t part;
	struct ahead_event *ring; /* of cap, a power of two */
	uint64_t begin, end;	  /* numbers of the events in it */
	uint32_t cap;
	bool ended;
	uint64_t *first, *last; /* per function: numbers, or AHEAD_NONE */
	uint64_t most;		/* that were in the ring at once */
};

int share_ahead_init(struct share_ahead *a, const struct share_teller *t, const struct share_io *io,
		     uint32_t part);
void share_ahead_deinit(struct share_ahead *a);
/* The next event. 1, 0 at the end, or -errno. */
int share_ahead_front(struct share_ahead *a, struct ahead_event **out);
/* The next one of @func. */
int share_ahead_of(struct share_ahead *a, uint32_t func, struct ahead_event **out);
/* Passes the next event, which share_ahead_front() has told. */
void share_ahead_pop(struct share_ahead *a);

#endif

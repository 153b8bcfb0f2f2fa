/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* turn.h: a run that takes a conditional jump the other way than it was recorded, and goes on from
 * there by itself. Records lead it no more; they answer its system calls, in their order, as long
 * as what it asks is what was asked. What it writes to descriptors 1 and 2 is taken as written, and
 * exit() ends it. It ends as well where
 * - it asks what was not captured then;
 * - it needs a value that is not exact: for a branch, an address, or what it writes;
 * - something would have to be executed that is no code of the recording. */
#ifndef OFFLINE_REPLAY_TURN_H
#define OFFLINE_REPLAY_TURN_H

#include "offline/replay/replay.h"

enum value_turned_end {
	VALUE_TURNED_UNKNOWN, /* @text says what is not known */
	VALUE_TURNED_EXIT,    /* @status: of exit() */
	VALUE_TURNED_CRASH,   /* @status: the signal */
	VALUE_TURNED_LIMIT,   /* as many instructions as were asked for */
};

struct value_turned {
	enum value_turned_end end;
	int status;
	bool was_taken;	       /* what the jump has done in the recording */
	uint64_t instructions; /* behind it, without those of libraries */
	uint64_t answered;     /* system calls that records have answered */
	uint64_t ip;	       /* where it ended */
	char text[160];
};

/* The run has written this to @fd, 1 or 2. False: there is no room for it. */
typedef bool value_written_fn(void *ctx, int fd, const uint8_t *bytes, size_t len);

/* The run stands before a conditional jump, where it is again when this is over. 0; -ENOMEM; or
 * -EINVAL: no jump is here. */
int value_run_turn(struct value_run *run, uint64_t instructions, value_written_fn *written,
		   void *ctx, struct value_turned *out);

/* What the system call that @c tells of has written to descriptor 1 or 2; called as
 * value_crossing_fn is. False: there was no room, or some of it is not exact. */
bool value_run_written(struct value_run *run, const struct capture *c, value_written_fn *written,
		       void *ctx);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* turned.h: a run that goes another way than was recorded (turn.h). */
#ifndef OFFLINE_REPLAY_LEAD_TURNED_H
#define OFFLINE_REPLAY_LEAD_TURNED_H

#include "offline/replay/turn.h"

/* What it has while it does. */
struct turned {
	struct value_turned *out;
	value_written_fn *written;
	void *ctx;
	bool no_room;
};

/* A system call; control where nothing is executed; what would have ended it by @signal. All: an
 * enum value_replay_stop. */
int value_run_turned_call(struct value_run *run);
int value_run_turned_outside(struct value_run *run);
int value_run_turned_crash(struct value_run *run, int signal, const char *what);

#endif

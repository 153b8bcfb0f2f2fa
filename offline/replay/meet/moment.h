/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* moment.h: a moment of the run that it goes back to soon, which gives it up. */
#ifndef OFFLINE_REPLAY_MEET_MOMENT_H
#define OFFLINE_REPLAY_MEET_MOMENT_H

#include "offline/replay/replay.h"

/* Opaque to its user, who gives it up by going back. */
struct value_moment {
	struct value_state state;
	struct value_known known;
	enum value_side side;
	uint64_t count, assumed, unknown;
	struct value_snapshot memory;
};

void value_moment_keep(struct value_run *run, struct value_moment *out);
void value_moment_go_back(struct value_run *run, struct value_moment *to);

#endif

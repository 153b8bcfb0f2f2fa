/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* turned.h: what a run has while it is turned. */
#ifndef OFFLINE_REPLAY_LEAD_TURNED_H
#define OFFLINE_REPLAY_LEAD_TURNED_H

#include "offline/replay/run/replay_impl.h"
#include "offline/replay/turn.h"

struct turned {
	struct value_turned *out;
	value_written_fn *written;
	void *ctx;
	bool no_room;
};

#endif

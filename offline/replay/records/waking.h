/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* waking.h: when a thread was awake, by its records. In a system call it executes nothing, nor
 * while it has lost the processor, where that was recorded (SWITCH). Times are of the order over
 * all tasks (capture.order). */
#ifndef OFFLINE_REPLAY_RECORDS_WAKING_H
#define OFFLINE_REPLAY_RECORDS_WAKING_H

#include "offline/capture/captures.h"

struct span {
	uint64_t from, to;
};

/* Zeroed at first. When all records were fed, it may be awake since @since. */
struct waking {
	uint64_t since;
	bool awake, known;
	bool begun; /* its first record has come */
};

/* Feeds the next record. Whether a span ends there, in which it was awake: *@out. */
bool value_waking_next(struct waking *w, const struct capture *c, struct span *out);

#endif

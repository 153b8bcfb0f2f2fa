/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lines_impl.h: what lines.c makes and line_reader.c reads. */
#ifndef OFFLINE_TRACE_LINES_IMPL_H
#define OFFLINE_TRACE_LINES_IMPL_H

#include "offline/trace/line_frames.h"
#include "offline/trace/lines.h"

#include <stdio.h>

/* A part of what a thread did, on one stack. */
struct piece {
	uint64_t goroutine; /* 0: of none that is known */
	uint64_t begin_ns, last_ns;
	uint64_t first, n; /* its events in the file */
	uint32_t task;
	bool goes_on; /* its thread had the goroutine before, and perhaps meanwhile */
	/* What the thread knows to be open when it begins, in lines.frames: outermost first. None
	 * of a piece that goes on: it is what was open behind the thread's piece before. */
	uint32_t first_frame, n_frames;
};

struct lines {
	const struct pugmark_plan *const *plans;
	const struct pugmark_recording_task *tasks;
	FILE *events; /* struct pugmark_trace_event */
	uint64_t n_events;
	VEC(struct piece) pieces; /* by line, and in its order */
	VEC(struct line_frame) frames;
	VEC(struct pugmark_trace_line) list;
	VEC(uint32_t) first_piece; /* of each line; and behind the last one */
};

#endif

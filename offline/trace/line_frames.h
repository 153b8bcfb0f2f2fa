/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* line_frames.h: the functions that are open on one stack, followed by the events of a trace. */
#ifndef OFFLINE_TRACE_LINE_FRAMES_H
#define OFFLINE_TRACE_LINE_FRAMES_H

#include <pugmark/trace_event.h>

#include <stdbool.h>

#include "offline/base/vec.h"

struct line_frame {
	uint32_t func; /* PUGMARK_NONE: not known, as behind a gap */
	uint16_t module;
};

struct line_frames {
	struct line_frame *at; /* heap */
	uint32_t n, max;
};

/* What is open behind the event. False where memory is out. */
bool line_frames_follow(struct line_frames *frames, const struct pugmark_trace_event *event);

/* Where on @line the stack @stack lies: *@base is the level of its outermost frame. Returns how
 * many frames the two have in common from there on. The stack may have been seen from some frame on
 * only: of several places that fit as well the innermost is taken. */
uint32_t line_frames_match(const struct line_frames *line, const struct line_frame *stack,
			   uint32_t n, uint32_t *base);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* handler_frame.h: the frame that a signal handler is given, and what it makes of it. */
#ifndef OFFLINE_REPLAY_LEAD_HANDLER_FRAME_H
#define OFFLINE_REPLAY_LEAD_HANDLER_FRAME_H

#include "offline/replay/run/run_parts.h"

/* Fills the frame of the last one that was interrupted, whose signal that is. */
void value_frame_fill(struct value_run *run, const struct capture *signal);
/* The registers that it had are the machine's: what the handler has made of them in its frame. */
void value_frame_take(struct value_run *run, const struct interrupted *was);
/* The frame is one that no signal has made, or that was put aside and brought back: what memory
 * says there is all that is known. */
void value_frame_take_alone(struct value_run *run, uint64_t frame, const struct capture *c);

#endif

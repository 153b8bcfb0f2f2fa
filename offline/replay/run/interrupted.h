/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* interrupted.h: what signal handlers have interrupted and may still return to. */
#ifndef OFFLINE_REPLAY_RUN_INTERRUPTED_H
#define OFFLINE_REPLAY_RUN_INTERRUPTED_H

#include "offline/replay/run/run_parts.h"

/* One more, zeroed, with its handler next; NULL: memory is out. */
struct interrupted *value_run_interrupt(struct value_run *run);
/* The kernel has put the frame of the last one there: those that it has overwritten are gone. */
void value_run_frame_made(struct value_run *run, uint64_t frame);
/* The one whose frame is there, or NULL. */
const struct interrupted *value_run_handler_at(const struct value_run *run, uint64_t frame);
/* The one that the rt_sigreturn() returns to which @c tells of, or NULL. *@frame: where that takes
 * registers from, or 0: not known. */
const struct interrupted *value_run_returning(const struct value_run *run, const struct capture *c,
					      uint64_t *frame);
void value_run_end_interrupted(struct value_run *run, const struct interrupted *was);

#endif

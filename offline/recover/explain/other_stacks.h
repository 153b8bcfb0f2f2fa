/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* other_stacks.h: leaving one stack of a thread and going on on another, once somebody knows that
 * it did. */
#ifndef OFFLINE_RECOVER_EXPLAIN_OTHER_STACKS_H
#define OFFLINE_RECOVER_EXPLAIN_OTHER_STACKS_H

#include "offline/recover/explain/explain.h"

/* Keeps the current context for later, and goes on in @next. */
void stacks_switch_to(struct parser *p, const struct context *next);
/* Brings the current context to where the thread leaves it: the call in which it may be left, or
 * the end of all its frames, in silence. Where neither is known, its frames are given up. */
void stacks_leave(struct parser *p);
/* The current context is the stack of @goroutine (0: that is not told): reports it where it was not
 * known. */
void stacks_number(struct parser *p, uint64_t goroutine);
/* Whether the current context is to be left where it is, or can end in silence. */
bool stacks_can_leave(const struct parser *p);
/* Whether the frames of the current context are those that the stack of the event shows. */
bool context_frames_intact(const struct parser *p, const struct pugmark_witness_event *e);
/* Goes on in kept context @i. */
void stacks_go_back(struct parser *p, uint32_t i);
/* Opens a new context's first frame, of which no event of its own has told. */
bool stacks_open_first(struct parser *p, struct frame first);

#endif

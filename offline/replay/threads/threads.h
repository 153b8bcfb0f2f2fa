/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* threads.h: the threads of a process, executed as one. Those that return int: an
 * enum value_replay_stop. */
#ifndef OFFLINE_REPLAY_THREADS_THREADS_H
#define OFFLINE_REPLAY_THREADS_THREADS_H

#include "offline/replay/run/together.h"

enum { VALUE_REPLAY_WAITS = 100 }; /* in a system call: a thread that is led, or @stop_waiting */

/* The others are executed up to that moment of the order, or no longer all of them. */
int value_threads_until(struct value_run *run, uint64_t moment);
/* @run is in the system call that @c tells of the end of. */
int value_threads_call(struct value_run *run, const struct capture *c);

/* All that follow: an enum value_replay_stop, or 0 and -ENOMEM. */
/* Whether another one was awake while the piece is executed that @m is about to. */
bool value_threads_crowded(const struct value_run *m);
int value_threads_hand_over(struct value_threads *t, struct value_run *to);
int value_threads_step(struct value_threads *t, struct value_run *m);
/* Whether the next piece of a thread that is led is to be executed. */
bool value_threads_may_go_on(const struct value_threads *t, const struct value_run *m);
/* Of those from number @first on, the one that goes on next, no later than @moment; NULL: none. */
struct value_run *value_threads_next(struct value_threads *t, size_t first, uint64_t moment);
/* When the piece that it executes next is over. */
uint64_t value_threads_end_of_piece(const struct value_run *m);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run_make.h: a run without a state; the states that it may begin with. */
#ifndef OFFLINE_REPLAY_RUN_MAKE_H
#define OFFLINE_REPLAY_RUN_MAKE_H

#include "offline/replay/replay.h"

/* A run without a state, which value_run_free() frees; the state that START tells. 0 or -errno. */
int value_run_make(struct value_replay *replay, uint32_t task, struct value_run **out);
int value_run_start(struct value_run *run, struct pugmark_diag *diag);
/* A thread begins as @maker is, in the system call that @c tells of the end of. */
bool value_run_begin_thread(struct value_run *run, struct value_run *maker,
			    const struct capture *c);
/* It has the stack and the thread pointer that the call gave it, of arguments in @memory. */
int value_run_take_thread(struct value_run *run, struct value_memory *memory,
			  const struct capture *c);
/* Of the run that was asked for: the others are freed. */
void value_threads_free(struct value_run *run);

#endif

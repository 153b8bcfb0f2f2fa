/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* threads.h: what threads.c and those that begin and end threads share. */
#ifndef OFFLINE_REPLAY_RUN_TOGETHER_H
#define OFFLINE_REPLAY_RUN_TOGETHER_H

#include "offline/replay/run/replay_impl.h"

/* What is done with a thread: it is executed up to its next record; the system call that it waits
 * in takes effect; whether a call makes a thread; how that begins. */
struct thread_does {
	int (*go_on)(struct value_run *m);
	int (*over)(struct value_run *m);
	bool (*makes)(const struct capture *c);
	bool (*begin)(struct value_run *m, struct value_run *maker, const struct capture *c);
};

struct value_threads {
	const struct thread_does *does;
	struct value_run **at; /* the first is the one that was asked for */
	int32_t *tids;
	size_t n;
	struct value_run *holder; /* of the memory */
	uint64_t maps;		  /* how often the mappings have changed */
	uint64_t clear;		  /* before that moment no two are awake at once */
	uint64_t executed;
	bool apart;
};

/* All that follow: an enum value_replay_stop, or 0 and -ENOMEM. */
int value_threads_hand_over(struct value_threads *t, struct value_run *to);
int value_threads_step(struct value_threads *t, struct value_run *m);
/* Of those from number @first on, the one that goes on next, no later than @moment; NULL: none. */
struct value_run *value_threads_next(struct value_threads *t, size_t first, uint64_t moment);
/* When the piece that it executes next is over. */
uint64_t value_threads_end_of_piece(const struct value_run *m);

#endif

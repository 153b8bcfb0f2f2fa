/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* together.h: the threads of a process that are executed as one. */
#ifndef OFFLINE_REPLAY_RUN_TOGETHER_H
#define OFFLINE_REPLAY_RUN_TOGETHER_H

#include "offline/replay/replay.h"

/* What is done with a thread: it is executed up to its next record; the system call that it waits
 * in takes effect; whether a call makes a thread; how that begins. */
struct thread_does {
	int (*go_on)(struct value_run *m);
	int (*over)(struct value_run *m);
	bool (*makes)(const struct capture *c);
	bool (*begin)(struct value_run *m, struct value_run *maker, const struct capture *c);
};

/* Shared by their runs. */
struct value_threads {
	const struct thread_does *does;
	struct value_run **at; /* the first is the one that was asked for */
	int32_t *tids;
	size_t n;
	struct value_run *holder; /* of the memory */
	uint64_t maps;		  /* how often the mappings have changed */
	uint64_t crowded;	  /* from that moment on two may be awake at once */
	uint64_t clear;		  /* from that one on they are executed no more */
	uint64_t spent;		  /* executed by those that are led, awake beside another one */
	uint64_t executed;
	bool apart;
};

/* Whether all of them are executed: then nothing but these and the kernel writes to memory, and the
 * moment up to which they were is that of the run, or else the one up to which they were. */
bool value_threads_together(const struct value_run *run);
uint64_t value_threads_executed(const struct value_run *run);
/* The threads are executed no more: what they write is not known. */
void value_threads_part(struct value_run *run);
/* The mappings have changed. */
void value_threads_mapped(struct value_run *run);

#endif

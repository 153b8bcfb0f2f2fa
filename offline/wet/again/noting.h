/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* noting.h: what has to be told so that a window can be executed again (again.h): found while it is
 * replayed, by executing it a second time right behind. Told is of registers and memory what an
 * instruction reads and this second execution has not as the replay has it. Instructions whose
 * results are others there, for whatever reason, are told by their results. */
#ifndef OFFLINE_WET_NOTING_H
#define OFFLINE_WET_NOTING_H

#include "offline/replay/replay.h"
#include "offline/wet/again/again.h"

struct noting;

/* Is told of what is noted, step by step, before its blocks are told to anybody by the trace: that
 * a word (its address by 8) is told before block @block, of all that are noted from 0; that it and
 * those behind it, @n in all, are told by their results. */
struct noting_watch {
	void (*word)(void *ctx, uint64_t block, uint64_t word);
	void (*blocks)(void *ctx, uint64_t block, uint32_t n);
	void *ctx;
};

/* NULL: out of memory. */
struct noting *noting_new(const struct noting_watch *watch);
void noting_free(struct noting *n);
/* A value_step_fn. */
void noting_step(void *noting, struct value_machine *m, enum value_step step,
		 const struct value_trace *trace);
/* The block that is being noted ends; steps are noted from now on, in a new one (@on), or no more.
 * False: out of memory. */
bool noting_block(struct noting *n, bool on);
/* What was noted; borrowed. */
struct noted {
	struct again_block *blocks; /* but for .paths */
	uint32_t n;
	const uint64_t *addrs; /* of pages of code */
	const uint8_t *pages;
	uint32_t n_pages;
	uint64_t told, steps; /* steps that were told; all */
	uint64_t raw;	      /* bytes of all columns, before compression */
};
/* False: the window cannot be executed again, as its code has changed meanwhile, or it touches too
 * much memory, or has too much code. */
bool noting_result(struct noting *n, struct noted *out);
/* The same, of what was noted so far. */
bool noting_can(const struct noting *n);
bool noting_failed(const struct noting *n); /* memory was out */

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* flow.h: turns a thread's records into steps, from one block of the module's own code to the next.
 *
 * What lies between two blocks is folded into the step: the module's PLT stubs, and everything that
 * ran outside the module. What signals do to the order is undone: a handler's steps start from
 * nowhere, and the interrupted step is given as one once the handler has returned. */
#ifndef ORACLE_FLOW_H
#define ORACLE_FLOW_H

#include "module.h"
#include "trace.h"

struct flow_step {
	struct tblock *from; /* NULL: the first step of a thread or of a signal handler */
	struct tblock *to;   /* NULL: nothing of the module ran any more */
	const struct module_slot *slot; /* of the PLT stub that was gone through, or NULL */
	uint64_t pushed; /* @from ends in a call: where that wrote its return address */
	bool plt;	 /* a PLT stub was gone through */
	bool outside;	 /* other modules ran in between */
	bool jumped;	 /* these jumped to @to, with no call of theirs open */
	bool cut;	 /* @from was left before its last instruction */
	int resumed;	 /* >= 0: @from was interrupted; the number that the interrupt hook got */
	bool own;	 /* false: an ancestor ran @from, before the fork that made this thread */
};

/* A hook that has nothing more to do for a step straight from one block to another says so with
 * flow_quiet(); the next such steps between the two are not given to it. */
struct flow_hooks {
	void (*step)(void *ctx, const struct flow_step *step);
	/* A handler starts before the step @so_far, which lacks its end, is done; @number is how
	 * many such steps wait already. May be NULL. */
	void (*interrupt)(void *ctx, const struct flow_step *so_far, int number);
};

struct flow_counts {
	uint64_t blocks, reps, signals, cuts, calls_outside;
};

void flow_quiet(const struct trace_blocks *blocks, const struct flow_step *step);
/* Runs through a whole thread. */
void flow_run(struct trace_reader *reader, const struct trace_blocks *blocks,
	      const struct module *module, const struct flow_hooks *hooks, void *ctx,
	      struct flow_counts *counts);
/* Sets the blocks' plt flags from @module. */
void flow_mark_plt(struct trace_blocks *blocks, const struct module *module);

#endif

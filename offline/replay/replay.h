/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* replay.h: a recording of level values, executed again: the evaluator (machine.h) led from capture
 * to capture (captures.h). Any point of a task, counted in instructions of its traced modules, can
 * be reached in both directions: snapshots are kept on the way.
 *
 * Every record is checked against what was computed: the place, the stack pointer, the registers
 * that a call keeps. A difference ends the replay as a gap with its cause. */
#ifndef OFFLINE_REPLAY_REPLAY_H
#define OFFLINE_REPLAY_REPLAY_H

#include <pugmark/diag.h>

#include "offline/capture/captures.h"
#include "offline/capture/imports.h"
#include "offline/eval/machine.h"

enum value_replay_stop {
	VALUE_REPLAY_LIMIT,
	VALUE_REPLAY_END,	 /* of the task */
	VALUE_REPLAY_GAP,	 /* value_replay_gap() says what it is */
	VALUE_REPLAY_TRACE_FULL, /* the caller empties the trace and goes on */
	VALUE_REPLAY_NO_MEMORY,
};

enum value_crossing {
	VALUE_CROSSING_CALL,   /* control leaves: rip is outside, rsp at the return address */
	VALUE_CROSSING_RESULT, /* it is back behind the call; rax is the result */
	VALUE_CROSSING_ENTER,
	VALUE_CROSSING_KERNEL,
	VALUE_CROSSING_SIGNAL,
	VALUE_CROSSING_SWITCH, /* the task lost the processor, and has it back */
};

/* Why a replay went no further. */
struct value_gap {
	uint64_t count; /* instructions before it */
	uint64_t ip;
	uint64_t record; /* number of the record that did not fit, or that would have been next */
	char text[384];
};

struct value_replay; /* of a recording */
struct value_run;    /* of one of its tasks */

/* Is told of what crosses the boundary while a run goes forward. @capture is NULL for a call, and
 * for a result that was recomputed. @import: the function's name, or NULL. */
typedef void value_crossing_fn(void *ctx, struct value_run *run, enum value_crossing what,
			       const struct capture *capture, const char *import);

/* Opens the recording in @dir. Returns 0 and a replay that the caller frees after its runs, or
 * -errno with @diag filled. */
int value_replay_open(const char *dir, struct value_replay **out, struct pugmark_diag *diag);
void value_replay_free(struct value_replay *replay);
const struct captures *value_replay_captures(const struct value_replay *replay);

/* A run of the task with that number (captures_tasks()), at its start. Where other threads of its
 * process are awake, nothing in memory is better than assumed. */
int value_run_new(struct value_replay *replay, uint32_t task, struct value_run **out,
		  struct pugmark_diag *diag);
void value_run_free(struct value_run *run);

/* When other threads of the process were awake, so that what memory holds may be theirs. */
enum value_met {
	VALUE_MET_BEFORE = 1, /* before the instructions that were executed last */
	VALUE_MET_DURING = 2, /* while they were executed */
};
/* A bit for each, since it was asked last; asked at each crossing it is of what lies between. */
unsigned value_run_met(struct value_run *run);
/* Whether no other thread was awake between two moments of the order over all tasks; @from 0: that
 * is not known. */
bool value_run_was_alone(const struct value_run *run, uint64_t from, uint64_t to);
/* Where its process has other threads: the instructions that come next are executed behind record
 * *@from, and before *@to, in the order over all tasks (capture.order). False: it has none. */
bool value_run_when(const struct value_run *run, uint64_t *from, uint64_t *to);
/* While the record @c of an rt_sigreturn() is told (VALUE_CROSSING_KERNEL): the number of the
 * record of the signal whose handler returns. False: it is not known. */
bool value_run_returns_from(const struct value_run *run, const struct capture *c, uint64_t *number);
/* Whether the task is the first one of a process that another one has forked, whose memory and
 * registers it begins with; *@order: of the record of that call. */
bool value_run_forked(const struct value_run *run, uint64_t *order);
void value_run_crossings(struct value_run *run, value_crossing_fn *fn, void *ctx);
/* Whoever asks is told of each piece of memory that code of libraries writes, in order, before the
 * crossing behind it; NULL: nobody, which is faster. It may be asked at a crossing. 0 or -ENOMEM.
 */
int value_run_library_writes(struct value_run *run, value_wrote_fn *fn, void *ctx);

/* Is told of what a run forward executes of traced code, step by step: before a step, with memory
 * and registers as they are then; behind it; and of an instruction that was told by a record, when
 * it is in @trace, but for what it does to memory. */
enum value_step { VALUE_STEP_BEGINS, VALUE_STEP_RAN, VALUE_STEP_TOLD };
typedef void value_step_fn(void *ctx, struct value_machine *machine, enum value_step step,
			   const struct value_trace *trace);
void value_run_steps(struct value_run *run, value_step_fn *fn, void *ctx);

/* Goes forward until @until instructions were executed, and to where the next one is: what is
 * outside of the traced modules in between is over then, and a signal that comes there has come. */
enum value_replay_stop value_run_forward(struct value_run *run, uint64_t until,
					 struct value_trace *trace);
/* Goes to the moment before instruction @count, in either direction. */
enum value_replay_stop value_run_seek(struct value_run *run, uint64_t count);
/* The same for a place where the run has been, as one of many that are looked at in their order: on
 * the way forward no snapshot is left. 0; -ENOMEM; -EIO: it is elsewhere now. */
int value_run_go(struct value_run *run, uint64_t count);
/* Goes to where the task is at the moment from @from to @to of the order over all tasks: to the
 * first place whose instructions are not over before it, or if these begin behind it to the last
 * place before, where the task waits. @back: to the last place that has begun by then.
 * Of a run that has no others: nowhere. */
enum value_replay_stop value_run_seek_moment(struct value_run *run, uint64_t from, uint64_t to,
					     bool back);
/* Instructions before the last snapshot that has fewer than @count before it; 0: none has. */
uint64_t value_run_snapshot_before(const struct value_run *run, uint64_t count);
uint64_t value_run_count(const struct value_run *run);
/* Instructions of libraries that the run has executed so far, which are not among them: but for
 * functions that a model does at once. What is executed anew counts anew. */
uint64_t value_run_library_count(const struct value_run *run);
struct value_machine *value_run_machine(struct value_run *run);
const struct value_gap *value_run_gap(const struct value_run *run);
/* How many instructions that are exact by themselves follow a branch, or a store to an address,
 * that an assumed value decided, before a record agreed with where that led. What is known there,
 * and all that no record has told by then, is assumed. */
uint64_t value_run_supposed(const struct value_run *run);
/* How often a library's code could not be executed to its end, so that what it may have written is
 * assumed; where and why it was the first time. */
uint64_t value_run_blind(const struct value_run *run, const struct value_gap **first);
/* Instructions between snapshots; at first 10 million. */
void value_run_snapshot_every(struct value_run *run, uint64_t instructions);

#endif

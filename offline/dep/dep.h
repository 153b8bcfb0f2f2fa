/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dep.h: the dependences of a task, from its start to some moment, in a form that a scan in either
 * direction reads in order:
 *
 *   items   one word for each executed block, or for each event between blocks
 *   loads   one word for each executed memory operand that is read: the definition that it has
 *           read, or several
 *   defs    are not stored: definitions are numbered from 1 in the order in which they were made,
 *           one for each executed memory operand that is written, as many as it says for an event
 *
 * Registers need no words: what is between two instructions is in their blocks. An *event* is what
 * happened outside of blocks (a call of an imported function, a system call, an entry), and a
 * string instruction. Definition 0 is nobody: memory as it was at the start. */
#ifndef OFFLINE_DEP_DEP_H
#define OFFLINE_DEP_DEP_H

#include "offline/dep/reads.h"
#include "offline/replay/replay.h"

#define DEP_ITEM_EVENT (1u << 31)
#define DEP_LOAD_MANY (1u << 31)
#define DEP_NOTHING UINT32_MAX

enum dep_event_kind {
	DEP_CALL,   /* an imported function, which is over */
	DEP_KERNEL, /* a system call has written memory */
	DEP_ENTER,  /* control came in from outside: all registers are new */
	DEP_BOUND, /* the dynamic linker has gone on into the traced function that was called first:
		      arguments are as at the call */
	DEP_STRING, /* a string instruction; it is not among the items but within its block */
	DEP_LEFT,   /* control left by a call that outlasts callbacks: @id is that of the call's end
		     */
	DEP_SIGNAL, /* a handler runs next; its end has the same @id */
	DEP_SIGNAL_END, /* registers are those of the signal again */
	DEP_BORN,    /* the process was forked: a definition for each byte that may be written, as
			its parent had it (dep_trace.born) */
	DEP_OUTSIDE, /* a function outside, of which nothing is known, has written memory */
	DEP_OTHERS, /* other threads were awake: its one definition is of what they may have written
		     */
};

enum dep_event_flag {
	DEP_READS_KNOWN = 1, /* what it reads is told; else a slice ends here, and says so */
	DEP_COPIES = 2,	     /* definition i is a copy of definition sources[i] */
	DEP_INPUT = 4,	     /* its definitions are bytes of @fd from @offset on */
	DEP_OUTPUT = 8,	     /* its reads by run are bytes of @fd from @offset on */
	DEP_SETS_RAX = 32,   /* of DEP_KERNEL: the call was made by traced code */
	DEP_SPANS =
		16, /* a call with callbacks: what calls keep is as at the DEP_LEFT of that @id */
};

struct dep_event {
	uint64_t count;	  /* instructions before it */
	uint64_t ip;	  /* of the call (where it returns to), of the string instruction; 0 */
	const char *name; /* of the function or system call; NULL */
	uint8_t kind, flags;
	int32_t fd;
	uint32_t id;
	uint64_t offset; /* in bytes, of what was read or written of @fd before */
	uint64_t order;	 /* of DEP_KERNEL: of the call's record, over all tasks */
	uint32_t regs;	 /* arguments that it reads: bit i general argument i, bit 8 + i xmm i */
	uint32_t first_def, n_defs;
	uint64_t first_source; /* in dep_trace.sources: n_defs of them where it copies */
	uint64_t first_read;   /* in dep_trace.sources: definitions that all of it depends on */
	uint32_t n_reads;
	uint64_t first_run; /* in dep_trace.runs: what an output wrote, in order */
	uint32_t n_runs;
};

/* Bytes of an output that have one producer. */
struct dep_run {
	uint32_t def, len;
};

/* Of a task with other threads: from instruction @count on, up to the next span, it was executed
 * behind record @from and before @to, in the order over all tasks. */
struct dep_span {
	uint64_t count, from, to;
};

/* Load word @load read @len bytes at @addr of which some may be others'. */
struct dep_foreign {
	uint64_t load, addr;
	uint32_t len;
};

/* What a system call has written to, or read of, a descriptor (not what splice() and its like
 * move). Of what stdio has kept back the bytes are told by their place in all that it was given for
 * that descriptor, since a call may write what a function that is not over yet has made. */
struct dep_moved {
	uint64_t order; /* of its record */
	uint64_t count; /* instructions before it */
	int32_t fd;
	bool output, kept_back;
	bool known; /* its bytes, exact or assumed, are in dep_trace.bytes from @first_byte on */
	uint32_t len;
	uint32_t first_def; /* of an input: one for each byte; */
	uint64_t at;	    /* and the first one's place in all that was read of the descriptor */
	uint64_t first_run; /* of an output: in dep_trace.moved_runs, to those of the next; or */
	uint64_t place;	    /* where it begins in what stdio was given */
	uint64_t first_byte;
};
/* Memory that a process began with. */
struct dep_born {
	uint64_t addr, len;
	uint32_t first_def;
};

/* A task was forked by the call of that record. */
struct dep_fork {
	uint64_t order, count; /* instructions before it */
};

/* Every so many items: where the scan stands before item @item. */
struct dep_mark {
	uint64_t item, count, load;
	uint32_t def; /* definitions made before it */
	uint32_t string;
};

struct dep_words {
	uint32_t *at;
	uint64_t n, room;
};

struct dep_trace {
	struct dep_words items, loads, many, sources;
	struct dep_words strings; /* events of string instructions, in order */
	struct dep_event *events;
	uint64_t n_events, room_events;
	struct dep_run *runs;
	uint64_t n_runs, room_runs;
	struct dep_moved *moved; /* by order */
	uint64_t n_moved, room_moved;
	struct dep_run *moved_runs;
	uint64_t n_moved_runs, room_moved_runs;
	uint8_t *bytes;
	uint64_t n_bytes, room_bytes;
	struct dep_born *born; /* by address */
	uint32_t n_born;
	struct dep_fork *forks; /* by order */
	uint64_t n_forks, room_forks;
	struct dep_span *spans;
	uint64_t n_spans, room_spans;
	struct dep_foreign *foreign;
	uint64_t n_foreign, room_foreign;
	struct dep_mark *marks;
	uint64_t n_marks, room_marks;
	struct dep_block **blocks; /* by number of the evaluator's */
	uint32_t n_blocks;
	uint32_t n_defs; /* made so far: numbers 1 to n_defs */
	uint64_t count;	 /* instructions from the start to the end */
};

struct dep_build;

/* Is told of each block behind which the trace has grown, or (@block NULL) of each event: where the
 * trace stood before, and the block's addresses and results as the evaluator's trace has them. */
typedef void dep_watch_fn(void *ctx, const struct dep_trace *trace, const struct dep_mark *before,
			  const struct dep_block *block, const struct dep_event *event,
			  const uint64_t *addresses, const uint64_t *results);

/* Follows @run, which must stand at its start, and whose crossings are the builder's until it is
 * freed. 0 or -ENOMEM. */
int dep_build_new(struct value_run *run, struct dep_build **out);
void dep_build_free(struct dep_build *build);
/* Goes forward to instruction @until. Any stop but VALUE_REPLAY_TRACE_FULL. */
enum value_replay_stop dep_build_forward(struct dep_build *build, uint64_t until);
void dep_build_watch(struct dep_build *build, dep_watch_fn *fn, void *ctx);
/* @fn is called now and then, between two blocks, when all that was executed was told. */
void dep_build_pauses(struct dep_build *build, void (*fn)(void *ctx, struct dep_build *build),
		      void *ctx);
/* In a pause: adds the definitions that some byte of memory has to @to, some more than once. A load
 * can read no others from now on but those of events. False: out of memory. */
bool dep_build_live(const struct dep_build *build, struct dep_words *to);
/* In a pause: gives up the trace so far but its blocks, its marks and what was read and written as
 * text: items, loads, events and what they have begin again from 0, definitions do not. For who
 * only watches. */
void dep_build_forget(struct dep_build *build);
/* What was built so far; borrowed. */
const struct dep_trace *dep_build_trace(const struct dep_build *build);
/* The definition of the byte at @addr, now. */
uint32_t dep_build_def(struct dep_build *build, uint64_t addr);
/* The definition that the task itself has made of it last, whoever wrote there since; 0: none. */
uint32_t dep_build_own_def(struct dep_build *build, uint64_t addr);
/* Of bytes that others may have written meanwhile it is asked whether they ever have, else all of
 * them are theirs. To be told before the first step. */
void dep_build_theirs(struct dep_build *build, bool (*theirs)(void *ctx, uint64_t addr), void *ctx);
/* Tells of each page (addresses by 4096) that was written to, with the definition that the task
 * itself has made last of each of its bytes; 0: none. */
void dep_build_written(const struct dep_build *build,
		       void (*fn)(void *ctx, uint64_t number, const uint32_t *defs), void *ctx);
/* Of the call out that is not over, if there is one: the arguments that it reads and (@defs,
 * borrowed until the next step) the definitions of what it reads of memory, as far as is known. */
bool dep_build_open_call(const struct dep_build *build, struct dep_units *units,
			 const uint32_t **defs, uint64_t *n);
/* The text that was written to @fd so far. */
const uint8_t *dep_build_output(const struct dep_build *build, int fd, size_t *len);
/* Whether it is known for sure: no text, nor the length of one, is assumed. */
bool dep_build_output_is_sure(const struct dep_build *build, int fd);

/* Which definition byte @offset of the output @m is. *@count: instructions before it was written,
 * or was given to stdio, whichever was later. False: it is not known. */
bool dep_build_sent(const struct dep_build *build, const struct dep_moved *m, uint64_t offset,
		    uint32_t *def, uint64_t *count);

/* Where the scan stands at the last mark at or before instruction @count. */
const struct dep_mark *dep_trace_mark(const struct dep_trace *t, uint64_t count);
/* The definitions that load word @word stands for. */
static inline const uint32_t *dep_trace_load(const struct dep_trace *t, const uint32_t *word,
					     uint32_t *n)
{
	if (!(*word & DEP_LOAD_MANY)) {
		*n = 1;
		return word;
	}
	const uint32_t *many = &t->many.at[*word & ~DEP_LOAD_MANY];
	*n = *many;
	return many + 1;
}

/* The call of that record; NULL: it has moved nothing, or is not known. */
const struct dep_moved *dep_trace_moved(const struct dep_trace *t, uint64_t order);
/* The units that an event reads (its arguments) and those that are new behind it. */
struct dep_units dep_event_reads(const struct dep_event *e);
struct dep_units dep_event_writes(const struct dep_event *e);

#endif

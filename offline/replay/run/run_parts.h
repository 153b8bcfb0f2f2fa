/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run_parts.h: what a run has several of, or may have: open calls, handlers, and what stands for
 * code that is not executed as it ran. */
#ifndef OFFLINE_REPLAY_RUN_RUN_PARTS_H
#define OFFLINE_REPLAY_RUN_RUN_PARTS_H

#include "offline/replay/libraries/residue.h"
#include "offline/replay/replay.h"

enum { KEPT = 6, SAVES = 4, VARIANTS = 8 };

/* A call out of the traced modules that has not come back. */
struct open_call {
	uint64_t sp;  /* where its return address lies */
	uint64_t ret; /* 0: not known */
	uint64_t kept[KEPT];
	uint8_t quality[KEPT][8];
	const char *import; /* NULL: not known */
	uint64_t args[2];
};

/* What a signal handler interrupted. */
struct interrupted {
	bool outside, in_library, unseen;
	bool entered;	 /* the handler was seen to begin */
	bool hidden;	 /* no register was told of where it was, */
	bool unsure;	 /* nor is it known at what time it was there */
	uint64_t number; /* of the signal's record */
	uint64_t sp;	 /* where it was */
	uint64_t frame;	 /* of the handler; 0: not known */
	size_t n_calls;
	struct value_state state;
	struct value_known known;
};

/* A call that a model does, in which the task has lost the processor; sp 0: none. */
struct torn_call {
	uint64_t sp, hash; /* of what it would have written and returned then */
	uint32_t doubt;	   /* of the memory, then */
	bool exact;	   /* all that it would have written was */
	bool changed;	   /* that was no longer so when it lost it once more */
};

/* What xsavec has put into memory, until xrstor takes it back. */
struct saved_vectors {
	uint64_t addr; /* 0: nothing */
	uint8_t vec[VALUE_ROWS][VALUE_ROW], known[VALUE_ROWS][VALUE_ROW];
	uint16_t no_tops;
	uint32_t mxcsr;
	uint8_t control, sticky; /* how well its two parts are known */
	uint64_t inexact;
};

/* Code of a traced module, as it was mapped at the start. */
struct own_code {
	struct value_region region;
	bool there; /* now */
};

/* A variant of a library's function that is executed in place of another. */
struct variant {
	uint64_t sp, ret; /* where its return address lies, and what it is */
	bool compares;	  /* library_function.compares */
	bool stack;	  /* value_libraries_stack() */
	struct residue_call call;
};

#endif

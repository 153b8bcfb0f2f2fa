/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run.h: a recording that is executed again, and one task of it: all that is known of where that
 * is. What changes it stands in the rooms above; replay.h is for others. */
#ifndef OFFLINE_REPLAY_RUN_RUN_H
#define OFFLINE_REPLAY_RUN_RUN_H

#include "offline/capture/families.h"
#include "offline/replay/libraries/libraries.h"
#include "offline/replay/libraries/library_writes.h"
#include "offline/replay/models/blocks.h"
#include "offline/replay/records/kept_records.h"
#include "offline/replay/run/run_parts.h"
#include "offline/replay/run/snapshots.h"
#include "offline/replay/run/suppose.h"

#define NEVER_LOOKED UINT64_MAX
struct neighbours;
struct value_threads;
struct turned;

/* From when to when, in the order over all tasks, a task of process @pid wrote into another one. */
struct outer_write {
	uint64_t from, to;
	int32_t pid;
	bool forced; /* past all protections */
};

struct value_replay {
	struct captures *captures;
	struct imports *imports;
	struct families families;
	const struct capture_place *places;
	uint32_t n_places;
	bool whole; /* captures_whole() */
	struct outer_write *outer;
	size_t n_outer;
};

/* Where control is: in traced code, in a library's (@in_library), or where nothing is executed and
 * records alone lead on (@outside). */
struct value_run {
	struct value_replay *replay;
	struct value_memory memory;
	struct value_machine *machine;
	struct value_libraries libraries;
	struct own_code *code;
	size_t n_code;
	struct kept_records *records; /* of the task, all */
	uint64_t next;		      /* record */
	uint64_t
		forked; /* of the record of the call that made its process; 0: it began otherwise */
	uint64_t born;	/* when in the order its parent was about to make it; 0: not known */
	uint64_t looked; /* value_run_neighbours() has seen all up to that one, or NEVER_LOOKED */
	unsigned met;	 /* of enum value_met, since it was asked last */
	uint64_t memory_opened; /* when in the order the task has opened a process' memory to be
				 * written (memory_file.h), first; 0: not seen */
	struct neighbours *neighbours; /* NULL: its process has one thread */
	uint64_t crowded_from; /* when two threads were awake at once first, which --one-processor
				* would have kept from them; 0: not seen */
	struct value_threads *threads; /* NULL: it is executed alone */
	bool led;	      /* it goes on when another one of them, that was asked for, says so */
	bool waits;	      /* then: in a system call, whose record comes later in the order */
	bool is_over;	      /* the call that it waited in */
	bool unborn;	      /* no thread has made it yet */
	uint64_t clears;      /* where the kernel writes 0 when it has ended; 0: nowhere */
	uint64_t maps;	      /* of all threads that its code is of */
	uint64_t stop_behind; /* 0: nowhere; else stop when @next is that */
	/* 0: through all calls; else not through one in which other threads are executed until it
	 * is over behind that moment. */
	uint64_t stop_waiting;
	uint32_t told_apart; /* the part of surroundings that did not agree last (agrees.c) */
	uint64_t expected;   /* address of a place whose record was taken already, 0: none */
	uint64_t heap_end;   /* 0: there is no heap yet */
	uint64_t xstate;     /* components that the processor had switched on: XCR0 */
	struct library_writes *writes; /* NULL: nobody has ever asked */
	struct turned *turned;	       /* NULL: the run goes the way that was recorded (turn.h) */
	bool outside, in_library;
	bool unseen;	/* while outside: code ran that nobody has executed here */
	bool executing; /* value_run_library() is at work: the machine counts on its own */
	uint64_t count; /* then: instructions of traced code before it, */
	uint64_t assumed, unknown; /* and how many were not exact */
	uint64_t in_libraries;	   /* instructions of libraries, of all stays there that are over */
	int ended;		   /* an enum value_replay_stop; 0: not yet */
	const char *import;	   /* the last call out */
	struct open_call *calls;
	size_t n_calls, room_calls;
	struct interrupted *signals; /* by when they were; some handlers may have been left */
	size_t n_signals;
	bool forgot_handlers; /* there were more than are kept (interrupted.c) */
	struct saved_vectors saves[SAVES];
	unsigned n_saves; /* so far */
	struct variant variants[VARIANTS];
	struct torn_call torn;
	unsigned n_variants;
	struct residues residues;
	struct residue_walker *walker; /* NULL: none was needed since its code was mapped */
	struct value_blocks blocks;
	struct supposition supposition;
	struct stray *strays; /* by from */
	size_t n_strays;
	struct value_gap gap;
	bool left_out;	/* some system call lacks bytes, perhaps because they are secret */
	uint64_t blind; /* how often a library could not be executed to its end */
	struct value_gap blind_at; /* the first time */
	value_crossing_fn *crossing;
	void *crossing_ctx;
	value_step_fn *step; /* NULL: nobody is told */
	void *step_ctx;
	uint64_t *awaited; /* return addresses of calls whose end is told, sorted */
	size_t n_awaited;
	uint64_t *telling; /* places that always make a record, sorted */
	size_t n_telling;
	uint64_t *thinned; /* those of which it is not told to the end, sorted */
	size_t n_thinned;
	struct run_snapshot *snapshots; /* by count */
	size_t n_snapshots;
	uint64_t snapshot_every, snapshot_next;
	struct run_snapshot near[NEAR_SNAPSHOTS]; /* shortly before what was gone to last; a ring */
	size_t n_near;				  /* taken so far */
	uint64_t worked_next; /* one more snapshot once all threads have executed so much */
	/* By i, instructions before record i - 1 was taken, UINT64_MAX: not known yet; NULL: nobody
	 * has asked. Up to which it is known of this way through the run. */
	uint64_t *reached, noted;
};

#endif

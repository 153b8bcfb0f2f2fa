/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* replay_impl.h: what the files of a replay share. replay.c leads the evaluator through traced
 * code, library.c through that of libraries, outside.c from record to record where nothing is
 * executed; calls.c keeps the calls that are open between them, records.c applies records,
 * own_code.c knows what is code, neighbours.c and threads.c what other threads do, switches.c where
 * the task lost the processor, torn.c in which call, agrees.c which record is of now, turned.c
 * answers runs that go another way, replay_open.c begins runs, snapshots.c keeps their states,
 * seek.c goes to any instruction, moments.c to any moment of the order over all tasks and moment.c
 * to one for a look. */
#ifndef OFFLINE_REPLAY_RUN_REPLAY_IMPL_H
#define OFFLINE_REPLAY_RUN_REPLAY_IMPL_H

#include "offline/capture/families.h"
#include "offline/replay/libraries/library_writes.h"
#include "offline/replay/models/blocks.h"
#include "offline/replay/records/calls_told.h"
#include "offline/replay/records/kept_records.h"
#include "offline/replay/records/sources.h"
#include "offline/replay/records/waking.h"
#include "offline/replay/libraries/libraries.h"
#include "offline/replay/models/models.h"
#include "offline/replay/libraries/residue.h"
#include "offline/replay/replay.h"

#include <sys/syscall.h>

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
	bool entered;	/* the handler was seen to begin */
	bool hidden;	/* no register was told of where it was, */
	bool unsure;	/* nor is it known at what time it was there */
	uint64_t frame; /* of the handler; 0: not known */
	size_t n_calls;
	struct value_state state;
	struct value_known known;
};

/* What rests on a branch that an assumed value decided. */
struct supposition {
	bool holds;		/* since the branch no record has agreed */
	uint64_t since;		/* instruction count of the branch */
	uint64_t doubts;	/* instructions that were not exact by then */
	uint64_t total;		/* of those that came to their end: instructions that were exact */
	uint64_t agreed;	/* instructions when a record agreed last, */
	uint64_t agreed_doubts; /* and those that were not exact by then */
};

/* Instructions of which is known by what followed that the program has not gone that way. */
struct stray {
	uint64_t from, to;
};

/* A call that a model does, in which the task has lost the processor; sp 0: none. */
struct torn_call {
	uint64_t sp, hash; /* of what it would have written and returned then */
	bool changed;	   /* that was no longer so when it lost it once more */
};

/* A moment of a run. Lists are copies. */
enum { NEAR_SNAPSHOTS = 4 };

struct run_snapshot {
	uint64_t count;
	struct value_snapshot memory;
	struct value_state state;
	struct value_known known;
	uint64_t next, expected, heap_end, assumed, unknown;
	struct supposition supposition;
	uint64_t looked;
	bool outside, in_library, unseen, crowded;
	const char *import;
	struct open_call *calls;
	size_t n_calls;
	struct interrupted *signals;
	size_t n_signals;
	struct residues residues;
	/* Of the other threads, which have no memory of their own; NULL: none is executed. */
	struct run_snapshot *others;
	size_t n_others;
	bool waits, unborn;
	struct torn_call torn;
	int ended;	   /* of the other threads */
	uint64_t executed; /* what they did, up to there in the order */
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
	struct residue_call call;
};

#define NEVER_LOOKED UINT64_MAX
struct neighbours;
struct value_threads;
struct turned;

/* From when to when, in the order over all tasks, a task of process @pid wrote into another one. */
struct outer_write {
	uint64_t from, to;
	int32_t pid;
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
	struct neighbours *neighbours; /* NULL: its process has one thread */
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
	int ended;		   /* an enum value_replay_stop; 0: not yet */
	const char *import;	   /* the last call out */
	struct open_call *calls;
	size_t n_calls, room_calls;
	struct interrupted *signals;
	size_t n_signals;
	struct saved_vectors saves[SAVES];
	unsigned n_saves; /* so far */
	struct variant variants[VARIANTS];
	struct torn_call torn;
	unsigned n_variants;
	struct residues residues;
	struct residue_walker *walker; /* NULL: none was needed since mappings changed */
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

/* Whether a record tells of the end of a call that returns to @ret. */
bool value_run_awaits(const struct value_run *run, uint64_t ret);
/* Whether a record is made each time that control comes to the place at @ip. */
bool value_run_tells(const struct value_run *run, uint64_t ip);
/* Whether nothing says when the last call out, which is not executed, was over: its end is watched
 * no longer, and the next record that leads back to traced code may be from long after it. */
bool value_run_is_lost(const struct value_run *run);

/* own_code.c: after mappings have changed, what is code of traced modules and of libraries. 0 or
 * -ENOMEM. */
int value_run_code(struct value_run *run);

/* snapshots.c: takes one; one more, of those that are given up soon; goes to one; gives one up.
 * False: memory is out. */
bool value_run_keep(struct value_run *run);
/* Whether one is due. */
bool value_run_is_far(const struct value_run *run);
bool value_run_keep_near(struct value_run *run);
bool value_run_go_back(struct value_run *run, const struct run_snapshot *s);
void value_run_drop(struct value_run *run, struct run_snapshot *s);

/* records.c. Those that return int: an enum value_replay_stop, LIMIT to go on; or 0 and -ENOMEM. */
int value_run_fail(struct value_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same where the program has gone another way: value_run_strayed(). */
int value_run_fail_astray(struct value_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void value_run_tell(struct value_run *run, enum value_crossing what, const struct capture *c,
		    const char *import);
const struct capture *value_run_record(const struct value_run *run); /* the next; NULL: none */
/* Record @i; NULL: there is none. Both are borrowed as kept_records.h says. */
const struct capture *value_run_record_at(const struct value_run *run, uint64_t i);
/* Stops where the next record stands, if that is a point that is not known before. 0 or -ENOMEM. */
int value_run_expect(struct value_run *run);
uint64_t value_run_place_ip(const struct value_run *run, const struct capture *c, uint64_t addr);
void value_run_registers(struct value_run *run, const struct capture *c);
int value_run_ranges(struct value_run *run, const struct capture *c);
int value_run_kernel(struct value_run *run, const struct capture *c);
/* Whether the next record says what a function of the kernel's image has told. */
bool value_run_told_time(const struct value_run *run);
/* Code that nobody executes here may have written anything. */
void value_run_doubt(struct value_run *run);

/* suppose.c: asks the machine whether an assumed value has decided something. */
void value_run_note_supposed(struct value_run *run);
/* A record agrees with where the run is: what it does not tell is assumed, the way is known again.
 */
void value_run_agreed(struct value_run *run, const struct capture *c);
/* Whether @c tells no register of where the task was (record --redact): that may have been any of
 * the times at which the run comes by. */
bool value_run_hides(const struct capture *c);
/* It was taken for the first of them. */
void value_run_suppose(struct value_run *run);
/* The program has not gone the way of the run, which was seen too late: of what was executed since
 * a record agreed last nothing is exact, whenever it is executed again, nor is what follows, up to
 * the next that agrees; or, of a run that ends here (@ends), ever. */
void value_run_strayed(struct value_run *run, bool ends);
/* Before more is executed: nothing is exact here if it is known that the run strays. Returns up to
 * which instruction that says. */
uint64_t value_run_note_stray(struct value_run *run);

/* reached.c: from now on; false: memory is out. @next may have changed. */
bool value_run_begin_noting(struct value_run *run);
void value_run_note_reached(struct value_run *run);
/* neighbours.c: up to when the instructions before record @i are executed. */
uint64_t value_run_piece_ends(const struct value_run *run, uint64_t i);

/* threads.c: the threads of a process as one. Those that return int: an enum value_replay_stop. */
enum { VALUE_REPLAY_WAITS = 100 }; /* in a system call: a thread that is led, or @stop_waiting */
/* Of @run, which has no state yet: all others are made, and those that were there at the start
 * begin. 0 or -ENOMEM; without memory for more, or where they cannot be told, run->threads is NULL.
 */
int value_threads_new(struct value_run *run, uint32_t task);
void value_threads_free(struct value_run *run);
/* Whether all of them are executed: then nothing but these and the kernel writes to memory, and the
 * moment up to which they were is that of the run, or else the one up to which they were. */
bool value_threads_together(const struct value_run *run);
uint64_t value_threads_executed(const struct value_run *run);
/* The others are executed up to that moment of the order, or no longer all of them. */
int value_threads_until(struct value_run *run, uint64_t moment);
/* @run is in the system call that @c tells of the end of. */
int value_threads_call(struct value_run *run, const struct capture *c);
/* They are executed no more: what they write is not known. */
void value_threads_part(struct value_run *run);
/* The mappings have changed. */
void value_threads_mapped(struct value_run *run);
/* run_make.c: a run without a state; the state that START tells. */
int value_run_make(struct value_replay *replay, uint32_t task, struct value_run **out);
int value_run_start(struct value_run *run, struct pugmark_diag *diag);
/* A thread begins as @maker is, in the system call that @c tells of the end of. */
bool value_run_begin_thread(struct value_run *run, struct value_run *maker,
			    const struct capture *c);
/* It has the stack and the thread pointer that the call gave it, of arguments in @memory. */
int value_run_take_thread(struct value_run *run, struct value_memory *memory,
			  const struct capture *c);
/* snapshots.c: all but memory, and what others are. False: memory is out. */
bool value_run_take(struct value_run *run, struct run_snapshot *out);
bool value_run_put(struct value_run *run, const struct run_snapshot *s);

/* neighbours.c: fills replay->outer. 0 or -ENOMEM. */
int value_neighbours_outer(struct value_replay *replay);

/* neighbours.c: those of @task, NULL if there are none; and what they do between two records of the
 * run: nothing if it was asked for them before. An enum value_replay_stop. */
/* Whether a thread of the process may have run of which nothing is left: the captures are not
 * whole, and have none of one that is told of. */
bool value_neighbours_lost(const struct value_replay *replay, int32_t pid);
int value_neighbours_new(const struct value_replay *replay, uint32_t task, struct neighbours **out);
void value_neighbours_free(struct neighbours *n);
int value_run_neighbours(struct value_run *run);
/* Whether others, who are not executed here together with it, were awake from the record before @c,
 * the last one taken, until @c ended. */
bool value_run_met_until(const struct value_run *run, const struct capture *c);
/* records.c: what a system call did to the mappings. */
int value_run_map(struct value_run *run, const struct capture *c);

/* calls.c: control has left traced code. */
int value_run_leave(struct value_run *run);
void value_run_give_back(struct value_run *run, const struct open_call *call);
/* What was below the stack pointer of a call is nobody's. */
void value_run_dead_stack(struct value_run *run, uint64_t sp);
/* A callback, a handler or the program has returned to its caller, which is not executed. */
void value_run_returned(struct value_run *run);

/* library.c: goes on in code of libraries, until control is in traced code or nothing more can be
 * executed. */
int value_run_library(struct value_run *run);
/* blind.c: nothing more can be executed until control is in traced code again. An
 * enum value_replay_stop. */
int value_run_go_blind(struct value_run *run, const char *why);
/* Back to the return address at the stack pointer. The same. */
int value_run_return_now(struct value_run *run);
/* clock.c: does the function @name of the kernel's image, at whose begin control is. */
int value_run_tell_time(struct value_run *run, const char *name);
/* variants.c: the variant that any processor has is executed instead of @f, up to
 * VALUE_VARIANT_END. */
#define VALUE_VARIANT_END 0
int value_run_begin_variant(struct value_run *run, const struct library_function *f);
int value_run_end_variant(struct value_run *run);
/* A value_recall_fn, of a run. */
bool value_run_recall(void *run, unsigned reg, uint64_t said, uint64_t *value);
/* xsavec, xrstor: they are executed here, and true is returned. */
bool value_run_vectors(struct value_run *run, const struct value_insn *insn);

/* moment.c: a moment of the run that it goes back to soon, which gives it up. */
struct value_moment {
	struct value_state state;
	struct value_known known;
	enum value_side side;
	uint64_t count, assumed, unknown;
	struct value_snapshot memory;
};
void value_moment_keep(struct value_run *run, struct value_moment *out);
void value_moment_go_back(struct value_run *run, struct value_moment *to);

/* torn.c: at a function that the model @name does, before a record of a loss of the processor:
 * whether that was in this call. HERE: the record is taken, and the place is met once more. */
bool value_run_may_be_in(struct value_run *run, const struct capture *c);
enum value_torn { VALUE_TORN_NOT, VALUE_TORN_HERE, VALUE_TORN_UNSURE };
enum value_torn value_run_torn(struct value_run *run, const char *name);
/* torn.c: as import_model(), also of such a call. */
int value_run_model(struct value_run *run, const char *name);

/* turned.c: of a run that goes another way: a system call, and what would have ended it by @signal.
 */
int value_run_turned_call(struct value_run *run);
int value_run_turned_outside(struct value_run *run); /* control is where nothing is executed */
int value_run_turned_crash(struct value_run *run, int signal, const char *what);

/* outside.c */
int value_run_outside(struct value_run *run); /* one record */
/* Whether the registers that the record tells are what was computed. */
bool value_run_agrees(const struct value_run *run, const struct capture *c);
/* Whether the instruction before @ip is a system call. */
bool value_run_behind_syscall(struct value_run *run, uint64_t ip);
/* Whether the task has ended at this very moment: the place, and the registers where they are told.
 */
bool value_run_ends(struct value_run *run, const struct capture *c);
int value_run_signal(struct value_run *run, const struct capture *c);
/* The next record but of losses of the processor. */
const struct capture *value_run_next_but_switches(const struct value_run *run);
/* switches.c: whether the task lost the processor at this very moment: that record is taken. The
 * place is met once more then, for what else is recorded there. @trace as in value_machine_run().
 */
bool value_run_switched(struct value_run *run, struct value_trace *trace);
/* Whether a signal found the task at this very moment: that record is taken, and what would be
 * other at a later moment that it agrees with is assumed. */
bool value_run_signalled(struct value_run *run, struct value_trace *trace);
/* As value_run_switched() behind the record of a place that was met: those are taken, and the place
 * is left, unless turns of its instruction come before the next of them. */
void value_run_switched_behind(struct value_run *run);
/* At a system call, before a record of such a loss: whether it was here, so that the call comes
 * once more. Else it was not found where it was, and who else executed meanwhile is not known. */
bool value_run_switched_before(struct value_run *run, const struct capture *c);
/* The next record is of such a loss, and the run is past it. */
void value_run_switch_missed(struct value_run *run);
/* agrees.c: the evaluator is behind a system call. Whether the record @c may be of it: the place,
 * the stack pointer, number and arguments are the same, as far as they are exact. */
bool value_run_same_call(const struct value_run *run, const struct capture *c);
/* agrees.c: what the record of a signal or a loss of the processor tells of the registers there,
 * however many turns of a string instruction were done; whether it may be of this moment; whether
 * turns were done, or that is not known; does them, and leaves the registers to the record. What is
 * not known of that is assumed in memory. */
uint32_t value_run_told_there(struct value_run *run, const struct capture *c);
bool value_run_agrees_there(struct value_run *run, const struct capture *c);
bool value_run_is_amid(struct value_run *run, const struct capture *c);
void value_run_do_turns(struct value_run *run, const struct capture *c, struct value_trace *trace);
void value_run_sigreturn(struct value_run *run, const struct capture *c);
/* Its record is taken. */
int value_run_syscall(struct value_run *run);

/* missed.c: passes over records of system calls that the run has missed as it went another way, if
 * it is at what one of the next tells, as @at says. LIMIT or NO_MEMORY. */
typedef bool (*value_run_at)(const struct value_run *run, const struct capture *c);
int value_run_pass_missed(struct value_run *run, value_run_at at);
/* The evaluator is behind a system call of which that is the record; at the begin of a function of
 * the kernel's image that has told it. */
bool value_run_at_call(const struct value_run *run, const struct capture *c);
bool value_run_at_clock(const struct value_run *run, const struct capture *c);

#endif

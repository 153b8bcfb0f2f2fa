/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gdb_threads.h: the threads of one process, each a run of its own, at one moment of the order over
 * all tasks (capture.order). */
#ifndef USER_VALUES_GDB_THREADS_H
#define USER_VALUES_GDB_THREADS_H

#include "user/values/gdb/gdb_history.h"

enum gdb_move { GDB_STEP, GDB_STEP_BACK, GDB_FORWARD, GDB_BACK };

struct gdb_thread {
	uint32_t task; /* as `pugmark values` numbers it: gdb's number of the thread as well */
	int32_t tid;
	char name[16];
	uint64_t begin,
		end; /* in the order: of its first record, and of its last or CAPTURE_NEVER */
	struct value_run *run; /* NULL: not asked for yet, or it cannot be replayed */
	bool tried;
	uint64_t stands; /* instructions before where it is; its run may be elsewhere */
	bool searched;	 /* by the move that is being made */
	uint64_t told;	 /* where gdb was told last that it has moved to: instructions before it */
};

struct gdb_threads {
	struct value_replay *replay;
	struct gdb_thread *at;
	size_t n;
	size_t moved; /* the one that has moved last: the moment is its own */
	bool failed;  /* a thread could not be taken to that moment; whoever asks begins anew */
	struct gdb_history history;
};

/* Those of the process of @task in the recording @dir. 0 and threads for gdb_threads_deinit(), or
 * -errno with @diag filled; @replay must outlive them. */
int gdb_threads_init(struct gdb_threads *t, struct value_replay *replay, const char *dir,
		     uint32_t task, struct pugmark_diag *diag);
void gdb_threads_deinit(struct gdb_threads *t);

/* By number; NULL: there is none. */
struct gdb_thread *gdb_threads_find(struct gdb_threads *t, uint32_t task);
/* Whether it has begun at this moment, and has not ended. */
bool gdb_threads_is_there(const struct gdb_threads *t, const struct gdb_thread *thread);
/* Its run, where it stands at this moment; NULL: nothing of it can be replayed, or, where t->failed
 * is set, memory is out. */
struct value_run *gdb_threads_run(struct gdb_threads *t, struct gdb_thread *thread);
/* Moves @thread, and unless @alone all others with it. Which of them has stopped, at the new
 * moment, is t->moved then, and why in @hit. */
void gdb_threads_move(struct gdb_threads *t, struct gdb_thread *thread, enum gdb_move move,
		      bool alone, struct gdb_hit *hit);

#endif

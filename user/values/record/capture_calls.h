/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_calls.h: how the system calls of the recorded process are seen where stubs are asked for:
 * by those, which note them (user/values/calls), or else by the kernel's hooks. */
#ifndef USER_CAPTURE_CALLS_H
#define USER_CAPTURE_CALLS_H

#include <pugmark/diag.h>

#include "user/values/clock/clock_calls.h"
#include "user/values/record/capture_programs.h"
#include "user/values/stop/call_removal.h"
#include "user/values/write/capture_writer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct capture_calls {
	bool stubs;			   /* asked for; else none of the functions does anything */
	struct capture_programs *programs; /* borrowed, as is the writer */
	struct capture_writer *writer;
	struct call_patches *patches; /* NULL: hooks see the calls */
	pid_t pid;		      /* of the process that has these; 0: none has yet */
	struct call_waiting *waiting; /* its threads that waited in a call at the end */
	uint32_t n_waiting;
	char why_hooks[160]; /* "": stubs see them */
};

/* Finds what is to be patched in process @pid, before it is stopped for that. */
void capture_calls_find(struct capture_calls *c, pid_t pid);
/* Hooks are to see the calls, for the reason @why. */
void capture_calls_by_hooks(struct capture_calls *c, const char *why);
/* All threads of the process, @tids, are stopped by this thread's ptrace: its calls are seen from
 * here on. @clocks: where it notes what clocks tell. 0, or -errno with @diag filled. */
int capture_calls_begin(struct capture_calls *c, const struct clock_calls *clocks, pid_t pid,
			const pid_t *tids, uint32_t n, struct pugmark_diag *diag);
/* What is noted from here on is not taken. */
void capture_calls_stop(struct capture_calls *c);
/* Calls are made as before, if they were not already. Says to @out, if that is not NULL, where that
 * could not be. */
void capture_calls_end(struct capture_calls *c, FILE *out);
/* After that, when the ring is empty: ends the tasks that wait in a call, and says to @out what of
 * the calls was not seen by stubs. */
void capture_calls_finish(struct capture_calls *c, FILE *out);
void capture_calls_deinit(struct capture_calls *c);

#endif

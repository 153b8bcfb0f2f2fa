/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capturing.h: level values while it is recorded: what is captured goes from its ring to the file
 * `captures` of the recording, from the start of the program on. */
#ifndef USER_CAPTURING_H
#define USER_CAPTURING_H

#include "user/file/text_span.h"
#include "user/kernel/record_options.h"
#include "user/values/record/capture_plan.h"
#include "user/values/stop/entry_stop.h"

struct capturing;

/* Loads and places what captures; nothing is captured yet. @tasks_fd: the map of the recorded
 * tasks. */
int capturing_new(const struct recorder_options *options, const struct text_span *spans,
		  int tasks_fd, struct capturing **out, struct pugmark_diag *diag);
/* Once there is a recording: @fd is its file `captures`, which this takes, or why there is none.
 * Reads the ring from here on. */
int capturing_open(struct capturing *c, int fd, struct pugmark_diag *diag);
/* Before the command's process @pid is let go, and after: the program stops at its entry point,
 * where all of it is written, and goes on. On errors it does not: the caller kills it. */
int capturing_before(struct capturing *c, pid_t pid, struct pugmark_diag *diag);
int capturing_begin(struct capturing *c, pid_t pid, const struct entry_patience *patience,
		    struct pugmark_diag *diag);
/* The same for what runs already: process @pid is stopped while its memory is read. *@stopped_ns:
 * for how long. */
int capturing_attach(struct capturing *c, pid_t pid, uint64_t *stopped_ns,
		     struct pugmark_diag *diag);
/* 0, or what keeps it from writing: nothing more is. */
int capturing_error(const struct capturing *c);
/* Ends it and writes the rest: so many records in all, so many bytes of the disk. @text (caller
 * frees): what is to be said in the recording, or NULL. 0, or what kept it from writing. */
int capturing_finish(struct capturing *c, uint64_t *records, uint64_t *bytes, char **text);
void capturing_free(struct capturing *c);

#endif

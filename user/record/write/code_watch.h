/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* code_watch.h: a thread that reads what traced processes call the code that they make at run time
 * (user/proc/code_names.h), while recording goes on. Their file systems may answer late or never,
 * so that nothing else waits for this thread: what it has read is taken by whoever has time, and at
 * the end it is waited for only so long. */
#ifndef USER_CODE_WATCH_H
#define USER_CODE_WATCH_H

#include "user/proc/chunk.h"

#include <stdbool.h>
#include <stdint.h>

struct code_watch;
struct maps_watch;

/* Looks at the processes of @maps, which lives until code_watch_end(). NULL: no memory or thread;
 * all below take that as one that finds nothing. */
struct code_watch *code_watch_new(struct maps_watch *maps);
/* What was read and not taken yet, or NULL; of *@bytes bytes, for the caller to free. It does not
 * wait. */
struct chunk_code *code_watch_take(struct code_watch *watch, uint32_t *bytes);
/* The thread looks once more at all of them, and ends; waits for that, two seconds at most. What
 * was read is still to be taken. */
void code_watch_end(struct code_watch *watch);
/* What is to be noted of it, or NULL: a constant. After the end. */
const char *code_watch_note(struct code_watch *watch);
/* After the end. A thread that still waits for a file keeps what it needs. */
void code_watch_free(struct code_watch *watch);

#endif

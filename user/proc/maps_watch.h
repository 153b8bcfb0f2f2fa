/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* maps_watch.h: what the processes that send events have mapped: read when a process is first seen,
 * then more and more rarely. */
#ifndef USER_MAPS_WATCH_H
#define USER_MAPS_WATCH_H

#include "user/proc/chunk.h"

#include <stdint.h>

enum { MAPS_MAX_BYTES = 256 << 10 }; /* of what maps_watch_look() returns */

struct maps_watch;

struct maps_watch *maps_watch_new(void); /* NULL: no memory */
void maps_watch_free(struct maps_watch *watch);
/* To be called when process @pid, which has exec'ed @execs times, is seen. If it is its turn to be
 * read and its executable mappings have changed, returns them, as CHUNK_MAPS of *@bytes bytes,
 * borrowed until the next call; else NULL. */
const struct chunk_text *maps_watch_look(struct maps_watch *watch, int32_t pid, uint32_t execs,
					 uint64_t time_ns, uint32_t *bytes);
/* The processes seen of late, at most @max of them; in any thread. Returns how many. */
uint32_t maps_watch_processes(struct maps_watch *watch, int32_t *pids, uint32_t max);

#endif

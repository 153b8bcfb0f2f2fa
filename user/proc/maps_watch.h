/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* maps_watch.h: what the processes that send events have mapped: looked at when a process is first
 * seen, then ever more rarely. */
#ifndef USER_MAPS_WATCH_H
#define USER_MAPS_WATCH_H

#include "user/proc/chunk.h"

#include <stdint.h>

enum { MAPS_MAX_BYTES = 256 << 10 }; /* of what maps_watch_look() returns */

struct maps_watch;

struct maps_watch *maps_watch_new(void); /* NULL: no memory */
void maps_watch_free(struct maps_watch *watch);
/* Process @pid, which has exec'ed @execs times, is seen. Returns its executable mappings, as
 * CHUNK_MAPS of *@bytes bytes, if it was its turn to be looked at and they are news, or NULL;
 * borrowed until the next call. */
const struct chunk_text *maps_watch_look(struct maps_watch *watch, int32_t pid, uint32_t execs,
					 uint64_t time_ns, uint32_t *bytes);
/* The processes seen of late, at most @max of them; in any thread. Returns how many. */
uint32_t maps_watch_processes(struct maps_watch *watch, int32_t *pids, uint32_t max);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* drain_priority.h: the thread that drains the ring of captures takes the processor time that
 * others leave (user/kernel/idle_thread.h): what is recorded goes on meanwhile. A second thread
 * watches the ring and the lanes, and lets the first one run as any other while much waits there,
 * and while files are mapped, whose names are to be looked up at once. */
#ifndef USER_DRAIN_PRIORITY_H
#define USER_DRAIN_PRIORITY_H

#include "user/kernel/ring.h"

#include <stdbool.h>
#include <stdint.h>

struct drain_priority;

/* Borrows @ring, which is that of the map @ring_fd. @waits: whether more of a lane than one in
 * @share waits, which is asked by the watching thread. NULL where the watching thread cannot be
 * started: then the draining one never rests. */
struct drain_priority *drain_priority_begin(const struct ring_reader *ring, int ring_fd,
					    bool (*waits)(const void *ctx, uint32_t share),
					    const void *ctx);
/* By the draining thread, while it holds no lock. @priority may be NULL, as below. */
void drain_priority_rest(struct drain_priority *priority);
/* Whether it may rest at all: not while somebody waits for a lock that it takes. */
void drain_priority_allow(struct drain_priority *priority, bool allowed);
/* From here on it runs as any other. Before it is waited for. */
void drain_priority_hurry(struct drain_priority *priority);
/* Once the draining thread has ended. */
void drain_priority_end(struct drain_priority *priority);

#endif

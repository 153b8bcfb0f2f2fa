/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* way.h: the children of sandbox.h run at the lowest priority that the kernel has (SCHED_IDLE), if
 * sandbox_give_way() was called, and so does the thread that called it; whoever gets next to no
 * processor by that is let have a share. */
#ifndef USER_SANDBOX_WAY_H
#define USER_SANDBOX_WAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Of one child, in the process that waits for it. */
struct way {
	bool given;	   /* it has the lowest priority there is */
	uint64_t since_ns; /* when it was looked at last */
	uint64_t cpu_ns;   /* what it had had of a processor by then */
};

/* Lowers the priority of the calling process, if it is asked for: in the child, before it gives up
 * its privileges. */
void way_give(void);
/* Of a child that is started now. */
struct way way_begin(void);
/* Looks whether the child @pid gets on, each two seconds, and lets it, and those after
 * it, have a share if it does not.
 */
void way_look(struct way *way, pid_t pid);
/* How long until the next look; -1: there will be none. */
int way_wait_ms(const struct way *way);

#endif

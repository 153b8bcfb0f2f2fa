// SPDX-License-Identifier: LGPL-2.1-or-later
/* calls_told.c: see calls_told.h. */
#include "offline/replay/records/calls_told.h"

#include <sys/syscall.h>

bool call_told_forks(const struct capture *c)
{
	return c && c->kind == CAPTURE_KERNEL &&
	       (c->nr == SYS_clone || c->nr == SYS_fork || c->nr == SYS_vfork ||
		c->nr == SYS_clone3);
}

bool call_told_restarts(int64_t result)
{
	enum { RESTARTSYS = 512, RESTARTNOINTR = 513, RESTARTNOHAND = 514, RESTART_BLOCK = 516 };

	return result == -RESTARTSYS || result == -RESTARTNOINTR || result == -RESTARTNOHAND ||
	       result == -RESTART_BLOCK;
}

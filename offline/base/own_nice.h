/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* own_nice.h: the priority of the calling thread alone, which Linux keeps apart from its process'.
 * Without CAP_SYS_NICE it stays as it is. */
#ifndef OFFLINE_BASE_OWN_NICE_H
#define OFFLINE_BASE_OWN_NICE_H

#include <sys/resource.h>

/* Before all others of its session, or control group. Returns what it was before. */
static inline int own_nice_first(void)
{
	int nice = getpriority(PRIO_PROCESS, 0);

	setpriority(PRIO_PROCESS, 0, -20);
	return nice;
}

static inline void own_nice_put_back(int nice)
{
	setpriority(PRIO_PROCESS, 0, nice);
}

#endif

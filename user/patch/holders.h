/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* holders.h: which processes have the memory of an area: the one that was patched and what it has
 * forked. Found in /proc, for a child that nobody followed has it as well. */
#ifndef USER_PATCH_HOLDERS_H
#define USER_PATCH_HOLDERS_H

#include "user/patch/area.h"

/* Returns how many, and in *@pids, which the caller frees, which; or -errno. */
int holders_find(const struct area *area, pid_t **pids);
/* Sets the bit of each lane below @n_lanes that a thread of a holder writes to, or a later thread
 * may. A lane that was begun before this was called, and has no bit, nobody writes to any more.
 * 0 or -errno. */
int holders_lanes(const struct area *area, uint64_t *bits, uint32_t n_lanes);

#endif

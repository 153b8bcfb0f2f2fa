/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* call_left.h: finds the stubs that a recorder which was killed has left in a process. */
#ifndef USER_CALL_LEFT_H
#define USER_CALL_LEFT_H

#include "user/patch/process/tracee.h"
#include "user/values/calls/call_layout.h"

#include <stdbool.h>

/* Fills @p->code and @p->code_end with where the stubs of some recorder are in the process. False:
 * there are none. */
bool call_left_find(pid_t pid, struct call_patches *p);
/* Fills the rest of @p with what stands in that memory; the caller frees @p->sites. 0, -EPERM:
 * another build has placed it; -EBUSY: its recorder is still there; or -errno. */
int call_left_read(const struct tracee *t, struct call_patches *p);

#endif

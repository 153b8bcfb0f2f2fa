/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* call_memory.h: the memory that a process is given for its stubs and lanes
 * (offline/capture/call_area.h), and how it is taken away again. The stopped process makes the
 * system calls for that itself. */
#ifndef USER_CALL_MEMORY_H
#define USER_CALL_MEMORY_H

#include "user/patch/process/tracee.h"
#include "user/values/calls/call_layout.h"

/* What /proc/PID/maps calls that memory, but the local page. */
#define CALL_MEMORY_NAME "pugmark-calls"
#define CALL_MEMORY_NAME_MAPPED "/memfd:" CALL_MEMORY_NAME " (deleted)"

/* Chooses where the memory is to lie, makes it and fills it for the sites of @p. Returns 0, or
 * -errno and in *@why what stands against it; then no memory is left there. */
int call_memory_give(struct call_patches *p, const struct tracee *t, const char **why);
/* Unmaps what there is of it. Returns 0 or -errno. */
int call_memory_unmap(const struct call_patches *p, const struct tracee *t);

#endif

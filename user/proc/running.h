/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* running.h: processes that run already: which ones run a program, and what they have loaded that
 * the program's file does not tell. */
#ifndef USER_RUNNING_H
#define USER_RUNNING_H

#include "user/file/targets.h"

/* The processes that run @program, at most @max of them, in @pids. Returns how many. */
uint32_t running_processes(const struct target *program, pid_t *pids, uint32_t max);

/* The processes that run what was at @program before another file was put there, at most @max of
 * them, in @pids: by the name that the kernel keeps. Returns how many. */
uint32_t running_older(const char *program, pid_t *pids, uint32_t max);

/* Whether process @pid runs the file at @program. */
bool running_runs(pid_t pid, const char *program);

/* Whether the file @name is another than @program, as after an upgrade. */
bool running_is_replaced(const char *program, const char *name);

/* The processes below those of @pids that run what these run, at most @max of them, in @forked.
 * Returns how many. */
uint32_t running_forked(const pid_t *pids, uint32_t n_pids, pid_t *forked, uint32_t max);

/* Adds the modules that process @pid has mapped to @loaded, held open: they may be gone from where
 * they were, or lie in another mount namespace. A process that has ended has none. What is more
 * than loaded->max sets loaded->cut. Returns 0, or -errno with @diag filled. */
int running_add_modules(struct targets *loaded, pid_t pid, struct pugmark_diag *diag);

#endif

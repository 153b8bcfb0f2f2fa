/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* start.h: where a program that is launched is about to start. */
#ifndef USER_PATCH_PROCESS_START_H
#define USER_PATCH_PROCESS_START_H

#include "user/patch/process/tracee.h"

/* Lets the process, which was seized before its exec, go on until its dynamic linker is done with
 * the program and what it needs, before any of that has run. Returns 0 and the process stopped
 * there; -ENOENT: there is no such place; -ESRCH: it has ended, and how is the caller's to wait
 * for. Unless it has ended it is stopped, and the caller's to let go. */
int start_reach(struct tracee *t);

#endif

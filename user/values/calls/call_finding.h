/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* call_finding.h: finds the `syscall` instructions of a running process that may become jumps, in
 * the code of all files that it has mapped, and what stands against patching it. Nothing is
 * changed. */
#ifndef USER_CALL_FINDING_H
#define USER_CALL_FINDING_H

#include "user/patch/process/tracee.h"
#include "user/values/calls/call_layout.h"

/* Fills @p->sites and @p->n. Returns 0, or -errno and in *@why what stands against
 * it. The process may run meanwhile. */
int call_finding_sites(struct call_patches *p, const struct tracee *t, const char **why);

#endif

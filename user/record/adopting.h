/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* adopting.h: the processes that a recording takes in as it begins. */
#ifndef USER_ADOPTING_H
#define USER_ADOPTING_H

#include "user/kernel/probes.h"

/* After probes_attach(): the command, @child, which waits; the processes that were named; and where
 * a whole binary is recorded, those that run it now. Returns 0, or -errno with @diag filled. */
int adopt(const struct recorder_options *options, struct probes *probes, pid_t child,
	  struct pugmark_diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* attach.h: patching a process that runs. All that can be made ready is ready before its threads
 * are stopped: while they are, it is looked where they stand, and prepared bytes are written. */
#ifndef USER_PATCH_ATTACH_H
#define USER_PATCH_ATTACH_H

#include "offline/patch/layout.h"

#include <stdint.h>
#include <sys/types.h>

struct attached {
	uint32_t patched;    /* witnesses */
	uint32_t left;	     /* to probes, since a thread stood in their midst */
	uint32_t n_threads;  /* that were stopped */
	uint64_t stopped_ns; /* for how long */
	const char *why;     /* what stands against it */
};

/* Writes the patches of @record into process @pid, which has the memory for them. Returns 0, or
 * -errno with out->why; what was written until then is taken back, where that can be. */
int attach_process(struct patch_record *record, pid_t pid, struct attached *out);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* file_turns.h: one recorder at a time changes the code of a file. A probe changes a byte in every
 * process that maps the file; a patch changes instructions of one process. */
#ifndef USER_PATCH_FILE_TURNS_H
#define USER_PATCH_FILE_TURNS_H

#include "user/kernel/record_options.h"

#include <stdint.h>

/* The files that are locked; zeroed, none is. */
struct file_turns {
	int fds[64];
	uint32_t n;
};

/* Waits until no other recorder changes the files of the modules, and keeps others waiting until
 * file_turns_end(), or the end of this process. Returns 0; or -EBUSY with @diag filled: another
 * process has held the lock of one of them for ten seconds. A file that cannot be locked, as its
 * file system has no locks, is left out. */
int file_turns_wait(struct file_turns *turns, const struct recorder_options *options,
		    struct pugmark_diag *diag);
/* The same for who is to place probes: -EBUSY also if a process is patched in one of the files. */
int file_turns_to_probe(struct file_turns *turns, const struct recorder_options *options,
			struct pugmark_diag *diag);
void file_turns_end(struct file_turns *turns);

#endif

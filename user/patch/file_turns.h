/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* file_turns.h: one recorder at a time changes the code of a file: by placing probes, which are a
 * byte in every process that has it, or by patching a process. */
#ifndef USER_PATCH_FILE_TURNS_H
#define USER_PATCH_FILE_TURNS_H

#include "user/kernel/record_options.h"

#include <stdint.h>

/* Zeroes: has none. */
struct file_turns {
	int fds[64];
	uint32_t n;
};

/* Waits until no other recorder changes the files of the modules, and keeps others waiting until
 * file_turns_end(), or the end of this process. Returns 0; or -EBUSY with @diag filled: somebody
 * has one of them for some seconds already. Where a file system has no locks nobody waits. */
int file_turns_wait(struct file_turns *turns, const struct recorder_options *options,
		    struct pugmark_diag *diag);
/* The same for who is to place probes: -EBUSY also if a process is patched in one of the files. */
int file_turns_to_probe(struct file_turns *turns, const struct recorder_options *options,
			struct pugmark_diag *diag);
void file_turns_end(struct file_turns *turns);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* syscalls.h: what each system call of x86-64 writes to memory, as a table (syscalls.def). */
#ifndef OFFLINE_CAPTURE_SYSCALLS_H
#define OFFLINE_CAPTURE_SYSCALLS_H

#include "offline/capture/capture_ring.h"

#include <stdbool.h>
#include <stdint.h>

/* Fills @rows, by number of the call: nothing is told of what the others write. */
void syscalls_table(struct capture_syscall rows[CAPTURE_MAX_SYSCALLS]);
/* Whether it may have written what its row does not tell: most of all where it has none. */
bool syscall_writes_untold(uint32_t number, const uint64_t args[6], int64_t result);
/* Its name, or NULL. */
const char *syscall_name(uint32_t number);
/* Whether what it brings, or maps, is what a descriptor leads to. */
bool syscall_content(uint32_t number);
/* Whether it is from where none leads: a queue of System V, an attribute of a path, another
 * process. */
bool syscall_elsewhere(uint32_t number);
/* Whether more is read where it writes than it has written, as it has succeeded or @failed; *@peer:
 * of the peer's address alone. */
bool syscall_reads_beside(uint32_t number, bool failed, bool *peer);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* entry_trap.h: lets a program run to its entry point and no further, without a breakpoint. The
 * dynamic linker jumps to where the auxiliary vector says that the program begins (AT_ENTRY). There
 * it is told an address where nothing can be, so that its jump raises SIGSEGV. No instruction is
 * changed, and no debug register is used: some virtual machines take what is written to them and
 * never stop. Where SIGSEGV is blocked or ignored from the start, the kernel makes it the default
 * again for that. */
#ifndef USER_ENTRY_TRAP_H
#define USER_ENTRY_TRAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct entry_trap {
	uint64_t value; /* where AT_ENTRY's value is on the stack */
	uint64_t entry; /* what it was */
};

/* @pid: as aux_vector_find() wants it. 0 or -errno. */
int entry_trap_set(pid_t pid, struct entry_trap *trap);
/* Whether the program, which has stopped, is at its entry point: its registers and the auxiliary
 * vector are then as if no trap had been set. The signal that it stopped by is not to be delivered.
 */
bool entry_trap_hit(pid_t pid, const struct entry_trap *trap);

#endif

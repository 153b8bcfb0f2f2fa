// SPDX-License-Identifier: LGPL-2.1-or-later
/* entry_trap.c: see entry_trap.h. A program without a dynamic linker is at its entry point at once.
 */
#include "user/values/stop/entry_trap.h"

#include "user/values/stop/aux_vector.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>

enum { NOWHERE = 8 }; /* in the first page, which the kernel maps for nobody */

int entry_trap_set(pid_t pid, struct entry_trap *trap)
{
	uint64_t at;
	int err = aux_vector_find(pid, AT_ENTRY, &at);

	if (err)
		return err;
	trap->value = at + offsetof(Elf64_auxv_t, a_un);
	errno = 0;
	trap->entry = ptrace(PTRACE_PEEKDATA, pid, trap->value, NULL);
	if (errno || ptrace(PTRACE_POKEDATA, pid, trap->value, (long)NOWHERE))
		return -errno;
	return 0;
}

bool entry_trap_hit(pid_t pid, const struct entry_trap *trap)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) ||
	    (regs.rip != NOWHERE && regs.rip != trap->entry))
		return false;
	regs.rip = trap->entry;
	return !ptrace(PTRACE_SETREGS, pid, NULL, &regs) &&
	       !ptrace(PTRACE_POKEDATA, pid, trap->value, trap->entry);
}

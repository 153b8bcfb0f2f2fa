// SPDX-License-Identifier: LGPL-2.1-or-later
/* hidden_vdso.c: the entry of the auxiliary vector whose type is AT_SYSINFO_EHDR becomes one to
 * ignore. */
#include "user/values/stop/hidden_vdso.h"

#include "user/values/stop/aux_vector.h"

#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>

int hide_vdso(pid_t pid)
{
	uint64_t at;
	int err = aux_vector_find(pid, AT_SYSINFO_EHDR, &at);

	if (err)
		return err == -ENOENT ? 0 : err;
	return ptrace(PTRACE_POKEDATA, pid, (void *)(uintptr_t)at, (long)AT_IGNORE) ? -errno : 0;
}

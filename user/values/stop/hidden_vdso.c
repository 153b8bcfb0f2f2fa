// SPDX-License-Identifier: LGPL-2.1-or-later
/* hidden_vdso.c: the entry of the auxiliary vector whose type is AT_SYSINFO_EHDR becomes one of a
 * type that nobody knows. It is not AT_IGNORE: UPX's stub takes such an entry for one that it may
 * use, and leaves the right one as it was, by which the dynamic linker then goes. Nor does its
 * value become 0: musl's dynamic linker reads what the value leads to without asking. */
#include "user/values/stop/hidden_vdso.h"

#include "user/values/stop/aux_vector.h"

#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>

/* No kernel has such a type: they count from 0. */
enum { AT_OF_NOBODY = 0x70750000 };

int hide_vdso(pid_t pid)
{
	uint64_t at;
	int err = aux_vector_find(pid, AT_SYSINFO_EHDR, &at);

	if (err)
		return err == -ENOENT ? 0 : err;
	return ptrace(PTRACE_POKEDATA, pid, (void *)(uintptr_t)at, (long)AT_OF_NOBODY) ? -errno : 0;
}

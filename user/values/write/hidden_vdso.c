// SPDX-License-Identifier: LGPL-2.1-or-later
/* hidden_vdso.c: at a process's first instruction the stack pointer is at
 *
 *   argc | argv[0] ... NULL | envp[0] ... NULL | type, value | type, value | ... | AT_NULL
 *
 * (System V ABI for x86-64, 3.4.1). The entry whose type is AT_SYSINFO_EHDR becomes one to ignore.
 */
#include "user/values/write/hidden_vdso.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

static bool read_word(pid_t pid, uint64_t addr, uint64_t *out)
{
	struct iovec here = {out, sizeof(*out)}, there = {(void *)(uintptr_t)addr, sizeof(*out)};

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == sizeof(*out);
}

/* Goes on behind the next word that is 0. */
static bool skip_list(pid_t pid, uint64_t *at)
{
	uint64_t word;

	do {
		if (!read_word(pid, *at, &word))
			return false;
		*at += sizeof(word);
	} while (word);
	return true;
}

int hide_vdso(pid_t pid)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		return -errno;
	uint64_t at = regs.rsp + sizeof(uint64_t), type = AT_NULL;
	if (!skip_list(pid, &at) || !skip_list(pid, &at))
		return -EFAULT;
	for (; read_word(pid, at, &type) && type != AT_NULL; at += sizeof(Elf64_auxv_t))
		if (type == AT_SYSINFO_EHDR)
			return ptrace(PTRACE_POKEDATA, pid, (void *)(uintptr_t)at, (long)AT_IGNORE)
				       ? -errno
				       : 0;
	return type == AT_NULL ? 0 : -EFAULT;
}

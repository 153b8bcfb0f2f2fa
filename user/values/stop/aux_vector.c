// SPDX-License-Identifier: LGPL-2.1-or-later
/* aux_vector.c: at a process's first instruction the stack pointer is at
 *
 *   argc | argv[0] ... NULL | envp[0] ... NULL | type, value | type, value | ... | AT_NULL
 *
 * (System V ABI for x86-64, 3.4.1). */
#include "user/values/stop/aux_vector.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
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

int aux_vector_find(pid_t pid, uint64_t type, uint64_t *addr)
{
	struct user_regs_struct regs;
	uint64_t there = AT_NULL;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		return -errno;
	uint64_t at = regs.rsp + sizeof(uint64_t);
	if (!skip_list(pid, &at) || !skip_list(pid, &at))
		return -EFAULT;
	for (; read_word(pid, at, &there) && there != AT_NULL; at += sizeof(Elf64_auxv_t))
		if (there == type) {
			*addr = at;
			return 0;
		}
	return there == AT_NULL ? -ENOENT : -EFAULT;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* entry_trap.c: see entry_trap.h. The stop is that at the end of the call: there the kernel has
 * nothing of it left to do, and tells nobody of it any more. A program without a dynamic linker is
 * at its entry point when it has been executed. That call is to end first as well: before its end,
 * what ptrace says of rax is overwritten by its result, so that no call could be made in the name
 * of the program. */
#include "user/values/stop/entry_trap.h"

#include "user/values/stop/aux_vector.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>

static const uint8_t code[] = {
	0x31, 0xc0,	  /* xor %eax, %eax: SYS_read, which any filter of calls lets pass */
	0x83, 0xcf, 0xff, /* or $-1, %edi */
	0x0f, 0x05,	  /* syscall */
	0xff, 0x25, 0,	  0, 0, 0, /* jmp *(%rip): the entry point stands behind it */
};

enum { BEHIND_CALL = 7 };

_Static_assert(sizeof(code) + sizeof(uint64_t) <= ENTRY_TRAP_WORDS * sizeof(uint64_t),
	       "the code and the entry point have room");

static int peek(pid_t pid, uint64_t addr, uint64_t *word)
{
	errno = 0;
	*word = (uint64_t)ptrace(PTRACE_PEEKDATA, pid, addr, NULL);
	return -errno;
}

static int poke(pid_t pid, uint64_t addr, uint64_t word)
{
	return ptrace(PTRACE_POKEDATA, pid, addr, word) ? -errno : 0;
}

/* The value of the entry of @type, and where it stands. */
static int auxiliary(pid_t pid, uint64_t type, uint64_t *addr, uint64_t *value)
{
	int err = aux_vector_find(pid, type, addr);

	*addr += offsetof(Elf64_auxv_t, a_un);
	return err ? err : peek(pid, *addr, value);
}

static int place(pid_t pid, struct entry_trap *trap)
{
	uint64_t words[ENTRY_TRAP_WORDS] = {0}, addr = 0;
	int err = auxiliary(pid, AT_SYSINFO_EHDR, &addr, &trap->image);

	memcpy(words, code, sizeof(code));
	memcpy((uint8_t *)words + sizeof(code), &trap->entry, sizeof(trap->entry));
	for (int i = 0; !err && i < ENTRY_TRAP_WORDS; i++) {
		uint64_t at = trap->image + i * sizeof(*words);

		err = peek(pid, at, &trap->words[i]);
		err = err ? err : poke(pid, at, words[i]);
	}
	return err ? err : poke(pid, trap->value, trap->image);
}

int entry_trap_set(pid_t pid, struct entry_trap *trap)
{
	struct user_regs_struct regs;

	*trap = (struct entry_trap){0};
	int err = auxiliary(pid, AT_ENTRY, &trap->value, &trap->entry);
	if (!err && ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		err = -errno;
	return err || regs.rip == trap->entry ? err : place(pid, trap);
}

static int take_out(pid_t pid, const struct entry_trap *trap)
{
	int err = poke(pid, trap->value, trap->entry);

	for (int i = 0; !err && i < ENTRY_TRAP_WORDS; i++)
		err = poke(pid, trap->image + i * sizeof(*trap->words), trap->words[i]);
	return err;
}

bool entry_trap_hit(pid_t pid, const struct entry_trap *trap)
{
	struct __ptrace_syscall_info call;
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(call), &call) <= 0 ||
	    call.op != PTRACE_SYSCALL_INFO_EXIT)
		return false;
	if (!trap->image)
		return true;
	if (call.instruction_pointer != trap->image + BEHIND_CALL ||
	    ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		return false;
	regs.rip = trap->entry;
	regs.orig_rax = -1;
	regs.rax = regs.rcx = regs.r11 = 0;
	return !ptrace(PTRACE_SETREGS, pid, NULL, &regs) && !take_out(pid, trap);
}

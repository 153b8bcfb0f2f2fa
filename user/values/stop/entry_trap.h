/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* entry_trap.h: lets a program run to its entry point and no further, without a breakpoint. The
 * dynamic linker jumps to where the auxiliary vector says that the program begins (AT_ENTRY). There
 * it is told another address, of a few instructions that make a system call and go on to the entry
 * point:
 *
 *   dynamic linker ──> read(-1, ...) ──> entry point
 *                             └ the program is stopped here
 *
 * They lie in the private copy of the kernel's image of clock functions (vDSO), which is hidden
 * from the program (hidden_vdso.h), so that nothing else is there. What a library's constructor
 * forks, or the program itself where its recorder is killed, stops nowhere and goes on to its entry
 * point. No debug register is used: some virtual machines take what is written to them and never
 * stop. */
#ifndef USER_ENTRY_TRAP_H
#define USER_ENTRY_TRAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { ENTRY_TRAP_WORDS = 3 };

struct entry_trap {
	uint64_t value; /* where AT_ENTRY's value is on the stack */
	uint64_t entry; /* what it was */
	uint64_t
		image; /* where the instructions are; 0: none, as nothing runs before the program */
	uint64_t words[ENTRY_TRAP_WORDS]; /* what was there */
};

/* @pid: as aux_vector_find() wants it. 0 or -errno; -ENOENT: the kernel has given it no image.
 * PTRACE_SYSCALL has it go on. */
int entry_trap_set(pid_t pid, struct entry_trap *trap);
/* Whether the program, which has stopped, is at its entry point: the auxiliary vector and the image
 * are then as if no trap had been set, and so are its registers but for rax, rcx, rdi, r11 and the
 * flags, which say nothing there (System V ABI for x86-64, 3.4.1). */
bool entry_trap_hit(pid_t pid, const struct entry_trap *trap);

#endif

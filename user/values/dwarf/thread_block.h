/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* thread_block.h: where a thread has the thread-local variables of a program. */
#ifndef USER_THREAD_BLOCK_H
#define USER_THREAD_BLOCK_H

#include <elf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

/* How far below a thread's thread pointer (FS base) it has the thread-local block that @segment,
 * the PT_TLS segment of the program itself, says (variant II of the ABI). */
uint64_t value_thread_block_below(const Elf64_Phdr *segment);
/* The same of @elf; false: it is no program, or has none. */
bool value_thread_block(Elf *elf, uint64_t *below);

#endif

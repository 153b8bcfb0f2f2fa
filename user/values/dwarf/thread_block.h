/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* thread_block.h: where a thread has the thread-local variables of a program. */
#ifndef USER_THREAD_BLOCK_H
#define USER_THREAD_BLOCK_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

/* How far below its thread pointer (FS base) a thread has the thread-local block of @elf, as the
 * ABI puts that of the program itself (variant II); false: it is no program, or has none. */
bool value_thread_block(Elf *elf, uint64_t *below);

#endif

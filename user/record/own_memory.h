/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* own_memory.h: what the recorder itself takes of the memory. */
#ifndef USER_OWN_MEMORY_H
#define USER_OWN_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Gives back to the system what was freed. */
void own_memory_give_back(void);
/* Whether this process has more than @limit bytes in memory, when all is given back that can be.
 * False where that cannot be known. */
bool own_memory_exceeds(uint64_t limit);

#endif

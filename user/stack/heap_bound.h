/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* heap_bound.h: what a library may allocate while it works on a file that somebody else has made.
 * libdw copies all rules of a frame for each byte DW_CFA_remember_state, and makes room for as many
 * registers as a file names: 20 MB of that are gigabytes of the recorder's memory for one address.
 * Other threads allocate as ever. */
#ifndef USER_STACK_HEAP_BOUND_H
#define USER_STACK_HEAP_BOUND_H

#include <stdbool.h>
#include <stdint.h>

/* From now on this thread gets @bytes more by malloc() and its like, and then NULL. What it frees
 * meanwhile does not count. */
void heap_bound_begin(uint64_t bytes);
/* It gets what it asks for again. Returns whether it was refused some. */
bool heap_bound_end(void);

#endif

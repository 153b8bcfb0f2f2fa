/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* postdom.h: immediate postdominators of the blocks of one function: where the ways that a jump
 * has meet again. The exit is one more block, number n_blocks, behind returns, tail jumps and calls
 * that never return. Edges to landing pads are left out: a call decides nothing. */
#ifndef OFFLINE_SLICE_POSTDOM_H
#define OFFLINE_SLICE_POSTDOM_H

#include <pugmark/model.h>

/* An array of n_blocks + 1 indices, each into the function's blocks (the exit: n_blocks), that the
 * caller frees; UINT32_MAX for a block that never reaches the exit. NULL: memory is out. */
uint32_t *postdom_new(const struct pugmark_model *model, uint32_t func);

#endif

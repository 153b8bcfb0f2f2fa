/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* one_to_one.h: whether another value of an operand would always have made another result, the
 * other operands being what they were. Then a result that is known to be right shows that the
 * operand was right ("Pruning dynamic slices with confidence", PLDI 2006). */
#ifndef OFFLINE_SLICE_ONE_TO_ONE_H
#define OFFLINE_SLICE_ONE_TO_ONE_H

#include "offline/dep/dep.h"

/* Of instruction @i of @block. Flags are left out: nothing is one to one that reads them. */
bool slice_one_to_one(const struct dep_block *block, unsigned i);

#endif

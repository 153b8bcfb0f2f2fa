/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* come_back.h: places in the middle of functions that code without call frame information jumps to,
 * on the frame of that function: so Haskell code comes back into the function by which the run-time
 * system has entered it. */
#ifndef OFFLINE_COME_BACK_H
#define OFFLINE_COME_BACK_H

#include "offline/base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct builder;

struct come_back {
	VEC(uint64_t) at; /* in ascending order */
};

/* Finds all of them, once jumps from part to part are known. Returns 0 or -ENOMEM; the caller ends
 * with come_back_deinit() in any case. */
int come_back_find(const struct builder *b, struct come_back *c);
void come_back_deinit(struct come_back *c);
/* Whether one is in [@addr, @end). O(log n). */
bool come_back_is_within(const struct come_back *c, uint64_t addr, uint64_t end);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* watch_locals.h: accesses of a variable of a function, in each of its calls that is open. */
#ifndef USER_WATCH_LOCALS_H
#define USER_WATCH_LOCALS_H

#include "offline/eval/machine.h"
#include "user/values/watch/value_activations.h"
#include "user/values/watch/watch_found.h"

struct watch_locals {
	struct watch_found *found;
	struct activations calls;	/* that are open */
	VEC(struct watch_bytes) frames; /* of those of the functions: where the variable is */
	uint32_t *numbers;		/* by function: calls of it so far */
	uint32_t *functions; /* by number of the block: 0 new, 1 none, else 2 and the local */
	uint32_t n_functions;
	bool down; /* the direction flag before the next instruction: of who tells it */
	uint64_t visible, nowhere; /* instructions where it could be named; of them without a place
				    */
	uint64_t apart; /* instructions of the functions in no call that was seen to begin */
};

/* Accesses go to @found. 0, or -ENOMEM. */
int watch_locals_init(struct watch_locals *locals, struct watch_found *found);
void watch_locals_deinit(struct watch_locals *locals);
/* One instruction of @block: its accesses, of memory at the addresses @at. */
void watch_locals_insn(struct watch_locals *locals, const struct value_block *block,
		       const struct value_insn *insn, const uint64_t *at, uint64_t count);
/* Calls that were left have no variables any more. */
void watch_locals_prune(struct watch_locals *locals);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clean_stack.h: takes out of a stack snapshot what only looks like the return address of a call in
 * progress, as far up as call frame information tells the frames. */
#ifndef USER_CLEAN_STACK_H
#define USER_CLEAN_STACK_H

#include "user/stack/unwind.h"

struct pugmark_witness_event;

/* Where a walk begins: in a frame, or right above one that is known already. */
struct clean_from {
	uint64_t ip; /* of an instruction in the frame; 0: the frame ends at sp, with its return
			address below */
	uint64_t sp, bp;
	bool bp_known;
	bool below; /* the first word is that right below the event's stack pointer: it stays */
};

/* Copies the snapshot of @event into @words, with 0 in place of such words, and makes it the
 * event's. Where nothing can be told the snapshot stays as it is. In the kernel's frame for a
 * handler right above the event's frame, only the return address is one; frames of other handlers
 * that are running are marked (PUGMARK_EVENT_STACK_HANDLER). *@unmapped: the return address at
 * which the walk ended because no code is known there; 0: none. */
void stack_clean(struct unwinder *unwinder, const struct clean_from *from, uint64_t *words,
		 struct pugmark_witness_event *event, uint64_t *unmapped);

#endif

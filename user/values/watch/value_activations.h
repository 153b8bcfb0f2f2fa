/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_activations.h: which calls of traced code are open at a moment of a run, by the places of
 * their return addresses on the stack: the canonical frame address (CFA) of a call is eight bytes
 * above its place. A call is over when the stack pointer is above its place, however it went there
 * (ret, longjmp, an exception).
 *
 * A handler may have a stack of its own: what it does ends no call of what it has interrupted,
 * until it is over or has left by longjmp. Calls of a program that switches stacks by itself
 * (coroutines) are not told apart from calls that were left. */
#ifndef USER_VALUE_ACTIVATIONS_H
#define USER_VALUE_ACTIVATIONS_H

#include "offline/base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct activation {
	uint64_t slot;	   /* address of its return address */
	uint32_t function; /* the caller's number for what was entered; 0: nothing of interest */
	uint32_t number;   /* how many of that function came before, and 1 */
	bool fresh;	   /* nothing of it was executed yet */
	bool handler;	   /* no call, but what a signal has interrupted, with its stack pointer */
	uint64_t top;	   /* of a handler: where its own stack began; 0: not begun */
};

struct activations {
	VEC(struct activation) at; /* the innermost last */
	bool failed;		   /* out of memory */
};

/* A call has put its return address to @slot, or code outside has called from there. */
void activations_call(struct activations *a, uint64_t slot);
/* A return has taken its address from @slot. */
void activations_return(struct activations *a, uint64_t slot);
/* Nothing below @sp is in use. */
void activations_unwind(struct activations *a, uint64_t sp);
/* A signal has interrupted what had the stack pointer @sp; the handler for it returns. */
void activations_signal(struct activations *a, uint64_t sp);
void activations_sigreturn(struct activations *a);
/* Control is at the first instruction of @function: by a call, by a jump that takes the place of
 * the call before, or in a loop. The call that it is now in, or NULL. True: it has begun here. */
bool activations_enter(struct activations *a, uint32_t function);
/* The innermost call; NULL: none is known. Borrowed until the next change. */
struct activation *activations_top(struct activations *a);
void activations_deinit(struct activations *a);

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_activations.c: see value_activations.h. */
#include "user/values/watch/value_activations.h"

struct activation *activations_top(struct activations *a)
{
	struct activation *top = a->at.n ? &a->at.at[a->at.n - 1] : NULL;

	return top && !top->handler ? top : NULL;
}

/* Ends what has its place below @sp. A handler that has returned, and is not over yet, has its
 * stack pointer a word above where it began. */
static void end_below(struct activations *a, uint64_t sp)
{
	while (a->at.n) {
		const struct activation *top = &a->at.at[a->at.n - 1];

		if (top->slot >= sp ||
		    (top->handler && (!top->top || top->top + sizeof(uint64_t) >= sp)))
			return;
		a->at.n--;
	}
}

void activations_unwind(struct activations *a, uint64_t sp)
{
	end_below(a, sp);
}

void activations_return(struct activations *a, uint64_t slot)
{
	end_below(a, slot + 1);
}

void activations_call(struct activations *a, uint64_t slot)
{
	struct activation *top = a->at.n ? &a->at.at[a->at.n - 1] : NULL;

	if (top && top->handler && !top->top)
		top->top = slot;
	else
		end_below(a, slot + 1);
	a->failed |= !VEC_PUSH(&a->at, (struct activation){.slot = slot, .fresh = true});
}

void activations_signal(struct activations *a, uint64_t sp)
{
	a->failed |= !VEC_PUSH(&a->at, (struct activation){.slot = sp, .handler = true});
}

void activations_sigreturn(struct activations *a)
{
	uint32_t n = a->at.n;

	while (n && !a->at.at[n - 1].handler)
		n--;
	if (n)
		a->at.n = n - 1;
}

bool activations_enter(struct activations *a, uint32_t function)
{
	struct activation *top = activations_top(a);

	if (!top || (top->function == function && !top->fresh))
		return false;
	top->function = function;
	top->fresh = false;
	return true;
}

void activations_deinit(struct activations *a)
{
	VEC_FREE(&a->at);
}

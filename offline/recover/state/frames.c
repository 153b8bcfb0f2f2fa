// SPDX-License-Identifier: LGPL-2.1-or-later
/* frames.c: the stack of open frames. */
#include "offline/recover/state/state.h"

#include <stdlib.h>

bool parser_grow_stack(struct parser *p)
{
	uint32_t cap = p->cap ? 2 * p->cap : 256;
	struct frame *stack = realloc(p->stack, cap * sizeof(*stack));
	if (!stack) {
		p->notes->failed = true;
		return false;
	}
	p->stack = stack;
	p->cap = cap;
	return true;
}

/* Whether an event that fits in the topmost frame may as well be one after a call below. */
void parser_note_doubt(struct parser *p)
{
	struct frame *f = parser_top(p);
	f->doubtful = p->n > 1 && (f[-1].doubtful || parser_unsure_call(p, &f[-1]));
	p->notes->doubted |= f->doubtful;
}

void parser_drop_frames(struct parser *p, uint32_t n)
{
	while (p->n > n) {
		p->gone -= p->stack[--p->n].gone;
		p->n_handlers -= p->stack[p->n].boundary == BELOW_HANDLER;
	}
	p->lowest = p->n < p->lowest ? p->n : p->lowest;
}

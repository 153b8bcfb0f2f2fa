// SPDX-License-Identifier: LGPL-2.1-or-later
/* open_frames.c: the stack of open frames, and that of the records of what interrupted them. */
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

bool parser_grow_interruptions(struct parser *p)
{
	uint32_t cap = p->cap_interruptions ? 2 * p->cap_interruptions : 8;
	struct interruption *more = realloc(p->interruptions, cap * sizeof(*more));
	if (!more) {
		p->notes->failed = true;
		return false;
	}
	p->interruptions = more;
	p->cap_interruptions = cap;
	return true;
}

/* Whether an event that fits in the innermost frame may as well come after a call that a frame
 * further out is in. */
void parser_note_doubt(struct parser *p)
{
	struct frame *f = parser_top(p);
	f->doubtful = p->n > 1 && (f[-1].doubtful || parser_unsure_call(p, &f[-1]));
	p->notes->doubted |= f->doubtful;
}

/* Where the thread goes on once a frame that is opened now has ended. */
static uint8_t position_behind(const struct parser *p, uint8_t boundary)
{
	switch (boundary) {
	case BELOW_CALLBACK:
		return p->n ? AT_CALL : OUTSIDE;
	case BELOW_HANDLER:
		return p->n ? p->position : OUTSIDE;
	case BELOW_GAP:
		return LOST;
	default:
		return OUTSIDE;
	}
}

bool parser_interrupt(struct parser *p, uint8_t boundary, uint8_t hidden)
{
	struct interruption by = {
		.frame = p->n, .kind = boundary, .position = position_behind(p, boundary)};
	if (p->n_interruptions == p->cap_interruptions && !parser_grow_interruptions(p))
		return false;
	if (boundary == BELOW_HANDLER)
		by.handler.since_ns = p->last_ns;
	else if (boundary == BELOW_GAP)
		by.hidden = hidden;
	p->interruptions[p->n_interruptions++] = by;
	p->n_handlers += boundary == BELOW_HANDLER;
	return true;
}

bool parser_push_on(struct parser *p, struct frame frame, uint8_t boundary, uint8_t hidden)
{
	if (p->n == p->cap && !parser_grow_stack(p))
		return false;
	if (boundary != BELOW_CALL && !parser_interrupt(p, boundary, hidden))
		return false;
	frame.boundary = boundary;
	parser_push(p, frame);
	return true;
}

const struct interruption *parser_interruption_at(const struct parser *p, uint32_t i)
{
	uint32_t lo = 0, hi = p->n_interruptions;
	while (hi - lo > 1) {
		uint32_t mid = (lo + hi) / 2;
		if (p->interruptions[mid].frame <= i)
			lo = mid;
		else
			hi = mid;
	}
	return &p->interruptions[lo];
}

struct interruption *parser_handler(const struct parser *p)
{
	for (uint32_t i = p->n_handlers ? p->n_interruptions : 0; i-- > 0;)
		if (p->interruptions[i].kind == BELOW_HANDLER)
			return &p->interruptions[i];
	return NULL;
}

void parser_drop_frames(struct parser *p, uint32_t n)
{
	while (p->n > n) {
		const struct frame *f = &p->stack[--p->n];
		p->gone -= f->gone;
		p->n_interruptions -= f->boundary != BELOW_CALL;
		p->n_handlers -= f->boundary == BELOW_HANDLER;
	}
	p->lowest = p->n < p->lowest ? p->n : p->lowest;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* line_frames.c: see line_frames.h. The depth that an event carries says which frames are open. */
#include "offline/trace/line_frames.h"

#include <pugmark/model.h>

static bool push(struct line_frames *f, uint16_t module, uint32_t func)
{
	return VEC_PUSH(f, (struct line_frame){func, module});
}

bool line_frames_follow(struct line_frames *f, const struct pugmark_trace_event *e)
{
	bool room = true;
	if (e->kind >= PUGMARK_TRACE_GAP)
		return true;
	while (f->n < e->depth && room)
		room = push(f, e->module, PUGMARK_NONE);
	if (!room)
		return false;
	f->n = e->depth;
	switch (e->kind) {
	case PUGMARK_TRACE_ENTER:
		return push(f, e->module, e->func);
	case PUGMARK_TRACE_TAIL:
		f->n -= f->n > 0;
		/* fall through */
	case PUGMARK_TRACE_CALL:
		return e->func == PUGMARK_NONE || push(f, e->target_module, e->func);
	default:
		f->n -= f->n > 0;
		return true;
	}
}

static bool is_same(const struct line_frame *a, const struct line_frame *b)
{
	return a->func == PUGMARK_NONE || b->func == PUGMARK_NONE ||
	       (a->func == b->func && a->module == b->module);
}

static uint32_t in_common(const struct line_frames *line, uint32_t base,
			  const struct line_frame *stack, uint32_t n)
{
	uint32_t k = 0;
	while (k < n && base + k < line->n && is_same(&line->at[base + k], &stack[k]))
		k++;
	return k;
}

uint32_t line_frames_match(const struct line_frames *line, const struct line_frame *stack,
			   uint32_t n, uint32_t *base)
{
	uint32_t best = in_common(line, 0, stack, n);
	*base = 0;
	if (best == n || best == line->n)
		return best;
	for (uint32_t at = 1; at < line->n && line->n - at >= best; at++) {
		uint32_t k = in_common(line, at, stack, n);
		if (k && k >= best) {
			best = k;
			*base = at;
		}
	}
	return best;
}

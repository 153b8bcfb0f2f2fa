// SPDX-License-Identifier: LGPL-2.1-or-later
/* other_stacks.c: the moves between contexts (state.h), each of which holds what is open on one
 * stack. Which move it was, switch.c and signal_stack.c find out. */
#include "offline/recover/explain/other_stacks.h"

void stacks_switch_to(struct parser *p, const struct context *next)
{
	if (p->n && p->position == AT_CALL)
		parser_announce(p);
	parser_emit(p, &(struct pugmark_trace_event){
			       .kind = PUGMARK_TRACE_SWITCH,
			       .from_ns = p->from_ns,
			       .to_ns = p->now_ns,
			       .target = next->goroutine,
			       .func = next->id,
			       .depth = p->n - p->gone,
			       .import = "",
		       });
	struct context left = context_current(p);
	context_keep(p, &left);
	context_make_current(p, next);
}

void stacks_number(struct parser *p, uint64_t goroutine)
{
	if (!goroutine || p->goroutine == goroutine)
		return;
	p->goroutine = goroutine;
	parser_emit(p, &(struct pugmark_trace_event){
			       .kind = PUGMARK_TRACE_SWITCH,
			       .from_ns = p->from_ns,
			       .to_ns = p->now_ns,
			       .target = goroutine,
			       .func = p->context,
			       .depth = p->n - p->gone,
			       .import = "",
		       });
}

void stacks_leave(struct parser *p)
{
	if (!p->n || p->position == LOST)
		return;
	uint32_t open = parser_leaving(p, true);
	if (open) {
		parser_end_frames(p, open);
		return;
	}
	if (parser_can_end_down_to(p, 0) == 0) {
		parser_end_frames(p, 0);
		return;
	}
	parser_lose(p, PUGMARK_CAUSE_SWITCH);
}

bool stacks_can_leave(const struct parser *p)
{
	return parser_leaving(p, true) || parser_can_end(p, 0);
}

bool context_frames_intact(const struct parser *p, const struct pugmark_witness_event *e)
{
	for (uint32_t i = p->n; i-- > 0;) {
		const struct frame *f = &p->stack[i];
		if (!stack_slot_holds(p, e, f->cfa, f->ret))
			return false;
		if (f->cfa > pugmark_event_stack_at(e) && !stack_reaches(e, f->cfa - 8))
			break; /* nor those of frames further out */
	}
	return true;
}

void stacks_go_back(struct parser *p, uint32_t i)
{
	struct context back = context_take(p, i);
	stacks_leave(p);
	stacks_switch_to(p, &back);
}

bool stacks_open_first(struct parser *p, struct frame first)
{
	parser_emit_frame(p, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_CONTEXT, &first);
	return parser_push_on(p, first, BELOW_SWITCH, PUGMARK_CAUSE_NONE);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* leaving.c: whether a thread may be leaving frames, or its stack, other than by returning. */
#include "offline/recover/grammar/grammar.h"

/* True if the call that @f is in cannot return: @f was still open when an exception left it. */
bool parser_in_noreturn(const struct parser *p, const struct frame *f, uint8_t position)
{
	if (position == AT_CALL)
		return node_at(p, f->module, f->node)->flags &
		       (PUGMARK_NODE_NORETURN | PUGMARK_NODE_SWITCHES);
	if (position != AT_DECISION || f->decision == PUGMARK_NONE)
		return position == AT_DECISION;
	return !p->plans[f->module]->decisions[f->decision].n; /* it is what leaves for good */
}

/* Whether the thread may be leaving its stack where frame @f is: in a call that may do that, in a
 * function that does nothing else, or behind a jump that does. */
static bool may_switch_in(const struct parser *p, const struct frame *f, uint8_t position)
{
	uint32_t flags = p->plans[f->module]->funcs[f->func].flags;
	if (position == AT_CALL)
		return node_at(p, f->module, f->node)->flags & PUGMARK_NODE_SWITCHES;
	return position == AT_DECISION &&
	       (flags & PUGMARK_PLAN_FUNC_SWITCHES ||
		(flags & PUGMARK_PLAN_FUNC_LEAVES && parser_in_noreturn(p, f, position)));
}

/* The same, or, where the call may be of longjmp, in one that never returns. */
static bool may_leave_in(const struct parser *p, const struct frame *f, uint8_t position,
			 bool longjmp)
{
	return may_switch_in(p, f, position) || (longjmp && parser_in_noreturn(p, f, position));
}

uint32_t parser_leaving(const struct parser *p, bool longjmp)
{
	if (!p->n || may_leave_in(p, parser_top_of(p), p->position, longjmp))
		return p->n;
	for (uint32_t i = p->n_handlers ? p->n_interruptions : 0; i-- > 0;) {
		const struct interruption *by = &p->interruptions[i];
		uint32_t n = by->frame;
		if (by->kind != BELOW_HANDLER)
			continue;
		if (!n || parser_can_end_down_to(p, n) != n)
			return 0;
		if (may_leave_in(p, &p->stack[n - 1], by->position, longjmp))
			return n;
	}
	return 0;
}

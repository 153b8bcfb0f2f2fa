// SPDX-License-Identifier: LGPL-2.1-or-later
/* leaving.c: whether a thread may be leaving frames, or its stack, other than by returning. */
#include "offline/recover/grammar/grammar.h"

bool silence_is_final(const struct silence *s)
{
	if (s->call)
		return s->call->flags & (PUGMARK_NODE_NORETURN | PUGMARK_NODE_SWITCHES);
	return s->decision == PUGMARK_NONE ||
	       !s->p->plans[s->frame->module]->decisions[s->decision].n;
}

/* Whether the thread may be leaving its stack there: in a call that may do that, in a function that
 * does nothing else, or behind a jump that does. */
static bool may_switch_in(const struct silence *s)
{
	uint32_t flags = s->p->plans[s->frame->module]->funcs[s->frame->func].flags;
	if (s->call)
		return s->call->flags & PUGMARK_NODE_SWITCHES;
	return flags & PUGMARK_PLAN_FUNC_SWITCHES ||
	       (flags & PUGMARK_PLAN_FUNC_LEAVES && silence_is_final(s));
}

/* Whether it may be in frame @level; or, where the call may be of longjmp, in one that never
 * returns. */
static bool may_leave_in(const struct parser *p, uint32_t level, bool longjmp)
{
	struct silence s;
	return silence_in(&s, p, level) && (may_switch_in(&s) || (longjmp && silence_is_final(&s)));
}

uint32_t parser_leaving(const struct parser *p, bool longjmp)
{
	if (!p->n || may_leave_in(p, p->n - 1, longjmp))
		return p->n;
	/* What a handler or a callback has entered may have ended in silence. */
	for (uint32_t i = p->n_interruptions; i-- > 0;) {
		const struct interruption *by = &p->interruptions[i];
		uint32_t n = by->frame;
		if (by->kind != BELOW_HANDLER && by->kind != BELOW_CALLBACK)
			continue;
		if (!n || parser_can_end_down_to(p, n) != n)
			return 0;
		if (may_leave_in(p, n - 1, longjmp))
			return n;
	}
	return 0;
}

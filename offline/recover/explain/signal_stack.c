// SPDX-License-Identifier: LGPL-2.1-or-later
/* signal_stack.c: on which stack a signal has come, where it was not the one that the thread was on
 * by the last event: one that was left, or a new one, before anything else told of it. */
#include "offline/recover/explain/other_stacks.h"
#include "offline/recover/settle/settle.h"
#include "offline/recover/stack/cursor.h"

/* Whether the copied stack reaches a context's frame at @cfa: then the signal has come on that
 * stack, further in. */
static bool reaches(const struct pugmark_witness_event *e, uint64_t cfa)
{
	return cfa && stack_reaches(e, cfa - 8);
}

/* Whether the signal has come in what the current context, which has been left, does next; in *@how
 * the way there. */
static bool settles(const struct parser *p, const struct pugmark_witness_event *e,
		    const struct settling **how)
{
	*how = NULL;
	return context_frames_intact(p, e) &&
	       settle_ask(p, e, pugmark_event_sp(e), pugmark_event_ip(e), e->signal.bp, how) ==
		       SETTLED;
}

/* The frame of a new context's first function, if the signal has come before its first event. */
static bool first_frame(const struct parser *p, const struct pugmark_witness_event *e,
			struct frame *first)
{
	struct place at;
	if (reaches(e, parser_top_of(p)->cfa) ||
	    !parser_place_at(p, pugmark_event_sp(e), pugmark_event_ip(e), e->signal.bp, &at) ||
	    at.func == PUGMARK_NONE || !reaches(e, at.cfa) ||
	    !(p->plans[at.module]->funcs[at.func].flags & PUGMARK_PLAN_FUNC_ENTERED))
		return false;
	*first = (struct frame){
		.func = at.func,
		.module = at.module,
		.cfa = at.cfa,
		.boundary = BELOW_SWITCH,
		.decision = p->plans[at.module]->funcs[at.func].entry,
	};
	return stack_word(e, at.cfa - 8, &first->ret);
}

static bool settle_in_new(struct parser *p, const struct pugmark_witness_event *e)
{
	struct frame first;
	const struct settling *how;
	uint32_t open = parser_leaving(p, false);
	if (!open || !first_frame(p, e, &first))
		return false;
	struct context next = {.id = p->last_context + 1, .position = AT_DECISION};
	struct context begun = next;
	begun.stack = &first;
	begun.n = 1;
	struct parser there = context_view(p, &begun);
	if (!settles(&there, e, &how) || !context_give_room(p, &next))
		return false;
	p->last_context++;
	struct silence at;
	if (silence_in(&at, p, open - 1) && at.call)
		p->context_ret = first.ret;
	stacks_leave(p);
	stacks_switch_to(p, &next);
	if (!stacks_open_first(p, first))
		return false;
	settle_commit(p, how);
	context_drop_overwritten(p, first.cfa);
	return true;
}

bool parser_settle_elsewhere(struct parser *p, const struct pugmark_witness_event *e)
{
	const struct settling *how;
	if (!stacks_can_leave(p))
		return false;
	for (uint32_t i = p->n_contexts; i-- > 0;) {
		if (p->contexts[i].aside || !reaches(e, p->contexts[i].low))
			continue;
		struct parser there = context_view(p, &p->contexts[i]);
		if (!settles(&there, e, &how))
			continue;
		stacks_go_back(p, i);
		settle_commit(p, how);
		return true;
	}
	return p->n && settle_in_new(p, e);
}

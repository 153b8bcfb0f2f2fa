// SPDX-License-Identifier: LGPL-2.1-or-later
/* calls.c: see calls.h. The depth that each event carries says which frames are still open: after a
 * gap, and after a tail call that left the traced modules, some have ended without an event. */
#include "user/view/trace/calls.h"

#include <pugmark/model.h>

#include <errno.h>
#include <stdlib.h>

void calls_init(struct calls *c, const struct calls_sink *sink, void *ctx)
{
	*c = (struct calls){.sink = sink, .ctx = ctx};
}

void calls_deinit(struct calls *c)
{
	free(c->stack);
	free(c->notes);
	c->stack = c->notes = NULL;
	stacks_deinit(&c->stacks);
	stacks_deinit(&c->stacks_of_notes);
}

static int grow(struct calls *c)
{
	uint32_t cap = c->cap ? 2 * c->cap : c->stacks.on ? 16 : 256;
	struct call *stack = realloc(c->stack, cap * sizeof(*stack));
	if (!stack)
		return -ENOMEM;
	c->stack = stack;
	void *notes = realloc(c->notes, cap * c->sink->note_bytes + 1);
	if (!notes)
		return -ENOMEM;
	c->notes = notes;
	c->cap = cap;
	return 0;
}

static int enter(struct calls *c, struct call call)
{
	if (c->n == c->cap && grow(c))
		return -ENOMEM;
	c->stack[c->n++] = call;
	c->sink->enter(c->ctx, c->stack, c->n - 1);
	return 0;
}

static void leave(struct calls *c, enum call_end end, uint64_t from_ns, uint64_t to_ns)
{
	c->sink->leave(c->ctx, c->stack, c->n - 1, end, from_ns, to_ns);
	c->n--;
}

static uint32_t depth(const struct calls *c)
{
	return c->n ? c->stack[c->n - 1].depth : 0;
}

/* Ends calls that must have ended before @e, and adds those that were found open. */
static int settle(struct calls *c, const struct pugmark_trace_event *e)
{
	while (c->n && depth(c) > e->depth) {
		if (c->after_gap)
			leave(c, CALL_GIVEN_UP, c->gap_from_ns, c->gap_to_ns);
		else
			leave(c, CALL_RETURNED, c->last_from_ns, e->to_ns);
	}
	bool callback = (e->kind == PUGMARK_TRACE_ENTER && e->cause == PUGMARK_CAUSE_CALLBACK) ||
			e->kind == PUGMARK_TRACE_SWITCH;
	if (c->n && c->stack[c->n - 1].outside && c->stack[c->n - 1].how != PUGMARK_TRACE_TAIL &&
	    !callback) {
		if (c->after_gap)
			leave(c, CALL_GIVEN_UP, c->gap_from_ns, c->gap_to_ns);
		else
			leave(c, e->kind == PUGMARK_TRACE_UNWIND ? CALL_UNWOUND : CALL_RETURNED,
			      c->last_from_ns, e->to_ns);
	}
	/* What a forked child has open from its parent began, for the child, with the child. */
	if (!c->begun)
		c->gap_from_ns = c->gap_to_ns = e->from_ns;
	c->begun = true;
	int err = 0;
	while (depth(c) < e->depth && !err)
		err = enter(c, (struct call){
				       .from_ns = c->gap_from_ns,
				       .to_ns = c->gap_to_ns,
				       .import = "",
				       .func = PUGMARK_NONE,
				       .depth = depth(c) + 1,
				       .module = e->module,
				       .how = PUGMARK_TRACE_GAP,
			       });
	c->after_gap = false;
	return err;
}

static int call_out(struct calls *c, const struct pugmark_trace_event *e)
{
	bool tail = e->kind == PUGMARK_TRACE_TAIL, outside = e->func == PUGMARK_NONE;
	if (tail && c->n)
		leave(c, CALL_JUMPED, e->from_ns, e->to_ns);
	return enter(c, (struct call){
				.from_ns = e->from_ns,
				.to_ns = e->to_ns,
				.site = e->addr,
				.import = e->import,
				.func = e->func,
				.depth = tail || outside ? e->depth : e->depth + 1,
				.module = outside ? e->module : e->target_module,
				.how = e->kind,
				.outside = outside,
			});
}

static int switch_to(struct calls *c, uint32_t stack)
{
	struct stack_array calls = {c->stack, c->n, c->cap}, notes = {c->notes, c->n, c->cap};
	int err = stacks_switch(&c->stacks, stack, &calls);
	if (!err)
		err = stacks_switch(&c->stacks_of_notes, stack, &notes);
	c->stack = calls.at;
	c->notes = notes.at;
	c->n = calls.n;
	c->cap = calls.cap;
	return err;
}

static int go_on_elsewhere(struct calls *c, const struct pugmark_trace_event *e)
{
	if (c->sink->leaves_stack)
		c->sink->leaves_stack(c->ctx, e);
	int err = switch_to(c, e->func);
	if (c->sink->left_stack)
		c->sink->left_stack(c->ctx, e);
	return err;
}

/* The value of what a call outside has returned: so it has ended by then. */
static void come_back(struct calls *c, const struct pugmark_trace_event *e)
{
	if (e->cause != PUGMARK_VALUE_RETURNED || c->after_gap || !c->n ||
	    !c->stack[c->n - 1].outside || c->stack[c->n - 1].how == PUGMARK_TRACE_TAIL)
		return;
	leave(c, CALL_RETURNED, e->to_ns, e->to_ns);
	c->last_from_ns = e->to_ns;
}

int calls_feed(struct calls *c, const struct pugmark_trace_event *e)
{
	if (e->kind == PUGMARK_TRACE_VALUE) {
		come_back(c, e);
		return 0;
	}
	if (e->kind == PUGMARK_TRACE_GAP) {
		c->gap_from_ns = e->from_ns;
		c->gap_to_ns = e->to_ns;
		c->after_gap = c->begun = true;
		c->sink->gap(c->ctx, e);
		c->last_from_ns = e->from_ns;
		return 0;
	}
	int err = settle(c, e);
	if (err)
		return err;
	switch (e->kind) {
	case PUGMARK_TRACE_CALL:
	case PUGMARK_TRACE_TAIL:
		err = call_out(c, e);
		break;
	case PUGMARK_TRACE_RET:
	case PUGMARK_TRACE_UNWIND:
		if (c->n)
			leave(c, e->kind == PUGMARK_TRACE_RET ? CALL_RETURNED : CALL_UNWOUND,
			      e->from_ns, e->to_ns);
		break;
	case PUGMARK_TRACE_BLOCK:
		if (c->sink->block && c->n)
			c->sink->block(c->ctx, c->stack, c->n - 1, e);
		break;
	case PUGMARK_TRACE_SWITCH:
		err = go_on_elsewhere(c, e);
		break;
	case PUGMARK_TRACE_ENTER:
		err = enter(c, (struct call){
				       .from_ns = e->from_ns,
				       .to_ns = e->to_ns,
				       .import = "",
				       .func = e->func,
				       .depth = e->depth + 1,
				       .module = e->module,
				       .how = PUGMARK_TRACE_ENTER,
				       .cause = e->cause,
				       .entered_from = e->outside,
			       });
		break;
	}
	c->last_from_ns = e->from_ns;
	return err;
}

void calls_finish(struct calls *c, uint64_t end_ns)
{
	int64_t stack;
	do {
		while (c->n)
			if (c->after_gap)
				leave(c, CALL_GIVEN_UP, c->gap_from_ns, c->gap_to_ns);
			else
				leave(c, CALL_OPEN, end_ns, end_ns);
		struct pugmark_trace_event e = {
			.kind = PUGMARK_TRACE_SWITCH, .from_ns = end_ns, .to_ns = end_ns};
		stack = stacks_left(&c->stacks);
		e.func = (uint32_t)stack;
		c->after_gap = false;
		if (stack >= 0 && go_on_elsewhere(c, &e))
			return;
	} while (stack >= 0);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* twin.c: feeds two parsers the same, and compares what they say and where they are. */
#include "tests/support/twin.h"

#include "offline/recover/state/state.h"

int twin_init(struct parse_tables *const *tables, const struct pugmark_plan *const *plans,
	      uint32_t n_modules, struct twin *twin)
{
	*twin = (struct twin){0};
	int err = parser_new(tables, plans, n_modules, &twin->parser);
	if (!err)
		err = parser_new(tables, plans, n_modules, &twin->forgetful);
	if (err)
		twin_deinit(twin);
	return err;
}

void twin_deinit(struct twin *twin)
{
	parser_free(twin->parser);
	parser_free(twin->forgetful);
}

/* Frame @i, as far as it is looked at again: what a frame keeps of a call is reset by the next. */
static bool same_frame(const struct parser *p, const struct parser *q, uint32_t i)
{
	const struct frame *a = &p->stack[i], *b = &q->stack[i];
	uint32_t a_decision, b_decision;
	uint8_t position = parser_position_below(p, i, &a_decision);
	return position == parser_position_below(q, i, &b_decision) &&
	       (position != AT_DECISION || a_decision == b_decision) &&
	       (position != AT_CALL ||
		(a->announced == b->announced && a->foreign_target == b->foreign_target)) &&
	       a->func == b->func && a->node == b->node && a->cfa == b->cfa && a->ret == b->ret &&
	       a->call_cfa == b->call_cfa && a->module == b->module && a->boundary == b->boundary &&
	       a->hidden == b->hidden && a->gone == b->gone && a->doubtful == b->doubtful;
}

static bool same_event(const struct pugmark_trace_event *a, const struct pugmark_trace_event *b)
{
	return a->from_ns == b->from_ns && a->to_ns == b->to_ns && a->addr == b->addr &&
	       a->target == b->target && a->lost == b->lost && a->import == b->import &&
	       a->func == b->func && a->depth == b->depth && a->module == b->module &&
	       a->target_module == b->target_module && a->kind == b->kind && a->cause == b->cause;
}

const char *twin_feed(struct twin *twin, const struct pugmark_witness_event *event)
{
	struct parser *a = twin->parser, *b = twin->forgetful;
	parser_forget_shortcuts(b);
	if (parser_feed(a, event) != parser_feed(b, event))
		return "one is out of memory";
	if (a->n_out != b->n_out)
		return "how many events come out";
	for (uint32_t i = 0; i < a->n_out; i++)
		if (!same_event(&a->out[i], &b->out[i]))
			return "the events that come out";
	if (a->n != b->n || a->gone != b->gone)
		return "how many frames are open";
	for (uint32_t i = 0; i < a->n; i++)
		if (!same_frame(a, b, i))
			return "an open frame";
	if (a->position != b->position || a->n_handlers != b->n_handlers ||
	    a->n_contexts != b->n_contexts || a->context != b->context || a->gaps != b->gaps)
		return "the position";
	return NULL;
}

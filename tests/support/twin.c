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
	       a->gone == b->gone && a->doubtful == b->doubtful;
}

/* Whether there is one record for each frame that no call has made, in order. */
static bool interruptions_in_step(const struct parser *p)
{
	uint32_t n = 0, handlers = 0;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct interruption *by = &p->interruptions[n];
		if (p->stack[i].boundary == BELOW_CALL)
			continue;
		if (n++ == p->n_interruptions || by->frame != i || by->kind != p->stack[i].boundary)
			return false;
		handlers += by->kind == BELOW_HANDLER;
	}
	return n == p->n_interruptions && handlers == p->n_handlers;
}

static bool same_interruption(const struct interruption *a, const struct interruption *b)
{
	if (a->frame != b->frame || a->kind != b->kind || a->position != b->position)
		return false;
	if (a->kind == BELOW_HANDLER)
		return a->handler.settled == b->handler.settled &&
		       a->handler.foreign == b->handler.foreign && a->handler.sp == b->handler.sp &&
		       a->handler.ip == b->handler.ip && a->handler.alt == b->handler.alt &&
		       a->handler.alt_bytes == b->handler.alt_bytes &&
		       a->handler.since_ns == b->handler.since_ns;
	return a->kind != BELOW_GAP || a->hidden == b->hidden;
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
	if (!interruptions_in_step(a) || !interruptions_in_step(b))
		return "records of interruptions and frames";
	for (uint32_t i = 0; i < a->n_interruptions; i++)
		if (!same_interruption(&a->interruptions[i], &b->interruptions[i]))
			return "a record of an interruption";
	if (a->position != b->position || a->n_handlers != b->n_handlers ||
	    a->n_contexts != b->n_contexts || a->context != b->context || a->gaps != b->gaps)
		return "the position";
	return NULL;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* silence.c: what the open frames can do before anything shows. */
#include "offline/recover/grammar/grammar.h"

bool silence_ends(const struct silence *s)
{
	if (s->jumped)
		return true;
	if (s->decision == PUGMARK_NONE)
		return false;
	const struct decision_table *t =
		parse_tables_at(s->p->tables[s->frame->module], s->decision);
	return t && t->n_empty == 1;
}

uint32_t parser_can_end_down_to(struct parser *p, uint32_t n)
{
	struct silence s;
	uint32_t open = p->n;
	while (open > n && silence_in(&s, p, open - 1) && silence_after_call(&s) &&
	       silence_ends(&s))
		open--;
	return open;
}

/* Whether all that can happen from @decision of @module on begins with an event, but for the end of
 * the function, which is in *@ends. */
static bool shows_first(const struct parser *p, uint16_t module, uint32_t decision, bool *ends)
{
	const struct pugmark_plan *plan = p->plans[module];
	*ends = false;
	if (decision == PUGMARK_NONE)
		return true;
	const struct pugmark_plan_decision *d = &plan->decisions[decision];
	for (uint32_t i = d->first; i < d->first + d->n; i++) {
		const struct pugmark_plan_node *n = node_at(p, module, plan->alternatives[i]);
		bool end = n->kind == PUGMARK_NODE_KIND_EXIT || n->kind == PUGMARK_NODE_KIND_RETURN;
		if (n->site == PUGMARK_NONE && !end)
			return false;
		*ends |= n->site == PUGMARK_NONE;
	}
	return !parser_unsure_decision(p, module, decision);
}

bool parser_call_is_last(const struct parser *p, uint32_t top, uint32_t n)
{
	bool ends = true;
	uint32_t decision;
	if (parser_position_below(p, top - 1, &decision) != AT_CALL)
		return false;
	for (uint32_t i = top; ends; i--) {
		const struct frame *f = &p->stack[i - 1];
		const struct pugmark_plan_node *call = node_at(p, f->module, f->node);
		if (call->flags & PUGMARK_NODE_NORETURN)
			return true;
		bool tail = call->flags & PUGMARK_NODE_TAIL;
		if (parser_unsure_call(p, f) || call->flags & PUGMARK_NODE_UNTOLD ||
		    (!tail && !shows_first(p, f->module, call->next, &ends)))
			return false;
		if (ends && (i <= n || f->boundary != BELOW_CALL))
			return false;
	}
	return true;
}

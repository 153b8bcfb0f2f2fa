// SPDX-License-Identifier: LGPL-2.1-or-later
/* silence.c: what the open frames can do before anything shows. */
#include "offline/recover/grammar/grammar.h"

uint32_t parser_can_end_down_to(struct parser *p, uint32_t n)
{
	uint32_t open = p->n;
	for (; open > n; open--) {
		uint32_t i = open - 1, decision;
		uint8_t position = parser_position_below(p, i, &decision);
		if (position == AT_CALL) {
			const struct pugmark_plan_node *node =
				node_at(p, p->stack[i].module, p->stack[i].node);
			if (node->flags & PUGMARK_NODE_NORETURN)
				break;
			if (node->flags & PUGMARK_NODE_TAIL)
				continue;
			decision = node->next;
		} else if (position != AT_DECISION) {
			break;
		}
		if (decision == PUGMARK_NONE)
			break;
		const struct decision_table *t =
			parse_tables_at(p->tables[p->stack[i].module], decision);
		if (!t || t->n_empty != 1)
			break;
	}
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

// SPDX-License-Identifier: LGPL-2.1-or-later
/* silence.c: what the open frames can do before anything shows. */
#include "offline/recover/grammar/grammar.h"

/* nodes that parser_ends_by_jump() passes in one frame; beyond them it says no */
#define SILENT_MAX 1024
/* decisions of one function that it looks at to see what can come out of it; beyond them, anything
 */
#define SILENT_DECISIONS_MAX 64

/* Whether the frame can end in silence from there, in one way. */
static bool silence_ends(const struct silence *s)
{
	const struct decision_table *t = s->jumped ? NULL : silence_table(s);
	return s->jumped || (t && t->n_empty == 1);
}

uint32_t parser_can_end_down_to(const struct parser *p, uint32_t n)
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

/* Whether the call, once it has come back, is followed by nothing but what shows, up to the end of
 * its function, which is in *@ends. */
static bool only_shows_after(const struct parser *p, const struct frame *f,
			     const struct pugmark_plan_node *call, bool *ends)
{
	*ends = true;
	if (parser_unsure_call(p, f) || call->flags & PUGMARK_NODE_UNTOLD)
		return false;
	return call->flags & PUGMARK_NODE_TAIL ||
	       shows_first(p, f->module, pugmark_node_next(call), ends);
}

/* Whether the frame may still be in a call that leaves the module and does not come back before it
 * returns: the parser goes on behind such a call at once. */
static bool may_be_in_leaf(const struct silence *s)
{
	const struct frame *f = s->frame;
	return !s->behind && node_at(s->p, f->module, f->node)->kind == PUGMARK_NODE_KIND_LEAF;
}

/* The call that the frame is in, or in or right behind as the last thing that showed; NULL: none.
 */
static const struct pugmark_plan_node *call_in(const struct silence *s)
{
	if (s->call || !may_be_in_leaf(s))
		return s->call;
	const struct pugmark_plan_node *leaf = node_at(s->p, s->frame->module, s->frame->node);
	return s->decision == pugmark_node_next(leaf) ? leaf : NULL;
}

bool parser_call_is_last(const struct parser *p, uint32_t top, uint32_t n)
{
	struct silence s;
	bool ends = true;
	for (uint32_t level = top; ends && level-- > 0;) {
		if (!silence_in(&s, p, level))
			return false;
		const struct pugmark_plan_node *call = call_in(&s);
		if (!call && (level + 1 == top || !s.behind))
			return false;
		call = call ? call : s.behind;
		if (call->flags & PUGMARK_NODE_NORETURN)
			return true;
		if (!only_shows_after(p, s.frame, call, &ends) ||
		    (ends && (level < n || s.frame->boundary != BELOW_CALL)))
			return false;
	}
	return true;
}

/* Decisions that silence leads to in one function. */
struct silent_walk {
	const struct pugmark_plan *plan;
	const struct parse_tables *tables;
	uint32_t at[SILENT_DECISIONS_MAX], n;
	bool ends; /* the function's end is among what it leads to */
};

static bool walk_to(struct silent_walk *w, uint32_t decision)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (w->at[i] == decision)
			return true;
	if (w->n == SILENT_DECISIONS_MAX)
		return false;
	w->at[w->n++] = decision;
	return true;
}

/* Whether nothing comes out of the call, before it returns. */
static bool call_stays_inside(const struct silent_walk *w, const struct pugmark_plan_node *call)
{
	return call->kind == PUGMARK_NODE_KIND_CALL &&
	       !(call->flags & (PUGMARK_NODE_NORETURN | PUGMARK_NODE_UNTOLD)) &&
	       parse_tables_stays_inside(w->tables, call->callee);
}

/* Whether nothing comes out of @n in silence; where it leads is in @w. */
static bool walk_over(struct silent_walk *w, const struct pugmark_plan_node *n)
{
	if (n->site != PUGMARK_NONE)
		return true;
	switch (n->kind) {
	case PUGMARK_NODE_KIND_EXIT:
	case PUGMARK_NODE_KIND_RETURN:
		return w->ends = true;
	case PUGMARK_NODE_KIND_CALL:
		if (!call_stays_inside(w, n))
			return false;
		if (n->flags & PUGMARK_NODE_TAIL)
			return w->ends = true;
		break;
	case PUGMARK_NODE_KIND_BLOCK:
		break;
	default:
		return false;
	}
	return pugmark_node_next(n) == PUGMARK_NONE || walk_to(w, pugmark_node_next(n));
}

/* Whether nothing can come out of the frame in silence but its return, which *@ends says that there
 * may be; nor out of the call that it is in, unless that has made an open frame, which is looked at
 * by itself. */
static bool silence_stays_inside(const struct silence *s, bool *ends)
{
	struct silent_walk w = {.plan = s->p->plans[s->frame->module],
				.tables = s->p->tables[s->frame->module]};
	const struct pugmark_plan_node *call = s->call ? s->call : s->behind;
	uint32_t decision = call ? pugmark_node_next(call) : s->decision;
	if (s->call && !call_stays_inside(&w, call))
		return false;
	if (call && (parser_unsure_call(s->p, s->frame) || call->flags & PUGMARK_NODE_UNTOLD))
		return false;
	w.ends = call && call->flags & PUGMARK_NODE_TAIL;
	if (!w.ends && decision != PUGMARK_NONE)
		walk_to(&w, decision);
	for (uint32_t i = 0; i < w.n; i++) {
		const struct pugmark_plan_decision *d = &w.plan->decisions[w.at[i]];
		if (parser_unsure_decision(s->p, s->frame->module, w.at[i]))
			return false;
		for (uint32_t k = d->first; k < d->first + d->n; k++)
			if (!walk_over(&w, &w.plan->nodes[w.plan->alternatives[k]]))
				return false;
	}
	*ends = w.ends;
	return true;
}

bool parser_ends_without_calls(const struct parser *p, uint32_t n)
{
	struct silence s;
	bool ends = true;
	for (uint32_t level = p->n; ends && level-- > n;)
		if (!silence_in(&s, p, level) || may_be_in_leaf(&s) ||
		    !silence_stays_inside(&s, &ends))
			return false;
	return true;
}

bool parser_call_is_only(const struct parser *p, uint32_t n)
{
	struct silence s;
	if (!silence_in(&s, p, n - 1) || !s.call || !parser_can_end(p, n))
		return false;
	for (uint32_t level = n; level-- > 0 && silence_in(&s, p, level);) {
		const struct pugmark_plan_node *call = s.call ? s.call : s.behind;
		if (!silence_after_call(&s) || call->flags & PUGMARK_NODE_NORETURN)
			return true;
		if (!(call->flags & PUGMARK_NODE_TAIL)) {
			const struct decision_table *t = silence_table(&s);
			if (!t || t->top || t->n_any)
				return false;
			if (!t->n_empty)
				return true;
		}
		if (s.frame->boundary != BELOW_CALL)
			return false;
	}
	return false;
}

/* Goes on over @n (silence_over()) in the frame, where the plan says that there is no other way. */
static bool silence_pass(struct silence *s, const struct pugmark_plan_node *n)
{
	return !(n->flags & (PUGMARK_NODE_UNTOLD | PUGMARK_NODE_NORETURN)) &&
	       silence_over(s->p->plans[s->frame->module], n, &s->decision);
}

bool parser_ends_by_jump(const struct parser *p, const struct lookahead *la, uint32_t level)
{
	struct silence s;
	uint32_t empty;
	if (!silence_in(&s, p, level))
		return false;
	const struct pugmark_plan_node *n = s.call;
	for (uint32_t steps = 0; steps < SILENT_MAX; steps++) {
		if (!n) {
			uint32_t node = parser_alternative(p, s.frame, s.decision, la, &empty);
			if (node == PUGMARK_NONE || node != empty)
				return false;
			n = node_at(p, s.frame->module, node);
		}
		if (!silence_pass(&s, n))
			return n->kind == PUGMARK_NODE_KIND_UNKNOWN && n->flags & PUGMARK_NODE_TAIL;
		n = NULL;
	}
	return false;
}

bool parser_can_jump(const struct parser *p, const struct lookahead *la, uint32_t level,
		     uint32_t alt)
{
	struct silence s;
	if (!la->foreign || la->cfa || !silence_in(&s, p, level))
		return true;
	uint16_t module = s.frame->module;
	for (uint32_t steps = 0; steps < SILENT_MAX && alt < ALTERNATIVE_TORN; steps++) {
		const struct pugmark_plan_node *n = node_at(p, module, alt);
		uint32_t empty;
		if (n->site != PUGMARK_NONE)
			return true;
		if (n->kind == PUGMARK_NODE_KIND_UNKNOWN && n->flags & PUGMARK_NODE_TAIL)
			return parser_may_jump_to(p, module, n, la);
		if (!silence_over(p->plans[module], n, &s.decision))
			return true;
		alt = parser_alternative(p, s.frame, s.decision, la, &empty);
		alt = alt == PUGMARK_NONE ? empty : alt;
	}
	return true;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* allowed.c: whether the grammar allows one reading of the stack, and what is to be done for it. */
#include "offline/recover/settle/settle_impl.h"

bool silent_just_entered(const struct settling *s)
{
	const struct pugmark_plan *plan = s->p->plans[s->module];
	if (s->func == PUGMARK_NONE || !(plan->funcs[s->func].flags & PUGMARK_PLAN_FUNC_ENTERED) ||
	    plan->funcs[s->func].entry == PUGMARK_NONE)
		return false;
	const struct pugmark_plan_decision *d = &plan->decisions[plan->funcs[s->func].entry];
	return d->n == 1 && plan->alternatives[d->first] == s->next;
}

/* Inside of a call whose callee is not known, and of no other call of ours. */
static bool inside_unknown(struct settling *s)
{
	if (s->func == PUGMARK_NONE)
		s->announce = true;
	else if (silent_just_entered(s))
		s->enter = s->func;
	else
		return false;
	return true;
}

/* In a function of ours, or out of it by a jump, with no call in progress. */
static bool inside_function(struct settling *s, uint16_t module, struct way from)
{
	uint32_t alt, n = s->n_steps, node = PUGMARK_POINT_NODE(s->next);
	enum goal goal = s->next & PUGMARK_POINT_AFTER ? GOAL_AFTER : GOAL_NODE;
	bool here = s->func != PUGMARK_NONE && module == s->module && s->next != PUGMARK_NONE &&
		    !(s->next & PUGMARK_POINT_PASSED);
	if (here && silent_find_way(s, module, from, goal, node, s->func, &alt))
		return true;
	s->n_steps = n;
	if (!inside_unknown(s) || !silent_find_way(s, module, from, GOAL_OUT, 0, 0, &alt))
		return false;
	return silent_add_step(s, alt, true);
}

/* Whether the witness of a call in @level has been, but not the call itself. */
static bool before_call(struct settling *s, uint8_t position, uint32_t decision)
{
	const struct parser *p = s->p;
	const struct frame *f = &p->stack[s->level];
	uint32_t node = PUGMARK_POINT_NODE(s->next);
	if (s->n_links || s->func == PUGMARK_NONE || s->next == PUGMARK_NONE ||
	    !(s->next & PUGMARK_POINT_PASSED) || f->node != node || f->module != s->module)
		return false;
	const struct pugmark_plan_node *n = node_at(p, s->module, node);
	if (n->kind == PUGMARK_NODE_KIND_UNKNOWN)
		s->keep = position == AT_CALL && s->level + 1 == p->n;
	else if (s->level + 1 == p->n && n->flags & PUGMARK_NODE_TAIL)
		s->keep = n->kind == PUGMARK_NODE_KIND_CALL && position == AT_DECISION &&
			  decision == p->plans[s->module]->funcs[n->callee].entry;
	else if (s->level + 1 == p->n)
		s->keep = position == AT_DECISION && decision == n->next;
	else if (n->kind == PUGMARK_NODE_KIND_CALL && s->level + 2 == p->n)
		s->keep =
			p->position == AT_DECISION && p->stack[p->n - 1].boundary == BELOW_CALL &&
			p->stack[p->n - 1].decision == p->plans[s->module]->funcs[n->callee].entry;
	return s->keep;
}

/* Whether the thread is in the topmost frame, where nothing follows: behind the witness of
 * longjmp's jump, or of one to another stack, it can only be there. */
static bool at_dead_end(struct settling *s, uint8_t position, uint32_t decision)
{
	const struct parser *p = s->p;
	const struct frame *f = &p->stack[s->level];
	s->keep = s->level + 1 == p->n && !s->n_links && position == AT_DECISION &&
		  s->func == f->func && s->module == f->module &&
		  (decision == PUGMARK_NONE || !p->plans[f->module]->decisions[decision].n);
	return s->keep;
}

/* Whether the parser takes the one call that is in progress for one that has just ended: its callee
 * has jumped out of the module, or is about to return. */
static bool just_ended(const struct settling *s, uint8_t position, uint32_t decision)
{
	const struct frame *f = &s->p->stack[s->level];
	const struct stack_link *link = &s->links[0];
	bool out = s->func == PUGMARK_NONE ||
		   (s->next != PUGMARK_NONE && s->next & PUGMARK_POINT_PASSED);
	return s->n_links == 1 && out && position == AT_DECISION && f->module == link->module &&
	       f->node == link->call && decision == node_at(s->p, f->module, f->node)->next;
}

/* From there into the calls of the links below @n, and on to the thread's place. */
static bool follow_links(struct settling *s, int n, uint16_t module, struct way from)
{
	const struct parser *p = s->p;
	while (n-- > 0) {
		uint32_t call = s->links[n].call, alt;
		const struct pugmark_plan_node *c = node_at(p, module, call);
		if (s->links[n].module != module || c->site != PUGMARK_NONE ||
		    !silent_find_way(s, module, from, GOAL_NODE, call, c->func, &alt) ||
		    !silent_add_step(s, call, true))
			return false;
		if (c->kind == PUGMARK_NODE_KIND_LEAF)
			return !n && s->func == PUGMARK_NONE;
		if (c->kind != PUGMARK_NODE_KIND_CALL)
			return !n && inside_unknown(s);
		from = (struct way){.decision = p->plans[module]->funcs[c->callee].entry,
				    .func = c->callee};
		if (from.decision == PUGMARK_NONE)
			return !n;
	}
	return inside_function(s, module, from);
}

bool silent_allowed(struct settling *s)
{
	struct parser *p = s->p;
	const struct frame *f = &p->stack[s->level];
	uint32_t decision;
	uint8_t position = parser_position_below(p, s->level, &decision);
	s->n_steps = 0;
	s->keep = s->leave = s->announce = s->torn = false;
	s->enter = PUGMARK_NONE;
	if (before_call(s, position, decision) || at_dead_end(s, position, decision))
		return true;
	if ((position != AT_DECISION && position != AT_CALL) ||
	    parser_can_end_down_to(p, s->level + 1) != s->level + 1)
		return false;
	if (position == AT_CALL) {
		const struct pugmark_plan_node *n = node_at(p, f->module, f->node);
		const struct stack_link *first = s->n_links ? &s->links[s->n_links - 1] : NULL;
		if (first ? first->call == f->node && first->module == f->module
			  : n->flags & PUGMARK_NODE_TAIL)
			return s->n_links <= 1 && inside_unknown(s);
		if (n->flags & (PUGMARK_NODE_NORETURN | PUGMARK_NODE_TAIL))
			return false;
		s->leave = true;
		decision = n->next;
	}
	struct way from = {.decision = decision, .func = f->func, .node = f->node};
	if (follow_links(s, s->n_links, f->module, from))
		return true;
	s->n_steps = 0;
	s->leave = s->announce = s->torn = false;
	s->enter = PUGMARK_NONE;
	return just_ended(s, position, decision);
}

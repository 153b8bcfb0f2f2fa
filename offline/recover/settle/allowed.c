// SPDX-License-Identifier: LGPL-2.1-or-later
/* allowed.c: whether the grammar allows one reading of the stack, and what is to be done for it. */
#include "offline/recover/settle/settle_impl.h"

bool settle_just_entered(const struct settling *s)
{
	struct place at = {.module = s->module, .func = s->func, .next = s->next};
	return parser_is_entry(s->p, &at);
}

/* Inside of a call whose callee is not known, and of no other call of ours. */
static bool inside_unknown(struct settling *s)
{
	if (s->func == PUGMARK_NONE)
		s->announce = true;
	else if (settle_just_entered(s))
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
	if (here && settle_find_way(s, module, from, goal, node, s->func, &alt))
		return true;
	s->n_steps = n;
	if (!inside_unknown(s) || !settle_find_way(s, module, from, GOAL_OUT, 0, 0, &alt))
		return false;
	return settle_add_step(s, alt, true);
}

/* How many frames are open if the thread is in frame @level: a handler that interrupted that, or
 * what that was about to call, has returned. */
static uint32_t open_around(const struct parser *p, uint32_t level)
{
	for (uint32_t i = 0; p->n_handlers && i < p->n_interruptions; i++)
		if (p->interruptions[i].kind == BELOW_HANDLER && p->interruptions[i].frame > level)
			return p->interruptions[i].frame;
	return p->n;
}

/* Whether the witness of a call in @level has been, but not the call itself. */
static bool before_call(struct settling *s, const struct silence *at)
{
	const struct parser *p = s->p;
	const struct frame *f = &p->stack[s->level];
	uint32_t node = PUGMARK_POINT_NODE(s->next);
	struct silence callee;
	if (s->n_links || s->func == PUGMARK_NONE || s->next == PUGMARK_NONE ||
	    !(s->next & PUGMARK_POINT_PASSED) || f->node != node || f->module != s->module)
		return false;
	const struct pugmark_plan_node *n = node_at(p, s->module, node);
	if (n->kind == PUGMARK_NODE_KIND_UNKNOWN)
		s->keep = at->call && s->level + 1 == s->open;
	else if (s->level + 1 == s->open && n->flags & PUGMARK_NODE_TAIL)
		s->keep = n->kind == PUGMARK_NODE_KIND_CALL && !at->call &&
			  at->decision == p->plans[s->module]->funcs[n->callee].entry;
	else if (s->level + 1 == s->open)
		s->keep = !at->call && at->decision == pugmark_node_next(n);
	else if (n->kind == PUGMARK_NODE_KIND_CALL && s->level + 2 == s->open)
		s->keep = silence_in(&callee, p, s->level + 1) && !callee.call &&
			  callee.frame->boundary == BELOW_CALL &&
			  callee.decision == p->plans[s->module]->funcs[n->callee].entry;
	return s->keep;
}

/* Whether the thread is in the innermost frame, where nothing follows: behind the witness of
 * longjmp's jump, or of one to another stack, it can only be there. */
static bool at_dead_end(struct settling *s, const struct silence *at)
{
	const struct parser *p = s->p;
	const struct frame *f = &p->stack[s->level];
	s->keep = s->level + 1 == s->open && !s->n_links && !at->call && s->func == f->func &&
		  s->module == f->module &&
		  (at->decision == PUGMARK_NONE || !p->plans[f->module]->decisions[at->decision].n);
	return s->keep;
}

/* Whether the parser takes the one call that is in progress for one that has just ended: its callee
 * has jumped out of the module, or is about to return. */
static bool just_ended(const struct settling *s, const struct silence *at)
{
	const struct frame *f = &s->p->stack[s->level];
	const struct stack_link *link = &s->links[0];
	bool out = s->func == PUGMARK_NONE ||
		   (s->next != PUGMARK_NONE && s->next & PUGMARK_POINT_PASSED);
	return s->n_links == 1 && out && f->module == link->module && f->node == link->call &&
	       at->decision == pugmark_node_next(node_at(s->p, f->module, f->node));
}

/* From there into the calls of the innermost @n links, and on to the thread's place. */
static bool follow_links(struct settling *s, int n, uint16_t module, struct way from)
{
	const struct parser *p = s->p;
	while (n-- > 0) {
		uint32_t call = s->links[n].call, alt;
		const struct pugmark_plan_node *c = node_at(p, module, call);
		if (s->links[n].module != module || c->site != PUGMARK_NONE ||
		    !settle_find_way(s, module, from, GOAL_NODE, call, c->func, &alt) ||
		    !settle_add_step(s, call, true))
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

/* Takes back what is to be done for a reading. */
static void begin_reading(struct settling *s)
{
	s->n_steps = 0;
	s->leave = s->announce = s->torn = false;
	s->enter = PUGMARK_NONE;
}

/* Whether the thread, by this reading, is still in the call that its frame is in. */
static bool still_in_call(const struct settling *s, const struct silence *at)
{
	const struct frame *f = at->frame;
	const struct stack_link *first = s->n_links ? &s->links[s->n_links - 1] : NULL;
	return first ? first->call == f->node && first->module == f->module
		     : at->call->flags & PUGMARK_NODE_TAIL;
}

bool settle_allowed(struct settling *s)
{
	const struct parser *p = s->p;
	struct silence at;
	bool known = silence_in(&at, p, s->level);
	begin_reading(s);
	s->keep = false;
	s->open = open_around(p, s->level);
	if (!known)
		return false;
	if (parser_can_end(p, s->open) && (before_call(s, &at) || at_dead_end(s, &at)))
		return true;
	if (!parser_can_end(p, s->level + 1))
		return false;
	if (at.call) {
		if (still_in_call(s, &at))
			return s->n_links <= 1 && inside_unknown(s);
		if (!silence_after_call(&at) || at.jumped)
			return false;
		s->leave = true;
	}
	const struct frame *f = at.frame;
	struct way from = {.decision = at.decision, .func = f->func, .node = f->node};
	if (follow_links(s, s->n_links, f->module, from))
		return true;
	begin_reading(s);
	return !at.call && just_ended(s, &at);
}

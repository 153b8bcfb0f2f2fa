// SPDX-License-Identifier: LGPL-2.1-or-later
/* settle.c: how far a thread came since its last event, at a moment that no witness marks:
 * when a signal interrupts it, or when it dies. Its stack has the calls in progress, the plan's
 * points say what is next where the instruction pointer is, and from where the last event left the
 * parser one way in silence leads there: two that meet would have been told apart by a witness
 * (docs/theory.md). So every reading of the stack is tried, the innermost return address first, and
 * the one that the grammar allows is taken. */
#include "offline/recover/settle/settle_impl.h"

#include <stdlib.h>

/* ---- one reading of the stack ---- */

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

/* ---- what is to be done ---- */

static void pass_silently(struct settling *s, uint32_t node)
{
	struct parser *p = s->p;
	uint32_t frames = p->n;
	parser_pass(p, node, s->e);
	parser_end_frames(p, frames);
	if (p->position == AT_CALL)
		parser_leave_call(p);
}

static void carry_out(struct settling *s)
{
	struct parser *p = s->p;
	if (s->keep)
		return;
	parser_end_frames(p, s->level + 1);
	if (s->leave)
		parser_leave_call(p);
	for (uint32_t i = 0; i < s->n_steps && !p->failed; i++)
		if (s->steps[i].into)
			parser_pass(p, s->steps[i].node, s->e);
		else
			pass_silently(s, s->steps[i].node);
	if (p->position != AT_CALL || p->failed)
		return;
	if (s->enter != PUGMARK_NONE)
		parser_call_into(p, s->module, s->enter);
	else if (s->announce)
		parser_announce(p);
}

/* Finds the point of @ip. Returns false where it is in the module, but there are none. */
static bool locate(struct settling *s, uint64_t ip, uint64_t bp)
{
	struct place at;
	if (!parser_place_at(s->p, s->sp, ip, bp, &at))
		return false;
	s->module = at.module;
	s->func = at.func;
	s->next = at.next;
	s->cfa = at.cfa;
	return true;
}

/* Whether no call of ours is in progress. Where the process has ended before its stack was unwound,
 * the outermost frame's return address may have been written over. */
static bool none_left(const struct parser *p, const struct pugmark_witness_event *e,
		      uint64_t caller)
{
	return caller == PUGMARK_SIGNAL_NO_CALLER ||
	       (!caller && !stack_slot_holds(p, e, p->stack[0].cfa, p->stack[0].ret));
}

/* Whether the way that leads there passes a place where another one may as well: in the open frames
 * that may have ended in silence, and on from there. */
static bool doubtful(const struct settling *s)
{
	struct parser *p = s->p;
	if (!p->unsure)
		return false;
	uint32_t decision, open = parser_can_end_down_to(p, 0);
	for (uint32_t i = open ? open - 1 : 0; i < p->n; i++) {
		const struct frame *f = &p->stack[i];
		bool called = parser_position_below(p, i, &decision) == AT_CALL || i + 1 < p->n;
		if ((called && parser_unsure_call(p, f)) ||
		    parser_unsure_decision(p, f->module, decision))
			return true;
	}
	uint16_t module = p->stack[s->level].module;
	for (uint32_t i = 0; i < s->n_steps; i++) {
		const struct pugmark_plan_node *n = node_at(p, module, s->steps[i].node);
		bool into = s->steps[i].into && n->kind == PUGMARK_NODE_KIND_CALL;
		struct frame f = {.module = module, .node = s->steps[i].node};
		uint32_t next = into ? p->plans[module]->funcs[n->callee].entry : n->next;
		if (parser_unsure_call(p, &f) || (n->kind != PUGMARK_NODE_KIND_TARGET &&
						  parser_unsure_decision(p, module, next)))
			return true;
	}
	return false;
}

/* Nothing may have told yet where the topmost frame lies, as that of a handler that is interrupted
 * before its first witness, by a signal that is delivered together with its own. */
static void place_topmost(const struct settling *s)
{
	const struct parser *p = s->p;
	struct frame *f = &p->stack[p->n - 1];
	if (!f->cfa && f->func == s->func && f->module == s->module && p->position == AT_DECISION &&
	    silent_just_entered(s) && f->decision == p->plans[s->module]->funcs[s->func].entry)
		f->cfa = s->cfa;
}

enum settled settle_ask(struct parser *p, const struct pugmark_witness_event *e, uint64_t sp,
			uint64_t ip, uint64_t bp, struct settling **out)
{
	uint64_t caller = e->kind == PUGMARK_EVENT_SIGNAL ? e->signal.caller : 0;
	*out = NULL;
	if (!p->n)
		return SETTLED;
	if (!stack_word_below(e, (sp + 7) & ~7ull))
		return UNSETTLED;
	struct settling *s = malloc(sizeof(*s));
	if (!s) {
		p->failed = true;
		return UNSETTLED;
	}
	s->p = p;
	s->e = e;
	s->sp = sp;
	s->caller = caller;
	s->all_ended = false;
	*out = s;
	bool located = locate(s, ip, bp), outside = located && s->func == PUGMARK_NONE;
	if (located)
		place_topmost(s);
	if (located && silent_find_reading(s) && !s->torn && !doubtful(s))
		return s->keep && s->level + 1 < p->n ? SETTLED_AHEAD : SETTLED;
	s->all_ended = outside && none_left(p, e, caller) && parser_can_end(p, 0);
	if (s->all_ended)
		return SETTLED;
	settle_free(s);
	*out = NULL;
	return UNSETTLED;
}

void settle_commit(struct settling *s)
{
	if (s && s->all_ended)
		parser_end_frames(s->p, 0);
	else if (s)
		carry_out(s);
	settle_free(s);
}

void settle_free(struct settling *s)
{
	free(s);
}

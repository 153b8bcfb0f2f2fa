// SPDX-License-Identifier: LGPL-2.1-or-later
/* settle.c: how far a thread came since its last event, at a moment that no witness marks:
 * when a signal interrupts it, or when it dies. Its stack has the calls in progress, the plan's
 * points say what is next where the instruction pointer is, and from where the last event left the
 * parser one way in silence leads there: two that meet would have been told apart by a witness
 * (docs/theory.md). So readings of the stack are tried, the innermost return address first, and the
 * first that the grammar allows is taken: a second one would be a second way in silence to the same
 * place. Where the plan says that there may be two (doubtful()), there is no answer. */
#include "offline/recover/settle/settle_impl.h"

#include <stdlib.h>
#include <string.h>

static void pass_silently(struct parser *p, const struct settling *s, uint32_t node)
{
	uint32_t frames = p->n;
	parser_pass(p, node, s->e);
	parser_end_frames(p, frames);
	if (p->position == AT_CALL)
		parser_leave_call(p);
}

static void carry_out(struct parser *p, const struct settling *s)
{
	parser_end_frames(p, s->keep ? s->open : s->level + 1);
	if (s->keep) {
		/* The call may be made only behind the handler: it has begun before what comes
		 * next. */
		if (p->n && p->position == AT_CALL)
			parser_top(p)->called_ns = 0;
		return;
	}
	if (s->leave)
		parser_leave_call(p);
	for (uint32_t i = 0; i < s->n_steps && !p->notes->failed; i++)
		if (s->steps[i].into)
			parser_pass(p, s->steps[i].node, s->e);
		else
			pass_silently(p, s, s->steps[i].node);
	if (p->position != AT_CALL || p->notes->failed)
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

/* Whether each open frame lies inside of the innermost call that is in progress on their stack, or
 * was made in its place before: then it has ended, or else its own call or return address would be
 * the innermost. */
static bool all_inside_caller(const struct parser *p, const struct settling *s)
{
	bool other = s->sp - p->foreign.alt < p->foreign.alt_bytes; /* a handler's own */
	if (other || p->n_handlers)
		return false;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct frame *f = &p->stack[i];
		bool same = f->cfa - 8 == s->caller && !stack_slot_holds(p, s->e, f->cfa, f->ret);
		if (!f->cfa || (f->cfa > s->caller && !same))
			return false;
	}
	return !parser_leaving(p, true);
}

/* Whether no call of ours is in progress. Where the process has ended before its stack was unwound,
 * the outermost frame's return address may have been written over. The innermost call of the module
 * may be one of a function that is not traced. */
static bool none_left(const struct parser *p, const struct settling *s)
{
	if (s->caller == PUGMARK_SIGNAL_NO_CALLER)
		return true;
	if (s->caller)
		return all_inside_caller(p, s);
	return !stack_slot_holds(p, s->e, p->stack[0].cfa, p->stack[0].ret);
}

/* Whether the way that leads there passes a place where another one may as well: in the open frames
 * that may have ended in silence, and on from there. */
static bool doubtful(const struct settling *s)
{
	const struct parser *p = s->p;
	if (!p->unsure)
		return false;
	uint32_t open = parser_can_end_down_to(p, 0);
	for (uint32_t i = open ? open - 1 : 0; i < p->n; i++) {
		struct silence at;
		bool called = (silence_in(&at, p, i) && at.call) || i + 1 < p->n;
		if ((called && parser_unsure_call(p, at.frame)) ||
		    parser_unsure_decision(p, at.frame->module, at.decision))
			return true;
	}
	uint16_t module = p->stack[s->level].module;
	for (uint32_t i = 0; i < s->n_steps; i++) {
		const struct pugmark_plan_node *n = node_at(p, module, s->steps[i].node);
		bool into = s->steps[i].into && n->kind == PUGMARK_NODE_KIND_CALL;
		struct frame f = {.module = module, .node = s->steps[i].node};
		uint32_t next =
			into ? p->plans[module]->funcs[n->callee].entry : pugmark_node_next(n);
		if (parser_unsure_call(p, &f) || (n->kind != PUGMARK_NODE_KIND_TARGET &&
						  parser_unsure_decision(p, module, next)))
			return true;
	}
	return false;
}

/* Nothing may have told yet where the innermost frame lies, as that of a handler that is
 * interrupted before its first witness, by a signal that is delivered together with its own. */
static uint64_t place_of_innermost(const struct settling *s)
{
	const struct parser *p = s->p;
	const struct frame *f = parser_top_of(p);
	bool same = !f->cfa && f->func == s->func && f->module == s->module &&
		    p->position == AT_DECISION && settle_just_entered(s) &&
		    f->decision == p->plans[s->module]->funcs[s->func].entry;
	return same ? s->cfa : 0;
}

/* The reading of the stack, of the parser as it is once the innermost frame's place is known. */
static bool find_way(struct settling *s)
{
	const struct parser *p = s->p;
	s->top_cfa = place_of_innermost(s);
	if (!s->top_cfa)
		return settle_find_reading(s) && !s->torn && !doubtful(s);
	struct parser placed = *p;
	placed.stack = malloc(p->n * sizeof(*placed.stack));
	if (!placed.stack) {
		p->notes->failed = true;
		return false;
	}
	memcpy(placed.stack, p->stack, p->n * sizeof(*placed.stack));
	parser_top(&placed)->cfa = s->top_cfa;
	s->p = &placed;
	bool found = settle_find_reading(s) && !s->torn && !doubtful(s);
	s->p = p;
	free(placed.stack);
	return found;
}

/* Where the answer is put: one is enough for all questions of a parser. */
static struct settling *answer_of(const struct parser *p)
{
	struct notes *notes = p->notes;
	if (!notes->settling)
		notes->settling = malloc(sizeof(*notes->settling));
	notes->failed |= !notes->settling;
	return notes->settling;
}

enum settled settle_ask(const struct parser *p, const struct pugmark_witness_event *e, uint64_t sp,
			uint64_t ip, uint64_t bp, const struct settling **how)
{
	uint64_t caller = e->kind == PUGMARK_EVENT_SIGNAL ? e->signal.caller : 0;
	*how = NULL;
	if (!p->n)
		return SETTLED;
	if (!stack_reaches(e, (sp + 7) & ~7ull))
		return UNSETTLED;
	struct settling *s = answer_of(p);
	if (!s)
		return UNSETTLED;
	s->p = p;
	s->e = e;
	s->sp = sp;
	s->caller = caller;
	s->top_cfa = 0;
	s->all_ended = false;
	*how = s;
	bool located = locate(s, ip, bp), outside = located && s->func == PUGMARK_NONE;
	s->settled = located && find_way(s);
	if (s->settled)
		return s->keep && s->level + 1 < s->open ? SETTLED_AHEAD : SETTLED;
	s->all_ended = outside && parser_can_end(p, 0) && none_left(p, s);
	return s->all_ended ? SETTLED : UNSETTLED;
}

bool settle_all_ended(const struct settling *s)
{
	return !s || !s->settled;
}

void settle_commit(struct parser *p, const struct settling *s)
{
	if (!s)
		return;
	if (s->top_cfa)
		parser_top(p)->cfa = s->top_cfa;
	if (s->settled)
		carry_out(p, s);
	else if (s->all_ended)
		parser_end_frames(p, 0);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* parser_observe.c: what the grammar leaves to observation. Where it does not lead to an event, the
 * stack says what came before it: an exception or longjmp, a signal handler, a call back from
 * another module, a thread's next root. Where the stack does not say it either, that is a gap, and
 * the parser starts anew at the event. */
#include "offline/recover/parser_state.h"
#include "offline/recover/stack_chain.h"
#include "offline/recover/stack_scan.h"

#define SILENT_MAX 1024 /* calls that one function makes in silence, at most */
#define LINKS_MAX 256	/* silent calls between an open frame and one that is found on the stack */

/* ---- unwinding ---- */

/* Then there is no doubt that it was still there when an exception came out of it. */
bool parser_in_noreturn(const struct parser *p, const struct frame *f, uint8_t position)
{
	if (position == AT_CALL)
		return node_at(p, f->module, f->node)->flags &
		       (PUGMARK_NODE_NORETURN | PUGMARK_NODE_SWITCHES);
	if (position != AT_DECISION || f->decision == PUGMARK_NONE)
		return position == AT_DECISION;
	return !p->plans[f->module]->decisions[f->decision].n; /* it is what leaves for good */
}

/* Leaves the frames above the first @n by unwinding. Where it is not certain that they were all
 * still open, or what had been called from the last, that is a gap; it is not where @sure is not
 * set. */
static void unwind_to(struct parser *p, uint32_t n, bool sure)
{
	for (uint32_t h = p->n_handlers; h-- > 0 && p->handlers[h].frame >= n;)
		sure = sure && p->handlers[h].settled;
	uint32_t open = sure ? parser_leaving(p, true) : 0;
	if (open > n) /* a handler that has come there has ended */
		parser_end_frames(p, open);
	sure = sure &&
	       (parser_in_noreturn(p, parser_top(p), p->position) || parser_call_is_last(p, n));
	if (!sure) {
		parser_emit_gap(p, PUGMARK_CAUSE_UNWIND);
		parser_drop_frames(p, n);
		return;
	}
	if (p->position == AT_CALL)
		parser_announce(p);
	while (p->n > n) {
		if (!parser_top(p)->gone)
			parser_emit_frame(p, PUGMARK_TRACE_UNWIND, PUGMARK_CAUSE_NONE,
					  parser_top(p));
		parser_drop_frames(p, p->n - 1);
	}
	if (n)
		parser_top(p)->announced = false;
}

/* Opens the frames between open frame @level and the event's, which the calls in @links made. */
static void open_frames(struct parser *p, const struct pugmark_witness_event *e, uint32_t func,
			const struct stack_link *links, int n)
{
	for (int i = n; i-- > 0;) {
		struct frame *f = parser_top(p);
		const struct pugmark_plan_node *call = node_at(p, links[i].module, links[i].call);
		f->module = links[i].module;
		f->func = call->func; /* it may have got there by a jump that showed nothing */
		f->node = links[i].call;
		parser_push(p, (struct frame){
				       .module = e->module,
				       .cfa = links[i].cfa - call->height,
				       .ret = return_address(p, f->module, call),
				       .boundary = BELOW_CALL,
			       });
	}
	parser_top(p)->module = e->module;
	parser_top(p)->func = func;
}

bool parser_can_unwind(const struct parser *p, const struct lookahead *la)
{
	uint32_t node = parse_tables_node_of(p->tables[la->e->module], la->e->site), level;
	const struct pugmark_plan_node *n = node_at(p, la->e->module, node);
	struct stack_link links[LINKS_MAX];
	return n->flags & PUGMARK_NODE_ROOT && la->own_cfa &&
	       stack_chain(p, la->e, n->func, links, LINKS_MAX, &level) >= 0;
}

/* A landing pad or second return of setjmp: the frame that survived, the rest is unwound. */
bool parser_try_unwinding(struct parser *p, const struct lookahead *la)
{
	const struct pugmark_witness_event *e = la->e;
	uint32_t node = parse_tables_node_of(p->tables[e->module], e->site);
	const struct pugmark_plan_node *n = node_at(p, e->module, node);
	struct stack_link links[LINKS_MAX];
	uint32_t level;
	if (!(n->flags & PUGMARK_NODE_ROOT) || !la->own_cfa)
		return false;
	int count = stack_chain(p, e, n->func, links, LINKS_MAX, &level);
	if (count < 0)
		return false;
	unwind_to(p, level + 1, count == 0);
	open_frames(p, e, n->func, links, count);
	parser_take_event(p, node, e);
	return true;
}

/* Starts anew at the event itself: in the frame that it belongs to, where it is open or the stack
 * leads from it to one that is, or in a new one on top of those that may still be open. */
void parser_reanchor(struct parser *p, const struct lookahead *la, uint8_t cause)
{
	const struct pugmark_witness_event *e = la->e;
	uint32_t node = parse_tables_node_of(p->tables[e->module], e->site);
	const struct pugmark_plan_node *n = node_at(p, e->module, node);
	struct stack_link links[LINKS_MAX];
	uint32_t level;
	int count = la->own_cfa ? stack_chain(p, e, n->func, links, LINKS_MAX, &level) : -1;
	parser_emit_gap(p, cause);
	p->gap_cause = cause;
	if (count >= 0) {
		parser_drop_frames(p, level + 1);
		open_frames(p, e, n->func, links, count);
	} else {
		while (p->n && la->own_cfa && parser_top(p)->cfa && parser_top(p)->cfa <= e->cfa)
			parser_drop_frames(p, p->n - 1);
		parser_push(p, (struct frame){
				       .func = n->func,
				       .module = e->module,
				       .cfa = la->own_cfa ? e->cfa : 0,
				       .ret = e->ret,
				       .boundary = BELOW_GAP,
				       .hidden = cause,
			       });
	}
	parser_take_event(p, node, e);
}

/* Whether the origin is a call that itself left the module. */
static bool calls_out(const struct parser *p, const struct lookahead *la)
{
	return la->origin != PUGMARK_NONE &&
	       node_at(p, la->from, la->origin)->kind == PUGMARK_NODE_KIND_UNKNOWN;
}

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

/* Whether the frames above the first @n can end in silence. */
static bool can_end(struct parser *p, uint32_t n)
{
	return parser_can_end_down_to(p, n) == n;
}

static void set_origin(struct lookahead *la, const struct chain *chain)
{
	la->from = chain->from;
	la->origin = chain->origin;
	la->cfa = chain->origin_cfa;
	la->ret = chain->origin_ret;
}

/* Whether the grammar allows that the chain is that of the calls in progress. */
static bool allows(struct parser *p, const struct chain *chain, struct lookahead *la)
{
	uint32_t begins_in, alt, n = p->n;
	p->torn = false;
	if (chain->end == CHAIN_OPEN) {
		set_origin(la, chain);
		/* Below the level too: it may be another activation, at the same place and from the
		 * same call, of what was open. */
		return parser_find(p, la, &begins_in, &alt) && begins_in <= chain->level;
	}
	while (n && p->stack[n - 1].cfa < chain->cfa)
		n--;
	return can_end(p, n);
}

/* How many calls in progress of ours, by the stack above @from, may have led to the event, where
 * @level is the topmost frame that is open; in @la the innermost. A call by which the event fits
 * twice counts as two. */
static uint32_t count_origins(struct parser *p, struct lookahead *la, const struct chain *from,
			      uint32_t level)
{
	uint32_t found = 0;
	bool other = false;
	struct lookahead right = *la;
	struct chain_scan scan;
	struct chain c;
	chain_scan_begin(&scan, p, from, level);
	while (chain_scan_next(&scan, p, la->e, &c)) {
		struct lookahead next = *la;
		if (c.end != CHAIN_OPEN || c.level != level) {
			other = other || allows(p, &c, &next);
			continue;
		}
		/* Had a function jumped out of the module, what it jumped to would have written
		 * over the return address of an earlier call. */
		set_origin(&next, &c);
		bool jumped = c.origin_cfa == p->stack[level].cfa || !calls_out(p, &next);
		bool same = right.origin == c.origin && right.cfa == c.origin_cfa;
		if (found && (jumped || same))
			continue;
		bool fits = allows(p, &c, &next);
		if (!fits && !p->torn)
			continue;
		right = next;
		found += fits ? 1 : 2;
		p->torn = false;
	}
	*la = right;
	return found ? found + other + scan.too_many : 0;
}

/* Whether, once the frames above the first @n have ended, the call that the topmost of these is in
 * is the only one that can be in progress: no other, there or in the frames below, can be reached
 * in silence. */
static bool only_open_call(struct parser *p, uint32_t n)
{
	uint32_t decision;
	if (parser_position_below(p, n - 1, &decision) != AT_CALL || !can_end(p, n))
		return false;
	for (uint32_t i = n; i-- > 0;) {
		const struct frame *f = &p->stack[i];
		const struct pugmark_plan_node *call = node_at(p, f->module, f->node);
		if (call->flags & PUGMARK_NODE_NORETURN)
			return true;
		if (!(call->flags & PUGMARK_NODE_TAIL)) {
			const struct decision_table *t =
				call->next == PUGMARK_NONE
					? NULL
					: parse_tables_at(p->tables[f->module], call->next);
			if (!t || t->top || t->n_any)
				return false;
			if (!t->n_empty)
				return true;
		}
		if (f->boundary != BELOW_CALL)
			return false;
	}
	return false;
}

/* The function was entered during the call that the topmost of the first @n frames is in. */
static bool enter_by_open_call(struct parser *p, struct lookahead *la, uint32_t n)
{
	parser_end_frames(p, n);
	const struct frame *f = parser_top(p);
	const struct pugmark_plan_node *call = node_at(p, f->module, f->node);
	bool tail = call->flags & PUGMARK_NODE_TAIL;
	bool known = f->cfa && (tail || call->height != PUGMARK_HEIGHT_UNKNOWN);
	la->from = f->module;
	la->origin = f->node;
	la->ret = tail ? f->ret : 0;
	la->cfa = f->call_cfa ? f->call_cfa
		  : known     ? f->cfa - (tail ? 0 : call->height)
			      : la->e->cfa;
	return parser_derive(p, la, PUGMARK_NONE);
}

/* Whether the open frame @level, out of which the event can come, can end only by jumping to what
 * is not traced, by the way that leads to the event as well. Then it is a frame no more, and
 * whether what it has jumped to goes on, or has ended and its like was called in its place, makes
 * no difference: the jump was made, and the event came out of what is not traced. */
static bool ends_by_jump(struct parser *p, const struct lookahead *la, uint32_t level)
{
	struct frame f = p->stack[level];
	uint32_t node, empty, decision;
	uint8_t position = parser_position_below(p, level, &decision);
	if (position != AT_CALL && position != AT_DECISION)
		return false;
	for (uint32_t steps = 0; steps < SILENT_MAX; steps++) {
		node = position == AT_CALL ? f.node
					   : parser_alternative(p, &f, decision, la, &empty);
		if (node == PUGMARK_NONE || (position == AT_DECISION && node != empty))
			return false;
		const struct pugmark_plan_node *n = node_at(p, f.module, node);
		bool tail = n->flags & PUGMARK_NODE_TAIL;
		if (tail && n->kind != PUGMARK_NODE_KIND_CALL)
			return n->kind == PUGMARK_NODE_KIND_UNKNOWN;
		if (n->kind == PUGMARK_NODE_KIND_EXIT || n->kind == PUGMARK_NODE_KIND_RETURN ||
		    n->flags & (PUGMARK_NODE_UNTOLD | PUGMARK_NODE_NORETURN))
			return false;
		position = AT_DECISION;
		decision = tail ? p->plans[f.module]->funcs[n->callee].entry : n->next;
	}
	return false;
}

/* The function was entered during the call that @chain leads to. */
static bool enter_by_chain(struct parser *p, struct lookahead *la, const struct chain *chain,
			   uint32_t *live)
{
	uint32_t level, alt;
	*live = chain->level + 1;
	set_origin(la, chain);
	bool anew = chain->anew && can_end(p, chain->level) &&
		    (chain->origin == PUGMARK_NONE || parser_can_come_below(p, la, chain->level));
	bool outside = chain->origin == PUGMARK_NONE; /* else its call was made twice */
	if ((!anew || outside) && parser_find(p, la, &level, &alt) &&
	    (!anew || (level == chain->level && ends_by_jump(p, la, level)))) {
		parser_end_frames(p, level + 1);
		return parser_derive(p, la, alt);
	}
	la->origin = PUGMARK_NONE;
	la->cfa = la->ret = 0;
	return false;
}

/* Whether the stack shows every call of ours that the open frame @i may be in. Where it is that far
 * up that only addresses of the event's module are kept of it, these are the calls; what cannot
 * have ended in silence is not taken to have by that. */
static bool shows_calls(struct parser *p, const struct pugmark_witness_event *e, uint32_t i)
{
	const struct frame *f = &p->stack[i];
	const bool *hides = p->tables[f->module]->hides_frames;
	if (hides && hides[f->func]) /* a chain that meets such a call ends there */
		return false;
	return stack_covers(p, e, i) || (f->module == e->module && f->cfa > e->cfa &&
					 stack_word_below(e, f->cfa - 8) && can_end(p, i));
}

/* The entry of a function from another module: the stack says during which call of ours. In @live,
 * where it does not, how many frames may still be open. */
bool parser_explain_callback(struct parser *p, struct lookahead *la, uint32_t *live)
{
	uint32_t level, alt, found = 0;
	struct chain chain;
	chain_from_entry(p, la->e, la->entered, &chain);
	if (chain.end == CHAIN_OPEN)
		return enter_by_chain(p, la, &chain, live);
	*live = stack_live_frames(p, la->e, chain.cfa, p->n);
	while (*live) {
		found = count_origins(p, la, &chain, *live - 1);
		if (found || !shows_calls(p, la->e, *live - 1))
			break;
		/* It is in no call, so it has ended: another module called twice from the same
		 * place, and the return address is that of the second call. */
		*live = stack_live_frames(p, la->e, chain.cfa, *live - 1);
	}
	if (found == 1 && parser_find(p, la, &level, &alt)) {
		parser_end_frames(p, level + 1);
		return parser_derive(p, la, alt);
	}
	if (!found && *live && only_open_call(p, *live))
		return enter_by_open_call(p, la, *live);
	if (found || !*live) {
		la->origin = PUGMARK_NONE;
		la->cfa = la->ret = 0;
	}
	return false;
}

/* No frame of ours is left: the thread's next function from outside. */
void parser_enter_root(struct parser *p, const struct lookahead *la)
{
	if (!can_end(p, 0))
		unwind_to(p, 0, true);
	parser_end_frames(p, 0);
	parser_enter(p, la, BELOW_ROOT, PUGMARK_CAUSE_THREAD);
}

/* Whether a call of the function of @node can have been made in silence right before @node. */
static bool follows_silent_call(const struct parser *p, uint16_t module, uint32_t node)
{
	const struct pugmark_plan *plan = p->plans[module];
	const struct pugmark_plan_func *func = &plan->funcs[plan->nodes[node].func];
	for (uint32_t i = func->node; i < func->node + func->n_nodes; i++) {
		const struct pugmark_plan_node *n = &plan->nodes[i];
		bool call = n->kind == PUGMARK_NODE_KIND_CALL ||
			    n->kind == PUGMARK_NODE_KIND_UNKNOWN ||
			    n->kind == PUGMARK_NODE_KIND_LEAF;
		if (!call || n->site != PUGMARK_NONE || n->flags & PUGMARK_NODE_TAIL ||
		    n->next == PUGMARK_NONE)
			continue;
		const struct pugmark_plan_decision *d = &plan->decisions[n->next];
		for (uint32_t k = d->first; k < d->first + d->n; k++)
			if (plan->alternatives[k] == node)
				return true;
	}
	return false;
}

/* The first event of a thread that was started behind a system call of ours, as in a program with
 * the C library in it: the thread begins in the middle of that function, which no call has entered.
 * It does so at the event, or at the call that the event came by. */
bool parser_begin_thread(struct parser *p, struct lookahead *la)
{
	const struct pugmark_witness_event *e = la->e;
	bool own = la->entered == PUGMARK_NONE;
	uint16_t module = own ? e->module : la->from;
	uint32_t node = own ? parse_tables_node_of(p->tables[module], e->site) : la->origin;
	if (p->n || p->position != OUTSIDE || node == PUGMARK_NONE || !node || la->foreign)
		return false;
	const struct pugmark_plan_node *n = node_at(p, module, node);
	if (n->kind == PUGMARK_NODE_KIND_OPAQUE ||
	    (!own && (n->site != PUGMARK_NONE || n->flags & PUGMARK_NODE_TAIL)) ||
	    follows_silent_call(p, module, node))
		return false;
	bool known = !own && la->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN;
	struct frame f = {
		.func = n->func,
		.module = module,
		.cfa = known		    ? la->cfa + n->height
		       : own && la->own_cfa ? e->cfa
					    : 0,
		.boundary = BELOW_ROOT,
	};
	parser_emit_frame(p, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_THREAD, &f);
	parser_push(p, f);
	if (own) {
		parser_take_event(p, node, e);
		return true;
	}
	parser_pass(p, node, NULL);
	return parser_derive(p, la, PUGMARK_NONE);
}

/* An entry from another module that the grammar does not lead to. Of the open frames the first
 * @live may still be open, and no more. */
void parser_enter_foreign(struct parser *p, struct lookahead *la, uint32_t live)
{
	if (!p->n || (la->e->stack && !live)) {
		parser_enter_root(p, la);
		return;
	}
	uint32_t open = parser_can_end_down_to(p, live);
	parser_end_frames(p, open);
	parser_emit_gap(p, PUGMARK_CAUSE_STACK);
	if (open > live) {
		parser_drop_frames(p, live);
		p->position = LOST;
		p->gap_cause = PUGMARK_CAUSE_STACK;
	}
	parser_enter(p, la, BELOW_HANDLER, PUGMARK_CAUSE_CALLBACK);
}

/* Whether the event is of a program's very first function, which has no return address: what
 * libraries ran before it has ended. */
bool parser_starts_program(struct parser *p, const struct lookahead *la)
{
	return la->entered != PUGMARK_NONE && !la->own_cfa && !la->e->ret && can_end(p, 0);
}

uint8_t parser_misfit_cause(struct parser *p, const struct lookahead *la)
{
	if (p->position == LOST)
		return p->gap_cause;
	if (!p->n)
		return p->gaps ? PUGMARK_CAUSE_MODEL : PUGMARK_CAUSE_ATTACH;
	for (uint32_t i = p->n; i-- > 0;) {
		const struct frame *f = &p->stack[i];
		if (f->boundary == BELOW_CALL)
			continue;
		bool above = !la->own_cfa || !f->cfa || la->e->cfa > f->cfa;
		return f->boundary == BELOW_GAP && above && can_end(p, i) ? f->hidden
									  : PUGMARK_CAUSE_MODEL;
	}
	return PUGMARK_CAUSE_MODEL;
}

/* The first event after attaching, in the frame that the stack has told. */
bool parser_begin_attached(struct parser *p, const struct lookahead *la)
{
	const struct pugmark_witness_event *e = la->e;
	uint32_t node = parse_tables_node_of(p->tables[e->module], e->site);
	uint64_t cfa = p->attach_cfa;
	if (!cfa || p->lost || (la->own_cfa && e->cfa != cfa))
		return false;
	struct frame f = {
		.func = node_at(p, e->module, node)->func,
		.module = e->module,
		.cfa = cfa,
		.ret = p->attach_ret,
		.boundary = p->attach_boundary,
		.hidden = PUGMARK_CAUSE_ATTACH,
	};
	parser_emit_frame(p, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_ATTACH, &f);
	parser_push(p, f);
	parser_take_event(p, node, e);
	return true;
}

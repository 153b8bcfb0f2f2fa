// SPDX-License-Identifier: LGPL-2.1-or-later
/* unwinding.c: a landing pad or second return of setjmp: the frame that survived is on the stack,
 * and those inside of it are left. */
#include "offline/recover/explain/explain.h"
#include "offline/recover/explain/landing.h"

/* Whether it is known how far what the handlers inside of the first @n frames interrupt has come.
 */
static bool handlers_settled(const struct parser *p, uint32_t n)
{
	bool settled = true;
	for (uint32_t i = p->n_interruptions; i-- > 0 && p->interruptions[i].frame >= n;)
		settled = settled && (p->interruptions[i].kind != BELOW_HANDLER ||
				      p->interruptions[i].handler.settled);
	return settled;
}

/* Whether the frames of handlers inside of the first @n have ended as handlers do. Go's runtime
 * leaves none in another way: a panic begins in a function that the handler, once it has returned,
 * makes the thread go on in. */
static bool handlers_returned(const struct parser *p, uint32_t n)
{
	return p->tables[p->stack[n].module]->go_runtime || parser_ends_without_calls(p, n);
}

struct unwinding unwinding_of(const struct parser *p, uint32_t n, bool sure)
{
	struct silence at;
	sure = sure && handlers_settled(p, n);
	/* Frames of a handler that lie inside of the frame that left have ended in silence before
	 * that, unless a call that does not show can have left the handler itself. */
	uint32_t leaving = sure ? parser_leaving(p, true) : 0;
	struct unwinding u = {.n = n, .open = leaving > n ? leaving : p->n};
	if (u.open < p->n && !handlers_returned(p, u.open))
		return (struct unwinding){.n = n, .open = p->n};
	u.sure = sure && ((silence_in(&at, p, u.open - 1) && silence_is_final(&at)) ||
			  parser_call_is_last(p, u.open, n));
	return u;
}

void unwinding_leave(struct parser *p, const struct unwinding *u,
		     const struct pugmark_witness_event *e)
{
	parser_end_frames(p, u->open);
	if (!u->sure) {
		parser_emit_misfit(p, PUGMARK_CAUSE_UNWIND, e);
		parser_drop_frames(p, u->n);
		return;
	}
	if (p->position == AT_CALL)
		parser_announce(p);
	while (p->n > u->n) {
		if (!parser_top(p)->gone)
			parser_emit_frame(p, PUGMARK_TRACE_UNWIND, PUGMARK_CAUSE_NONE,
					  parser_top(p));
		parser_drop_frames(p, p->n - 1);
	}
	if (u->n)
		parser_top(p)->announced = false;
}

void parser_open_frames(struct parser *p, uint16_t module, uint32_t func,
			const struct stack_link *links, int n)
{
	for (int i = n; i-- > 0;) {
		struct frame *f = parser_top(p);
		const struct pugmark_plan_node *call = node_at(p, links[i].module, links[i].call);
		f->module = links[i].module;
		f->func = call->func; /* it may have got there by a jump that showed nothing */
		f->node = links[i].call;
		parser_push(p, (struct frame){
				       .module = module,
				       .cfa = links[i].cfa - call->height,
				       .ret = return_address(p, f->module, call),
				       .boundary = BELOW_CALL,
			       });
	}
	parser_top(p)->module = module;
	parser_top(p)->func = func;
}

/* The calls in progress from the frame of the event, a place where the unwinder lands, outwards to
 * an open frame; how many, or -1. */
static int calls_up(const struct parser *p, const struct lookahead *la, struct stack_link *links,
		    uint32_t *level)
{
	uint32_t node = parse_tables_node_of(p->tables[la->e->module], la->e->site);
	const struct pugmark_plan_node *n = node_at(p, la->e->module, node);
	if (!(n->flags & PUGMARK_NODE_ROOT) || !la->own_cfa)
		return -1;
	return stack_chain(p, la->e, n->func, links, STACK_LINKS_MAX, level);
}

/* The unwinder calls the personality routine of a function right before it lands in a frame of it.
 * Where each entry of the routine shows, the landing is out of the call during which the last one
 * came, if nothing was called back since, and the routine has returned, by an event or in silence.
 * How many frames were open at that call, all of the first @n among them; 0: it does not tell. */
static uint32_t asked_from(const struct parser *p, const struct lookahead *la, uint32_t n)
{
	const struct pugmark_plan *plan = p->plans[la->e->module];
	uint32_t node = parse_tables_node_of(p->tables[la->e->module], la->e->site);
	uint32_t routine = plan->funcs[plan->nodes[node].func].personality;
	if (!routine || !(plan->funcs[routine - 1].flags & PUGMARK_PLAN_FUNC_ENTERED) ||
	    !handlers_settled(p, n))
		return 0;
	for (uint32_t open = p->n; open >= n; open--) {
		struct silence at;
		if (silence_in(&at, p, open - 1) && at.call && at.frame->back)
			return at.frame->back == routine &&
					       at.frame->back_module == la->e->module &&
					       parser_can_end(p, open)
				       ? open
				       : 0;
	}
	return 0;
}

/* Go: whether another thread has gone on since in the stack of the event, of which frame @level is
 * open here. The event comes back from a call that switches stacks, and that frame was left in
 * another one. A panic lands behind none of these calls. */
static bool went_on_elsewhere(const struct parser *p, const struct lookahead *la, uint32_t level)
{
	const struct pugmark_witness_event *e = la->e;
	const struct frame *f = &p->stack[level];
	const struct parse_tables *tables = p->tables[e->module];
	uint32_t node = parse_tables_node_of(tables, e->site);
	uint32_t call = parse_tables_return_to(tables, node_at(p, e->module, node)->addr);
	return tables->go_runtime && call != PUGMARK_NONE &&
	       node_at(p, e->module, call)->flags & PUGMARK_NODE_SWITCHES &&
	       (f->cfa != pugmark_event_cfa(e) || f->node != call);
}

/* Whether the event is behind a call of its function that returns there and nowhere else: setjmp's,
 * which may return twice. The first return shows as well: so no call that was made in silence since
 * the last event can come back there. */
static bool comes_back_again(const struct parser *p, const struct lookahead *la)
{
	const struct pugmark_plan *plan = p->plans[la->e->module];
	uint32_t node = parse_tables_node_of(p->tables[la->e->module], la->e->site);
	const struct pugmark_plan_func *f = &plan->funcs[plan->nodes[node].func];
	for (uint32_t i = f->node; i < f->node + f->n_nodes; i++)
		if (landing_is_behind(plan, i, node))
			return true;
	return false;
}

/* Whether the thread was left where the last event, a signal, has found it: the handler, which is
 * not traced, has not returned. */
static bool left_by_handler(const struct parser *p, const struct pugmark_witness_event *e,
			    uint32_t n)
{
	return e->flags & PUGMARK_EVENT_IN_HANDLER && p->caught && p->foreign.settled == SETTLED &&
	       handlers_settled(p, n);
}

bool unwinding_lands(const struct parser *p, const struct lookahead *la, struct candidate *c)
{
	struct stack_link links[STACK_LINKS_MAX];
	uint32_t level;
	int n = parser_is_another(p, la->e) ? -1 : calls_up(p, la, links, &level);
	if (n < 0 || went_on_elsewhere(p, la, level))
		return false;
	uint32_t open = n ? 0 : asked_from(p, la, level + 1);
	/* A frame that has ended, and that setjmp's caller has kept the return address of. */
	bool again = n == 1 && comes_back_again(p, la);
	c->cause = CAUSE_UNWINDING;
	c->unwinding = open ? (struct unwinding){.n = level + 1, .open = open, .sure = true}
			    : unwinding_of(p, level + 1, n == 0 || again);
	c->unwinding.again = again && c->unwinding.sure;
	if (!n && left_by_handler(p, la->e, level + 1))
		c->unwinding = (struct unwinding){.n = level + 1, .open = p->n, .sure = true};
	struct landing pad;
	if (!c->unwinding.sure && landing_find(p, la, level, links, (uint32_t)n, &pad))
		c->unwinding = (struct unwinding){.n = level + 1 + (uint32_t)n,
						  .open = pad.open,
						  .sure = true,
						  .by_pad = true};
	c->unsaid = c->unwinding.sure ? PUGMARK_CAUSE_NONE : PUGMARK_CAUSE_UNWIND;
	return true;
}

void ask_unwinding(const struct parser *p, const struct lookahead *la, struct candidates *set)
{
	struct candidate c;
	if (unwinding_lands(p, la, &c))
		candidate_add(set, &c);
}

enum commit commit_unwinding(struct parser *p, struct lookahead *la, const struct candidate *c,
			     uint32_t *first)
{
	(void)first;
	struct stack_link links[STACK_LINKS_MAX];
	uint32_t level, node = parse_tables_node_of(p->tables[la->e->module], la->e->site);
	int n = calls_up(p, la, links, &level);
	struct unwinding unwinding = c->unwinding;
	struct landing pad;
	if (unwinding.by_pad && landing_find(p, la, level, links, (uint32_t)n, &pad)) {
		unwinding.sure = landing_go(p, &pad);
		n = 0;
	}
	unwinding_leave(p, &unwinding, la->e);
	parser_open_frames(p, la->e->module, node_at(p, la->e->module, node)->func, links, n);
	if (unwinding.again)
		parser_emit_frame(p, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_RESUMED, parser_top(p));
	parser_take_event(p, node, la->e);
	return COMMIT_TAKEN;
}

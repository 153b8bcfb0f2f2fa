// SPDX-License-Identifier: LGPL-2.1-or-later
/* move.c: moves the parser's state over one node of the grammar: into what a call enters,
 * and back from what has ended. Which node is for others to say. */
#include "offline/recover/state/state.h"

#include <string.h>

uint8_t parser_position_below(const struct parser *p, uint32_t i, uint32_t *decision)
{
	const struct frame *f = &p->stack[i];
	*decision = f->decision;
	if (i + 1 == p->n)
		return p->position;
	if (p->stack[i + 1].boundary != BELOW_CALL)
		return parser_interruption_at(p, i + 1)->position;
	*decision = pugmark_node_next(node_at(p, f->module, f->node));
	return AT_DECISION;
}

static void set_gone(struct parser *p, struct frame *f, bool gone)
{
	p->gone += gone;
	p->gone -= f->gone;
	f->gone = gone;
}

void parser_lose(struct parser *p, uint8_t cause)
{
	parser_emit_gap(p, cause);
	p->position = LOST;
	p->gap_cause = cause;
}

/* The call that the innermost frame is AT_CALL of, unless it has been reported. */
void parser_announce(struct parser *p)
{
	struct frame *f = parser_top(p);
	if (f->announced)
		return;
	const struct pugmark_plan_node *n = node_at(p, f->module, f->node);
	uint64_t now_ns = p->now_ns, from_ns = p->from_ns;
	if (f->called_ns && f->called_ns < now_ns) {
		p->now_ns = f->called_ns;
		p->from_ns = from_ns < f->called_ns ? from_ns : f->called_ns;
	}
	parser_emit_call(p, f->module, n, f->module, PUGMARK_NONE);
	p->now_ns = now_ns;
	p->from_ns = from_ns;
	f->called_ns = 0;
	f->announced = true;
	set_gone(p, f, n->flags & PUGMARK_NODE_TAIL);
}

static void at_decision(struct parser *p, uint32_t decision)
{
	p->position = AT_DECISION;
	parser_top(p)->decision = decision;
}

/* The innermost frame has ended: goes on in the one outside of it. */
void parser_pop(struct parser *p)
{
	if (parser_top(p)->boundary == BELOW_CALL) {
		parser_drop_frames(p, p->n - 1);
		if (p->n)
			at_decision(p, pugmark_node_next(node_at(p, parser_top(p)->module,
								 parser_top(p)->node)));
		else
			p->position = OUTSIDE;
		return;
	}
	const struct interruption *by = &p->interruptions[p->n_interruptions - 1];
	p->position = by->position;
	if (by->kind == BELOW_GAP)
		p->gap_cause = by->hidden;
	else if (by->kind == BELOW_HANDLER) /* what was interrupted was so before the handler */
		p->from_ns = by->handler.since_ns;
	if (p->n == 1)
		p->ended = *parser_top(p);
	parser_drop_frames(p, p->n - 1);
}

static void return_from(struct parser *p)
{
	parser_emit_frame(p, PUGMARK_TRACE_RET, PUGMARK_CAUSE_NONE, parser_top(p));
	parser_pop(p);
}

/* The call @node of the innermost frame enters @callee of module @to. */
static void enter_callee(struct parser *p, uint32_t node, uint16_t to, uint32_t callee,
			 uint64_t cfa, uint64_t ret)
{
	struct frame *f = parser_top(p);
	const struct pugmark_plan_node *n = node_at(p, f->module, node);
	uint32_t entry = p->plans[to]->funcs[callee].entry;
	f->node = node;
	f->call_cfa = 0;
	if (n->flags & PUGMARK_NODE_TAIL) {
		f->func = callee;
		f->module = to;
	} else {
		parser_push(p, (struct frame){
				       .func = callee,
				       .module = to,
				       .cfa = cfa,
				       .ret = ret,
				       .boundary = BELOW_CALL,
			       });
	}
	if (entry != PUGMARK_NONE)
		at_decision(p, entry);
	else
		parser_pop(p); /* not modelled: taken as silent */
}

/* Whether @e is the event of node @n of @module. */
static bool shows(uint16_t module, const struct pugmark_plan_node *n,
		  const struct pugmark_witness_event *e)
{
	return e && n->site == e->site && module == e->module;
}

/* Where the frame lies of what the call @n, in @f, has called: by its height, or else as its event
 * says; 0: not known. */
static uint64_t callee_cfa(const struct parser *p, const struct frame *f,
			   const struct pugmark_plan_node *n, const struct pugmark_witness_event *e)
{
	if (n->height != PUGMARK_HEIGHT_UNKNOWN)
		return f->cfa ? f->cfa - n->height : 0;
	if (!shows(f->module, n, e))
		return 0;
	if (n->flags & PUGMARK_NODE_CALLEE_CFA)
		return pugmark_event_cfa(e);
	/* a landing pad reads the stack from the stack pointer on: a call puts its return address
	 * right below that address */
	bool reads = p->plans[f->module]->sites[n->site].capture & PUGMARK_CAPTURE_STACK;
	return reads && e->stack ? parser_stack_begin(p, e) : 0;
}

static void follow_call(struct parser *p, uint32_t node, const struct pugmark_witness_event *e)
{
	struct frame *f = parser_top(p);
	const struct pugmark_plan_node *n = node_at(p, f->module, node);
	uint64_t cfa = f->cfa, ret = f->ret;
	if (!(n->flags & PUGMARK_NODE_TAIL)) {
		cfa = callee_cfa(p, f, n, e);
		ret = e ? return_address(p, f->module, n) : 0;
	}
	parser_emit_call(p, f->module, n, f->module, n->callee);
	enter_callee(p, node, f->module, n->callee, cfa, ret);
}

/* A call that left the module came back in silence. */
void parser_leave_call(struct parser *p)
{
	struct frame *f = parser_top(p);
	const struct pugmark_plan_node *n = node_at(p, f->module, f->node);
	parser_announce(p);
	f->announced = false;
	if (n->flags & PUGMARK_NODE_TAIL)
		parser_pop(p);
	else
		at_decision(p, pugmark_node_next(n));
}

/* Where the site of node @n of @module stands, which has one. */
static uint64_t site_addr(const struct parser *p, uint16_t module,
			  const struct pugmark_plan_node *n)
{
	return p->plans[module]->sites[n->site].addr;
}

/* The call in progress has led to @at (a run-time address), where no function begins that is known.
 * If that is code of a traced file, what it does is a gap. */
static void tell_unknown_code(struct parser *p, uint64_t at)
{
	uint64_t addr;
	uint16_t module;
	if (!parser_in_unknown_code(p, at, &module, &addr))
		return;
	parser_announce(p);
	parser_emit_gap_at(p, PUGMARK_CAUSE_UNRESOLVED, module, addr);
}

void parser_note_unknown_code(struct parser *p, uint64_t at)
{
	if (p->n && p->position == AT_CALL)
		tell_unknown_code(p, at);
}

/* @target: run-time address, where the call's event or that of its jump has read it; else 0. */
static void follow_unknown(struct parser *p, uint32_t node, const struct pugmark_witness_event *e,
			   uint64_t target)
{
	struct frame *f = parser_top(p);
	const struct pugmark_plan_node *n = node_at(p, f->module, node);
	f->node = node;
	f->announced = f->foreign_target = false;
	f->back = 0;
	f->called_ns =
		shows(f->module, n, e) && !e->early_ns && site_addr(p, f->module, n) == n->addr
			? p->now_ns
			: 0;
	f->call_cfa = n->height == PUGMARK_HEIGHT_UNKNOWN ? callee_cfa(p, f, n, e) : 0;
	p->position = AT_CALL;
	if (!target)
		return;
	uint16_t to = f->module;
	uint32_t callee = parser_function_at(p, target, &to);
	f->foreign_target =
		callee == PUGMARK_NONE || p->plans[to]->funcs[callee].entry == PUGMARK_NONE;
	if (callee == PUGMARK_NONE)
		tell_unknown_code(p, target);
	if (f->foreign_target)
		return;
	bool known = f->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN;
	parser_emit_call(p, f->module, n, to, callee);
	enter_callee(p, node, to, callee, known ? f->cfa - n->height : 0,
		     return_address(p, f->module, n));
}

/* The target that the event @e of call @n has read, or 0. */
static uint64_t target_read(const struct parser *p, uint16_t module,
			    const struct pugmark_plan_node *n,
			    const struct pugmark_witness_event *e)
{
	bool read = shows(module, n, e) &&
		    p->plans[module]->sites[n->site].kind == PUGMARK_WITNESS_TARGET;
	return read ? pugmark_event_target(e) : 0;
}

/* Where an indirect jump went. */
static uint32_t decision_at_target(const struct pugmark_plan *plan,
				   const struct pugmark_plan_node *n, uint64_t addr)
{
	const struct pugmark_plan_target *t = pugmark_node_targets(plan, n);
	uint32_t elsewhere = PUGMARK_NONE;
	for (uint32_t i = 0; i < pugmark_node_n_targets(n); i++) {
		if (t[i].addr == addr)
			return t[i].decision;
		if (t[i].addr == PUGMARK_PLAN_TARGET_ELSEWHERE)
			elsewhere = t[i].decision;
	}
	return elsewhere;
}

/* The indirect jump @n whose event is @e: where it leaves the function, the event has told where it
 * goes to as well. */
static void follow_jump(struct parser *p, const struct pugmark_plan_node *n,
			const struct pugmark_witness_event *e)
{
	const struct pugmark_plan *plan = p->plans[parser_top(p)->module];
	uint32_t decision = decision_at_target(plan, n, pugmark_event_target(e) - e->bias);
	at_decision(p, decision);
	if (decision == PUGMARK_NONE || plan->decisions[decision].n != 1)
		return;
	uint32_t node = plan->alternatives[plan->decisions[decision].first];
	const struct pugmark_plan_node *leave = &plan->nodes[node];
	if (leave->kind == PUGMARK_NODE_KIND_UNKNOWN && leave->flags & PUGMARK_NODE_TAIL &&
	    leave->site == PUGMARK_NONE && leave->addr == plan->sites[n->site].addr)
		follow_unknown(p, node, NULL, pugmark_event_target(e));
}

/* Goes over @node, whose event (if it has one) has been seen. */
void parser_pass(struct parser *p, uint32_t node, const struct pugmark_witness_event *e)
{
	struct frame *f = parser_top(p);
	const struct pugmark_plan_node *n = node_at(p, f->module, node);
	if (n->flags & PUGMARK_NODE_SHOWS_BLOCK)
		parser_emit_block(p, f->module, n);
	if (n->flags & PUGMARK_NODE_UNTOLD) {
		parser_lose(p, PUGMARK_CAUSE_UNRESOLVED);
		return;
	}
	switch (n->kind) {
	case PUGMARK_NODE_KIND_EXIT:
	case PUGMARK_NODE_KIND_RETURN:
		return_from(p);
		break;
	case PUGMARK_NODE_KIND_CALL:
		follow_call(p, node, e);
		break;
	case PUGMARK_NODE_KIND_LEAF:
		parser_emit_call(p, f->module, n, f->module, PUGMARK_NONE);
		f->node = node;
		f->call_cfa = 0;
		if (n->flags & PUGMARK_NODE_TAIL)
			parser_pop(p);
		else
			at_decision(p, pugmark_node_next(n));
		break;
	case PUGMARK_NODE_KIND_UNKNOWN:
		follow_unknown(p, node, e, target_read(p, f->module, n, e));
		break;
	case PUGMARK_NODE_KIND_BRANCH:
		at_decision(p,
			    pugmark_event_taken(e) ? pugmark_node_taken(n) : pugmark_node_next(n));
		break;
	case PUGMARK_NODE_KIND_TARGET:
		follow_jump(p, n, e);
		break;
	default:
		at_decision(p, pugmark_node_next(n));
	}
}

/* The event of @node in its own frame: the frame's CFA is known from now on. */
void parser_take_event(struct parser *p, uint32_t node, const struct pugmark_witness_event *e)
{
	struct frame *f = parser_top(p);
	const struct pugmark_plan_node *n = node_at(p, f->module, node);
	const struct pugmark_plan_site *site = &p->plans[f->module]->sites[e->site];
	set_gone(p, f, false);
	if (site->cfa_reg != PUGMARK_CFA_UNKNOWN && !(n->flags & PUGMARK_NODE_CALLEE_CFA))
		f->cfa = pugmark_event_cfa(e);
	if (site->capture & PUGMARK_CAPTURE_RET && pugmark_event_ret(e))
		f->ret = pugmark_event_ret(e);
	if (e->n_values)
		parser_emit_values(p, site, e);
	f->node = 0;
	f->call_cfa = 0;
	parser_pass(p, node, e);
}

void parser_enter(struct parser *p, const struct lookahead *la, uint8_t boundary, uint8_t cause)
{
	struct frame f = {
		.func = la->entered,
		.module = la->e->module,
		.cfa = la->own_cfa ? pugmark_event_cfa(la->e) : 0,
		.ret = pugmark_event_ret(la->e),
	};
	if (boundary == BELOW_CALLBACK) {
		parser_top(p)->back = f.func + 1;
		parser_top(p)->back_module = f.module;
	}
	parser_emit_entry(p, cause, &f, la->e->flags & PUGMARK_EVENT_FROM_SIGNAL ? 0 : f.ret);
	if (parser_push_on(p, f, boundary, PUGMARK_CAUSE_NONE))
		at_decision(p, p->plans[f.module]->funcs[f.func].entry);
}

/* Whether the call @n of @module, through a register or by name, can be one of @func of module @to
 * itself. A library that jumps to a callback as its last step looks just like it, and so does a
 * function that is not traced. */
static bool may_call(const struct parser *p, uint16_t module, const struct pugmark_plan_node *n,
		     uint16_t to, uint32_t func)
{
	if (!n->import && n->callee == PUGMARK_NONE)
		return true;
	if (module == to)
		return n->callee == func || n->flags & PUGMARK_NODE_IFUNC;
	return n->import && p->plans[to]->funcs[func].flags & PUGMARK_PLAN_FUNC_EXPORTED;
}

bool parser_may_jump_to(const struct parser *p, uint16_t module, const struct pugmark_plan_node *n,
			const struct lookahead *la)
{
	uint16_t to = la->e->module;
	const struct pugmark_plan *from = p->plans[module], *plan = p->plans[to];
	return may_call(p, module, n, to, la->entered) &&
	       (module == to ||
		!strcmp(from->strings + n->import, plan->strings + plan->funcs[la->entered].name));
}

void parser_call_into(struct parser *p, uint16_t module, uint32_t func)
{
	struct frame *f = parser_top(p);
	const struct pugmark_plan_node *n = node_at(p, f->module, f->node);
	uint64_t cfa = f->call_cfa, ret = return_address(p, f->module, n);
	if (n->flags & PUGMARK_NODE_TAIL)
		cfa = f->cfa;
	else if (!cfa && f->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN)
		cfa = f->cfa - n->height;
	bool itself = !f->announced && !f->foreign_target;
	if (itself && may_call(p, f->module, n, module, func)) {
		parser_emit_call(p, f->module, n, module, func);
		enter_callee(p, f->node, module, func, cfa, ret);
		return;
	}
	struct pugmark_witness_event entry = {.module = module,
					      .arm.witness = {.cfa = cfa, .ret = ret}};
	struct lookahead la = {.e = &entry, .entered = func, .own_cfa = cfa != 0};
	if (n->flags & PUGMARK_NODE_TAIL)
		entry.arm.witness.ret = f->ret;
	parser_announce(p);
	parser_enter(p, &la, BELOW_CALLBACK, PUGMARK_CAUSE_CALLBACK);
}

/* The event came through the call that the innermost frame is in. */
void parser_enter_by_call(struct parser *p, const struct lookahead *la)
{
	struct frame *f = parser_top(p);
	const struct pugmark_plan_node *n = node_at(p, f->module, f->node);
	bool foreign = la->foreign && !lookahead_takes_place(la, f);
	/* A call of which it is known that it left the module was not one of this function. */
	if (foreign || f->announced || (la->jumped_back && f->foreign_target) ||
	    !may_call(p, f->module, n, la->e->module, la->entered)) {
		if (foreign && !f->announced)
			parser_note_unknown_code(p, pugmark_event_ret(la->e));
		parser_announce(p);
		parser_enter(p, la, BELOW_CALLBACK, PUGMARK_CAUSE_CALLBACK);
		return;
	}
	parser_emit_call(p, f->module, n, la->e->module, la->entered);
	enter_callee(p, f->node, la->e->module, la->entered, pugmark_event_cfa(la->e),
		     pugmark_event_ret(la->e));
}

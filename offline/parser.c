// SPDX-License-Identifier: LGPL-2.1-or-later
/* parser.c: the LL(1) parser. Its state is a stack of frames and a position in the topmost:
 *
 *   AT_DECISION  before one of the plan's decisions
 *   AT_CALL      inside of a call whose callee is not known: the next event says whether it enters
 *                the module again
 *   OUTSIDE      no frame is open: the next event is the entry of a thread's first function
 *   LOST         the next event is taken as it is: after lost events
 *
 * Each event is looked up in the table of the current decision: the alternative it begins is
 * followed, in silence, up to the node that the event witnesses. An event that begins none is
 * first tried as what the grammar leaves to observation (unwinding, a callback, a handler, a new
 * root), and only then is a gap. */
#include "offline/parser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum position { AT_DECISION, AT_CALL, OUTSIDE, LOST };

/* Why a frame has no caller of ours right above it. */
enum boundary { BELOW_CALL, BELOW_CALLBACK, BELOW_HANDLER, BELOW_ROOT };

struct frame {
	uint32_t func;
	uint32_t node;	   /* the call in progress, below the top of the stack or AT_CALL */
	uint64_t cfa;	   /* 0: not known */
	uint64_t ret;	   /* run-time return address; 0: not known */
	uint64_t call_cfa; /* AT_CALL: the CFA of what was called, where the call's event told */
	uint32_t decision; /* where to go on: for the top frame, or after a handler */
	uint16_t module;
	uint8_t position;    /* enum position: where the frame was when a handler came */
	uint8_t boundary;    /* enum boundary */
	bool announced;	     /* AT_CALL: the call has been reported already */
	bool foreign_target; /* AT_CALL: its target was read, and is in another module */
};

struct parser {
	struct parse_tables *const *tables;
	const struct pugmark_plan *const *plans;
	uint32_t n_modules;
	trace_sink *sink;
	void *ctx;
	struct frame *stack;
	uint32_t n, cap;
	uint8_t position;
	uint64_t last_ns, now_ns;
	uint64_t lost, gaps;
	bool failed;
};

int parser_new(struct parse_tables *const *tables, const struct pugmark_plan *const *plans,
	       uint32_t n_modules, trace_sink *sink, void *ctx, struct parser **out)
{
	struct parser *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	*p = (struct parser){
		.tables = tables,
		.plans = plans,
		.n_modules = n_modules,
		.sink = sink,
		.ctx = ctx,
		.position = OUTSIDE,
	};
	*out = p;
	return 0;
}

void parser_free(struct parser *p)
{
	if (!p)
		return;
	free(p->stack);
	free(p);
}

int parser_fork(const struct parser *parent, struct parse_tables *const *tables, trace_sink *sink,
		void *ctx, struct parser **out)
{
	struct parser *p = malloc(sizeof(*p));
	if (!p)
		return -ENOMEM;
	*p = *parent;
	p->tables = tables;
	p->sink = sink;
	p->ctx = ctx;
	p->gaps = 0;
	p->lost = 0;
	p->cap = p->n;
	p->stack = NULL;
	if (p->n) {
		p->stack = malloc(p->n * sizeof(*p->stack));
		if (!p->stack) {
			free(p);
			return -ENOMEM;
		}
		memcpy(p->stack, parent->stack, p->n * sizeof(*p->stack));
		/* The call that forks was made by the parent. */
		if (p->position == AT_CALL)
			p->stack[p->n - 1].announced = true;
	}
	*out = p;
	return 0;
}

uint64_t parser_gaps(const struct parser *p)
{
	return p->gaps;
}

static struct frame *top(struct parser *p)
{
	return &p->stack[p->n - 1];
}

static const struct plan_node *node_at(const struct parser *p, uint16_t module, uint32_t node)
{
	return &p->plans[module]->nodes[node];
}

static struct frame *push_frame(struct parser *p, struct frame frame)
{
	if (p->n == p->cap) {
		uint32_t cap = p->cap ? 2 * p->cap : 256;
		struct frame *stack = realloc(p->stack, cap * sizeof(*stack));
		if (!stack) {
			p->failed = true;
			return top(p);
		}
		p->stack = stack;
		p->cap = cap;
	}
	p->stack[p->n++] = frame;
	return top(p);
}

/* ---- what comes out ---- */

static void emit(struct parser *p, struct trace_event event)
{
	event.from_ns = p->last_ns;
	event.to_ns = p->now_ns;
	event.depth = p->n;
	p->sink(p->ctx, &event);
}

static void emit_frame(struct parser *p, uint8_t kind, uint8_t cause, const struct frame *f)
{
	emit(p, (struct trace_event){
			.kind = kind,
			.cause = cause,
			.module = f->module,
			.func = f->func,
			.addr = p->plans[f->module]->funcs[f->func].addr,
		});
}

/* @callee: PUGMARK_NONE where the call left the traced modules. */
static void emit_call(struct parser *p, uint16_t module, const struct plan_node *n, uint32_t callee)
{
	const struct pugmark_plan *plan = p->plans[module];
	emit(p, (struct trace_event){
			.kind = n->flags & NODE_TAIL ? TRACE_TAIL : TRACE_CALL,
			.module = module,
			.target_module = module,
			.addr = n->addr,
			.func = callee,
			.target = callee == PUGMARK_NONE ? 0 : plan->funcs[callee].addr,
			.import = plan->strings + n->import,
		});
}

static void emit_gap(struct parser *p, uint8_t cause)
{
	p->gaps++;
	emit(p, (struct trace_event){
			.kind = TRACE_GAP, .cause = cause, .lost = p->lost, .func = PUGMARK_NONE});
	p->lost = 0;
}

/* ---- moving through the grammar ---- */

static void at_decision(struct parser *p, uint32_t decision)
{
	p->position = AT_DECISION;
	top(p)->decision = decision;
}

/* The topmost frame is gone: goes on in the one below it. */
static void pop_frame(struct parser *p)
{
	uint8_t boundary = top(p)->boundary;
	p->n--;
	if (!p->n || boundary == BELOW_ROOT) {
		p->position = OUTSIDE;
		return;
	}
	struct frame *f = top(p);
	if (boundary == BELOW_CALLBACK)
		p->position = AT_CALL;
	else if (boundary == BELOW_HANDLER)
		p->position = f->position;
	else
		at_decision(p, node_at(p, f->module, f->node)->next);
}

static void return_from(struct parser *p)
{
	emit_frame(p, TRACE_RET, CAUSE_NONE, top(p));
	pop_frame(p);
}

/* The call @node of the topmost frame enters @callee of the same module. */
static void enter_callee(struct parser *p, uint32_t node, uint32_t callee, uint64_t cfa,
			 uint64_t ret)
{
	struct frame *f = top(p);
	const struct plan_node *n = node_at(p, f->module, node);
	uint32_t entry = p->plans[f->module]->funcs[callee].entry;
	if (n->flags & NODE_TAIL) {
		f->func = callee;
	} else {
		f->node = node;
		push_frame(p, (struct frame){
				      .func = callee,
				      .module = f->module,
				      .cfa = cfa,
				      .ret = ret,
				      .boundary = BELOW_CALL,
			      });
	}
	if (entry != PUGMARK_NONE)
		at_decision(p, entry);
	else
		pop_frame(p); /* not modelled: taken as silent */
}

static void follow_call(struct parser *p, uint32_t node, const struct witness_event *e)
{
	struct frame *f = top(p);
	const struct plan_node *n = node_at(p, f->module, node);
	uint64_t cfa = f->cfa, ret = f->ret;
	if (!(n->flags & NODE_TAIL)) {
		bool known = f->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN;
		cfa = known ? f->cfa - n->height : 0;
		if (n->flags & NODE_CALLEE_CFA && e && e->site == n->site)
			cfa = e->cfa;
		ret = e ? e->bias + n->addr + n->call_len : 0;
	}
	emit_call(p, f->module, n, n->callee);
	enter_callee(p, node, n->callee, cfa, ret);
}

/* A call that left the module came back in silence. */
static void leave_unknown(struct parser *p)
{
	struct frame *f = top(p);
	const struct plan_node *n = node_at(p, f->module, f->node);
	if (!f->announced)
		emit_call(p, f->module, n, PUGMARK_NONE);
	f->announced = false;
	if (n->flags & NODE_TAIL)
		pop_frame(p);
	else
		at_decision(p, n->next);
}

/* The function of @module at run-time address @addr, or PUGMARK_NONE. */
static uint32_t function_at(const struct parser *p, uint16_t module, uint64_t addr)
{
	const struct pugmark_plan *plan = p->plans[module];
	uint32_t lo = 0, hi = plan->n_funcs;
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		if (plan->funcs[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < plan->n_funcs && plan->funcs[lo].addr == addr ? lo : PUGMARK_NONE;
}

static void follow_unknown(struct parser *p, uint32_t node, const struct witness_event *e)
{
	struct frame *f = top(p);
	const struct plan_node *n = node_at(p, f->module, node);
	f->node = node;
	f->announced = f->foreign_target = false;
	f->call_cfa = n->flags & NODE_CALLEE_CFA && e && e->site == n->site ? e->cfa : 0;
	p->position = AT_CALL;
	if (n->site == PUGMARK_NONE || !e || e->site != n->site ||
	    p->plans[f->module]->sites[n->site].kind != WITNESS_TARGET)
		return;
	uint32_t callee = function_at(p, f->module, e->val - e->bias);
	f->foreign_target = callee == PUGMARK_NONE;
	if (callee == PUGMARK_NONE)
		return;
	bool known = f->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN;
	emit_call(p, f->module, n, callee);
	enter_callee(p, node, callee, known ? f->cfa - n->height : 0,
		     e->bias + n->addr + n->call_len);
}

static void emit_block(struct parser *p, uint16_t module, const struct plan_node *n)
{
	bool call = n->kind == NODE_KIND_CALL || n->kind == NODE_KIND_UNKNOWN ||
		    n->kind == NODE_KIND_LEAF;
	emit(p, (struct trace_event){
			.kind = TRACE_BLOCK,
			.module = module,
			.addr = call ? n->addr - n->next_taken : n->addr,
			.func = n->func,
		});
}

/* Goes over @node, whose event (if it has one) has been seen. */
static void pass_node(struct parser *p, uint32_t node, const struct witness_event *e)
{
	struct frame *f = top(p);
	const struct plan_node *n = node_at(p, f->module, node);
	if (n->flags & NODE_SHOWS_BLOCK)
		emit_block(p, f->module, n);
	switch (n->kind) {
	case NODE_KIND_EXIT:
	case NODE_KIND_RETURN:
		return_from(p);
		break;
	case NODE_KIND_CALL:
		follow_call(p, node, e);
		break;
	case NODE_KIND_LEAF:
		emit_call(p, f->module, n, PUGMARK_NONE);
		if (n->flags & NODE_TAIL)
			pop_frame(p);
		else
			at_decision(p, n->next);
		break;
	case NODE_KIND_UNKNOWN:
		follow_unknown(p, node, e);
		break;
	case NODE_KIND_BRANCH:
		at_decision(p, e->val ? n->next_taken : n->next);
		break;
	case NODE_KIND_TARGET: {
		const struct plan_target *t = &p->plans[f->module]->targets[n->next];
		uint32_t decision = PUGMARK_NONE;
		for (uint32_t i = 0; i < n->next_taken; i++)
			if (t[i].addr == e->val - e->bias)
				decision = t[i].decision;
		at_decision(p, decision);
		break;
	}
	default:
		at_decision(p, n->next);
	}
}

/* The event of @node in its own frame: the frame's CFA is known from now on. */
static void take_event(struct parser *p, uint32_t node, const struct witness_event *e)
{
	struct frame *f = top(p);
	const struct plan_node *n = node_at(p, f->module, node);
	const struct plan_site *site = &p->plans[f->module]->sites[e->site];
	if (site->cfa_reg != CFA_UNKNOWN && !(n->flags & NODE_CALLEE_CFA))
		f->cfa = e->cfa;
	if (site->capture & CAPTURE_RET && e->ret)
		f->ret = e->ret;
	pass_node(p, node, e);
}

/* ---- which alternative an event begins ---- */

/* An event, and for the entry of a function where it was entered from. */
struct lookahead {
	const struct witness_event *e;
	uint32_t entered; /* the function whose entry it is, or PUGMARK_NONE */
	uint32_t origin;  /* the call node that led there, or PUGMARK_NONE */
	bool foreign;	  /* not by returning to our code: through another module */
	bool own_cfa;	  /* e->cfa is the CFA of the frame of the event */
	uint64_t cfa;	  /* of the frame right below the call of ours: for what came through
			     another module, that module's frame */
};

static bool fits(const struct parser *p, const struct lookahead *la, const struct first_entry *t,
		 const struct frame *f)
{
	bool any = t->site == FIRST_ANY_ENTRY;
	bool depths = t->depth != FIRST_DEPTH_UNKNOWN && f->cfa && la->own_cfa;
	if (depths && f->cfa - (any ? la->cfa : la->e->cfa) != (uint64_t)t->depth)
		return false;
	if (t->ret == FIRST_SELF)
		return !f->ret || !la->e->ret || f->ret == la->e->ret || (any && la->foreign);
	if (la->entered != PUGMARK_NONE)
		return la->origin == t->ret;
	if (!la->e->ret || !(p->plans[f->module]->sites[la->e->site].capture & CAPTURE_RET))
		return true;
	const struct plan_node *call = node_at(p, f->module, t->ret);
	return la->e->ret == la->e->bias + call->addr + call->call_len;
}

/* The alternative of the topmost frame's decision that the event begins; PUGMARK_NONE: none. */
static uint32_t alternative_for(struct parser *p, const struct frame *f, uint32_t decision,
				const struct lookahead *la, uint32_t *empty)
{
	*empty = PUGMARK_NONE;
	if (decision == PUGMARK_NONE)
		return PUGMARK_NONE;
	const struct decision_table *t = parse_tables_at(p->tables[f->module], decision);
	if (!t) {
		p->failed = true;
		return PUGMARK_NONE;
	}
	*empty = t->empty;
	if (la->e->module != f->module)
		return PUGMARK_NONE;
	uint32_t lo = 0, hi = t->n - t->n_any;
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		if (t->entries[mid].site < la->e->site)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (uint32_t i = lo; i < t->n - t->n_any && t->entries[i].site == la->e->site; i++)
		if (fits(p, la, &t->entries[i], f))
			return t->entries[i].alt;
	if (la->entered != PUGMARK_NONE)
		for (uint32_t i = t->n - t->n_any; i < t->n; i++)
			if (fits(p, la, &t->entries[i], f))
				return t->entries[i].alt;
	return PUGMARK_NONE;
}

/* Whether the call @n, through a register or by name, can be one of @func itself. A library that
 * jumps to a callback as its last step looks just like it. */
static bool may_call(const struct plan_node *n, uint32_t func)
{
	return !n->import || n->callee == func;
}

/* Whether the open call of an AT_CALL frame is where the event was entered from. */
static bool enters_through(const struct parser *p, const struct frame *f,
			   const struct lookahead *la)
{
	if (la->entered == PUGMARK_NONE || la->e->module != f->module)
		return false;
	const struct plan_node *n = node_at(p, f->module, f->node);
	if (f->foreign_target && !la->foreign)
		return false;
	if (n->flags & NODE_TAIL) {
		if (la->foreign)
			return f->cfa && f->cfa == la->cfa; /* from what was jumped to */
		return (!f->cfa || f->cfa == la->e->cfa) && (!f->ret || f->ret == la->e->ret);
	}
	if (la->origin != f->node)
		return false;
	if (f->call_cfa)
		return f->call_cfa == la->cfa;
	bool depths = f->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN;
	return !depths || f->cfa - la->cfa == (uint64_t)n->height;
}

/* Whether the event can be reached from here by the grammar alone. Changes nothing. */
static bool derivable(struct parser *p, const struct lookahead *la)
{
	uint8_t position = p->position;
	for (uint32_t i = p->n; i-- > 0;) {
		const struct frame *f = &p->stack[i];
		uint32_t decision = f->decision;
		if (i + 1 < p->n) {
			if (p->stack[i + 1].boundary == BELOW_ROOT)
				return false;
			position = p->stack[i + 1].boundary == BELOW_CALLBACK  ? AT_CALL
				   : p->stack[i + 1].boundary == BELOW_HANDLER ? f->position
									       : AT_DECISION;
			if (p->stack[i + 1].boundary == BELOW_CALL)
				decision = node_at(p, f->module, f->node)->next;
		}
		if (position == AT_CALL) {
			const struct plan_node *n = node_at(p, f->module, f->node);
			if (enters_through(p, f, la))
				return true;
			if (n->flags & NODE_NORETURN)
				return false;
			if (n->flags & NODE_TAIL)
				continue;
			decision = n->next;
		}
		uint32_t empty;
		if (alternative_for(p, f, decision, la, &empty) != PUGMARK_NONE)
			return true;
		if (empty == PUGMARK_NONE)
			return false;
	}
	return false;
}

/* ---- what the grammar leaves to observation ---- */

static uint64_t stack_word(const struct witness_event *e, uint64_t addr)
{
	uint64_t i = (addr - e->stack_addr) / 8;
	return addr >= e->stack_addr && i < e->stack_words ? e->stack[i] : 0;
}

/* Whether @node is a call in progress of an open frame, at an unknown height, of what lies at
 * @cfa. */
static bool open_call_at(const struct parser *p, const struct witness_event *e, uint32_t node,
			 uint64_t cfa)
{
	for (uint32_t i = p->n; i-- > 0;) {
		const struct frame *f = &p->stack[i];
		bool inside = i + 1 < p->n || p->position == AT_CALL;
		if (!inside || f->module != e->module || f->node != node)
			continue;
		uint64_t at = i + 1 < p->n && p->stack[i + 1].boundary == BELOW_CALL
				      ? p->stack[i + 1].cfa
				      : f->call_cfa;
		if (at == cfa)
			return true;
	}
	return false;
}

/* Whether the call @node, with its return address in the slot below @cfa, is called by calls whose
 * return addresses are on the stack up to a frame that is open. */
static bool chain_reaches_stack(const struct parser *p, const struct witness_event *e,
				uint32_t node, uint64_t slot)
{
	const struct pugmark_plan *plan = p->plans[e->module];
	for (int depth = 0; depth < 512; depth++) {
		const struct plan_node *n = &plan->nodes[node];
		if (n->height == PUGMARK_HEIGHT_UNKNOWN)
			return open_call_at(p, e, node, slot + 8);
		uint64_t cfa = slot + 8 + n->height;
		for (uint32_t i = p->n; i-- > 0 && (!p->stack[i].cfa || p->stack[i].cfa <= cfa);)
			if (p->stack[i].cfa == cfa && p->stack[i].func == n->func)
				return true;
		uint64_t ret = stack_word(e, cfa - 8) - e->bias;
		uint32_t caller = parse_tables_call_before(p->tables[e->module], ret);
		if (caller == PUGMARK_NONE || plan->nodes[caller].callee != n->func)
			return false;
		slot = cfa - 8;
		node = caller;
	}
	return false;
}

/* The innermost call of ours on the stack of an event that came from another module, and the CFA
 * of what it called. */
static uint32_t origin_on_stack(const struct parser *p, const struct witness_event *e,
				uint64_t *cfa)
{
	for (uint32_t i = 0; i < e->stack_words; i++) {
		uint32_t node =
			parse_tables_call_before(p->tables[e->module], e->stack[i] - e->bias);
		uint64_t slot = e->stack_addr + 8 * (uint64_t)i;
		if (node != PUGMARK_NONE && chain_reaches_stack(p, e, node, slot)) {
			*cfa = slot + 8;
			return node;
		}
	}
	return PUGMARK_NONE;
}

static struct lookahead look(struct parser *p, const struct witness_event *e)
{
	const struct pugmark_plan *plan = p->plans[e->module];
	uint32_t node = parse_tables_node_of(p->tables[e->module], e->site);
	struct lookahead la = {
		.e = e,
		.entered = parse_tables_entered_by(p->tables[e->module], e->site),
		.origin = PUGMARK_NONE,
		.own_cfa = plan->sites[e->site].cfa_reg != CFA_UNKNOWN &&
			   !(plan->nodes[node].flags & NODE_CALLEE_CFA),
		.cfa = e->cfa,
	};
	if (la.entered == PUGMARK_NONE || !e->ret)
		return la;
	la.origin = parse_tables_call_before(p->tables[e->module], e->ret - e->bias);
	if (la.origin == PUGMARK_NONE) {
		la.foreign = true;
		la.origin = origin_on_stack(p, e, &la.cfa);
	}
	return la;
}

static void enter_from_outside(struct parser *p, const struct lookahead *la, uint8_t boundary,
			       uint8_t cause)
{
	struct frame f = {
		.func = la->entered,
		.module = la->e->module,
		.cfa = la->own_cfa ? la->e->cfa : 0,
		.ret = la->e->ret,
		.boundary = boundary,
	};
	if (boundary == BELOW_HANDLER)
		top(p)->position = p->position;
	emit_frame(p, TRACE_ENTER, cause, &f);
	push_frame(p, f);
	at_decision(p, p->plans[f.module]->funcs[f.func].entry);
}

static void unwind_to(struct parser *p, uint32_t n)
{
	while (p->n > n) {
		emit_frame(p, TRACE_UNWIND, CAUSE_NONE, top(p));
		p->n--;
	}
}

/* A landing pad or second return of setjmp: the frame that survived, the rest is unwound. */
static bool try_unwinding(struct parser *p, const struct lookahead *la)
{
	uint32_t node = parse_tables_node_of(p->tables[la->e->module], la->e->site);
	const struct plan_node *n = node_at(p, la->e->module, node);
	if (!(n->flags & NODE_ROOT))
		return false;
	for (uint32_t i = p->n; i-- > 0;) {
		const struct frame *f = &p->stack[i];
		if (f->func != n->func || f->module != la->e->module)
			continue;
		if (f->cfa && la->own_cfa && f->cfa != la->e->cfa)
			continue;
		struct frame *t = &p->stack[p->n - 1];
		if (p->position == AT_CALL && !t->announced)
			emit_call(p, t->module, node_at(p, t->module, t->node), PUGMARK_NONE);
		t->announced = false;
		unwind_to(p, i + 1);
		take_event(p, node, la->e);
		return true;
	}
	return false;
}

/* Starts anew at the event itself: in the open frame that it belongs to, or in a new one. */
static void reanchor(struct parser *p, const struct lookahead *la, uint8_t cause)
{
	const struct witness_event *e = la->e;
	uint32_t node = parse_tables_node_of(p->tables[e->module], e->site);
	const struct plan_node *n = node_at(p, e->module, node);
	emit_gap(p, cause);
	uint32_t i = p->n;
	while (i > 0) {
		const struct frame *f = &p->stack[i - 1];
		if (f->func == n->func && f->module == e->module && f->cfa && la->own_cfa &&
		    f->cfa == e->cfa)
			break;
		i--;
	}
	p->n = i;
	if (!i)
		push_frame(p, (struct frame){
				      .func = n->func,
				      .module = e->module,
				      .cfa = la->own_cfa ? e->cfa : 0,
				      .boundary = BELOW_ROOT,
			      });
	take_event(p, node, e);
}

/* ---- one event ---- */

/* Follows the grammar to the node that the event witnesses. Returns false where none leads there;
 * what was passed in silence until then stays passed. */
static bool derive(struct parser *p, const struct lookahead *la)
{
	while (p->n && !p->failed) {
		struct frame *f = top(p);
		if (p->position == AT_CALL) {
			const struct plan_node *n = node_at(p, f->module, f->node);
			if (enters_through(p, f, la)) {
				if (la->foreign || !may_call(n, la->entered)) {
					if (!f->announced)
						emit_call(p, f->module, n, PUGMARK_NONE);
					f->announced = true;
					enter_from_outside(p, la, BELOW_CALLBACK, CAUSE_CALLBACK);
				} else {
					emit_call(p, f->module, n, la->entered);
					enter_callee(p, f->node, la->entered, la->e->cfa,
						     la->e->ret);
				}
				continue;
			}
			if (n->flags & NODE_NORETURN)
				return false;
			leave_unknown(p);
			continue;
		}
		if (p->position != AT_DECISION)
			return false;
		uint32_t empty;
		uint32_t alt = alternative_for(p, f, f->decision, la, &empty);
		if (alt == PUGMARK_NONE)
			alt = empty;
		if (alt == PUGMARK_NONE)
			return false;
		const struct plan_node *n = node_at(p, f->module, alt);
		if (n->site == PUGMARK_NONE) {
			pass_node(p, alt, la->e);
			continue;
		}
		if (n->site != la->e->site || la->e->module != f->module)
			return false;
		take_event(p, alt, la->e);
		return true;
	}
	return false;
}

static void feed_witness(struct parser *p, const struct witness_event *e)
{
	struct lookahead la = look(p, e);
	uint32_t node = parse_tables_node_of(p->tables[e->module], e->site);
	bool root = node_at(p, e->module, node)->flags & NODE_ROOT;
	if (p->lost || p->position == LOST) {
		reanchor(p, &la, CAUSE_LOST);
		return;
	}
	bool outside = p->position == OUTSIDE;
	if (outside && la.entered != PUGMARK_NONE) {
		enter_from_outside(p, &la, BELOW_ROOT, CAUSE_THREAD);
	} else if (!outside && (root || la.foreign) && !derivable(p, &la)) {
		if (try_unwinding(p, &la))
			return;
		if (la.foreign) {
			bool in_call = p->position == AT_CALL;
			struct frame *f = top(p);
			if (in_call && !f->announced) {
				emit_call(p, f->module, node_at(p, f->module, f->node),
					  PUGMARK_NONE);
				f->announced = true;
			}
			enter_from_outside(p, &la, in_call ? BELOW_CALLBACK : BELOW_HANDLER,
					   in_call ? CAUSE_CALLBACK : CAUSE_SIGNAL);
		}
	}
	if (!derive(p, &la) && !p->failed)
		reanchor(p, &la, CAUSE_MODEL);
}

/* The task has ended: what is still open and can end in silence does. @signal: it was killed, so
 * nothing more is known to have run. */
static void finish(struct parser *p, bool killed)
{
	/* A call in progress was made, whatever has become of it. */
	if (p->n && p->position == AT_CALL && !top(p)->announced) {
		struct frame *f = top(p);
		emit_call(p, f->module, node_at(p, f->module, f->node), PUGMARK_NONE);
		f->announced = true;
	}
	while (p->n && !killed && !p->failed) {
		struct frame *f = top(p);
		if (p->position == AT_CALL) {
			const struct plan_node *n = node_at(p, f->module, f->node);
			if (n->flags & NODE_NORETURN) {
				if (!f->announced)
					emit_call(p, f->module, n, PUGMARK_NONE);
				break;
			}
			leave_unknown(p);
			continue;
		}
		if (p->position != AT_DECISION || f->decision == PUGMARK_NONE)
			break;
		const struct decision_table *t = parse_tables_at(p->tables[f->module], f->decision);
		if (!t || t->empty == PUGMARK_NONE)
			break;
		pass_node(p, t->empty, NULL);
	}
	p->n = 0;
	p->position = OUTSIDE;
}

int parser_feed(struct parser *p, const struct witness_event *e)
{
	p->now_ns = e->time_ns;
	switch (e->kind) {
	case EVENT_WITNESS:
		if (e->module >= p->n_modules || e->site >= p->plans[e->module]->n_sites ||
		    parse_tables_node_of(p->tables[e->module], e->site) == PUGMARK_NONE) {
			emit_gap(p, CAUSE_RECORDING);
			break;
		}
		feed_witness(p, e);
		break;
	case EVENT_LOST:
		p->lost += e->lost;
		p->position = LOST;
		break;
	case EVENT_END:
		if (p->lost)
			emit_gap(p, CAUSE_LOST);
		finish(p, e->val != 0);
		break;
	case EVENT_EXEC:
	case EVENT_STOP:
		if (p->lost)
			emit_gap(p, CAUSE_LOST);
		finish(p, true);
		break;
	default:
		break;
	}
	p->last_ns = e->time_ns;
	return p->failed ? -ENOMEM : 0;
}

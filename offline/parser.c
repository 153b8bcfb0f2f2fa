// SPDX-License-Identifier: LGPL-2.1-or-later
/* parser.c: the LL(1) parser. Its state is a stack of frames and a position in the topmost (see
 * parser_state.h), moved along the grammar here. Each event is first only looked for: in the
 * decision that the topmost frame is before, and, as long as frames can end in silence, in those
 * below. Where an alternative is found that it begins, all that is silent up to it is reported, and
 * the event is taken. What cannot be found is tried as what the grammar leaves to observation
 * (unwinding, a handler, a new root), and only then is a gap; nothing is reported before it is
 * known to have happened. */
#include "offline/parser.h"

#include "offline/parser_state.h"
#include "offline/stack_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A parser without tables is only kept, and needs none. */
static bool make_caches(struct parser *p)
{
	p->origins = calloc(ORIGINS, sizeof(*p->origins));
	p->moves = aligned_alloc(64, MOVES * sizeof(*p->moves));
	p->shortcuts = parser_shortcuts_new();
	if (!p->origins || !p->moves || !p->shortcuts)
		return false;
	for (uint32_t i = 0; i < MOVES; i++)
		p->moves[i].decision = PUGMARK_NONE;
	return true;
}

int parser_new(struct parse_tables *const *tables, const struct pugmark_plan *const *plans,
	       uint32_t n_modules, struct parser **out)
{
	struct parser *p = n_modules <= PARSER_MODULES_MAX ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return -ENOMEM;
	*p = (struct parser){
		.tables = tables,
		.plans = plans,
		.n_modules = n_modules,
		.position = OUTSIDE,
	};
	for (uint32_t i = 0; i < n_modules; i++)
		p->unsure |= tables[i] && tables[i]->unsure_call;
	if (!make_caches(p)) {
		parser_free(p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

void parser_free(struct parser *p)
{
	if (!p)
		return;
	parser_forget_contexts(p);
	free(p->contexts);
	free(p->origins);
	free(p->moves);
	free(p->shortcuts);
	free(p->stack);
	free(p->handlers);
	free(p->out);
	free(p);
}

int parser_fork(const struct parser *parent, struct parse_tables *const *tables,
		struct parser **out)
{
	struct parser *p = malloc(sizeof(*p));
	if (!p)
		return -ENOMEM;
	*p = *parent;
	p->tables = tables;
	p->origins = NULL;
	p->moves = NULL;
	p->shortcuts = NULL;
	p->out = NULL;
	p->n_out = p->cap_out = 0;
	p->gaps = 0;
	p->lost = 0;
	p->placed = false;
	p->begun = true;
	if (parser_copy_contexts(p, parent) || (tables && !make_caches(p))) {
		parser_free(p);
		return -ENOMEM;
	}
	/* The call that forks was made by the parent. */
	if (p->n && p->position == AT_CALL)
		p->stack[p->n - 1].announced = true;
	*out = p;
	return 0;
}

/* What was remembered while modules stayed where they are. */
static void forget_places(struct parser *p)
{
	if (p->origins)
		memset(p->origins, 0, ORIGINS * sizeof(*p->origins));
	parser_forget_shortcuts(p);
}

void parser_set_bias(struct parser *p, uint16_t module, uint64_t bias)
{
	if (p->bias_known >> module & 1 && p->bias[module] == bias)
		return;
	p->bias[module] = bias;
	p->bias_known |= 1ull << module;
	forget_places(p);
}

void parser_forget_biases(struct parser *p)
{
	p->bias_known = 0;
	forget_places(p);
}

static bool grow_stack(struct parser *p)
{
	uint32_t cap = p->cap ? 2 * p->cap : p->context ? 8 : 256; /* there may be many */
	struct frame *stack = realloc(p->stack, cap * sizeof(*stack));
	if (!stack) {
		p->failed = true;
		return false;
	}
	p->stack = stack;
	p->cap = cap;
	return true;
}

/* Whether an event that fits in the topmost frame may as well be one after a call below. */
static void note_doubt(struct parser *p)
{
	struct frame *f = parser_top(p);
	f->doubtful = p->n > 1 && (f[-1].doubtful || parser_unsure_call(p, &f[-1]));
	p->doubted |= f->doubtful;
}

/* Inlined, as emit() is, so that what is passed by value is written to its place at once: a copy
 * would wait for the stores to what it copies. */
static inline __attribute__((always_inline)) struct frame *push_frame(struct parser *p,
								      struct frame frame)
{
	if (p->n < p->cap || grow_stack(p))
		p->stack[p->n++] = frame;
	if (p->unsure)
		note_doubt(p);
	return parser_top(p);
}

struct frame *parser_push(struct parser *p, struct frame frame)
{
	return push_frame(p, frame);
}

/* ---- what comes out ---- */

static bool grow_out(struct parser *p)
{
	uint32_t cap = p->cap_out ? 2 * p->cap_out : 1024;
	struct trace_event *out = realloc(p->out, cap * sizeof(*out));
	if (!out) {
		p->failed = true;
		return false;
	}
	p->out = out;
	p->cap_out = cap;
	return true;
}

static inline __attribute__((always_inline)) void emit(struct parser *p, struct trace_event event)
{
	if (p->n_out == p->cap_out && !grow_out(p))
		return;
	event.from_ns = p->from_ns;
	event.to_ns = p->now_ns;
	event.depth = p->n - p->gone;
	p->out[p->n_out++] = event;
}

struct trace_event *parser_reserve(struct parser *p, uint32_t n)
{
	while (p->cap_out - p->n_out < n)
		if (!grow_out(p))
			return NULL;
	return p->out + p->n_out;
}

struct trace_event *parser_events(struct parser *p, uint32_t *n)
{
	*n = p->n_out;
	return p->out;
}

void parser_emit(struct parser *p, const struct trace_event *event)
{
	if (p->n_out < p->cap_out || grow_out(p))
		p->out[p->n_out++] = *event;
}

void parser_emit_frame(struct parser *p, uint8_t kind, uint8_t cause, const struct frame *f)
{
	emit(p, (struct trace_event){
			.kind = kind,
			.cause = cause,
			.module = f->module,
			.func = f->func,
			.addr = p->plans[f->module]->funcs[f->func].addr,
		});
}

/* @callee, of module @to: PUGMARK_NONE where the call left the traced modules. */
static void emit_call(struct parser *p, uint16_t module, const struct plan_node *n, uint16_t to,
		      uint32_t callee)
{
	emit(p, (struct trace_event){
			.kind = n->flags & NODE_TAIL ? TRACE_TAIL : TRACE_CALL,
			.module = module,
			.target_module = to,
			.addr = n->addr,
			.func = callee,
			.target = callee == PUGMARK_NONE ? 0 : p->plans[to]->funcs[callee].addr,
			.import = p->plans[module]->strings + n->import,
		});
}

static void set_gone(struct parser *p, struct frame *f, bool gone)
{
	p->gone += gone;
	p->gone -= f->gone;
	f->gone = gone;
}

/* The call that the topmost frame is AT_CALL of, unless it has been reported. */
void parser_announce(struct parser *p)
{
	struct frame *f = parser_top(p);
	if (f->announced)
		return;
	const struct plan_node *n = node_at(p, f->module, f->node);
	emit_call(p, f->module, n, f->module, PUGMARK_NONE);
	f->announced = true;
	set_gone(p, f, n->flags & NODE_TAIL);
}

void parser_emit_gap(struct parser *p, uint8_t cause)
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
	parser_top(p)->decision = decision;
}

void parser_drop_frames(struct parser *p, uint32_t n)
{
	while (p->n > n) {
		p->gone -= p->stack[--p->n].gone;
		p->n_handlers -= p->stack[p->n].boundary == BELOW_HANDLER;
	}
	p->lowest = p->n < p->lowest ? p->n : p->lowest;
}

/* The topmost frame has ended: goes on in the one below it. */
static void pop_frame(struct parser *p)
{
	uint8_t boundary = parser_top(p)->boundary, hidden = parser_top(p)->hidden;
	if (boundary == BELOW_HANDLER) /* what was interrupted was so before the handler */
		p->from_ns = p->handlers[p->n_handlers - 1].since_ns;
	parser_drop_frames(p, p->n - 1);
	if (boundary == BELOW_GAP) {
		p->position = LOST;
		p->gap_cause = hidden;
		return;
	}
	if (!p->n || boundary == BELOW_ROOT) {
		p->position = OUTSIDE;
		return;
	}
	struct frame *f = parser_top(p);
	if (boundary == BELOW_CALLBACK)
		p->position = AT_CALL;
	else if (boundary == BELOW_HANDLER)
		p->position = f->position;
	else
		at_decision(p, node_at(p, f->module, f->node)->next);
}

static void return_from(struct parser *p)
{
	parser_emit_frame(p, TRACE_RET, CAUSE_NONE, parser_top(p));
	pop_frame(p);
}

/* The call @node of the topmost frame enters @callee of module @to. */
static void enter_callee(struct parser *p, uint32_t node, uint16_t to, uint32_t callee,
			 uint64_t cfa, uint64_t ret)
{
	struct frame *f = parser_top(p);
	const struct plan_node *n = node_at(p, f->module, node);
	uint32_t entry = p->plans[to]->funcs[callee].entry;
	f->node = node;
	f->call_cfa = 0;
	if (n->flags & NODE_TAIL) {
		f->func = callee;
		f->module = to;
	} else {
		push_frame(p, (struct frame){
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
		pop_frame(p); /* not modelled: taken as silent */
}

/* Whether @e is the event of node @n of @module. */
static bool shows(uint16_t module, const struct plan_node *n, const struct witness_event *e)
{
	return e && n->site == e->site && module == e->module;
}

/* Where the frame lies of what the call @n, in @f, has called: by its height, or else as its event
 * says; 0: not known. */
static uint64_t callee_cfa(const struct parser *p, const struct frame *f, const struct plan_node *n,
			   const struct witness_event *e)
{
	if (n->height != PUGMARK_HEIGHT_UNKNOWN)
		return f->cfa ? f->cfa - n->height : 0;
	if (!shows(f->module, n, e))
		return 0;
	if (n->flags & NODE_CALLEE_CFA)
		return e->cfa;
	/* a landing pad reads the stack from where the return address will be put below */
	bool reads = p->plans[f->module]->sites[n->site].capture & CAPTURE_STACK;
	return reads && e->stack ? e->stack_addr : 0;
}

static void follow_call(struct parser *p, uint32_t node, const struct witness_event *e)
{
	struct frame *f = parser_top(p);
	const struct plan_node *n = node_at(p, f->module, node);
	uint64_t cfa = f->cfa, ret = f->ret;
	if (!(n->flags & NODE_TAIL)) {
		cfa = callee_cfa(p, f, n, e);
		ret = e ? return_address(p, f->module, n) : 0;
	}
	emit_call(p, f->module, n, f->module, n->callee);
	enter_callee(p, node, f->module, n->callee, cfa, ret);
}

/* A call that left the module came back in silence. */
void parser_leave_call(struct parser *p)
{
	struct frame *f = parser_top(p);
	const struct plan_node *n = node_at(p, f->module, f->node);
	parser_announce(p);
	f->announced = false;
	if (n->flags & NODE_TAIL)
		pop_frame(p);
	else
		at_decision(p, n->next);
}

/* @target: run-time address, where the call's event or that of its jump has read it; else 0. */
static void follow_unknown(struct parser *p, uint32_t node, const struct witness_event *e,
			   uint64_t target)
{
	struct frame *f = parser_top(p);
	const struct plan_node *n = node_at(p, f->module, node);
	f->node = node;
	f->announced = f->foreign_target = false;
	f->call_cfa = n->height == PUGMARK_HEIGHT_UNKNOWN ? callee_cfa(p, f, n, e) : 0;
	p->position = AT_CALL;
	if (!target)
		return;
	uint16_t to = f->module;
	uint32_t callee = parser_function_at(p, target, &to);
	f->foreign_target =
		callee == PUGMARK_NONE || p->plans[to]->funcs[callee].entry == PUGMARK_NONE;
	if (f->foreign_target)
		return;
	bool known = f->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN;
	emit_call(p, f->module, n, to, callee);
	enter_callee(p, node, to, callee, known ? f->cfa - n->height : 0,
		     return_address(p, f->module, n));
}

/* The target that the event @e of call @n has read, or 0. */
static uint64_t target_read(const struct parser *p, uint16_t module, const struct plan_node *n,
			    const struct witness_event *e)
{
	bool read = shows(module, n, e) && p->plans[module]->sites[n->site].kind == WITNESS_TARGET;
	return read ? e->val : 0;
}

/* Where an indirect jump went. */
static uint32_t decision_at_target(const struct pugmark_plan *plan, const struct plan_node *n,
				   uint64_t addr)
{
	const struct plan_target *t = &plan->targets[n->next];
	uint32_t elsewhere = PUGMARK_NONE;
	for (uint32_t i = 0; i < n->next_taken; i++) {
		if (t[i].addr == addr)
			return t[i].decision;
		if (t[i].addr == PLAN_TARGET_ELSEWHERE)
			elsewhere = t[i].decision;
	}
	return elsewhere;
}

/* The indirect jump @n whose event is @e: where it leaves the function, the event has told where it
 * goes to as well. */
static void follow_jump(struct parser *p, const struct plan_node *n, const struct witness_event *e)
{
	const struct pugmark_plan *plan = p->plans[parser_top(p)->module];
	uint32_t decision = decision_at_target(plan, n, e->val - e->bias);
	at_decision(p, decision);
	if (decision == PUGMARK_NONE || plan->decisions[decision].n != 1)
		return;
	uint32_t node = plan->alternatives[plan->decisions[decision].first];
	const struct plan_node *leave = &plan->nodes[node];
	if (leave->kind == NODE_KIND_UNKNOWN && leave->flags & NODE_TAIL &&
	    leave->site == PUGMARK_NONE && leave->addr == plan->sites[n->site].addr)
		follow_unknown(p, node, NULL, e->val);
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
	struct frame *f = parser_top(p);
	const struct plan_node *n = node_at(p, f->module, node);
	if (n->flags & NODE_SHOWS_BLOCK)
		emit_block(p, f->module, n);
	if (n->flags & NODE_UNTOLD) {
		parser_emit_gap(p, CAUSE_UNRESOLVED);
		p->position = LOST;
		p->gap_cause = CAUSE_UNRESOLVED;
		return;
	}
	switch (n->kind) {
	case NODE_KIND_EXIT:
	case NODE_KIND_RETURN:
		return_from(p);
		break;
	case NODE_KIND_CALL:
		follow_call(p, node, e);
		break;
	case NODE_KIND_LEAF:
		emit_call(p, f->module, n, f->module, PUGMARK_NONE);
		f->node = node;
		f->call_cfa = 0;
		if (n->flags & NODE_TAIL)
			pop_frame(p);
		else
			at_decision(p, n->next);
		break;
	case NODE_KIND_UNKNOWN:
		follow_unknown(p, node, e, target_read(p, f->module, n, e));
		break;
	case NODE_KIND_BRANCH:
		at_decision(p, e->val ? n->next_taken : n->next);
		break;
	case NODE_KIND_TARGET:
		follow_jump(p, n, e);
		break;
	default:
		at_decision(p, n->next);
	}
}

void parser_pass(struct parser *p, uint32_t node, const struct witness_event *e)
{
	pass_node(p, node, e);
}

/* What the event's site read for those who look at the trace. */
static void emit_values(struct parser *p, const struct plan_site *site,
			const struct witness_event *e)
{
	uint8_t what = site->reads & READS_RESULT ? VALUE_RETURNED
		       : site->reads & READS_CALL ? VALUE_PASSED
						  : VALUE_TAKEN;
	for (uint32_t i = 0; i < e->n_values; i++)
		emit(p, (struct trace_event){
				.kind = TRACE_VALUE,
				.cause = what,
				.module = e->module,
				.addr = site->addr,
				.target = e->values[i],
				.func = i,
				.import = "",
			});
}

/* The event of @node in its own frame: the frame's CFA is known from now on. */
void parser_take_event(struct parser *p, uint32_t node, const struct witness_event *e)
{
	struct frame *f = parser_top(p);
	const struct plan_node *n = node_at(p, f->module, node);
	const struct plan_site *site = &p->plans[f->module]->sites[e->site];
	set_gone(p, f, false);
	if (site->cfa_reg != CFA_UNKNOWN && !(n->flags & NODE_CALLEE_CFA))
		f->cfa = e->cfa;
	if (site->capture & CAPTURE_RET && e->ret)
		f->ret = e->ret;
	if (e->n_values)
		emit_values(p, site, e);
	f->node = 0;
	f->call_cfa = 0;
	pass_node(p, node, e);
}

/* ---- along the alternatives ---- */

/* The topmost frame, which is AT_DECISION, ends in silence. Returns false where it cannot. */
static bool end_frame(struct parser *p)
{
	if (parser_shortcut_to_end(p)) {
		pop_frame(p);
		return true;
	}
	struct shortcut_start start = parser_shortcut_start(p);
	while (p->lowest == start.n && !p->failed) {
		if (p->position == AT_CALL) {
			parser_leave_call(p);
			continue;
		}
		if (p->position == LOST) /* by a jump that nothing tells of */
			return false;
		struct frame *f = parser_top(p);
		const struct decision_table *t = parse_tables_at(p->tables[f->module], f->decision);
		if (!t || t->empty == PUGMARK_NONE) {
			p->failed |= !t;
			return false;
		}
		pass_node(p, t->empty, NULL);
	}
	parser_keep_end(p, &start);
	return true;
}

void parser_end_before(struct parser *p, uint32_t n, const struct lookahead *la)
{
	while (p->n > n && !p->failed) {
		if (p->position == AT_CALL) {
			parser_leave_call(p);
			continue;
		}
		if (la)
			parser_keep_past(p, la);
		if (!end_frame(p))
			return;
	}
}

void parser_end_frames(struct parser *p, uint32_t n)
{
	parser_end_before(p, n, NULL);
}

/* What comes next is BELOW_HANDLER. */
static void interrupt(struct parser *p)
{
	if (p->n)
		parser_top(p)->position = p->position;
	if (p->n_handlers == p->cap_handlers) {
		uint32_t cap = p->cap_handlers ? 2 * p->cap_handlers : 8;
		struct interruption *more = realloc(p->handlers, cap * sizeof(*more));
		p->failed |= !more;
		if (!more)
			return;
		p->handlers = more;
		p->cap_handlers = cap;
	}
	p->handlers[p->n_handlers++] = (struct interruption){.frame = p->n, .since_ns = p->last_ns};
}

void parser_enter(struct parser *p, const struct lookahead *la, uint8_t boundary, uint8_t cause)
{
	struct frame f = {
		.func = la->entered,
		.module = la->e->module,
		.cfa = la->own_cfa ? la->e->cfa : 0,
		.ret = la->e->ret,
		.boundary = boundary,
	};
	if (boundary == BELOW_HANDLER)
		interrupt(p);
	parser_emit_frame(p, TRACE_ENTER, cause, &f);
	push_frame(p, f);
	at_decision(p, p->plans[f.module]->funcs[f.func].entry);
}

/* Whether the call @n of @module, through a register or by name, can be one of @func of module @to
 * itself. A library that jumps to a callback as its last step looks just like it, and so does a
 * function that is not traced. */
static bool may_call(const struct parser *p, uint16_t module, const struct plan_node *n,
		     uint16_t to, uint32_t func)
{
	if (!n->import && n->callee == PUGMARK_NONE)
		return true;
	if (module == to)
		return n->callee == func || n->flags & NODE_IFUNC;
	return n->import && p->plans[to]->funcs[func].flags & PLAN_FUNC_EXPORTED;
}

void parser_call_into(struct parser *p, uint16_t module, uint32_t func)
{
	struct frame *f = parser_top(p);
	const struct plan_node *n = node_at(p, f->module, f->node);
	uint64_t cfa = f->call_cfa, ret = return_address(p, f->module, n);
	if (n->flags & NODE_TAIL)
		cfa = f->cfa;
	else if (!cfa && f->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN)
		cfa = f->cfa - n->height;
	bool itself = !f->announced && !f->foreign_target;
	if (itself && may_call(p, f->module, n, module, func)) {
		emit_call(p, f->module, n, module, func);
		enter_callee(p, f->node, module, func, cfa, ret);
		return;
	}
	struct witness_event entry = {.module = module, .cfa = cfa, .ret = ret};
	struct lookahead la = {.e = &entry, .entered = func, .own_cfa = cfa != 0};
	if (n->flags & NODE_TAIL)
		entry.ret = f->ret;
	parser_announce(p);
	parser_enter(p, &la, BELOW_CALLBACK, CAUSE_CALLBACK);
}

/* The event came through the call that the topmost frame is in. */
static void enter_by_call(struct parser *p, const struct lookahead *la)
{
	struct frame *f = parser_top(p);
	const struct plan_node *n = node_at(p, f->module, f->node);
	/* A call of which it is known that it left the module was not one of this function. */
	if (la->foreign || f->announced || (la->jumped_back && f->foreign_target) ||
	    !may_call(p, f->module, n, la->e->module, la->entered)) {
		parser_announce(p);
		parser_enter(p, la, BELOW_CALLBACK, CAUSE_CALLBACK);
		return;
	}
	emit_call(p, f->module, n, la->e->module, la->entered);
	enter_callee(p, f->node, la->e->module, la->entered, la->e->cfa, la->e->ret);
}

/* From a decision of the topmost frame on. @alt: what parser_find() said of it. */
static bool derive_on(struct parser *p, const struct lookahead *la, uint32_t alt)
{
	while (p->n && !p->failed) {
		struct frame *f = parser_top(p);
		if (p->position == AT_CALL) {
			if (parser_enters_through(p, f, la))
				enter_by_call(p, la);
			else if (node_at(p, f->module, f->node)->flags & NODE_NORETURN)
				return false;
			else
				parser_leave_call(p);
			continue;
		}
		uint32_t level, found, empty = PUGMARK_NONE;
		if (p->position != AT_DECISION ||
		    (f->doubtful && !parser_find(p, la, &level, &found) && p->torn))
			return false;
		if (alt == PUGMARK_NONE)
			alt = parser_alternative(p, f, f->decision, la, &empty);
		if (p->torn)
			return false;
		if (alt == PUGMARK_NONE)
			alt = empty;
		if (alt == PUGMARK_NONE)
			return false;
		const struct plan_node *n = node_at(p, f->module, alt);
		if (n->site == PUGMARK_NONE) {
			pass_node(p, alt, la->e);
			alt = PUGMARK_NONE;
			continue;
		}
		if (n->site != la->e->site || la->e->module != f->module)
			return false;
		parser_take_event(p, alt, la->e);
		return true;
	}
	return false;
}

/* Follows the grammar to the node that the event witnesses. Returns false where none leads there,
 * which after parser_find() is a fault of the plan. @first is the alternative that parser_find()
 * gave for the topmost frame, or PUGMARK_NONE. */
bool parser_derive(struct parser *p, const struct lookahead *la, uint32_t first)
{
	uint32_t empty;
	p->torn = false;
	while (p->n && p->position == AT_CALL && !parser_enters_through(p, parser_top(p), la)) {
		struct frame *f = parser_top(p);
		if (node_at(p, f->module, f->node)->flags & NODE_NORETURN)
			return false;
		parser_leave_call(p);
	}
	if (!p->n || p->position != AT_DECISION)
		return derive_on(p, la, PUGMARK_NONE);
	const struct frame *f = parser_top(p);
	if (first == PUGMARK_NONE)
		first = parser_alternative(p, f, f->decision, la, &empty);
	if (first == PUGMARK_NONE)
		return derive_on(p, la, PUGMARK_NONE);
	if (parser_shortcut_here(p, la->e))
		return true;
	struct shortcut_start start = parser_shortcut_start(p);
	bool derived = derive_on(p, la, first);
	if (derived)
		parser_keep_to_event(p, &start, la);
	return derived;
}

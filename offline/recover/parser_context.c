// SPDX-License-Identifier: LGPL-2.1-or-later
/* parser_context.c: threads that go on on another stack. Each stack is a context with frames of its
 * own: one is the parser's, the others are kept as they were left. Where a thread can leave one, by
 * a call that may switch (PUGMARK_NODE_SWITCHES) or never returns, or with its last frame, an event
 * of the same frame, or the entry of a function that no call explains, says where it went: back to
 * a context that was left, to a new one, or to one that another thread has left, whose frames the
 * stack tells. */
#include "offline/recover/parser_state.h"
#include "offline/recover/stack_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 512	   /* of a context that another thread has left */
#define CONTEXTS_MAX 65536 /* that are kept */
#define FIRST_FRAMES 8	   /* there may be many contexts */

static struct context current_of(const struct parser *p)
{
	return (struct context){
		.stack = p->stack,
		.handlers = p->handlers,
		.n = p->n,
		.cap = p->cap,
		.gone = p->gone,
		.n_handlers = p->n_handlers,
		.cap_handlers = p->cap_handlers,
		.id = p->context,
		.position = p->position,
		.gap_cause = p->gap_cause,
	};
}

static void make_current(struct parser *p, const struct context *c)
{
	p->stack = c->stack;
	p->handlers = c->handlers;
	p->n = c->n;
	p->cap = c->cap;
	p->gone = c->gone;
	p->n_handlers = c->n_handlers;
	p->cap_handlers = c->cap_handlers;
	p->context = c->id;
	p->position = c->position;
	p->gap_cause = c->gap_cause;
}

static void free_context(struct context *c)
{
	free(c->stack);
	free(c->handlers);
}

void parser_forget_contexts(struct parser *p)
{
	while (p->n_contexts)
		free_context(&p->contexts[--p->n_contexts]);
}

static bool copy_context(struct context *to, const struct context *from)
{
	*to = *from;
	to->cap = from->n + 1;
	to->cap_handlers = from->n_handlers;
	to->stack = malloc(to->cap * sizeof(*to->stack));
	to->handlers = malloc((from->n_handlers + 1) * sizeof(*to->handlers));
	if (to->stack && from->n)
		memcpy(to->stack, from->stack, from->n * sizeof(*to->stack));
	if (to->handlers && from->n_handlers)
		memcpy(to->handlers, from->handlers, from->n_handlers * sizeof(*to->handlers));
	return to->stack && to->handlers;
}

int parser_copy_contexts(struct parser *p, const struct parser *from)
{
	struct context own, now = current_of(from);
	p->contexts = NULL;
	p->n_contexts = p->cap_contexts = 0;
	bool copied = copy_context(&own, &now);
	make_current(p, &own);
	if (from->n_contexts)
		p->contexts = calloc(from->n_contexts, sizeof(*p->contexts));
	if (!copied || (from->n_contexts && !p->contexts))
		return -ENOMEM;
	p->cap_contexts = from->n_contexts;
	for (uint32_t i = 0; i < from->n_contexts; i++) {
		p->n_contexts++;
		if (!copy_context(&p->contexts[i], &from->contexts[i]))
			return -ENOMEM;
	}
	return 0;
}

static struct context take_kept(struct parser *p, uint32_t i)
{
	struct context c = p->contexts[i];
	memmove(&p->contexts[i], &p->contexts[i + 1], (p->n_contexts - i - 1) * sizeof(c));
	p->n_contexts--;
	return c;
}

/* ---- leaving one ---- */

/* Whether the thread may be leaving its stack where frame @f is: in a call that may do that, in a
 * function that does nothing else, or behind a jump that does. */
static bool may_switch_in(const struct parser *p, const struct frame *f, uint8_t position)
{
	uint32_t flags = p->plans[f->module]->funcs[f->func].flags;
	if (position == AT_CALL)
		return node_at(p, f->module, f->node)->flags & PUGMARK_NODE_SWITCHES;
	return position == AT_DECISION &&
	       (flags & PUGMARK_PLAN_FUNC_SWITCHES ||
		(flags & PUGMARK_PLAN_FUNC_LEAVES && parser_in_noreturn(p, f, position)));
}

/* The same, or, where the call may be of longjmp, in one that never returns. */
static bool may_leave_in(const struct parser *p, const struct frame *f, uint8_t position,
			 bool longjmp)
{
	return may_switch_in(p, f, position) || (longjmp && parser_in_noreturn(p, f, position));
}

uint32_t parser_leaving(struct parser *p, bool longjmp)
{
	if (!p->n || may_leave_in(p, parser_top(p), p->position, longjmp))
		return p->n;
	for (uint32_t h = p->n_handlers; h-- > 0;) {
		uint32_t n = p->handlers[h].frame;
		if (!n || parser_can_end_down_to(p, n) != n)
			return 0;
		const struct frame *f = &p->stack[n - 1];
		if (may_leave_in(p, f, f->position, longjmp))
			return n;
	}
	return 0;
}

/* Between which addresses its frames are. They go down, but for those of handlers. */
static void note_span(struct context *c)
{
	c->low = c->high = 0;
	for (uint32_t i = 0; i < c->n && !c->high; i++)
		c->high = c->stack[i].cfa;
	for (uint32_t i = c->n; i-- > 0 && (!c->low || c->n_handlers);) {
		uint64_t cfa = c->stack[i].cfa;
		if (cfa && (!c->low || cfa < c->low))
			c->low = cfa;
		if (cfa > c->high)
			c->high = cfa;
	}
}

/* Makes room for one more. Past the limit the oldest but the thread's own is forgotten. */
static bool make_room(struct parser *p)
{
	if (p->n_contexts == CONTEXTS_MAX) {
		struct context oldest = take_kept(p, p->contexts[0].id ? 0 : 1);
		free_context(&oldest);
	}
	if (p->n_contexts < p->cap_contexts)
		return true;
	uint32_t cap = p->cap_contexts ? 2 * p->cap_contexts : 4;
	struct context *more = realloc(p->contexts, cap * sizeof(*more));
	if (!more) {
		p->failed = true;
		return false;
	}
	p->contexts = more;
	p->cap_contexts = cap;
	return true;
}

/* Keeps the current context for later, and goes on in @next. */
static void switch_to(struct parser *p, const struct context *next)
{
	if (p->n && p->position == AT_CALL)
		parser_announce(p);
	parser_emit(p, &(struct pugmark_trace_event){
			       .kind = PUGMARK_TRACE_SWITCH,
			       .from_ns = p->from_ns,
			       .to_ns = p->now_ns,
			       .func = next->id,
			       .depth = p->n - p->gone,
			       .import = "",
		       });
	struct context left = current_of(p);
	if (!left.n || !make_room(p)) {
		free_context(&left);
		make_current(p, next);
		return;
	}
	note_span(&left);
	p->contexts[p->n_contexts++] = left;
	make_current(p, next);
}

/* What the context does before it is left is known: it is where it may be left, or all of its
 * frames end in silence. Else it is given up. */
static void end_or_leave(struct parser *p)
{
	if (!p->n || p->position == LOST)
		return;
	uint32_t open = parser_leaving(p, true);
	if (open) {
		parser_end_frames(p, open);
		return;
	}
	if (parser_can_end_down_to(p, 0) == 0) {
		parser_end_frames(p, 0);
		return;
	}
	parser_emit_gap(p, PUGMARK_CAUSE_SWITCH);
	p->position = LOST;
	p->gap_cause = PUGMARK_CAUSE_SWITCH;
}

/* ---- going on in one ---- */

/* Whether the frames of the current context are those that the stack of the event shows. */
static bool frames_intact(const struct parser *p, const struct pugmark_witness_event *e)
{
	for (uint32_t i = p->n; i-- > 0;) {
		const struct frame *f = &p->stack[i];
		if (!stack_slot_holds(p, e, f->cfa, f->ret))
			return false;
		if (f->cfa > e->cfa && !stack_word_below(e, f->cfa - 8))
			break; /* so do those above */
	}
	return true;
}

/* How many frames the current context has up to one that the event comes back to, in a call that
 * may switch, if it is that stack but as a whole @*by higher, as the stack of the event shows; 0:
 * it is not. Who makes stacks may move them: those of Go grow so. */
static uint32_t moved_frames(const struct parser *p, const struct lookahead *la, uint64_t *by)
{
	const struct pugmark_witness_event *e = la->e;
	uint32_t node = parse_tables_node_of(p->tables[e->module], e->site), n = p->n, seen = 0;
	uint32_t call =
		parse_tables_return_to(p->tables[e->module], node_at(p, e->module, node)->addr);
	if (call == PUGMARK_NONE || !(node_at(p, e->module, call)->flags & PUGMARK_NODE_SWITCHES))
		return 0;
	while (n && (p->stack[n - 1].module != e->module || p->stack[n - 1].node != call))
		n--;
	if (!n || !p->stack[n - 1].cfa ||
	    !(n == p->n ? p->position == AT_CALL : p->stack[n].boundary == BELOW_CALL))
		return 0;
	*by = e->cfa - p->stack[n - 1].cfa;
	for (uint32_t i = n; i-- > 0;) {
		const struct frame *f = &p->stack[i];
		uint64_t word;
		if (!f->cfa || !f->ret)
			continue;
		if (!stack_word_below(e, f->cfa + *by - 8))
			break; /* as are those above, what was copied of the stack does not show */
		if (!stack_word(e, f->cfa + *by - 8, &word))
			continue;
		if (word != f->ret)
			return 0;
		seen++;
	}
	return *by && seen ? n : 0;
}

/* The same, and the frames are where the stack is now. */
static bool follow_move(struct parser *p, const struct lookahead *la)
{
	uint64_t by;
	uint32_t n = moved_frames(p, la, &by);
	for (uint32_t i = 0; i < n; i++) {
		struct frame *f = &p->stack[i];
		f->cfa += f->cfa ? by : 0;
		f->call_cfa += f->call_cfa ? by : 0;
	}
	return n;
}

/* Goes on in a context that was left and moved. */
static bool go_back_to_moved(struct parser *p, const struct lookahead *la)
{
	for (uint32_t i = p->n_contexts; i-- > 0;) {
		struct context left = current_of(p);
		make_current(p, &p->contexts[i]);
		bool moved = follow_move(p, la);
		make_current(p, &left);
		if (!moved)
			continue;
		struct context back = take_kept(p, i);
		end_or_leave(p);
		switch_to(p, &back);
		return parser_try_unwinding(p, la);
	}
	return false;
}

/* Goes on in a context that was left: where a call that switches came back, or where setjmp or an
 * exception came back to a frame of it. */
static bool go_back(struct parser *p, const struct lookahead *la)
{
	const struct pugmark_witness_event *e = la->e;
	for (uint32_t i = p->n_contexts; i-- > 0;) {
		const struct context *c = &p->contexts[i];
		if (c->low && (e->cfa < c->low || e->cfa > c->high))
			continue;
		struct context left = current_of(p);
		uint32_t level, alt;
		make_current(p, c);
		bool intact = frames_intact(p, e);
		bool next = intact && parser_find(p, la, &level, &alt);
		bool jump = intact && !next && parser_can_unwind(p, la);
		make_current(p, &left);
		if (!intact && c->id) { /* another thread has gone on on it */
			struct context stale = take_kept(p, i);
			free_context(&stale);
			continue;
		}
		if (!next && !jump)
			continue;
		struct context back = take_kept(p, i);
		end_or_leave(p);
		switch_to(p, &back);
		if (jump)
			return parser_try_unwinding(p, la);
		parser_end_frames(p, level + 1);
		return parser_derive(p, la, alt);
	}
	return false;
}

/* A stack is used again, from its first frame on: what was left on it is no more. */
static void drop_overwritten(struct parser *p, uint64_t cfa)
{
	for (uint32_t i = p->n_contexts; cfa && i-- > 0;) {
		if (!p->contexts[i].id || p->contexts[i].high != cfa)
			continue;
		struct context gone = take_kept(p, i);
		free_context(&gone);
	}
}

/* Room for the first frames of a new context: see parser_push(). */
static bool give_room(struct parser *p, struct context *c)
{
	c->cap = FIRST_FRAMES;
	c->stack = malloc(c->cap * sizeof(*c->stack));
	p->failed |= !c->stack;
	return c->stack;
}

static bool begin_context(struct parser *p, uint64_t cfa)
{
	struct context next = {.id = p->last_context + 1, .position = OUTSIDE};
	if (!give_room(p, &next))
		return false;
	p->last_context++;
	end_or_leave(p);
	switch_to(p, &next);
	drop_overwritten(p, cfa);
	return true;
}

/* The entry of a new context's first function, or, where a call of ours led to it of which no event
 * has told, of its second. */
static bool begin_new(struct parser *p, const struct lookahead *la)
{
	const struct pugmark_witness_event *e = la->e;
	uint32_t open = parser_leaving(p, false);
	if (open)
		parser_end_frames(p, open);
	bool by_library = la->foreign && p->position == AT_CALL;
	if (!begin_context(p, la->own_cfa ? e->cfa : 0))
		return false;
	if (la->foreign || la->origin == PUGMARK_NONE) {
		if (by_library)
			p->context_ret = e->ret;
		parser_enter(p, la, BELOW_ROOT, PUGMARK_CAUSE_CONTEXT);
		return parser_derive(p, la, PUGMARK_NONE);
	}
	const struct pugmark_plan_node *call = node_at(p, la->from, la->origin);
	bool known = call->height != PUGMARK_HEIGHT_UNKNOWN && la->cfa;
	struct frame first = {
		.func = call->func,
		.module = la->from,
		.node = la->origin,
		.cfa = known ? la->cfa + call->height : 0,
		.boundary = BELOW_ROOT,
	};
	parser_emit_frame(p, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_CONTEXT, &first);
	parser_push(p, first);
	parser_call_into(p, e->module, la->entered);
	return parser_derive(p, la, PUGMARK_NONE);
}

/* Goes on in a context that another thread has left, or that was left before anything was known:
 * the calls in progress, by the stack. */
static bool take_over(struct parser *p, const struct lookahead *la)
{
	const struct pugmark_witness_event *e = la->e;
	uint32_t node = parse_tables_node_of(p->tables[e->module], e->site), n = 0;
	struct frame *frames = malloc(FRAMES_MAX * sizeof(*frames));
	if (!frames) {
		p->failed = true;
		return false;
	}
	struct frame f = {
		.func = node_at(p, e->module, node)->func,
		.module = e->module,
		.cfa = e->cfa,
		.boundary = BELOW_CALL,
	};
	for (; n < FRAMES_MAX; n++) {
		if (f.cfa && !stack_word(e, f.cfa - 8, &f.ret))
			f.ret = 0;
		frames[n] = f;
		uint16_t from;
		uint32_t call =
			f.ret ? parser_call_before(p, f.module, f.ret, &from) : PUGMARK_NONE;
		if (call == PUGMARK_NONE)
			break;
		const struct pugmark_plan_node *c = node_at(p, from, call);
		f = (struct frame){
			.func = c->func,
			.module = from,
			.node = call,
			.cfa = c->height == PUGMARK_HEIGHT_UNKNOWN ? 0 : f.cfa + c->height,
			.boundary = BELOW_CALL,
			.announced = true,
		};
	}
	if (!begin_context(p, e->cfa)) {
		free(frames);
		return false;
	}
	bool root = n < FRAMES_MAX && p->context_ret && frames[n].ret == p->context_ret;
	if (n == FRAMES_MAX)
		n--;
	frames[n].boundary = root ? BELOW_ROOT : BELOW_GAP;
	frames[n].hidden = PUGMARK_CAUSE_SWITCH;
	for (uint32_t i = n + 1; i-- > 0;) {
		parser_emit_frame(p, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_RESUMED, &frames[i]);
		parser_push(p, frames[i]);
	}
	free(frames);
	parser_take_event(p, node, e);
	return true;
}

/* ---- a signal, before anything else on the other stack ---- */

/* Reports that the thread has gone from the current context to @there before what that has reported
 * since there were @n_out events. */
static bool switch_before(struct parser *p, const struct context *there, uint32_t n_out)
{
	uint32_t n = p->n_out - n_out;
	struct pugmark_trace_event *later = malloc((n + 1) * sizeof(*later));
	if (!later) {
		p->failed = true;
		return false;
	}
	if (n)
		memcpy(later, p->out + n_out, n * sizeof(*later));
	p->n_out = n_out;
	end_or_leave(p);
	switch_to(p, there);
	for (uint32_t i = 0; i < n; i++)
		parser_emit(p, &later[i]);
	free(later);
	return true;
}

/* Whether a frame at @cfa of a context is where the signal has come, below it. */
static bool is_above(const struct pugmark_witness_event *e, uint64_t cfa)
{
	return cfa && stack_word_below(e, cfa - 8);
}

/* Whether the signal has come in what the current context, which has been left, does next; brings
 * it up to there. */
static bool settles(struct parser *p, const struct pugmark_witness_event *e)
{
	return frames_intact(p, e) && parser_settle(p, e, e->cfa, e->ret, e->signal.bp) == SETTLED;
}

/* It has come before the first event of a new context's first function. */
static bool settle_in_new(struct parser *p, const struct pugmark_witness_event *e)
{
	struct place at;
	struct context left = current_of(p);
	uint32_t n_out = p->n_out, open = parser_leaving(p, false);
	if (!open || is_above(e, parser_top(p)->cfa) ||
	    !parser_place_at(p, e->cfa, e->ret, e->signal.bp, &at) || at.func == PUGMARK_NONE ||
	    !is_above(e, at.cfa) ||
	    !(p->plans[at.module]->funcs[at.func].flags & PUGMARK_PLAN_FUNC_ENTERED))
		return false;
	struct frame first = {
		.func = at.func,
		.module = at.module,
		.cfa = at.cfa,
		.boundary = BELOW_ROOT,
		.decision = p->plans[at.module]->funcs[at.func].entry,
	};
	if (!stack_word(e, at.cfa - 8, &first.ret))
		return false;
	struct context there = {.id = p->last_context + 1, .position = AT_DECISION};
	if (!give_room(p, &there))
		return false;
	make_current(p, &there);
	parser_emit_frame(p, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_CONTEXT, &first);
	parser_push(p, first);
	bool settled = settles(p, e);
	there = current_of(p);
	make_current(p, &left);
	if (!settled) {
		p->n_out = n_out;
		free_context(&there);
		return false;
	}
	p->last_context++;
	if ((open == p->n ? p->position : p->stack[open - 1].position) == AT_CALL)
		p->context_ret = first.ret;
	if (!switch_before(p, &there, n_out)) {
		free_context(&there);
		return false;
	}
	drop_overwritten(p, at.cfa);
	return true;
}

bool parser_settle_elsewhere(struct parser *p, const struct pugmark_witness_event *e)
{
	uint32_t n_out = p->n_out;
	if (!parser_leaving(p, true) && parser_can_end_down_to(p, 0) != 0)
		return false;
	for (uint32_t i = p->n_contexts; i-- > 0;) {
		struct context left = current_of(p);
		if (!is_above(e, p->contexts[i].low))
			continue;
		make_current(p, &p->contexts[i]);
		bool settled = settles(p, e);
		struct context there = current_of(p);
		make_current(p, &left);
		if (!settled) {
			p->contexts[i].stack = there.stack; /* which may have grown */
			p->contexts[i].cap = there.cap;
			continue;
		}
		take_kept(p, i);
		bool switched = switch_before(p, &there, n_out);
		if (!switched)
			free_context(&there);
		return switched;
	}
	return p->n && settle_in_new(p, e);
}

/* Whether @node is where a call comes back to: one that may switch, or setjmp's like. */
static bool comes_back(const struct parser *p, uint16_t module, uint32_t node)
{
	const struct pugmark_plan_node *n = node_at(p, module, node);
	uint32_t call = parse_tables_return_to(p->tables[module], n->addr);
	uint32_t flags =
		call == PUGMARK_NONE ? PUGMARK_NODE_NORETURN : node_at(p, module, call)->flags;
	return n->flags & PUGMARK_NODE_ROOT &&
	       (flags & PUGMARK_NODE_SWITCHES || !(flags & PUGMARK_NODE_NORETURN));
}

bool parser_try_switch(struct parser *p, const struct lookahead *la)
{
	const struct pugmark_witness_event *e = la->e;
	uint32_t node = parse_tables_node_of(p->tables[e->module], e->site);
	if (la->entered != PUGMARK_NONE) {
		bool known = la->foreign && p->context_ret && e->ret == p->context_ret;
		return p->position != LOST && (known || parser_leaving(p, false)) &&
		       begin_new(p, la);
	}
	if (!(node_at(p, e->module, node)->flags & PUGMARK_NODE_ROOT) || !la->own_cfa ||
	    parser_can_unwind(p, la))
		return false;
	if (go_back(p, la))
		return true;
	if (p->tables[e->module]->go_runtime) {
		if (follow_move(p, la))
			return parser_try_unwinding(p, la);
		if (go_back_to_moved(p, la))
			return true;
	}
	return p->position != LOST && e->stack && comes_back(p, e->module, node) &&
	       (parser_leaving(p, true) || parser_can_end_down_to(p, 0) == 0) && take_over(p, la);
}

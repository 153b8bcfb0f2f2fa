// SPDX-License-Identifier: LGPL-2.1-or-later
/* switch.c: threads that go on on another stack. Each stack is a context with frames of its
 * own: one is the parser's, the others are kept as they were left. Where a thread can leave one, by
 * a call that may switch (PUGMARK_NODE_SWITCHES) or never returns, or with its last frame, an event
 * of the same frame, or the entry of a function that no call explains, says where it went: back to
 * a context that was left, to a new one, or to one that another thread has left, whose frames the
 * stack tells. */
#include "offline/recover/explain/explain.h"
#include "offline/recover/settle/settle.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 512 /* of a context that another thread has left */

/* ---- leaving one ---- */

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
	struct context left = context_current(p);
	context_keep(p, &left);
	context_make_current(p, next);
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
		struct context left = context_current(p);
		context_make_current(p, &p->contexts[i]);
		bool moved = follow_move(p, la);
		context_make_current(p, &left);
		if (!moved)
			continue;
		struct context back = context_take(p, i);
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
		struct context left = context_current(p);
		uint32_t level, alt;
		context_make_current(p, c);
		bool intact = frames_intact(p, e);
		bool next = intact && parser_find(p, la, &level, &alt);
		bool jump = intact && !next && parser_can_unwind(p, la);
		context_make_current(p, &left);
		if (!intact && c->id) { /* another thread has gone on on it */
			struct context stale = context_take(p, i);
			context_free(&stale);
			continue;
		}
		if (!next && !jump)
			continue;
		struct context back = context_take(p, i);
		end_or_leave(p);
		switch_to(p, &back);
		if (jump)
			return parser_try_unwinding(p, la);
		parser_end_frames(p, level + 1);
		return parser_derive(p, la, alt);
	}
	return false;
}

static bool begin_context(struct parser *p, uint64_t cfa)
{
	struct context next = {.id = p->last_context + 1, .position = OUTSIDE};
	if (!context_give_room(p, &next))
		return false;
	p->last_context++;
	end_or_leave(p);
	switch_to(p, &next);
	context_drop_overwritten(p, cfa);
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
	struct context left = context_current(p);
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
	if (!context_give_room(p, &there))
		return false;
	context_make_current(p, &there);
	parser_emit_frame(p, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_CONTEXT, &first);
	parser_push(p, first);
	bool settled = settles(p, e);
	there = context_current(p);
	context_make_current(p, &left);
	if (!settled) {
		p->n_out = n_out;
		context_free(&there);
		return false;
	}
	p->last_context++;
	if ((open == p->n ? p->position : p->stack[open - 1].position) == AT_CALL)
		p->context_ret = first.ret;
	if (!switch_before(p, &there, n_out)) {
		context_free(&there);
		return false;
	}
	context_drop_overwritten(p, at.cfa);
	return true;
}

bool parser_settle_elsewhere(struct parser *p, const struct pugmark_witness_event *e)
{
	uint32_t n_out = p->n_out;
	if (!parser_leaving(p, true) && parser_can_end_down_to(p, 0) != 0)
		return false;
	for (uint32_t i = p->n_contexts; i-- > 0;) {
		struct context left = context_current(p);
		if (!is_above(e, p->contexts[i].low))
			continue;
		context_make_current(p, &p->contexts[i]);
		bool settled = settles(p, e);
		struct context there = context_current(p);
		context_make_current(p, &left);
		if (!settled) {
			p->contexts[i].stack = there.stack; /* which may have grown */
			p->contexts[i].cap = there.cap;
			continue;
		}
		context_take(p, i);
		bool switched = switch_before(p, &there, n_out);
		if (!switched)
			context_free(&there);
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

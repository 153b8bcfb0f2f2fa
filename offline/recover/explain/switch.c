// SPDX-License-Identifier: LGPL-2.1-or-later
/* switch.c: threads that go on on another stack. Each stack is a context with frames of its
 * own: one is the parser's, the others are kept as they were left. Where a thread can leave one, by
 * a call that may switch (PUGMARK_NODE_SWITCHES) or never returns, or with its last frame, an event
 * of the same frame, or the entry of a function that no call explains, says where it went: back to
 * a context that was left, to a new one, or to one that another thread has left, whose frames the
 * stack tells. */
#include "offline/recover/explain/explain.h"
#include "offline/recover/settle/settle.h"
#include "offline/recover/stack/cursor.h"

#include <stdlib.h>

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
	parser_lose(p, PUGMARK_CAUSE_SWITCH);
}

/* Whether the current context is to be left where it is, or can end in silence. */
static bool can_leave(struct parser *p)
{
	return parser_leaving(p, true) || parser_can_end(p, 0);
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

/* The same, of kept context @i. */
static bool has_moved(struct parser *p, uint32_t i, const struct lookahead *la)
{
	uint64_t by;
	struct context left = context_current(p);
	context_make_current(p, &p->contexts[i]);
	bool moved = moved_frames(p, la, &by);
	context_make_current(p, &left);
	return moved;
}

/* The frames are where the stack is now. */
static void follow_move(struct parser *p, const struct lookahead *la)
{
	uint64_t by;
	uint32_t n = moved_frames(p, la, &by);
	for (uint32_t i = 0; i < n; i++) {
		struct frame *f = &p->stack[i];
		f->cfa += f->cfa ? by : 0;
		f->call_cfa += f->call_cfa ? by : 0;
	}
}

/* Goes on in kept context @i. */
static void go_back(struct parser *p, uint32_t i)
{
	struct context back = context_take(p, i);
	end_or_leave(p);
	switch_to(p, &back);
}

/* GO_BACK       to a context that was left, by the grammar: where a call that switches came back
 * GO_BACK_JUMP  to one where setjmp or an exception came back to a frame of it
 * MOVED         this one is elsewhere now
 * MOVED_BACK    to one that was left and is elsewhere now
 * BEGIN_NEW     to a new one
 * TAKE_OVER     to one that another thread has left, or that was left before anything was known */
enum switch_kind { GO_BACK, GO_BACK_JUMP, MOVED, MOVED_BACK, BEGIN_NEW, TAKE_OVER };

/* Whether the event goes on in kept context @i: there in *@c how. In *@stale whether another thread
 * has gone on on it. */
static bool goes_on_in(struct parser *p, uint32_t i, const struct lookahead *la,
		       struct candidate *c, bool *stale)
{
	const struct pugmark_witness_event *e = la->e;
	const struct context *kept = &p->contexts[i];
	*stale = false;
	if (kept->low && (e->cfa < kept->low || e->cfa > kept->high))
		return false;
	struct context left = context_current(p);
	struct candidates jump = {.n = 0};
	context_make_current(p, kept);
	bool intact = frames_intact(p, e);
	bool next = intact && parser_find(p, la, &c->stack.level, &c->stack.alt) == FOUND_ONE;
	if (intact && !next)
		ask_unwinding(p, la, &jump);
	context_make_current(p, &left);
	*stale = !intact && kept->id;
	c->stack.kind = next ? GO_BACK : GO_BACK_JUMP;
	c->stack.context = i;
	return next || jump.n;
}

/* Looks for a context that was left and that the event goes on in, the last first. Those of which
 * the stack shows that they are no more are forgotten. */
static bool find_left(struct parser *p, const struct lookahead *la, struct candidate *c)
{
	bool stale;
	for (uint32_t i = p->n_contexts; i-- > 0;) {
		if (goes_on_in(p, i, la, c, &stale))
			return true;
		if (!stale)
			continue;
		struct context gone = context_take(p, i);
		context_free(&gone);
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
static enum commit begin_new(struct parser *p, const struct lookahead *la)
{
	const struct pugmark_witness_event *e = la->e;
	uint32_t open = parser_leaving(p, false);
	if (open)
		parser_end_frames(p, open);
	bool by_library = la->foreign && p->position == AT_CALL;
	if (!begin_context(p, la->own_cfa ? e->cfa : 0))
		return COMMIT_FAILED;
	if (la->foreign || la->origin == PUGMARK_NONE) {
		if (by_library)
			p->context_ret = e->ret;
		parser_enter(p, la, BELOW_ROOT, PUGMARK_CAUSE_CONTEXT);
		return COMMIT_GO_ON;
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
	return COMMIT_GO_ON;
}

/* Goes on in a context that another thread has left, or that was left before anything was known:
 * the calls in progress, by the stack. */
static enum commit take_over(struct parser *p, const struct lookahead *la)
{
	const struct pugmark_witness_event *e = la->e;
	uint32_t node = parse_tables_node_of(p->tables[e->module], e->site), n = 0;
	struct frame *frames = malloc(FRAMES_MAX * sizeof(*frames));
	if (!frames) {
		p->failed = true;
		return COMMIT_FAILED;
	}
	struct frame f = {
		.func = node_at(p, e->module, node)->func,
		.module = e->module,
		.cfa = e->cfa,
		.boundary = BELOW_CALL,
	};
	struct frame_cursor at = cursor_at(p, e, e->module, e->cfa);
	for (; n < FRAMES_MAX; n++) {
		bool called = cursor_find_call(&at);
		f.ret = at.ret;
		frames[n] = f;
		if (!called)
			break;
		cursor_find_frame(&at);
		f = (struct frame){
			.func = at.node->func,
			.module = at.module,
			.node = at.call,
			.cfa = at.cfa,
			.boundary = BELOW_CALL,
			.announced = true,
		};
	}
	if (!begin_context(p, e->cfa)) {
		free(frames);
		return COMMIT_FAILED;
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
	return COMMIT_TAKEN;
}

/* ---- a signal, before anything else on the other stack ---- */

/* Whether a frame at @cfa of a context is where the signal has come, below it. */
static bool is_above(const struct pugmark_witness_event *e, uint64_t cfa)
{
	return cfa && stack_word_below(e, cfa - 8);
}

/* Whether the signal has come in what the current context, which has been left, does next; in *@s
 * how that came there. */
static bool settles(struct parser *p, const struct pugmark_witness_event *e, struct settling **s)
{
	*s = NULL;
	if (!frames_intact(p, e))
		return false;
	if (settle_ask(p, e, e->sp, e->ip, e->signal.bp, s) == SETTLED)
		return true;
	settle_free(*s);
	return false;
}

/* The frame of a new context's first function, if the signal has come before its first event. */
static bool first_frame(struct parser *p, const struct pugmark_witness_event *e,
			struct frame *first)
{
	struct place at;
	if (is_above(e, parser_top(p)->cfa) ||
	    !parser_place_at(p, e->sp, e->ip, e->signal.bp, &at) || at.func == PUGMARK_NONE ||
	    !is_above(e, at.cfa) ||
	    !(p->plans[at.module]->funcs[at.func].flags & PUGMARK_PLAN_FUNC_ENTERED))
		return false;
	*first = (struct frame){
		.func = at.func,
		.module = at.module,
		.cfa = at.cfa,
		.boundary = BELOW_ROOT,
		.decision = p->plans[at.module]->funcs[at.func].entry,
	};
	return stack_word(e, at.cfa - 8, &first->ret);
}

static bool settle_in_new(struct parser *p, const struct pugmark_witness_event *e)
{
	struct frame first;
	struct settling *s;
	uint32_t open = parser_leaving(p, false);
	if (!open || !first_frame(p, e, &first))
		return false;
	struct context left = context_current(p);
	struct context there = {.id = p->last_context + 1, .position = AT_DECISION};
	if (!context_give_room(p, &there))
		return false;
	context_make_current(p, &there);
	parser_push(p, first);
	bool settled = settles(p, e, &s);
	there = context_current(p);
	context_make_current(p, &left);
	if (!settled) {
		context_free(&there);
		return false;
	}
	p->last_context++;
	if ((open == p->n ? p->position : p->stack[open - 1].position) == AT_CALL)
		p->context_ret = first.ret;
	end_or_leave(p);
	there.n = 0; /* the frame is opened once it has been reported */
	switch_to(p, &there);
	parser_emit_frame(p, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_CONTEXT, &first);
	parser_push(p, first);
	settle_commit(s);
	context_drop_overwritten(p, first.cfa);
	return true;
}

bool parser_settle_elsewhere(struct parser *p, const struct pugmark_witness_event *e)
{
	struct settling *s;
	if (!can_leave(p))
		return false;
	for (uint32_t i = p->n_contexts; i-- > 0;) {
		if (!is_above(e, p->contexts[i].low))
			continue;
		struct context left = context_current(p);
		context_make_current(p, &p->contexts[i]);
		bool settled = settles(p, e, &s);
		context_make_current(p, &left);
		if (!settled)
			continue;
		go_back(p, i);
		settle_commit(s);
		return true;
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

/* The entry of a function, on a new context. */
static void ask_new(struct parser *p, const struct lookahead *la, struct candidates *set)
{
	struct candidate c = {.unsaid = PUGMARK_CAUSE_NONE, .stack.kind = BEGIN_NEW};
	bool known = la->foreign && p->context_ret && la->e->ret == p->context_ret;
	if (p->position != LOST && (known || parser_leaving(p, false)))
		candidate_add(set, &c);
}

void ask_switch(struct parser *p, const struct lookahead *la, struct candidates *set)
{
	const struct pugmark_witness_event *e = la->e;
	uint32_t node = parse_tables_node_of(p->tables[e->module], e->site);
	struct candidate c = {.unsaid = PUGMARK_CAUSE_NONE};
	struct candidates here = {.n = 0};
	uint64_t by;
	if (la->entered != PUGMARK_NONE) {
		ask_new(p, la, set);
		return;
	}
	if (!(node_at(p, e->module, node)->flags & PUGMARK_NODE_ROOT) || !la->own_cfa)
		return;
	ask_unwinding(p, la, &here);
	if (here.n)
		return;
	if (find_left(p, la, &c)) {
		candidate_add(set, &c);
		return;
	}
	if (p->tables[e->module]->go_runtime) {
		c.stack.kind = MOVED;
		if (moved_frames(p, la, &by)) {
			candidate_add(set, &c);
			return;
		}
		c.stack.kind = MOVED_BACK;
		for (c.stack.context = p->n_contexts; c.stack.context-- > 0;)
			if (has_moved(p, c.stack.context, la)) {
				candidate_add(set, &c);
				return;
			}
	}
	c.stack.kind = TAKE_OVER;
	if (p->position != LOST && e->stack && comes_back(p, e->module, node) && can_leave(p))
		candidate_add(set, &c);
}

/* The event lands in the context that is current now. */
static enum commit land(struct parser *p, struct lookahead *la, uint32_t *first)
{
	struct candidates landing = {.n = 0};
	ask_unwinding(p, la, &landing);
	return landing.n ? commit_unwinding(p, la, &landing.one, first) : COMMIT_FAILED;
}

enum commit commit_switch(struct parser *p, struct lookahead *la, const struct candidate *c,
			  uint32_t *first)
{
	switch ((enum switch_kind)c->stack.kind) {
	case GO_BACK:
		go_back(p, c->stack.context);
		parser_end_frames(p, c->stack.level + 1);
		*first = c->stack.alt;
		return COMMIT_GO_ON;
	case GO_BACK_JUMP:
		go_back(p, c->stack.context);
		return land(p, la, first);
	case MOVED:
		follow_move(p, la);
		return land(p, la, first);
	case MOVED_BACK:
		go_back(p, c->stack.context);
		follow_move(p, la);
		return land(p, la, first);
	case BEGIN_NEW:
		return begin_new(p, la);
	case TAKE_OVER:
		return take_over(p, la);
	}
	return COMMIT_FAILED;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* switch.c: threads that go on on another stack. Each stack is a context with frames of its own.
 * The parser works on one context; the others are kept as the thread left them. A thread leaves one
 * in a call that may switch (PUGMARK_NODE_SWITCHES), in one that never returns, or with its last
 * frame. The next event says where it went: it is of a frame of a kept context; or it is the entry
 * of a function that no call explains, on a new context, or on one that another thread has left,
 * whose frames the stack tells. */
#include "offline/recover/explain/other_stacks.h"
#include "offline/recover/settle/settle.h"
#include "offline/recover/stack/cursor.h"

#include <stdlib.h>

#define FRAMES_MAX 512 /* of a context that another thread has left */

/* ---- going on in one ---- */

/* Whether @addr is of a stack whose outermost frame lies at the CFA of the first frame of @p, and
 * not of another one, above, that frames inside of it lie on: C that has been called from Go is on
 * the thread's own, and what it calls back in Go on the goroutine's again. */
static bool of_first_stack(const struct parser *p, uint64_t addr)
{
	uint32_t first = 0;
	while (first + 1 < p->n && !p->stack[first].cfa)
		first++;
	return addr && addr <= p->stack[first].cfa;
}

/* Whether the current context has moved as a whole, as Go's stacks do when they grow: then the
 * event comes back to one of its frames, in a call that may switch, and the stack of the event
 * shows all frames further out *@by higher. Returns how many frames there are, with that one as the
 * innermost; 0: it has not moved. */
static uint32_t moved_frames(const struct parser *p, const struct lookahead *la, uint64_t *by)
{
	const struct pugmark_witness_event *e = la->e;
	if (parser_is_another(p, e))
		return 0;
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
	*by = pugmark_event_cfa(e) - p->stack[n - 1].cfa;
	for (uint32_t i = n; i-- > 0;) {
		const struct frame *f = &p->stack[i];
		uint64_t word;
		if (!of_first_stack(p, f->cfa) || !f->ret)
			continue;
		if (!stack_reaches(e, f->cfa + *by - 8))
			break; /* what was copied of the stack shows no frame further out either */
		if (!stack_word(e, f->cfa + *by - 8, &word))
			continue;
		if (word != f->ret)
			return 0;
		seen++;
	}
	return *by && seen ? n : 0;
}

/* The same, of kept context @i. */
static bool has_moved(const struct parser *p, uint32_t i, const struct lookahead *la)
{
	uint64_t by;
	struct parser there = context_view(p, &p->contexts[i]);
	return moved_frames(&there, la, &by);
}

/* The frames are where the stack is now. */
static void follow_move(struct parser *p, const struct lookahead *la)
{
	uint64_t by;
	uint32_t n = moved_frames(p, la, &by);
	/* The innermost first: the first frame tells which the others are. */
	for (uint32_t i = n; i-- > 0;) {
		struct frame *f = &p->stack[i];
		bool moves = of_first_stack(p, f->cfa);
		f->call_cfa += of_first_stack(p, f->call_cfa) ? by : 0;
		f->cfa += moves ? by : 0;
	}
	/* So is what the innermost of them has called, which lies right inside of it. */
	if (n < p->n && p->stack[n].boundary == BELOW_CALL)
		p->stack[n].cfa += p->stack[n].cfa ? by : 0;
	p->bottom += p->bottom ? by : 0;
}

/* How the event goes on on another context. */
enum switch_kind {
	GO_BACK,      /* a kept one: the call that switched away comes back, by the grammar */
	GO_BACK_JUMP, /* a kept one: setjmp or an exception comes back to a frame of it */
	MOVED,	      /* the current one, whose memory is elsewhere now */
	MOVED_BACK,   /* a kept one, whose memory is elsewhere now */
	BEGIN_NEW,    /* a new one */
	TAKE_OVER,    /* one that another thread has left, or that nothing is known of */
};

/* Whether the event, if it is of kept context @i at all, lies between its frames; the entry of a
 * function: its caller. */
static bool lies_in(const struct parser *p, uint32_t i, const struct lookahead *la)
{
	const struct context *kept = &p->contexts[i];
	uint64_t cfa = pugmark_event_cfa(la->e);
	int32_t height = la->entered != PUGMARK_NONE && la->origin != PUGMARK_NONE
				 ? node_at(p, la->from, la->origin)->height
				 : 0;
	if (height == PUGMARK_HEIGHT_UNKNOWN)
		return cfa <= kept->high;
	return !kept->low || (cfa + height >= kept->low && cfa <= kept->high);
}

/* Whether the event goes on in kept context @i: there in *@c how. */
static bool goes_on_in(const struct parser *p, uint32_t i, const struct lookahead *la,
		       struct candidate *c)
{
	if (p->contexts[i].aside || !lies_in(p, i, la))
		return false;
	struct parser there = context_view(p, &p->contexts[i]);
	if (parser_is_another(&there, la->e) || !context_frames_intact(&there, la->e))
		return false;
	struct candidate jump;
	bool next = parser_find(&there, la, &c->stack.level, &c->stack.alt) == FOUND_ONE;
	c->stack.kind = next ? GO_BACK : GO_BACK_JUMP;
	c->stack.context = i;
	return next || unwinding_lands(&there, la, &jump);
}

/* Whether the function that is entered returns to a call that may switch, in the place of what that
 * has called: code that is not traced has gone to another stack and jumped to the function there,
 * as if the call that has left that stack had led to it (Boost's ontop_fcontext). */
static bool returns_to_switch(const struct parser *p, const struct lookahead *la)
{
	return p->position != LOST && la->origin != PUGMARK_NONE && la->cfa &&
	       node_at(p, la->from, la->origin)->flags & PUGMARK_NODE_SWITCHES &&
	       parser_leaving(p, false);
}

/* The context that was left and that the event goes on in, the last first. */
static bool find_left(const struct parser *p, const struct lookahead *la, struct candidate *c)
{
	for (uint32_t i = p->n_contexts; i-- > 0;)
		if (goes_on_in(p, i, la, c))
			return true;
	return false;
}

static bool is_root(const struct parser *p, const struct lookahead *la)
{
	uint32_t node = parse_tables_node_of(p->tables[la->e->module], la->e->site);
	return node_at(p, la->e->module, node)->flags & PUGMARK_NODE_ROOT;
}

/* The one context that was left and that the event, of a frame that it tells, goes on in by the
 * grammar: where a function that switches was called from another module, whose plan does not know
 * that it does. */
static bool find_left_alone(const struct parser *p, const struct lookahead *la, struct candidate *c)
{
	struct candidate other = *c;
	if (p->position == LOST || la->entered != PUGMARK_NONE || !la->own_cfa ||
	    !parser_leaving(p, false) || !find_left(p, la, c) ||
	    !p->contexts[c->stack.context].low) /* nothing tells whose frame it is */
		return false;
	for (uint32_t i = c->stack.context; i-- > 0;)
		if (goes_on_in(p, i, la, &other))
			return false;
	return true;
}

/* Whether the event can be of a stack that was left: where the unwinder lands, or a call comes back
 * that switches, and in no frame of the current stack. */
static bool may_be_elsewhere(const struct parser *p, const struct lookahead *la)
{
	struct candidate here;
	return la->entered == PUGMARK_NONE && la->own_cfa && is_root(p, la) &&
	       !unwinding_lands(p, la, &here);
}

void parser_forget_overwritten(struct parser *p, const struct lookahead *la,
			       const struct candidate *c)
{
	bool back = c && (c->stack.kind == GO_BACK || c->stack.kind == GO_BACK_JUMP ||
			  c->stack.kind == MOVED_BACK);
	uint32_t end = back ? c->stack.context + 1 : 0; /* its number stays what it is */
	if (p->n_contexts <= end || !may_be_elsewhere(p, la))
		return;
	for (uint32_t i = p->n_contexts; i-- > end;) {
		if (!p->contexts[i].id || p->contexts[i].aside || !lies_in(p, i, la))
			continue;
		struct parser there = context_view(p, &p->contexts[i]);
		if (context_frames_intact(&there, la->e))
			continue;
		struct context gone = context_take(p, i);
		context_free(&gone);
	}
}

static bool begin_context(struct parser *p, uint64_t cfa, uint64_t goroutine)
{
	struct context next = {
		.id = p->last_context + 1, .position = OUTSIDE, .goroutine = goroutine};
	if (!context_give_room(p, &next))
		return false;
	p->last_context++;
	stacks_leave(p);
	stacks_switch_to(p, &next);
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
	if (!begin_context(p, la->own_cfa ? pugmark_event_cfa(e) : 0, e->goroutine))
		return COMMIT_FAILED;
	if (la->foreign || la->origin == PUGMARK_NONE) {
		if (by_library)
			p->context_ret = pugmark_event_ret(e);
		parser_enter(p, la, BELOW_SWITCH, PUGMARK_CAUSE_CONTEXT);
		return COMMIT_GO_ON;
	}
	const struct pugmark_plan_node *call = node_at(p, la->from, la->origin);
	bool known = call->height != PUGMARK_HEIGHT_UNKNOWN && la->cfa;
	struct frame first = {
		.func = call->func,
		.module = la->from,
		.node = la->origin,
		.cfa = known ? la->cfa + call->height : 0,
	};
	if (!stacks_open_first(p, first))
		return COMMIT_FAILED;
	parser_call_into(p, e->module, la->entered);
	return COMMIT_GO_ON;
}

/* A frame that goes on, and for one on top of what a signal has interrupted: how well that is
 * known.
 */
struct resumed {
	struct frame f;
	enum settled settled;
	bool ends; /* as in struct interruption */
};

#define POINT_EXIT 0 /* as what is next at a point (plan.h) */

/* Of the frame @f, whose code is at the place @at: whether it is known what is next in it. Its call
 * from further out is the cursor's, if it was @called. Where the event of the function's end has
 * been, the frame has ended, and *@f is the caller's. Where that of a call has been, in *@ahead
 * what is called, which is open; else its decision NONE. */
static bool goes_on(const struct parser *p, const struct place *at, bool called,
		    struct frame_cursor *further, struct frame *f, struct frame *ahead)
{
	uint8_t position;
	uint32_t node = PUGMARK_POINT_NODE(at->next);
	ahead->decision = PUGMARK_NONE;
	if (at->next == PUGMARK_NONE || !(at->next & PUGMARK_POINT_PASSED))
		return parser_stopped_at(p, at, f, &position);
	if (node_at(p, at->module, node)->kind == PUGMARK_NODE_KIND_RETURN && called) {
		cursor_find_frame(further);
		*f = (struct frame){
			.func = further->node->func,
			.module = further->module,
			.cfa = further->cfa,
			.decision = pugmark_node_next(further->node),
		};
		return f->cfa && !(further->node->flags & PUGMARK_NODE_TAIL) &&
		       f->decision != PUGMARK_NONE;
	}
	f->node = node;
	return parser_stopped_at(p, at, f, &position) || parser_callee_of(p, f, node, ahead);
}

/* Go: what has made the frame @f, if that is no call, but a signal's handler, on top of what that
 * has interrupted (ask_injected()); then in *@out that frame, and in *@ahead what that has called.
 * BELOW_HANDLER; BELOW_GAP: nothing tells how far that frame had come; BELOW_CALL: it is no such
 * frame. A place where the first function of a stack returns to looks like that, but for what is
 * further out: a call of ours, or such a place. *@ends: as in struct interruption. */
static uint8_t interrupts(const struct parser *p, const struct pugmark_witness_event *e,
			  const struct frame *f, struct frame *out, struct frame *ahead, bool *ends)
{
	struct place at;
	*ends = false;
	*out = (struct frame){.cfa = 0};
	ahead->decision = PUGMARK_NONE;
	if (!p->tables[f->module]->go_runtime || !f->cfa || !f->ret ||
	    !parser_place_at(p, f->cfa, f->ret, 0, &at) || !at.cfa || at.func == PUGMARK_NONE)
		return BELOW_CALL;
	struct frame_cursor further = cursor_at(p, e, at.module, at.cfa);
	bool called = cursor_find_call(&further);
	*out = (struct frame){
		.func = at.func, .module = at.module, .cfa = at.cfa, .ret = further.ret};
	if (!called && !parser_is_bottom(p, out))
		return BELOW_CALL;
	struct frame known = *out;
	if (!goes_on(p, &at, called, &further, &known, ahead)) {
		*ends = called && at.next == POINT_EXIT;
		return BELOW_GAP;
	}
	*out = known;
	return BELOW_HANDLER;
}

/* Opens the frame, resumed, right inside of the one that is innermost. */
static void resume(struct parser *p, const struct resumed *r)
{
	bool interrupted = r->f.boundary == BELOW_HANDLER;
	if (interrupted)
		p->position = parser_top(p)->node ? AT_CALL : AT_DECISION;
	parser_emit_frame(p, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_RESUMED, &r->f);
	if (!parser_push_on(p, r->f, r->f.boundary, PUGMARK_CAUSE_SWITCH))
		return;
	if (interrupted)
		parser_handler(p)->handler.settled = r->settled;
	if (r->f.boundary == BELOW_GAP)
		p->interruptions[p->n_interruptions - 1].ends = r->ends;
}

/* Goes on in a context that another thread has left, or that was left before anything was known:
 * the calls in progress, by the stack. */
static enum commit take_over(struct parser *p, const struct lookahead *la)
{
	const struct pugmark_witness_event *e = la->e;
	uint32_t node = parse_tables_node_of(p->tables[e->module], e->site), n = 0;
	struct resumed *frames = malloc(FRAMES_MAX * sizeof(*frames));
	if (!frames) {
		p->notes->failed = true;
		return COMMIT_FAILED;
	}
	struct frame f = {
		.func = node_at(p, e->module, node)->func,
		.module = e->module,
		.cfa = pugmark_event_cfa(e),
	};
	struct frame_cursor at = cursor_at(p, e, e->module, pugmark_event_cfa(e));
	for (; n < FRAMES_MAX; n++) {
		bool called = cursor_find_call(&at);
		struct frame *in = &frames[n].f, ahead;
		f.ret = at.ret;
		frames[n] = (struct resumed){.f = f, .settled = SETTLED};
		if (!called) {
			in->boundary = interrupts(p, e, in, &f, &ahead, &frames[n].ends);
			if (in->boundary == BELOW_CALL)
				break;
			if (ahead.decision != PUGMARK_NONE && n + 1 < FRAMES_MAX) {
				frames[n++].settled = SETTLED_AHEAD;
				frames[n] = (struct resumed){.f = ahead, .settled = SETTLED};
			}
			at = cursor_at(p, e, f.module, f.cfa);
			continue;
		}
		cursor_find_frame(&at);
		f = (struct frame){
			.func = at.node->func,
			.module = at.module,
			.node = at.call,
			.cfa = at.cfa,
			.announced = true,
		};
	}
	bool root = n < FRAMES_MAX && ((p->context_ret && frames[n].f.ret == p->context_ret) ||
				       parser_is_bottom(p, &frames[n].f));
	/* Of a stack that this thread has left before, what it knew is no more. */
	if (!begin_context(p, root ? frames[n].f.cfa : 0, e->goroutine)) {
		free(frames);
		return COMMIT_FAILED;
	}
	if (n == FRAMES_MAX)
		n--;
	frames[n].f.boundary = root ? BELOW_SWITCH : BELOW_GAP;
	for (uint32_t i = n + 1; i-- > 0 && !p->notes->failed;)
		resume(p, &frames[i]);
	free(frames);
	parser_take_event(p, node, e);
	return COMMIT_TAKEN;
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

/* MAY_NOT     nothing says that a new context may have begun
 * MAY_HAVE    the call in progress is one of what may be a function that switches, among others
 * WILL_HAVE   it names such a function, which calls nothing back; or the entry returns to where the
 *	       first functions of contexts do */
enum may_begin { MAY_NOT, MAY_HAVE, WILL_HAVE };

/* Whether the entry of a function is that of a new context's first. */
static enum may_begin may_begin_new(const struct parser *p, const struct lookahead *la)
{
	if (p->position == LOST)
		return MAY_NOT;
	if (la->foreign && p->context_ret && pugmark_event_ret(la->e) == p->context_ret)
		return WILL_HAVE;
	uint32_t open = parser_leaving(p, false);
	if (!open || (la->e->goroutine && la->e->goroutine == p->goroutine))
		return MAY_NOT;
	struct silence at;
	bool in_call = silence_in(&at, p, open - 1) && at.call;
	uint64_t cfa;
	if (in_call && at.call->import && la->foreign &&
	    (callback_is_innermost(p, la, &cfa) || callback_is_behind_jump(p, la, open)))
		return MAY_NOT; /* it was of what may call back as well, and has; or has ended */
	return parser_is_another(p, la->e) || !in_call || at.call->import ||
			       at.call->callee != PUGMARK_NONE
		       ? WILL_HAVE
		       : MAY_HAVE;
}

static void ask_new(const struct parser *p, const struct lookahead *la, struct candidates *set)
{
	enum may_begin may = may_begin_new(p, la);
	struct candidate c = {
		.cause = may == WILL_HAVE ? CAUSE_SWITCH : CAUSE_NEW_STACK,
		.unsaid = PUGMARK_CAUSE_NONE,
		.stack.kind = BEGIN_NEW,
	};
	if (may != MAY_NOT)
		candidate_add(set, &c);
}

void ask_switch(const struct parser *p, const struct lookahead *la, struct candidates *set)
{
	const struct pugmark_witness_event *e = la->e;
	uint32_t node = parse_tables_node_of(p->tables[e->module], e->site);
	struct candidate c = {.cause = CAUSE_SWITCH, .unsaid = PUGMARK_CAUSE_NONE};
	uint64_t by;
	if (la->entered != PUGMARK_NONE) {
		if (returns_to_switch(p, la) && find_left(p, la, &c))
			candidate_add(set, &c);
		else
			ask_new(p, la, set);
		return;
	}
	if (!is_root(p, la) && find_left_alone(p, la, &c))
		candidate_add(set, &c);
	if (!may_be_elsewhere(p, la))
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
	if (p->position != LOST && e->stack && comes_back(p, e->module, node) &&
	    stacks_can_leave(p))
		candidate_add(set, &c);
}

/* The event lands in the context that is current now. */
static enum commit land(struct parser *p, struct lookahead *la, uint32_t *first)
{
	struct candidate landing;
	return unwinding_lands(p, la, &landing) ? commit_unwinding(p, la, &landing, first)
						: COMMIT_FAILED;
}

/* The event follows in the context that is current now, once that has moved; or lands in it. */
static enum commit go_on_moved(struct parser *p, struct lookahead *la, uint32_t *first)
{
	uint32_t level;
	follow_move(p, la);
	if (parser_find(p, la, &level, first) != FOUND_ONE) {
		*first = PUGMARK_NONE;
		return land(p, la, first);
	}
	parser_end_frames(p, level + 1);
	return COMMIT_GO_ON;
}

/* Goes back to the kept context @i, whose goroutine the event may tell. */
static void go_back(struct parser *p, uint32_t i, const struct lookahead *la)
{
	if (la->e->goroutine)
		p->contexts[i].goroutine = la->e->goroutine;
	stacks_go_back(p, i);
}

enum commit commit_switch(struct parser *p, struct lookahead *la, const struct candidate *c,
			  uint32_t *first)
{
	switch ((enum switch_kind)c->stack.kind) {
	case GO_BACK:
		go_back(p, c->stack.context, la);
		parser_end_frames(p, c->stack.level + 1);
		*first = c->stack.alt;
		return COMMIT_GO_ON;
	case GO_BACK_JUMP:
		go_back(p, c->stack.context, la);
		return land(p, la, first);
	case MOVED:
		return go_on_moved(p, la, first);
	case MOVED_BACK:
		go_back(p, c->stack.context, la);
		return go_on_moved(p, la, first);
	case BEGIN_NEW:
		return begin_new(p, la);
	case TAKE_OVER:
		return take_over(p, la);
	}
	return COMMIT_FAILED;
}

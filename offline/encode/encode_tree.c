// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_tree.c: see encode_tree.h. The trace says how many frames are open before each event. That
 * number settles what has no event of its own: the end of a call into another module, and of a
 * frame that left by a jump into one.
 *
 * The stack has a node for each open call. `depth` is the number of frames that are open once the
 * node is: a frame raises it by one; a tail callee takes over its caller's; a call into another
 * module is no frame. */
#include "offline/encode/encode_tree.h"

#include "offline/base/vec.h"

#include <errno.h>

enum node_flag {
	NODE_OUTSIDE = 1, /* a call into another module, or a stay in code made at run time */
	NODE_LEAVING = 2, /* jumped to one: ends with it, without a return */
	NODE_FRESH = 4,	  /* nothing happened in it yet */
};

struct open_node {
	uint64_t from_ns;
	uint32_t depth;
	uint32_t made; /* code made at run time: its symbol; else 0 */
	uint16_t flags;
	uint16_t taken; /* arguments told */
};

enum { VALUES_MAX = 8 };

struct tree_walk {
	struct symbol_map *map;
	const struct tree_sink *sink;
	VEC(struct open_node) stack;
	struct tree_place place;
	uint64_t number, events, gaps;
	uint64_t last_ns;
	/* Arguments of the next call, read at the instruction @passed_at. */
	uint64_t passed[VALUES_MAX], passed_at;
	uint32_t n_passed;
	bool just_closed; /* a call, and nothing since */
	bool result_fits; /* the result that came last was of that call */
	bool in_sequence;
	enum tree_edge why; /* the next sequence begins */
};

int tree_walk_new(struct symbol_map *map, const struct tree_sink *sink, struct tree_walk **out)
{
	struct tree_walk *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->map = map;
	w->sink = sink;
	*out = w;
	return 0;
}

void tree_walk_free(struct tree_walk *w)
{
	if (!w)
		return;
	VEC_FREE(&w->stack);
	free(w);
}

uint64_t tree_walk_events(const struct tree_walk *w)
{
	return w->events;
}

uint64_t tree_walk_gaps(const struct tree_walk *w)
{
	return w->gaps;
}

uint64_t tree_walk_event_number(const struct tree_walk *w)
{
	return w->number;
}

static struct open_node *top(struct tree_walk *w)
{
	return w->stack.n ? &w->stack.at[w->stack.n - 1] : NULL;
}

static int close_top(struct tree_walk *w, uint32_t token, struct tree_time time)
{
	w->stack.n--;
	w->just_closed = true;
	struct tree_return ret = {.token = token, .time = time};
	return w->sink->close(w->sink->ctx, &ret);
}

static int end_sequence(struct tree_walk *w, enum tree_edge why, struct tree_time time)
{
	int err = 0;
	while (!err && w->stack.n)
		err = close_top(w, TOKEN_CUT, time);
	if (!err && w->in_sequence)
		err = w->sink->end(w->sink->ctx, why);
	w->in_sequence = false;
	w->why = why;
	return err;
}

/* Closes what must be over for @depth frames to be open: deeper frames, and calls into other
 * modules unless the event is a call back out of them. */
static int settle(struct tree_walk *w, const struct pugmark_trace_event *e)
{
	uint32_t known_depth = UINT32_MAX; /* the frame that tail callees share is gone with them */
	for (struct open_node *n; (n = top(w));) {
		bool outside = n->flags & NODE_OUTSIDE;
		bool over = n->depth > e->depth || (outside && e->kind != PUGMARK_TRACE_ENTER);
		if (!over)
			return 0;
		bool known = outside || n->flags & (NODE_LEAVING | NODE_FRESH) ||
			     n->depth == known_depth;
		if (known && !outside)
			known_depth = n->depth;
		int err = close_top(w, known ? TOKEN_RETURN : TOKEN_CUT,
				    (struct tree_time){n->from_ns, e->to_ns});
		if (err)
			return err;
	}
	return 0;
}

static int open_node(struct tree_walk *w, const struct pugmark_trace_event *e, uint32_t symbol,
		     uint32_t depth, uint32_t flags)
{
	if (!w->in_sequence) {
		w->place.event = w->number;
		w->place.time_ns = e->from_ns;
		w->place.why = w->why;
		w->in_sequence = true;
		int err = w->sink->begin(w->sink->ctx, &w->place);
		if (err)
			return err;
	}
	struct open_node *caller = top(w);
	if (caller) {
		caller->flags &= ~NODE_FRESH;
		if (e->kind == PUGMARK_TRACE_TAIL && flags & NODE_OUTSIDE)
			caller->flags |= NODE_LEAVING;
	}
	if (!VEC_PUSH(&w->stack, (struct open_node){e->from_ns, depth, 0, (uint16_t)flags, 0}))
		return -ENOMEM;
	w->just_closed = false;
	struct tree_call call = {.time = {e->from_ns, e->to_ns}, .symbol = symbol};
	return w->sink->open(w->sink->ctx, &call);
}

static int tell_value(struct tree_walk *w, struct tree_value value)
{
	return w->sink->value ? w->sink->value(w->sink->ctx, &value) : 0;
}

/* Tells the arguments that were read at the call instruction of @e, now that the call is open. */
static int tell_passed(struct tree_walk *w, const struct pugmark_trace_event *e)
{
	int err = 0;
	for (uint32_t i = 0; i < w->n_passed && e->addr == w->passed_at && !err; i++) {
		top(w)->taken++;
		err = tell_value(w, (struct tree_value){.value = w->passed[i], .number = i});
	}
	w->n_passed = 0;
	return err;
}

/* Takes a value. A function that begins with a loop reads its arguments again in each round: only
 * the first ones are its own. */
static int take_value(struct tree_walk *w, const struct pugmark_trace_event *e)
{
	struct open_node *n = top(w);
	if (e->cause == PUGMARK_VALUE_PASSED && e->func < VALUES_MAX) {
		w->passed[e->func] = e->target;
		w->n_passed = e->func + 1;
		w->passed_at = e->addr;
	} else if (e->cause == PUGMARK_VALUE_TAKEN && n && n->flags & NODE_FRESH &&
		   n->taken == e->func) {
		n->taken++;
		return tell_value(w, (struct tree_value){.value = e->target, .number = e->func});
	} else if (e->cause == PUGMARK_VALUE_RETURNED) {
		int err = settle(w, e);
		w->result_fits = w->just_closed;
		w->just_closed = false;
		return err || !w->result_fits
			       ? err
			       : tell_value(w, (struct tree_value){.value = e->target,
								   .returned = true});
	} else if (e->cause == PUGMARK_VALUE_OUT && w->result_fits) {
		return tell_value(
			w, (struct tree_value){.value = e->target, .number = e->func, .out = true});
	}
	return 0;
}

static int call(struct tree_walk *w, const struct pugmark_trace_event *e)
{
	enum symbol_how how = e->kind == PUGMARK_TRACE_TAIL ? HOW_TAIL : HOW_CALL;
	bool outside = e->func == PUGMARK_NONE;
	uint32_t symbol;
	int err = outside ? symbol_map_import(w->map, e->module, e->import, how, &symbol)
			  : symbol_map_func(w->map, e->target_module, e->func, how, &symbol);
	if (err)
		return err;
	if (outside)
		return open_node(w, e, symbol, e->depth, NODE_OUTSIDE);
	return open_node(w, e, symbol, e->depth + (how == HOW_CALL), NODE_FRESH);
}

/* Opens the code made at run time that has called what is entered, unless it is open. */
static int enter_made(struct tree_walk *w, const struct pugmark_trace_event *e)
{
	uint32_t made;
	int err = symbol_map_made(w->map, w->place.pid, e->outside, e->to_ns, &made);
	const struct open_node *n = top(w);
	bool open = n && n->made;
	if (err || (open && n->made == made))
		return err;
	if (open)
		err = close_top(w, TOKEN_RETURN, (struct tree_time){n->from_ns, e->to_ns});
	if (!err && made) {
		err = open_node(w, e, made, e->depth, NODE_OUTSIDE);
		if (!err)
			top(w)->made = made;
	}
	return err;
}

static int enter(struct tree_walk *w, const struct pugmark_trace_event *e)
{
	uint32_t symbol;
	enum symbol_how how = e->cause == PUGMARK_CAUSE_SIGNAL ? HOW_SIGNAL : HOW_CALL;
	int err = symbol_map_func(w->map, e->module, e->func, how, &symbol);
	if (!err && how != HOW_SIGNAL)
		err = enter_made(w, e);
	return err ? err : open_node(w, e, symbol, e->depth + 1, NODE_FRESH);
}

/* Closes the frame at the event's depth, and all the tail callees that shared it. */
static int leave(struct tree_walk *w, const struct pugmark_trace_event *e)
{
	uint32_t token = e->kind == PUGMARK_TRACE_UNWIND ? TOKEN_UNWIND : TOKEN_RETURN;
	struct tree_time time = {e->from_ns, e->to_ns};
	struct open_node *n = top(w);
	if (!n || n->depth != e->depth)
		return end_sequence(w, EDGE_UNOPENED, time);
	int err = 0;
	while (!err && (n = top(w)) && n->depth == e->depth)
		err = close_top(w, token, time);
	return err;
}

int tree_walk_begin(struct tree_walk *w, const struct tree_place *thread)
{
	w->place = *thread;
	w->number = 0;
	w->n_passed = 0;
	w->in_sequence = w->just_closed = false;
	w->why = EDGE_THREAD;
	return 0;
}

int tree_walk_event(struct tree_walk *w, const struct pugmark_trace_event *e)
{
	int err = 0;
	w->last_ns = e->to_ns;
	if (e->kind == PUGMARK_TRACE_BLOCK)
		return 0;
	if (e->kind == PUGMARK_TRACE_VALUE)
		return take_value(w, e);
	if (e->kind == PUGMARK_TRACE_GAP || e->kind == PUGMARK_TRACE_SWITCH) {
		w->gaps += e->kind == PUGMARK_TRACE_GAP;
		err = end_sequence(w, e->kind == PUGMARK_TRACE_GAP ? EDGE_GAP : EDGE_SWITCH,
				   (struct tree_time){e->from_ns, e->to_ns});
	} else {
		err = settle(w, e);
	}
	if (!err && (e->kind == PUGMARK_TRACE_CALL || e->kind == PUGMARK_TRACE_TAIL)) {
		err = call(w, e);
		if (!err && w->n_passed)
			err = tell_passed(w, e);
	} else if (!err && (e->kind == PUGMARK_TRACE_RET || e->kind == PUGMARK_TRACE_UNWIND)) {
		err = leave(w, e);
	} else if (!err && e->kind == PUGMARK_TRACE_ENTER) {
		err = enter(w, e);
	}
	w->number++;
	w->events++;
	return err;
}

int tree_walk_end(struct tree_walk *w)
{
	return end_sequence(w, EDGE_THREAD, (struct tree_time){w->last_ns, w->last_ns});
}

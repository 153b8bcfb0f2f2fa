// SPDX-License-Identifier: LGPL-2.1-or-later
/* between.c: requests from a call of one function to the end of a call of another, see walk.h.
 * Several can be open in a thread, one for each identity; the current one is that of which a begin
 * or an end came last, and calls that begin count into it. */
#include "offline/base/vec.h"
#include "user/request/feed.h"

#include <errno.h>

#define NONE UINT64_MAX

struct open_request {
	uint64_t number, identity, from_ns, to_ns;
	bool torn;
};

/* Of an open call. */
struct level {
	uint64_t number; /* of the request that it is in, or NONE */
	uint64_t ends;	 /* of the request that is over when it ends, or NONE */
	uint32_t note;
};

struct walk {
	struct request_feed *feed;
	const struct request_spec *spec;
	VEC(struct open_request) open;
	struct level *levels; /* the notes of the calls */
	/* of the request into which calls count now, or NONE; and the number that the next one gets
	 */
	uint64_t current, next;
	uint64_t jumped_ends; /* of the call that was left by a tail call last */
	bool failed;
};

static struct open_request *find(struct walk *w, uint64_t number)
{
	for (uint32_t i = 0; i < w->open.n; i++)
		if (w->open.at[i].number == number)
			return &w->open.at[i];
	return NULL;
}

/* The one with that identity, or without identities any: there is one at most. */
static struct open_request *find_identity(struct walk *w, uint64_t identity)
{
	for (uint32_t i = 0; i < w->open.n; i++)
		if (w->open.at[i].identity == identity || !w->spec->id)
			return &w->open.at[i];
	return NULL;
}

/* The request @number is over: the calls around @at that are in it are not any more. */
static void end_request(struct walk *w, uint64_t number, uint32_t at, bool whole, uint64_t from_ns,
			uint64_t to_ns)
{
	struct open_request *r = find(w, number);
	if (!r)
		return;
	for (uint32_t i = at; i-- > 0;) {
		struct level *l = &w->levels[i];
		if (l->number != number)
			continue;
		l->number = NONE;
		if (w->feed->sink->leave)
			w->feed->sink->leave(w->feed->ctx, number, l->note,
					     &w->feed->calls.stack[i], from_ns, to_ns);
	}
	w->feed->sink->end(w->feed->ctx, number,
			   &(struct request_end){
				   .from_ns = r->from_ns,
				   .to_ns = r->to_ns,
				   .took = {from_ns > r->to_ns ? from_ns - r->to_ns : 0,
					    to_ns > r->from_ns ? to_ns - r->from_ns : 0},
				   .identity = r->identity,
				   .identified = w->spec->id,
				   .whole = whole && !r->torn,
			   });
	if (w->current == number)
		w->current = NONE;
	*r = w->open.at[--w->open.n];
}

/* One of the same identity that is open has no end. */
static void begin_request(struct walk *w, uint64_t identity, uint32_t at, uint64_t from_ns,
			  uint64_t to_ns)
{
	struct open_request *before = find_identity(w, identity);
	if (before)
		end_request(w, before->number, at, false, from_ns, to_ns);
	const struct open_request r = {
		.number = w->next++, .identity = identity, .from_ns = from_ns, .to_ns = to_ns};
	if (!VEC_PUSH(&w->open, r))
		w->failed = true;
	w->current = r.number;
}

/* The call at @at begins, and may begin a request, or be the one whose end ends it. */
static void look_at_roles(struct walk *w, const struct call *call, uint32_t at, uint8_t roles)
{
	uint64_t identity = 0;
	const struct request_spec *s = w->spec;
	struct open_request *r = NULL;
	if (roles & REQUEST_ENDS && !request_id_is_given(s->id_last) &&
	    (!s->id || request_argument(w->feed, call, s->id_last, &identity)))
		r = find_identity(w, identity);
	if (r) {
		w->levels[at].ends = w->current = r->number;
	} else if (roles & REQUEST_BEGINS && !request_id_is_given(s->id) &&
		   request_in_time(w->feed, call) &&
		   (!s->id || request_argument(w->feed, call, s->id, &identity))) {
		begin_request(w, identity, at, call->from_ns, call->to_ns);
	}
}

static void on_enter(void *ctx, const struct call *stack, uint32_t at)
{
	struct walk *w = ctx;
	const struct request_sink *sink = w->feed->sink;
	w->levels = w->feed->calls.notes;
	struct level *l = &w->levels[at];
	uint32_t id = func_ids_of(&w->feed->of->ids, &stack[at]);
	*l = (struct level){.number = NONE, .ends = NONE};
	if (stack[at].how == PUGMARK_TRACE_TAIL)
		l->ends = w->jumped_ends;
	w->jumped_ends = NONE;
	if (w->feed->of->roles[id] && stack[at].how != PUGMARK_TRACE_GAP)
		look_at_roles(w, &stack[at], at, w->feed->of->roles[id]);
	l->number = w->current;
	if (l->number == NONE || !sink->enter)
		return;
	const struct level *around = NULL;
	for (uint32_t i = at; i-- > 0 && !around;)
		if (w->levels[i].number == l->number)
			around = &w->levels[i];
	sink->enter(w->feed->ctx, l->number, around ? &around->note : NULL, id, &stack[at],
		    &l->note);
}

/* The call at @at ends, which may have begun or ended a request by its result. */
static void look_at_result(struct walk *w, const struct call *call, uint32_t at, uint64_t from_ns,
			   uint64_t to_ns)
{
	uint8_t roles = w->feed->of->roles[func_ids_of(&w->feed->of->ids, call)];
	uint64_t identity = 0;
	struct open_request *r = NULL;
	if (roles & REQUEST_ENDS && request_result(w->feed, call, w->spec->id_last, &identity))
		r = find_identity(w, identity);
	if (r)
		end_request(w, r->number, at, true, from_ns, to_ns);
	else if (roles & REQUEST_BEGINS && request_result(w->feed, call, w->spec->id, &identity) &&
		 request_in_time(w->feed, call))
		begin_request(w, identity, at, from_ns, to_ns);
}

static void on_leave(void *ctx, const struct call *stack, uint32_t at, enum call_end how,
		     uint64_t from_ns, uint64_t to_ns)
{
	struct walk *w = ctx;
	const struct request_sink *sink = w->feed->sink;
	struct level l = w->levels[at];
	if (l.number != NONE && find(w, l.number) && sink->leave)
		sink->leave(w->feed->ctx, l.number, l.note, &stack[at], from_ns, to_ns);
	if (how == CALL_JUMPED) {
		w->jumped_ends = l.ends;
		return;
	}
	bool ended = how == CALL_RETURNED || how == CALL_UNWOUND;
	if (l.ends != NONE)
		end_request(w, l.ends, at, ended, from_ns, to_ns);
	else if (ended)
		look_at_result(w, &stack[at], at, from_ns, to_ns);
}

static void on_gap(void *ctx, const struct pugmark_trace_event *gap)
{
	struct walk *w = ctx;
	(void)gap;
	for (uint32_t i = 0; i < w->open.n; i++)
		w->open.at[i].torn = true;
}

static void on_block(void *ctx, const struct call *stack, uint32_t at,
		     const struct pugmark_trace_event *e)
{
	struct walk *w = ctx;
	(void)stack;
	(void)e;
	if (w->levels[at].number != NONE && w->feed->sink->block)
		w->feed->sink->block(w->feed->ctx, w->levels[at].number, w->levels[at].note);
}

/* Requests may have ended while the thread was away from this stack. */
static void on_left_stack(void *ctx, const struct pugmark_trace_event *e)
{
	struct walk *w = ctx;
	(void)e;
	w->levels = w->feed->calls.notes;
	for (uint32_t i = 0; i < w->feed->calls.n; i++)
		if (w->levels[i].number != NONE && !find(w, w->levels[i].number))
			w->levels[i].number = NONE;
	if (w->feed->sink->other_stack)
		w->feed->sink->other_stack(w->feed->ctx);
}

int request_walk_between(struct request_feed *feed, uint32_t task)
{
	static const struct calls_sink sink = {
		.enter = on_enter,
		.leave = on_leave,
		.gap = on_gap,
		.block = on_block,
		.left_stack = on_left_stack,
		.note_bytes = sizeof(struct level),
	};
	struct walk w = {
		.feed = feed, .spec = &feed->of->spec, .current = NONE, .jumped_ends = NONE};
	int err = request_feed(feed, task, &sink, &w);
	uint64_t last_ns = feed->view->tasks[task].last_ns;
	while (w.open.n)
		end_request(&w, w.open.at[0].number, 0, false, last_ns, last_ns);
	VEC_FREE(&w.open);
	return w.failed ? -ENOMEM : err;
}

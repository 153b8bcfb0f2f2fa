// SPDX-License-Identifier: LGPL-2.1-or-later
/* activation.c: see walk.h. What is known of a request that is open is in the notes of its calls,
 * which are kept with their stack. */
#include "user/request/feed.h"

/* Of an open call: the request that it is in. */
struct level {
	bool inside, is_first; /* is_first: it stands for the request */
	bool torn;	       /* is_first: a gap was in the request */
	uint64_t number;
	uint32_t first; /* the level of the call that stands for the request */
	uint32_t note;
	uint64_t from_ns, to_ns; /* is_first: the request began between these */
	uint64_t identity;	 /* is_first */
	bool identified;
};

struct walk {
	struct request_feed *feed;
	const struct request_of *of;
	const struct request_sink *sink;
	void *ctx;	      /* the sink's */
	struct level *levels; /* the notes of the calls */
	struct level jumped;  /* of the call that was left by a tail call last */
	bool has_jumped;
	uint64_t next;
};

static bool begins_request(const struct walk *w, const struct call *call, uint32_t id)
{
	return w->of->roles[id] & REQUEST_BEGINS && request_in_time(w->feed, call);
}

static void on_enter(void *ctx, const struct call *stack, uint32_t at)
{
	struct walk *w = ctx;
	w->levels = w->feed->calls.notes;
	const struct call *call = &stack[at];
	struct level *l = &w->levels[at];
	uint32_t id = func_ids_of(&w->of->ids, call);
	const struct level *around = at && w->levels[at - 1].inside ? &w->levels[at - 1] : NULL;
	*l = (struct level){.inside = around};
	if (around) {
		l->number = around->number;
		l->first = around->first;
	} else if (w->has_jumped && call->how == PUGMARK_TRACE_TAIL && w->jumped.is_first) {
		*l = w->jumped;
	} else if (begins_request(w, call, id)) {
		*l = (struct level){
			.inside = true,
			.is_first = true,
			.number = w->next++,
			.first = at,
			.from_ns = call->from_ns,
			.to_ns = call->to_ns,
		};
		l->identified = request_argument(w->feed, call, w->of->spec.id, &l->identity);
	}
	w->has_jumped = false;
	if (l->inside && w->sink->enter)
		w->sink->enter(w->ctx, l->number, around ? &around->note : NULL, id, call,
			       &l->note);
}

static void end_request(struct walk *w, const struct level *l, enum call_end how, uint64_t from_ns,
			uint64_t to_ns)
{
	w->sink->end(w->ctx, l->number,
		     &(struct request_end){
			     .from_ns = l->from_ns,
			     .to_ns = l->to_ns,
			     .took = {from_ns > l->to_ns ? from_ns - l->to_ns : 0,
				      to_ns > l->from_ns ? to_ns - l->from_ns : 0},
			     .identity = l->identity,
			     .identified = l->identified,
			     .whole = !l->torn && (how == CALL_RETURNED || how == CALL_UNWOUND),
		     });
}

static void on_leave(void *ctx, const struct call *stack, uint32_t at, enum call_end how,
		     uint64_t from_ns, uint64_t to_ns)
{
	struct walk *w = ctx;
	struct level *l = &w->levels[at];
	if (!l->inside)
		return;
	if (l->is_first && request_id_is_given(w->of->spec.id))
		l->identified = request_result(w->feed, &stack[at], w->of->spec.id, &l->identity);
	if (w->sink->leave)
		w->sink->leave(w->ctx, l->number, l->note, &stack[at], from_ns, to_ns);
	if (how == CALL_JUMPED) {
		w->jumped = *l;
		w->has_jumped = true;
	} else if (l->is_first) {
		end_request(w, l, how, from_ns, to_ns);
	}
}

static void on_gap(void *ctx, const struct pugmark_trace_event *gap)
{
	struct walk *w = ctx;
	(void)gap;
	if (w->feed->calls.n && w->levels[w->feed->calls.n - 1].inside)
		w->levels[w->levels[w->feed->calls.n - 1].first].torn = true;
}

static void on_block(void *ctx, const struct call *stack, uint32_t at,
		     const struct pugmark_trace_event *e)
{
	struct walk *w = ctx;
	(void)stack;
	(void)e;
	if (w->levels[at].inside && w->sink->block)
		w->sink->block(w->ctx, w->levels[at].number, w->levels[at].note);
}

static void on_left_stack(void *ctx, const struct pugmark_trace_event *e)
{
	struct walk *w = ctx;
	(void)e;
	w->levels = w->feed->calls.notes;
	if (w->sink->other_stack)
		w->sink->other_stack(w->ctx);
}

int request_walk_activations(struct request_feed *feed, uint32_t task)
{
	static const struct calls_sink sink = {
		.enter = on_enter,
		.leave = on_leave,
		.gap = on_gap,
		.block = on_block,
		.left_stack = on_left_stack,
		.note_bytes = sizeof(struct level),
	};
	struct walk w = {.feed = feed, .of = feed->of, .sink = feed->sink, .ctx = feed->ctx};
	return request_feed(feed, task, &sink, &w);
}

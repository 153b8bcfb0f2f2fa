// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_tree.c: see call_tree.h. The time between two events belongs to the call that is innermost
 * between them: the time as drawn; the certain time (from the first event's latest to the second's
 * earliest); and the possible time (the other way round; each span once for each thread). */
#include "user/export/call_tree.h"

#include <errno.h>
#include <stdlib.h>

int export_contexts_new(struct export *x)
{
	struct export_contexts *c = x->contexts = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->cap = 1024;
	c->n_slots = 4096;
	c->nodes = calloc(c->cap, sizeof(*c->nodes));
	c->slots = calloc(c->n_slots, sizeof(*c->slots));
	if (!c->nodes || !c->slots)
		return -ENOMEM;
	c->nodes[0].frame = EXPORT_NO_FRAME;
	c->n = 1;
	return 0;
}

void export_contexts_free(struct export_contexts *c)
{
	if (!c)
		return;
	free(c->nodes);
	free(c->slots);
	free(c->other);
	free(c);
}

const char *export_context_name(const struct export *x, const struct context_node *node)
{
	return node->frame == EXPORT_GAP_FRAME ? "[gap]" : x->frames.at[node->frame].name;
}

static uint32_t hash(uint32_t parent, uint32_t frame)
{
	return (uint32_t)(((uint64_t)parent << 32 | frame) * 0x9e3779b97f4a7c15u >> 32);
}

static bool grow_slots(struct export_contexts *c)
{
	uint32_t n = 2 * c->n_slots;
	uint32_t *slots = calloc(n, sizeof(*slots));
	if (!slots)
		return false;
	for (uint32_t i = 1; i < c->n; i++) {
		uint32_t at = hash(c->nodes[i].parent, c->nodes[i].frame) & (n - 1);
		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = i;
	}
	free(c->slots);
	c->slots = slots;
	c->n_slots = n;
	return true;
}

static bool grow_nodes(struct export_contexts *c)
{
	struct context_node *nodes = realloc(c->nodes, 2ul * c->cap * sizeof(*nodes));
	if (!nodes)
		return false;
	c->nodes = nodes;
	c->cap *= 2;
	return true;
}

/* The child of @parent that is @frame, made where there is none; 0: no memory. */
static uint32_t child(struct export *x, uint32_t parent, uint32_t frame)
{
	struct export_contexts *c = x->contexts;
	uint32_t last = c->nodes[parent].last;
	if (last && c->nodes[last].frame == frame)
		return last;
	uint32_t at = hash(parent, frame) & (c->n_slots - 1), i;
	while ((i = c->slots[at]) && (c->nodes[i].parent != parent || c->nodes[i].frame != frame))
		at = (at + 1) & (c->n_slots - 1);
	if (!i) {
		if ((c->n == c->cap && !grow_nodes(c)) ||
		    (2 * c->n > c->n_slots && !grow_slots(c))) {
			export_fail(x, -ENOMEM, "out of memory");
			return 0;
		}
		at = hash(parent, frame) & (c->n_slots - 1);
		while (c->slots[at])
			at = (at + 1) & (c->n_slots - 1);
		i = c->slots[at] = c->n++;
		c->nodes[i] = (struct context_node){.parent = parent, .frame = frame};
	}
	c->nodes[parent].last = i;
	return i;
}

/* @ns after the start, or the begin or the end of the part of the time that is shown, where it lies
 * outside of that. */
static uint64_t in_range(const struct trace_view *view, uint64_t ns)
{
	if (view->from_ns > view->start_ns && ns < view->from_ns - view->start_ns)
		return view->from_ns - view->start_ns;
	if (view->to_ns != UINT64_MAX && ns > view->to_ns - view->start_ns)
		return view->to_ns - view->start_ns + 1;
	return ns;
}

/* The span from the last event to one that is drawn @at_ns and happened in @time: what of it lies
 * in the part of the time that is shown. */
static void spend(struct export *x, uint32_t on, struct export_time time, uint64_t at_ns)
{
	struct export_contexts *c = x->contexts;
	struct context_node *node = &c->nodes[on];
	if (x->times && x->replay.view.timed) {
		time.earliest_ns = in_range(&x->replay.view, time.earliest_ns);
		time.latest_ns = in_range(&x->replay.view, time.latest_ns);
		at_ns = in_range(&x->replay.view, at_ns);
	}
	if (x->times && on) {
		node->self_ns += at_ns > c->last_at_ns ? at_ns - c->last_at_ns : 0;
		if (time.earliest_ns > c->last.latest_ns)
			node->certain_ns += time.earliest_ns - c->last.latest_ns;
		if (node->thread != c->thread)
			node->counted_to_ns = 0;
		node->thread = c->thread;
		uint64_t from = c->last.earliest_ns > node->counted_to_ns ? c->last.earliest_ns
									  : node->counted_to_ns;
		if (time.latest_ns > from) {
			node->possible_ns += time.latest_ns - from;
			node->counted_to_ns = time.latest_ns;
		}
	}
	c->last = time;
	c->last_at_ns = at_ns;
}

void export_contexts_enter(struct export *x, const struct export_call *call)
{
	struct export_contexts *c = x->contexts;
	spend(x, c->at, call->begin, call->at_ns);
	c->at = child(x, c->at, call->frame);
	const struct trace_view *view = &x->replay.view;
	uint64_t ns = view->start_ns + call->at_ns;
	if (!x->times || !view->timed || (ns >= view->from_ns && ns <= view->to_ns))
		c->nodes[c->at].calls++;
}

void export_contexts_leave(struct export *x, const struct export_end *end)
{
	struct export_contexts *c = x->contexts;
	spend(x, c->at, end->end, end->at_ns);
	c->at = c->nodes[c->at].parent;
}

void export_contexts_gap(struct export *x, const struct export_gap *gap)
{
	struct export_contexts *c = x->contexts;
	struct export_time from = {gap->span.earliest_ns, gap->span.earliest_ns};
	struct export_time to = {gap->span.latest_ns, gap->span.latest_ns};
	spend(x, c->at, from, gap->at_ns);
	uint32_t node = child(x, 0, EXPORT_GAP_FRAME);
	c->nodes[node].calls++;
	spend(x, node, to, to.latest_ns > gap->at_ns ? to.latest_ns : gap->at_ns);
}

void export_contexts_switch(struct export *x, uint32_t stack)
{
	struct export_contexts *c = x->contexts;
	uint32_t most = stack > c->stack ? stack : c->stack;
	if (most >= c->n_other) {
		uint32_t *other = realloc(c->other, (2ul * most + 2) * sizeof(*other));
		if (!other) {
			export_fail(x, -ENOMEM, "out of memory");
			return;
		}
		c->other = other;
		memset(other + c->n_other, 0, (2ul * most + 2 - c->n_other) * sizeof(*other));
		c->n_other = 2 * most + 2;
	}
	c->other[c->stack] = c->at;
	c->at = c->other[stack];
	c->stack = stack;
}

void export_contexts_thread_end(struct export *x)
{
	struct export_contexts *c = x->contexts;
	memset(c->other, 0, c->n_other * sizeof(*c->other));
	c->stack = c->at = 0;
	c->last_at_ns = 0;
	c->last = (struct export_time){0};
	c->thread++;
}

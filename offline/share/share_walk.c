// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_walk.c: the walk of share_merge.h. At any time the thread is in an activation of a function
 * (a frame) and comes to a node of its graph, or waits in a call for what it may enter, or is in no
 * function of ours, or somewhere that is not known (WALK_LOST). Only witnesses are put out: what is
 * silent is for the parser of what was merged. So the walk goes on only while some part has an
 * ordinary event before the next one that is none (share_parts.c): all that it passes in silence
 * then has been passed, since that event is still to come. */
#include "offline/share/share_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct share_walk *share_walk_copy(const struct share_walk *from)
{
	struct share_walk *w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	*w = *from;
	w->fronts = NULL;
	w->ways = NULL;
	w->cap_ways = 0;
	w->landmark_hits = NULL;
	w->frames = malloc((from->cap_frames + 1) * sizeof(*w->frames));
	if (!w->frames) {
		free(w);
		return NULL;
	}
	if (from->n_frames)
		memcpy(w->frames, from->frames, from->n_frames * sizeof(*w->frames));
	return w;
}

/* From here on only what a single part sees has an order, until an event shows a place. */
static int lose(struct share_walk *w)
{
	w->n_frames = 0;
	w->base_lost = true;
	w->position = WALK_LOST;
	return 0;
}

int share_walk_new(struct share_teller *t, const struct share_io *io,
		   const struct share_walk *parent, struct share_walk **out)
{
	struct share_walk *w = parent ? share_walk_copy(parent) : calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->t = t;
	w->plan = t->plan;
	w->io = *io;
	w->taken = w->landmarks = w->ordinary = w->silent = 0;
	w->last_ns = 0;
	w->last = (struct share_landmark){SHARE_NO_LANDMARK, PUGMARK_NONE};
	memset(w->ns_off, 0, sizeof(w->ns_off));
	w->cfa_known |= 1;
	w->all = t->n_shares == 64 ? UINT64_MAX : (1ull << t->n_shares) - 1;
	if (t->n_shares == 1)
		lose(w);
	w->fronts = calloc(t->n_shares, sizeof(*w->fronts));
	w->landmark_hits = calloc(w->plan->n_sites + 1, sizeof(*w->landmark_hits));
	int err = w->fronts && w->landmark_hits ? 0 : -ENOMEM;
	for (uint32_t k = 0; k < t->n_shares && !err; k++)
		err = walk_fill(w, k);
	if (err) {
		share_walk_free(w);
		return err;
	}
	*out = w;
	return 0;
}

void share_walk_free(struct share_walk *w)
{
	if (!w)
		return;
	free(w->fronts);
	free(w->frames);
	free(w->ways);
	free(w->landmark_hits);
	free(w);
}

void share_walk_counts(const struct share_walk *w, uint64_t *taken, uint64_t *landmarks)
{
	*taken = w->taken;
	*landmarks = w->landmarks;
}

/* Enters @func. */
static int push(struct share_walk *w, uint32_t func, uint64_t cfa, uint64_t ret, bool handler)
{
	struct tell_func *f = share_tell_func(w->t, func);
	if (!f)
		return -ENOMEM;
	if (w->n_frames == w->cap_frames) {
		uint32_t cap = w->cap_frames ? 2 * w->cap_frames : 64;
		struct walk_frame *frames = realloc(w->frames, cap * sizeof(*frames));
		if (!frames)
			return -ENOMEM;
		w->frames = frames;
		w->cap_frames = cap;
	}
	w->frames[w->n_frames++] = (struct walk_frame){
		.func = func,
		.f = f,
		.cfa = cfa,
		.ret = ret,
		.handler = handler,
		.was_at = w->at,
		.was = w->position,
	};
	w->at = f->graph.flow.entry;
	w->position = WALK_AT;
	return 0;
}

/* The top frame's place is taken by @func, which it jumps to. */
static int replace(struct share_walk *w, uint32_t func)
{
	struct walk_frame *f = walk_top(w);
	f->f = share_tell_func(w->t, func);
	f->func = func;
	if (!f->f)
		return -ENOMEM;
	w->at = f->f->graph.flow.entry;
	w->position = WALK_AT;
	return 0;
}

static void go(struct share_walk *w, uint32_t node)
{
	w->at = node;
	w->position = node == PUGMARK_NONE ? WALK_STUCK : WALK_AT;
}

/* After the call at the top frame's node has ended. */
static void after_call(struct share_walk *w)
{
	struct walk_frame *f = walk_top(w);
	const struct pugmark_plan_node *n = &w->plan->nodes[f->node];
	const struct share_graph *g = &f->f->graph;
	if (n->flags & PUGMARK_NODE_TAIL)
		go(w, g->flow.exit);
	else if (n->flags & PUGMARK_NODE_NORETURN)
		w->position = WALK_STUCK;
	else
		go(w, f->f->nodes[f->node - g->first].next);
}

/* What the call of node @n does; @callee_cfa: 0, or what its event has said. */
static int make_call(struct share_walk *w, const struct pugmark_plan_node *n, uint64_t callee_cfa)
{
	struct walk_frame *f = walk_top(w);
	uint64_t cfa = callee_cfa, ret = w->bias + n->addr + n->call_len;
	if (!cfa && f->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN)
		cfa = f->cfa - n->height;
	f->node = n - w->plan->nodes;
	if (n->flags & (PUGMARK_NODE_SWITCHES | PUGMARK_NODE_UNTOLD))
		return lose(w);
	if (n->kind == PUGMARK_NODE_KIND_CALL)
		return n->flags & PUGMARK_NODE_TAIL ? replace(w, n->callee)
						    : push(w, n->callee, cfa, ret, false);
	w->callee_cfa = n->flags & PUGMARK_NODE_TAIL ? f->cfa : cfa;
	w->callee_of = w->n_frames;
	if (n->kind == PUGMARK_NODE_KIND_LEAF)
		after_call(w);
	else
		w->position = WALK_IN_CALL;
	return 0;
}

/* Where the jump at node @n went, by its event. */
static uint32_t after_target(struct share_walk *w, const struct pugmark_plan_node *n,
			     const struct pugmark_witness_event *e)
{
	uint32_t decision = PUGMARK_NONE;
	for (uint32_t i = 0; i < pugmark_node_n_targets(n); i++) {
		const struct pugmark_plan_target *t = &pugmark_node_targets(w->plan, n)[i];
		if (t->addr == pugmark_event_target(e) - w->bias)
			return t->decision;
		if (t->addr == PUGMARK_PLAN_TARGET_ELSEWHERE)
			decision = t->decision;
	}
	return decision;
}

/* Past node @n of the top frame, whose event is @e; NULL: it is silent. */
static int pass(struct share_walk *w, const struct pugmark_plan_node *n,
		const struct pugmark_witness_event *e)
{
	struct walk_frame *f = walk_top(w);
	const struct share_graph *g = &f->f->graph;
	const struct tell_node *at = &f->f->nodes[n - w->plan->nodes - g->first];
	bool callee = n->flags & PUGMARK_NODE_CALLEE_CFA;
	if (e && !callee && w->plan->sites[n->site].cfa_reg != PUGMARK_CFA_UNKNOWN)
		f->cfa = pugmark_event_cfa(e);
	if (e && !f->ret && e->flags & PUGMARK_EVENT_HAS_RET)
		f->ret = pugmark_event_ret(e);
	if (e && w->plan->sites[n->site].kind == PUGMARK_WITNESS_TARGET) {
		w->target = pugmark_event_target(e) - w->bias;
		w->target_told = true;
	} else if (e || n->kind != PUGMARK_NODE_KIND_UNKNOWN) { /* not behind such a jump */
		w->target_told = false;
	}
	switch (n->kind) {
	case PUGMARK_NODE_KIND_BRANCH:
		if (!e)
			return lose(w);
		go(w, pugmark_event_taken(e) ? at->taken : at->next);
		return 0;
	case PUGMARK_NODE_KIND_TARGET:
		if (!e)
			return lose(w);
		go(w, share_graph_after(g, w->plan, after_target(w, n, e)));
		return 0;
	case PUGMARK_NODE_KIND_CALL:
	case PUGMARK_NODE_KIND_UNKNOWN:
	case PUGMARK_NODE_KIND_LEAF:
		return make_call(w, n, e && callee ? pugmark_event_cfa(e) : 0);
	case PUGMARK_NODE_KIND_RETURN:
		go(w, g->flow.exit);
		return 0;
	default:
		go(w, at->next);
		return 0;
	}
}

/* The event @e has just shown a place, whose frame is not one that is known. */
static int find_place(struct share_walk *w, const struct pugmark_witness_event *e)
{
	lose(w);
	int err = push(w, w->t->site_func[e->site], 0, 0, false);
	return err ? err : pass(w, &w->plan->nodes[w->t->node_of[e->site]], e);
}

/* The top frame's function has returned. */
static void leave(struct share_walk *w)
{
	struct walk_frame f = w->frames[--w->n_frames];
	if (f.handler) {
		w->at = f.was_at;
		w->position = f.was;
	} else if (!w->n_frames) {
		w->position = w->base_lost ? WALK_LOST : WALK_OUTSIDE;
	} else if (!f.direct &&
		   w->plan->nodes[walk_top(w)->node].kind == PUGMARK_NODE_KIND_UNKNOWN) {
		w->target_told = true; /* it is in other code, which called us back */
		w->target = 0;
		w->position = WALK_IN_CALL;
	} else {
		after_call(w);
	}
}

/* Enters the function whose entry the event is: its frame is as the event says. */
static int enter(struct share_walk *w, const struct pugmark_witness_event *a, bool handler)
{
	const struct pugmark_plan_site *s = &w->plan->sites[a->site];
	uint64_t cfa = s->cfa_reg != PUGMARK_CFA_UNKNOWN ? pugmark_event_cfa(a) : 0;
	w->bias = a->bias;
	return push(w, w->t->site_func[a->site], cfa,
		    a->flags & PUGMARK_EVENT_HAS_RET ? pugmark_event_ret(a) : 0, handler);
}

static int in_call(struct share_walk *w)
{
	const struct pugmark_witness_event *a = walk_next_entry(w);
	if (!(w->ordinary & 1) && !walk_is_at_a_place(w->fronts[0]))
		return lose(w);
	enum walk_entered how = a ? walk_how_entered(w, a) : ENTERED_NOT_BY_CALL;
	if (how == ENTERED_UNSURE)
		return lose(w);
	if (how == ENTERED_NOT_BY_CALL) {
		after_call(w);
		return 0;
	}
	int err = enter(w, a, false);
	if (!err)
		walk_top(w)->direct = how == ENTERED_BY_CALL;
	return err;
}

static int outside(struct share_walk *w)
{
	const struct pugmark_witness_event *a = walk_next_entry(w);
	return a ? enter(w, a, false) : walk_parted(w, 0, PUGMARK_NONE, w->fronts[0]);
}

/* The sites that all parts which have them come to next: how many, and the last one. */
static uint32_t count_ready(const struct share_walk *w, uint32_t *site)
{
	uint32_t n = 0;
	for (uint64_t bits = w->ordinary; bits; bits &= bits - 1) {
		uint32_t part = __builtin_ctzll(bits), at = w->fronts[part]->site;
		uint64_t members = w->t->members[at], others = members;
		if ((uint32_t)__builtin_ctzll(members) != part)
			continue; /* it is looked at from the first part that has it */
		while (others && w->ordinary >> __builtin_ctzll(others) & 1 &&
		       w->fronts[__builtin_ctzll(others)]->site == at)
			others &= others - 1;
		if (!others) {
			n++;
			*site = at;
		}
	}
	return n;
}

/* Takes what comes next whatever the walk was: a part that has a site next which another part has
 * not, but will have, waits for what that one has before. Where a single one does not wait, it is
 * the first of all; two that do not wait have no order. */
static int step_lost(struct share_walk *w)
{
	uint32_t site = w->fronts[__builtin_ctzll(w->ordinary)]->site;
	struct pugmark_witness_event e;
	if (count_ready(w, &site) > 1)
		return -EDOM;
	int err = walk_take(w, site, &e);
	/* The only part there is has everything in order. */
	return err || w->t->n_shares == 1 ? err : find_place(w, &e);
}

/* Whether a handler is entered next that no event has told of: what it does looks like what anybody
 * does, to the shares that do not see its entry. */
static bool handler_untold(const struct share_walk *w)
{
	if (!w->handler_next || w->t->n_shares == 1)
		return false;
	const struct walk_frame *f = w->n_frames ? &w->frames[w->n_frames - 1] : NULL;
	return !f || !f->handler || f->func != w->t->site_func[w->fronts[0]->site];
}

static int step(struct share_walk *w)
{
	if (++w->silent > SILENT_MAX || handler_untold(w))
		return -EDOM;
	switch (w->position) {
	case WALK_OUTSIDE:
		return outside(w);
	case WALK_IN_CALL:
		return in_call(w);
	case WALK_LOST:
		return step_lost(w);
	case WALK_STUCK: /* it has left what does not return by a way that nobody sees */
		return lose(w);
	default:
		break;
	}
	const struct walk_frame *f = walk_top(w);
	const struct flow_graph *g = &f->f->graph.flow;
	uint32_t at = w->at, way = PUGMARK_NONE;
	if (at < g->entry) {
		const struct pugmark_plan_node *n = &w->plan->nodes[f->f->graph.first + at];
		struct pugmark_witness_event e;
		uint32_t site = f->f->nodes[at].site;
		if (site == PUGMARK_NONE)
			return pass(w, n, NULL);
		int err = walk_take(w, site, &e);
		return err ? err : pass(w, n, &e);
	}
	if (at == g->exit) {
		leave(w);
		return 0;
	}
	if (at == g->entry) {
		go(w, g->nodes[at].n_out ? g->edges[g->nodes[at].out].to : PUGMARK_NONE);
		return 0;
	}
	int err = walk_tell(w, at, &way);
	if (err == -EDOM)
		return lose(w);
	if (!err)
		go(w, way);
	return err;
}

/* The unwinder, or a second return, has come to the place that @e shows; or the walk comes there as
 * to any other. */
static int land(struct share_walk *w, const struct pugmark_witness_event *e)
{
	uint32_t func = w->t->site_func[e->site], i = w->n_frames;
	while (i && (w->frames[i - 1].func != func || w->frames[i - 1].cfa != pugmark_event_cfa(e)))
		i--;
	bool same_call = i && e->flags & PUGMARK_EVENT_HAS_RET &&
			 w->frames[i - 1].ret == pugmark_event_ret(e);
	int another = i ? walk_may_be_another(w, i - 1, same_call) : 1;
	if (another)
		return another < 0 ? another : find_place(w, e);
	w->n_frames = i;
	return pass(w, &w->plan->nodes[w->t->node_of[e->site]], e);
}

/* A signal was delivered: its handler, if it is one of ours, runs next. */
static int handle(struct share_walk *w, const struct pugmark_witness_event *e)
{
	const struct pugmark_witness_event *a = walk_next_entry(w);
	if (!pugmark_event_handler(e))
		return 0;
	if (a && a->flags & PUGMARK_EVENT_FROM_SIGNAL)
		return enter(w, a, true);
	uint32_t func = w->bias ? pugmark_plan_func_at(w->plan, pugmark_event_handler(e) - w->bias)
				: PUGMARK_NONE;
	if (func == PUGMARK_NONE || !w->plan->funcs[func].n_nodes)
		return 0;
	return push(w, func, 0, 0, true);
}

/* Takes what all parts have next, which is no ordinary witness. 0: the walk goes on; 1: the thread
 * has forked; 2: it has ended; or -errno. */
static int take_special(struct share_walk *w)
{
	struct pugmark_witness_event e;
	int err = walk_take_special(w, &e);
	if (err)
		return err;
	bool alone = w->t->n_shares == 1;
	switch (e.kind) {
	case PUGMARK_EVENT_WITNESS:
		return alone ? 0 : land(w, &e);
	case PUGMARK_EVENT_SIGNAL:
		return alone ? 0 : handle(w, &e);
	case PUGMARK_EVENT_STOP:
	case PUGMARK_EVENT_END:
		return 2;
	case PUGMARK_EVENT_FORK:
		return 1;
	case PUGMARK_EVENT_EXEC:
		w->n_frames = 0;
		w->base_lost = false;
		w->position = alone ? WALK_LOST : WALK_OUTSIDE;
		return 0;
	default: /* what the task did meanwhile is not known */
		return lose(w);
	}
}

static int end_diverged(struct share_walk *w, struct share_divergence *out)
{
	struct share_divergence *d = &w->diverged;
	d->landmarks = w->landmarks;
	d->last = w->last;
	if (d->last.site != PUGMARK_NONE)
		d->last_time = w->landmark_hits[d->last.site];
	int err = 0;
	if (w->t->n_shares > 1)
		err = walk_compare_landmarks(w);
	d->untold &= !d->differ;
	*out = *d;
	return err ? err : -ESTALE;
}

int share_walk_run(struct share_walk *w, struct share_divergence *diverged)
{
	for (;;) {
		int got = walk_quickly(w);
		if (!got)
			got = w->ordinary ? step(w) : take_special(w);
		if (got == 1)
			return 1;
		if (got == 2)
			return 0;
		if (got == -EDOM) {
			walk_parted(w, 0, PUGMARK_NONE, NULL);
			w->diverged.untold = true;
			got = -ESTALE;
		}
		if (got == -ESTALE)
			return end_diverged(w, diverged);
		if (got < 0)
			return got;
	}
}

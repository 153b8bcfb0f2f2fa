// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_walk.c: the walk of share_merge.h. At any time the thread is in an activation of a function
 * (a frame) and comes to a node of its graph, or waits in a call for what it may enter, or is in no
 * function of ours. What all parts have next, and the grammar does not lead to (the end, a signal,
 * a landing pad), is taken when all of them have come to it. */
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
	w->parts = NULL;
	w->frames = malloc((from->cap_frames + 1) * sizeof(*w->frames));
	if (!w->frames) {
		free(w);
		return NULL;
	}
	memcpy(w->frames, from->frames, from->n_frames * sizeof(*w->frames));
	return w;
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
	w->taken = w->emitted = w->landmarks = 0;
	w->last_ns = 0;
	w->last_landmark = PUGMARK_NONE;
	memset(w->ns_off, 0, sizeof(w->ns_off));
	w->cfa_known = 1;
	w->all = t->n_shares == 64 ? UINT64_MAX : (1ull << t->n_shares) - 1;
	w->parts = calloc(t->n_shares, sizeof(*w->parts));
	if (!w->parts) {
		share_walk_free(w);
		return -ENOMEM;
	}
	*out = w;
	return 0;
}

void share_walk_free(struct share_walk *w)
{
	if (!w)
		return;
	free(w->parts);
	free(w->frames);
	free(w);
}

void share_walk_counts(const struct share_walk *w, uint64_t *taken, uint64_t *landmarks)
{
	*taken = w->taken;
	*landmarks = w->landmarks;
}

static struct walk_frame *top(struct share_walk *w)
{
	return &w->frames[w->n_frames - 1];
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

/* The event that is next in part @part; NULL: there is none. */
static inline int front(struct share_walk *w, uint32_t part,
			const struct pugmark_witness_event **out)
{
	struct walk_part *p = &w->parts[part];
	if (!p->read) {
		int got = w->io.next(w->io.ctx, part, &p->front);
		if (got < 0)
			return got;
		if (!got)
			p->front = NULL;
		else if (p->front->kind == PUGMARK_EVENT_WITNESS &&
			 p->front->site >= w->plan->n_sites)
			return -EBADMSG;
		p->read = true;
	}
	*out = p->front;
	return 0;
}

/* It stays where it is until the next one is asked for. */
static inline void pop(struct share_walk *w, uint32_t part)
{
	w->parts[part].read = !w->parts[part].front;
	w->taken++;
}

/* No witness, or one that is entered by unwinding. */
static inline bool is_special(const struct share_walk *w, const struct pugmark_witness_event *e)
{
	return e->kind != PUGMARK_EVENT_WITNESS || w->t->is_root[e->site];
}

static int parted(struct share_walk *w, uint32_t part, uint32_t expected,
		  const struct pugmark_witness_event *found)
{
	w->diverged = (struct share_divergence){
		.part = part,
		.expected_site = expected,
		.found_site =
			found && found->kind == PUGMARK_EVENT_WITNESS ? found->site : PUGMARK_NONE,
		.found_kind = found ? found->kind : 255,
		.func = w->n_frames ? top(w)->func : PUGMARK_NONE,
	};
	return -ESTALE;
}

static int emit(struct share_walk *w, struct pugmark_witness_event *e)
{
	if (e->time_ns < w->last_ns)
		e->time_ns = w->last_ns;
	w->last_ns = e->time_ns;
	w->emitted++;
	return w->io.emit(w->io.ctx, e);
}

/* What a real event says, as the first part would have said it. */
static void as_first(struct share_walk *w, uint32_t part, struct pugmark_witness_event *e)
{
	const struct pugmark_plan_site *s = &w->plan->sites[e->site];
	const struct walk_frame *f = w->n_frames ? top(w) : NULL;
	const struct pugmark_plan_node *n = &w->plan->nodes[w->t->node_of[e->site]];
	if (!part) {
		w->bias = e->bias;
		return;
	}
	if (f && f->cfa && s->cfa_reg != PUGMARK_CFA_UNKNOWN &&
	    !(n->flags & PUGMARK_NODE_CALLEE_CFA)) {
		w->cfa_off[part] = f->cfa - e->cfa;
		w->cfa_known |= 1ull << part;
		e->cfa = f->cfa;
	} else if (e->cfa) {
		e->cfa += w->cfa_off[part];
	}
	if (e->flags & PUGMARK_EVENT_HAS_RET && e->ret)
		e->ret = f && f->ret ? f->ret : e->ret - e->bias + w->bias;
	if (s->kind == PUGMARK_WITNESS_TARGET)
		e->val = e->val - e->bias + w->bias;
	e->bias = w->bias;
	e->stack = NULL;
	e->stack_words = 0;
}

/* The event that nobody recorded. */
static struct pugmark_witness_event made_up(struct share_walk *w, uint32_t site)
{
	const struct pugmark_plan_site *s = &w->plan->sites[site];
	const struct walk_frame *f = top(w);
	struct pugmark_witness_event e = {
		.kind = PUGMARK_EVENT_WITNESS,
		.site = site,
		.cfa = f->cfa,
		.bias = w->bias,
		.time_ns = w->last_ns,
	};
	if (s->capture & PUGMARK_CAPTURE_RET && s->cfa_reg != PUGMARK_CFA_UNKNOWN) {
		e.flags |= PUGMARK_EVENT_HAS_RET;
		e.ret = f->ret;
	}
	return e;
}

/* Passes the event of @site in all parts that have it, which must have it next. *@event: what the
 * first of them says. */
static int take(struct share_walk *w, uint32_t site, struct pugmark_witness_event *event)
{
	uint64_t members = w->t->members[site];
	uint32_t first = __builtin_ctzll(members);
	const struct pugmark_witness_event *e;
	for (uint64_t bits = members; bits; bits &= bits - 1) {
		uint32_t part = __builtin_ctzll(bits);
		int err = front(w, part, &e);
		if (err)
			return err;
		if (!e || e->kind != PUGMARK_EVENT_WITNESS || e->site != site)
			return parted(w, part, site, e);
		if (part == first)
			*event = *e;
		else if (w->plan->sites[site].kind == PUGMARK_WITNESS_BRANCH &&
			 e->val != event->val)
			return parted(w, part, site, e);
		if (members == w->all && part)
			w->ns_off[part] = event->time_ns - e->time_ns;
		if (part != first && part && !first && e->cfa && event->cfa) {
			w->cfa_off[part] = event->cfa - e->cfa;
			w->cfa_known |= 1ull << part;
		}
	}
	event->time_ns += first ? w->ns_off[first] : 0;
	for (uint64_t bits = members; bits; bits &= bits - 1)
		pop(w, __builtin_ctzll(bits));
	if (members == w->all) {
		w->landmarks++;
		w->last_landmark = site;
	}
	as_first(w, first, event);
	return 0;
}

/* Whether the event @e of @part is of the activation @f, as far as frames tell. Where another run
 * has put the stack is known from the first landmark on; until then, that it is a number of whole
 * pages away (those of threads are). */
static bool in_frame(const struct share_walk *w, uint32_t part, const struct walk_frame *f,
		     const struct pugmark_witness_event *e)
{
	enum { PAGE = 4096 };
	const struct pugmark_plan_node *n = &w->plan->nodes[w->t->node_of[e->site]];
	if (!f->cfa || w->plan->sites[e->site].cfa_reg == PUGMARK_CFA_UNKNOWN ||
	    n->flags & PUGMARK_NODE_CALLEE_CFA)
		return true;
	uint64_t away = f->cfa - e->cfa - w->cfa_off[part];
	return w->cfa_known >> part & 1 ? !away : !(away % PAGE);
}

/* What the share that tells the fork at @node says: the way, in *@way. -EDOM: no share does. */
static int tell(struct share_walk *w, uint32_t node, uint32_t *way)
{
	struct walk_frame *f = top(w);
	struct tell_fork *fork = share_tell_fork(w->t, f->f, node);
	const struct pugmark_witness_event *e;
	if (!fork)
		return -ENOMEM;
	if (fork->share == TELL_NOBODY)
		return -EDOM;
	int err = front(w, fork->share, &e);
	if (err)
		return err;
	bool ours = e && e->kind == PUGMARK_EVENT_WITNESS && w->t->site_func[e->site] == f->func &&
		    in_frame(w, fork->share, f, e);
	*way = share_tell_way(fork, ours ? e->site : TELL_ELSEWHERE);
	return *way == PUGMARK_NONE ? parted(w, fork->share, PUGMARK_NONE, e) : 0;
}

static uint32_t only_way(const struct flow_graph *g, uint32_t node)
{
	return g->nodes[node].n_out ? g->edges[g->nodes[node].out].to : PUGMARK_NONE;
}

static void go(struct share_walk *w, uint32_t node)
{
	w->at = node;
	w->position = node == PUGMARK_NONE ? WALK_STUCK : WALK_AT;
}

static int pass_branch(struct share_walk *w, const struct pugmark_plan_node *n, uint32_t at)
{
	const struct share_graph *g = &top(w)->f->graph;
	uint32_t taken = share_graph_after(g, w->plan, n->next_taken);
	uint32_t not_taken = share_graph_after(g, w->plan, n->next), way;
	struct pugmark_witness_event e;
	int err;
	if (w->t->members[n->site]) {
		err = take(w, n->site, &e);
		way = e.val ? taken : not_taken;
	} else {
		err = taken == not_taken ? (way = taken, 0) : tell(w, at, &way);
		e = made_up(w, n->site);
		e.val = way == taken && taken != not_taken;
	}
	if (!err)
		err = emit(w, &e);
	go(w, way);
	return err;
}

static int pass_target(struct share_walk *w, const struct pugmark_plan_node *n)
{
	const struct share_graph *g = &top(w)->f->graph;
	struct pugmark_witness_event e;
	uint32_t decision = PUGMARK_NONE;
	if (!w->t->members[n->site])
		return -EDOM;
	int err = take(w, n->site, &e);
	if (err)
		return err;
	for (uint32_t i = 0; i < n->next_taken; i++) {
		const struct pugmark_plan_target *t = &w->plan->targets[n->next + i];
		if (t->addr == e.val - w->bias) {
			decision = t->decision;
			break;
		}
		if (t->addr == PUGMARK_PLAN_TARGET_ELSEWHERE)
			decision = t->decision;
	}
	err = emit(w, &e);
	go(w, share_graph_after(g, w->plan, decision));
	return err;
}

/* After the call at the top frame's node has ended. */
static void after_call(struct share_walk *w)
{
	struct walk_frame *f = top(w);
	const struct pugmark_plan_node *n = &w->plan->nodes[f->node];
	const struct share_graph *g = &f->f->graph;
	if (n->flags & PUGMARK_NODE_TAIL)
		go(w, g->flow.exit);
	else if (n->flags & PUGMARK_NODE_NORETURN)
		w->position = WALK_STUCK;
	else
		go(w, share_graph_after(g, w->plan, n->next));
}

static int pass_call(struct share_walk *w, const struct pugmark_plan_node *n, uint64_t callee_cfa)
{
	struct walk_frame *f = top(w);
	uint64_t cfa = callee_cfa, ret = w->bias + n->addr + n->call_len;
	if (!cfa && f->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN)
		cfa = f->cfa - n->height;
	f->node = n - w->plan->nodes;
	if (n->flags & PUGMARK_NODE_TAIL) {
		cfa = f->cfa;
		ret = f->ret;
	}
	w->callee_cfa = cfa;
	w->callee_of = w->n_frames;
	if (n->kind == PUGMARK_NODE_KIND_CALL)
		return push(w, n->callee, cfa, ret, false);
	if (n->kind == PUGMARK_NODE_KIND_LEAF)
		after_call(w);
	else
		w->position = WALK_IN_CALL;
	return 0;
}

static int pass(struct share_walk *w, uint32_t at)
{
	struct walk_frame *f = top(w);
	uint32_t index = f->f->graph.first + at;
	const struct pugmark_plan_node *n = &w->plan->nodes[index];
	struct pugmark_witness_event e;
	uint64_t callee_cfa = 0;
	int err = 0;
	if (n->kind == PUGMARK_NODE_KIND_BRANCH)
		return pass_branch(w, n, at);
	if (n->kind == PUGMARK_NODE_KIND_TARGET)
		return pass_target(w, n);
	if (n->site != PUGMARK_NONE) {
		const struct pugmark_plan_site *s = &w->plan->sites[n->site];
		if (w->t->members[n->site])
			err = take(w, n->site, &e);
		else
			e = made_up(w, n->site);
		if (err)
			return err;
		if (w->t->members[n->site] && n->flags & PUGMARK_NODE_CALLEE_CFA)
			callee_cfa = e.cfa;
		else if (!f->cfa && s->cfa_reg != PUGMARK_CFA_UNKNOWN)
			f->cfa = e.cfa;
		if (!f->ret && e.flags & PUGMARK_EVENT_HAS_RET)
			f->ret = e.ret;
		err = emit(w, &e);
		if (err)
			return err;
	}
	switch (n->kind) {
	case PUGMARK_NODE_KIND_CALL:
	case PUGMARK_NODE_KIND_UNKNOWN:
	case PUGMARK_NODE_KIND_LEAF:
		return pass_call(w, n, callee_cfa);
	case PUGMARK_NODE_KIND_RETURN:
		go(w, f->f->graph.flow.exit);
		return 0;
	default:
		go(w, share_graph_after(&f->f->graph, w->plan, n->next));
		return 0;
	}
}

/* The top frame's function has returned. */
static void leave(struct share_walk *w)
{
	struct walk_frame f = w->frames[--w->n_frames];
	if (f.handler) {
		w->at = f.was_at;
		w->position = f.was;
	} else if (!w->n_frames) {
		w->position = WALK_OUTSIDE;
	} else if (w->plan->nodes[top(w)->node].kind == PUGMARK_NODE_KIND_UNKNOWN) {
		w->position = WALK_IN_CALL;
	} else {
		after_call(w);
	}
}

/* Enters the function whose entry the event is: its frame is as the event says. */
static int enter(struct share_walk *w, const struct pugmark_witness_event *a, bool handler)
{
	const struct pugmark_plan_site *s = &w->plan->sites[a->site];
	uint64_t cfa = s->cfa_reg != PUGMARK_CFA_UNKNOWN ? a->cfa : 0;
	w->bias = a->bias;
	return push(w, w->t->site_func[a->site], cfa, a->flags & PUGMARK_EVENT_HAS_RET ? a->ret : 0,
		    handler);
}

static bool is_entry(const struct share_walk *w, const struct pugmark_witness_event *a)
{
	return a && a->kind == PUGMARK_EVENT_WITNESS && w->t->is_entry[a->site];
}

/* Whether the stack that the entry @a shows still holds the return address of the call in progress,
 * where that has put it; where the place is not known, or not shown, anywhere. */
static bool stack_holds_call(const struct share_walk *w, const struct pugmark_witness_event *a,
			     uint64_t ret)
{
	const struct walk_frame *f = &w->frames[w->n_frames - 1];
	const struct pugmark_plan_node *n = &w->plan->nodes[f->node];
	const struct pugmark_witness_event *e = a;
	uint64_t slot = w->callee_cfa && w->callee_of == w->n_frames ? w->callee_cfa - 8 : 0;
	if (!slot && f->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN)
		slot = f->cfa - n->height - 8;
	if (!e->stack)
		return true;
	if (slot)
		return slot < e->stack_addr || slot >= e->stack_addr + 8ull * e->stack_words ||
		       e->stack[(slot - e->stack_addr) / 8] == ret;
	for (uint32_t i = 0; i < e->stack_words; i++)
		if (e->stack[i] == ret)
			return true;
	return false;
}

/* Whether the entry that is next is one by the unknown call in progress. A call of ours returns to
 * behind itself; one that other code makes returns to that, into no module of ours, and then the
 * call in progress is still on the stack: else it has ended in silence, and what is entered is
 * called back out of one further out. */
static bool entered_by_call(struct share_walk *w, const struct pugmark_witness_event *a)
{
	const struct walk_frame *f = top(w);
	const struct pugmark_plan_node *n = &w->plan->nodes[f->node];
	uint64_t ret = a->ret - a->bias;
	bool foreign = ret < w->plan->text_addr || ret >= w->plan->text_end;
	bool below = !f->cfa || !a->cfa || a->cfa < f->cfa;
	if (!(a->flags & PUGMARK_EVENT_HAS_RET))
		return true;
	if (n->flags & PUGMARK_NODE_TAIL) {
		if (a->ret == f->ret)
			return true;
		return foreign && below && (!f->ret || stack_holds_call(w, a, f->ret));
	}
	if (ret == n->addr + n->call_len)
		return true;
	return foreign && below && stack_holds_call(w, a, w->bias + n->addr + n->call_len);
}

static int in_call(struct share_walk *w)
{
	const struct pugmark_witness_event *a;
	int err = front(w, 0, &a);
	if (err)
		return err;
	if (is_entry(w, a) && entered_by_call(w, a))
		return enter(w, a, false);
	after_call(w);
	return 0;
}

static int outside(struct share_walk *w)
{
	const struct pugmark_witness_event *a;
	int err = front(w, 0, &a);
	if (err)
		return err;
	return is_entry(w, a) ? enter(w, a, false) : parted(w, 0, PUGMARK_NONE, a);
}

static bool same_special(const struct pugmark_witness_event *a,
			 const struct pugmark_witness_event *b)
{
	return b && a->kind == b->kind && (a->kind != PUGMARK_EVENT_WITNESS || a->site == b->site);
}

/* Takes what all parts have next, where that is no ordinary witness. 1: it did and the walk goes
 * on; 2: the thread has forked; 3: it has ended; 0: there is no such; or -errno. */
static int take_special(struct share_walk *w)
{
	const struct pugmark_witness_event *a, *b;
	int err = front(w, 0, &a);
	if (err || (a && !is_special(w, a)))
		return err;
	for (uint32_t k = 1; k < w->t->n_shares; k++) {
		err = front(w, k, &b);
		if (err)
			return err;
		if (a ? !same_special(a, b) : b != NULL)
			return 0;
	}
	if (!a)
		return 3;
	if (a->kind == PUGMARK_EVENT_WITNESS) {
		bool here = w->position == WALK_AT && w->n_frames &&
			    w->t->node_of[a->site] == top(w)->f->graph.first + w->at;
		return here ? 0 : -EDOM;
	}
	/* What came in silence before a handler, a landing pad or a kill is not told: a gap. */
	if ((a->kind == PUGMARK_EVENT_SIGNAL || a->kind == PUGMARK_EVENT_END) && a->val)
		return -EDOM;
	struct pugmark_witness_event e = *a;
	if (e.kind == PUGMARK_EVENT_END && !e.val && w->position != WALK_STUCK && w->n_frames)
		return 0; /* what is still to be done is done in silence */
	for (uint32_t k = 0; k < w->t->n_shares; k++) {
		err = front(w, k, &b);
		if (err)
			return err;
		w->ns_off[k] = e.time_ns - b->time_ns;
		if (e.kind == PUGMARK_EVENT_LOST && b->lost > e.lost)
			e.lost = b->lost;
		pop(w, k);
	}
	w->landmarks++;
	err = emit(w, &e);
	if (err)
		return err;
	switch (e.kind) {
	case PUGMARK_EVENT_STOP:
	case PUGMARK_EVENT_END:
		return 3;
	case PUGMARK_EVENT_FORK:
		return 2;
	case PUGMARK_EVENT_EXEC:
		w->n_frames = 0;
		w->position = WALK_OUTSIDE;
		return 1;
	case PUGMARK_EVENT_SIGNAL:
		err = front(w, 0, &a);
		if (!err && is_entry(w, a) && a->flags & PUGMARK_EVENT_FROM_SIGNAL)
			err = enter(w, a, true);
		return err ? err : 1;
	default:
		return parted(w, 0, PUGMARK_NONE, NULL);
	}
}

/* Steps without an event of any part after which a walk goes round in circles. */
#define SILENT_MAX (1u << 24)

static int step(struct share_walk *w)
{
	if (w->taken != w->silent_since) {
		w->silent_since = w->taken;
		w->silent = 0;
	} else if (++w->silent > SILENT_MAX) {
		return -EDOM;
	}
	switch (w->position) {
	case WALK_OUTSIDE:
		return outside(w);
	case WALK_IN_CALL:
		return in_call(w);
	case WALK_STUCK: {
		const struct pugmark_witness_event *a;
		for (uint32_t k = 0; k < w->t->n_shares; k++) {
			int err = front(w, k, &a);
			if (err)
				return err;
			if (a && !is_special(w, a))
				return parted(w, k, PUGMARK_NONE, a);
		}
		return parted(w, 0, PUGMARK_NONE, NULL);
	}
	default:
		break;
	}
	const struct flow_graph *g = &top(w)->f->graph.flow;
	uint32_t at = w->at, way;
	if (at < g->entry)
		return pass(w, at);
	if (at == g->exit) {
		leave(w);
		return 0;
	}
	if (at == g->entry) {
		go(w, only_way(g, at));
		return 0;
	}
	int err = tell(w, at, &way);
	if (!err)
		go(w, way);
	return err;
}

/* The events that all shares have, from here on, until they differ in two runs. */
static int compare_landmarks(struct share_walk *w, uint32_t other)
{
	uint32_t parts[2] = {w->diverged.part ? 0 : other, w->diverged.part ? w->diverged.part : 0};
	uint32_t sites[2];
	enum { FAR = 1 << 22 };
	for (uint64_t number = w->landmarks; number < w->landmarks + FAR; number++) {
		for (int i = 0; i < 2; i++) {
			const struct pugmark_witness_event *a;
			int err;
			sites[i] = PUGMARK_NONE;
			while (!(err = front(w, parts[i], &a)) && a) {
				bool mark = a->kind == PUGMARK_EVENT_WITNESS &&
					    w->t->members[a->site] == w->all;
				if (mark)
					sites[i] = a->site;
				pop(w, parts[i]);
				if (mark)
					break;
			}
			if (err)
				return err;
		}
		if (sites[0] == sites[1] && sites[0] != PUGMARK_NONE)
			continue;
		w->diverged.differ = sites[0] != sites[1];
		w->diverged.other = parts[0] ? parts[0] : parts[1];
		w->diverged.landmark_here = sites[parts[0] ? 1 : 0];
		w->diverged.landmark_there = sites[parts[0] ? 0 : 1];
		w->diverged.landmark_number = number;
		return 0;
	}
	return 0;
}

static int end_diverged(struct share_walk *w, struct share_divergence *out)
{
	w->diverged.landmarks = w->landmarks;
	w->diverged.last_landmark = w->last_landmark;
	int err = 0;
	if (!w->diverged.untold && w->diverged.part)
		err = compare_landmarks(w, w->diverged.part);
	else if (!w->diverged.untold && w->t->n_shares > 1)
		err = compare_landmarks(w, 1);
	*out = w->diverged;
	return err ? err : -ESTALE;
}

int share_walk_run(struct share_walk *w, struct share_divergence *diverged)
{
	for (;;) {
		int got = take_special(w);
		if (got == 2)
			return 1;
		if (got == 3)
			return 0;
		if (!got)
			got = step(w);
		if (got == -EDOM) {
			parted(w, 0, PUGMARK_NONE, NULL);
			w->diverged.untold = true;
			got = -ESTALE;
		}
		if (got == -ESTALE)
			return end_diverged(w, diverged);
		if (got < 0)
			return got;
	}
}

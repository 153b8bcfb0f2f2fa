// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_parts.c: the parts of a walk, see share_walk.h. A part's event is *ordinary* if it is a
 * witness that the grammar leads to. The others (a signal, a landing pad, a fork, the end) are in
 * all parts, in the same places: between two of them lies what has to be put in order. */
#include "offline/share/share_walk.h"

#include <errno.h>

#define PAGE 4096 /* bytes */

static bool is_ordinary(const struct share_walk *w, const struct pugmark_witness_event *e)
{
	return e && e->kind == PUGMARK_EVENT_WITNESS && !w->t->is_root[e->site];
}

int walk_parted(struct share_walk *w, uint32_t part, uint32_t expected,
		const struct pugmark_witness_event *found)
{
	w->diverged = (struct share_divergence){
		.part = part,
		.expected_site = expected,
		.found_site =
			found && found->kind == PUGMARK_EVENT_WITNESS ? found->site : PUGMARK_NONE,
		.found_kind = found ? found->kind : 255,
		.func = w->n_frames ? walk_top(w)->func : PUGMARK_NONE,
	};
	return -ESTALE;
}

bool walk_is_at_a_place(const struct pugmark_witness_event *e)
{
	if (!e)
		return false;
	switch (e->kind) {
	case PUGMARK_EVENT_WITNESS:
	case PUGMARK_EVENT_SIGNAL:
	case PUGMARK_EVENT_FORK:
	case PUGMARK_EVENT_EXEC:
		return true;
	case PUGMARK_EVENT_END:
		return !pugmark_event_stopped(e);
	default:
		return false;
	}
}

int walk_fill(struct share_walk *w, uint32_t part)
{
	const struct pugmark_witness_event *e;
	int got = w->io.next(w->io.ctx, part, &e);
	if (got < 0)
		return got;
	w->fronts[part] = got ? e : NULL;
	if (!part)
		w->handler_next = false;
	if (got && e->kind == PUGMARK_EVENT_WITNESS && e->site >= w->plan->n_sites)
		return -EBADMSG;
	if (got && is_ordinary(w, e)) {
		if (!(w->t->members[e->site] >> part & 1))
			return -EBADMSG; /* its plan has no probe there */
		w->ordinary |= 1ull << part;
		if (!part)
			w->handler_next =
				e->flags & PUGMARK_EVENT_FROM_SIGNAL && w->t->is_entry[e->site];
		return 0;
	}
	w->ordinary &= ~(1ull << part);
	return 0;
}

/* Past the front of @part. */
static int pop(struct share_walk *w, uint32_t part)
{
	w->taken++;
	return walk_fill(w, part);
}

bool walk_in_frame(const struct share_walk *w, uint32_t part, const struct walk_frame *f,
		   const struct pugmark_witness_event *e)
{
	/* Where another run has put the stack is known from the first event on that shows it; until
	 * then, that it is a number of whole pages away (those of threads are). */
	const struct pugmark_plan_node *n = &w->plan->nodes[w->t->node_of[e->site]];
	if (!f->cfa || w->plan->sites[e->site].cfa_reg == PUGMARK_CFA_UNKNOWN ||
	    n->flags & PUGMARK_NODE_CALLEE_CFA)
		return true;
	uint64_t away = f->cfa - pugmark_event_cfa(e) - w->cfa_off[part];
	return w->cfa_known >> part & 1 ? !away : !(away % PAGE);
}

static int emit(struct share_walk *w, struct pugmark_witness_event *e)
{
	if (e->time_ns < w->last_ns)
		e->time_ns = w->last_ns;
	w->last_ns = e->time_ns;
	return w->io.emit(w->io.ctx, e);
}

/* What is added to a stack address of @part to make it one of the first. As long as that is not
 * known it is taken for the number of whole pages that brings the event, whose stack pointer is
 * known alone, right below its frame. */
static uint64_t stack_offset(const struct share_walk *w, uint32_t part, const struct walk_frame *f,
			     const struct pugmark_witness_event *e)
{
	if (w->cfa_known >> part & 1 || !f || !f->cfa)
		return w->cfa_off[part];
	return (f->cfa - pugmark_event_cfa(e)) & -(uint64_t)PAGE;
}

/* What an event of @part says, as the first part would have said it. */
static void as_first(struct share_walk *w, uint32_t part, struct pugmark_witness_event *e)
{
	const struct pugmark_plan_site *s = &w->plan->sites[e->site];
	const struct walk_frame *f = w->n_frames ? walk_top(w) : NULL;
	if (!part) {
		w->bias = e->bias;
		return;
	}
	uint64_t cfa = pugmark_event_cfa(e), ret = pugmark_event_ret(e);
	if (cfa)
		e->arm.witness.cfa = cfa + stack_offset(w, part, f, e);
	if (e->flags & PUGMARK_EVENT_HAS_RET && ret)
		e->arm.witness.ret = f && f->ret ? f->ret : ret - e->bias + w->bias;
	if (s->kind == PUGMARK_WITNESS_TARGET)
		e->arm.witness.val = pugmark_event_target(e) - e->bias + w->bias;
	e->bias = w->bias;
	e->stack = NULL;
	e->stack_words = 0;
}

/* Where @part has its stack, from an event that is at @at there, and at @cfa in the first run. */
static void place_stack(struct share_walk *w, uint32_t part, uint64_t cfa, uint64_t at)
{
	if (!part || !cfa || !at)
		return;
	w->cfa_off[part] = cfa - at;
	w->cfa_known |= 1ull << part;
}

/* Two runs' address in the code that is traced: the same place in it, or outside in both. */
static bool same_place(const struct share_walk *w, uint64_t a, uint64_t b)
{
	const struct share_teller *t = w->t;
	bool outside_a = a < t->text || a >= t->text_end;
	return outside_a ? b < t->text || b >= t->text_end : a == b;
}

/* Whether two runs' events of one site say the same: the way of a jump, where it went, and where an
 * entry was called from. */
static bool same_values(const struct share_walk *w, const struct pugmark_witness_event *a,
			const struct pugmark_witness_event *b)
{
	uint8_t kind = w->plan->sites[a->site].kind;
	if (kind == PUGMARK_WITNESS_BRANCH && pugmark_event_taken(a) != pugmark_event_taken(b))
		return false;
	if (kind == PUGMARK_WITNESS_TARGET &&
	    !same_place(w, pugmark_event_target(a) - a->bias, pugmark_event_target(b) - b->bias))
		return false;
	return !(a->flags & b->flags & PUGMARK_EVENT_HAS_RET) ||
	       same_place(w, pugmark_event_ret(a) - a->bias, pugmark_event_ret(b) - b->bias);
}

/* All parts that have the site must have it next, of this activation, and agree. */
static int agree(struct share_walk *w, uint32_t site)
{
	const struct pugmark_witness_event *one = w->fronts[__builtin_ctzll(w->t->members[site])];
	const struct walk_frame *f = w->n_frames && w->position != WALK_LOST ? walk_top(w) : NULL;
	for (uint64_t bits = w->t->members[site]; bits; bits &= bits - 1) {
		uint32_t part = __builtin_ctzll(bits);
		const struct pugmark_witness_event *e = w->fronts[part];
		if (!e || e->kind != PUGMARK_EVENT_WITNESS || e->site != site ||
		    (f && f->func == w->t->site_func[site] && !walk_in_frame(w, part, f, e)))
			return walk_parted(w, part, site, e);
		if (!same_values(w, one, e))
			return walk_parted(w, part, site, e);
	}
	return 0;
}

static struct share_landmark landmark_of(const struct pugmark_witness_event *e)
{
	return (struct share_landmark){e->kind,
				       e->kind == PUGMARK_EVENT_WITNESS ? e->site : PUGMARK_NONE};
}

/* All parts have come to the event @e. */
static void note_landmark(struct share_walk *w, const struct pugmark_witness_event *e)
{
	w->landmarks++;
	w->last = landmark_of(e);
	if (w->last.site != PUGMARK_NONE)
		w->landmark_hits[w->last.site]++;
}

int walk_take_alone(struct share_walk *w, const struct tell_node *n,
		    struct pugmark_witness_event *event)
{
	uint32_t part = n->part;
	const struct pugmark_witness_event *e = w->fronts[part];
	const struct walk_frame *f = walk_top(w);
	if (!(w->ordinary >> part & 1) || e->site != n->site || e->stack ||
	    e->flags & PUGMARK_EVENT_HAS_RET || !f->cfa || !pugmark_event_cfa(e) ||
	    !(w->cfa_known >> part & 1) || f->cfa - pugmark_event_cfa(e) != w->cfa_off[part])
		return 0;
	*event = *e;
	event->time_ns += w->ns_off[part];
	event->arm.witness.cfa = f->cfa;
	if (part)
		event->bias = w->bias;
	else
		w->bias = event->bias;
	w->silent = 0;
	int err = emit(w, event);
	if (!err)
		err = pop(w, part);
	return err ? err : 1;
}

int walk_take(struct share_walk *w, uint32_t site, struct pugmark_witness_event *event)
{
	uint64_t members = w->t->members[site];
	uint32_t first = __builtin_ctzll(members);
	const struct pugmark_plan_node *n = &w->plan->nodes[w->t->node_of[site]];
	bool own = w->plan->sites[site].cfa_reg != PUGMARK_CFA_UNKNOWN &&
		   !(n->flags & PUGMARK_NODE_CALLEE_CFA);
	int err = agree(w, site);
	if (err)
		return err;
	*event = *w->fronts[first];
	uint64_t cfa = own && w->n_frames && w->position != WALK_LOST ? walk_top(w)->cfa : 0;
	if (!first)
		cfa = pugmark_event_cfa(event);
	/* Without a frame nothing says where this run has its stack. */
	bool placed = !first || w->cfa_known >> first & 1 ||
		      (w->n_frames && w->position != WALK_LOST && walk_top(w)->cfa);
	if (!placed)
		return -EDOM;
	for (uint64_t bits = members; bits; bits &= bits - 1) {
		uint32_t part = __builtin_ctzll(bits);
		place_stack(w, part, cfa, pugmark_event_cfa(w->fronts[part]));
		if (members == w->all)
			w->ns_off[part] = event->time_ns - w->fronts[part]->time_ns;
	}
	event->time_ns += w->ns_off[first];
	as_first(w, first, event);
	err = emit(w, event);
	for (uint64_t bits = members; bits && !err; bits &= bits - 1)
		err = pop(w, __builtin_ctzll(bits));
	if (members == w->all)
		note_landmark(w, event);
	w->silent = 0;
	return err;
}

static bool same_special(const struct share_walk *w, const struct pugmark_witness_event *a,
			 const struct pugmark_witness_event *b)
{
	if (!b || a->kind != b->kind)
		return false;
	switch (a->kind) {
	case PUGMARK_EVENT_WITNESS:
		return a->site == b->site && same_values(w, a, b);
	case PUGMARK_EVENT_SIGNAL: /* in the same place of its code */
		return pugmark_event_ip(a) % PAGE == pugmark_event_ip(b) % PAGE &&
		       !pugmark_event_handler(a) == !pugmark_event_handler(b);
	case PUGMARK_EVENT_END:
		return pugmark_event_stopped(a) == pugmark_event_stopped(b);
	default:
		return true;
	}
}

int walk_take_special(struct share_walk *w, struct pugmark_witness_event *event)
{
	const struct pugmark_witness_event *a = w->fronts[0];
	if (!a)
		return walk_parted(w, 0, PUGMARK_NONE, NULL);
	*event = *a;
	for (uint32_t k = 1; k < w->t->n_shares; k++) {
		const struct pugmark_witness_event *b = w->fronts[k];
		if (!same_special(w, a, b))
			return walk_parted(w, k, PUGMARK_NONE, b);
		if (a->kind == PUGMARK_EVENT_LOST && b->lost > event->lost)
			event->lost = b->lost;
		w->ns_off[k] = a->time_ns - b->time_ns;
		if (a->kind == PUGMARK_EVENT_WITNESS || a->kind == PUGMARK_EVENT_SIGNAL)
			place_stack(w, k, pugmark_event_stack_at(a), pugmark_event_stack_at(b));
	}
	if (a->kind == PUGMARK_EVENT_WITNESS)
		w->bias = a->bias;
	int err = emit(w, event);
	for (uint32_t k = 0; k < w->t->n_shares && !err; k++)
		err = pop(w, k);
	note_landmark(w, event);
	w->silent = 0;
	return err;
}

/* The next landmark of @part, past everything else. 1; 0: there is none; or -errno. */
static int next_landmark(struct share_walk *w, uint32_t part, struct pugmark_witness_event *out)
{
	while (w->fronts[part]) {
		const struct pugmark_witness_event *e = w->fronts[part];
		bool is = e->kind != PUGMARK_EVENT_WITNESS || w->t->members[e->site] == w->all;
		*out = *e;
		out->stack = NULL; /* the reader's */
		int err = pop(w, part);
		if (err || is)
			return err ? err : 1;
	}
	*out = (struct pugmark_witness_event){.kind = SHARE_NO_LANDMARK};
	return 0;
}

static bool same_landmark(const struct share_walk *w, const struct pugmark_witness_event *a,
			  const struct pugmark_witness_event *b)
{
	return a->kind == SHARE_NO_LANDMARK ? b->kind == a->kind : same_special(w, a, b);
}

/* The next landmark of all runs. 1: they differ in it; 0; -ENOENT: no run has any; or -errno. */
static int compare_next(struct share_walk *w, struct share_divergence *d)
{
	struct pugmark_witness_event first, other = {0}, e;
	int any = next_landmark(w, 0, &first);
	if (any < 0)
		return any;
	d->here = landmark_of(&first);
	d->as_first = 1;
	for (uint32_t k = 1; k < w->t->n_shares; k++) {
		int got = next_landmark(w, k, &e);
		if (got < 0)
			return got;
		any |= got;
		if (same_landmark(w, &first, &e)) {
			d->as_first |= 1ull << k;
		} else if (!d->differ) {
			d->differ = true;
			d->other = k;
			d->as_other = 1ull << k;
			d->there = landmark_of(&e);
			other = e;
		} else if (same_landmark(w, &other, &e)) {
			d->as_other |= 1ull << k;
		}
	}
	return d->differ ? 1 : any ? 0 : -ENOENT;
}

int walk_compare_landmarks(struct share_walk *w)
{
	enum { FAR = 1 << 22 };
	struct share_divergence found = w->diverged;
	for (uint32_t n = 0; n < FAR; n++) {
		int got = compare_next(w, &found);
		if (got == 1)
			w->diverged = found;
		if (got)
			return got == 1 || got == -ENOENT ? 0 : got;
		found.landmarks++;
		found.last = found.here;
		if (found.last.site != PUGMARK_NONE)
			found.last_time = ++w->landmark_hits[found.last.site];
	}
	return 0;
}

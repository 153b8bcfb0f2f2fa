// SPDX-License-Identifier: LGPL-2.1-or-later
/* backward.c: one scan from the criterion to the start, or to where nothing is live any more. Most
 * blocks write nothing that is live and are passed by two tests. */
#include "offline/slice/one_to_one.h"
#include "offline/slice/scan.h"

#include <errno.h>

static void mark_list(struct scan *s, const uint32_t *defs, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		scan_mark(s, defs[i]);
}

static void mark_loads(struct scan *s, uint64_t first, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t k;
		const uint32_t *defs = dep_trace_load(s->t, &s->t->loads.at[first + i], &k);
		mark_list(s, defs, k);
	}
}

/* Tells of a step; what decided that it was executed is in the slice as well. */
static void tell(struct scan *s, const struct slice_step *step)
{
	s->visit(s->ctx, step);
	if (s->control)
		scan_decides(s, s->parent);
}

/* Which of the definitions that end at the scan's place are live: clears them, and follows those
 * that are copies. Sets the range in @step; true: one is live that is no copy. */
static bool take_defs(struct scan *s, const struct dep_event *e, struct slice_step *step)
{
	bool made = false;
	if (!e->n_defs || !scan_any(s, e->first_def, e->n_defs))
		return false;
	for (uint32_t i = 0; i < e->n_defs; i++) {
		uint32_t def = e->first_def + i;
		if (!scan_has(s, def))
			continue;
		scan_clear(s, def);
		step->first = step->first ? step->first : def;
		step->last = def;
		if (e->flags & DEP_COPIES && (e->kind == DEP_STRING || !(s->follow & SLICE_INSIDE)))
			scan_mark(s, s->t->sources.at[e->first_source + i]);
		else
			made = true;
	}
	return made;
}

/* What the instruction reads becomes live. */
static void want_reads(struct scan *s, const struct dep_block *b, unsigned i, uint64_t load)
{
	const struct dep_insn *d = &b->insns[i];
	if (s->follow & SLICE_PINNED && !slice_one_to_one(b, i))
		return;
	dep_units_add(&s->live, &d->data);
	if (s->follow & SLICE_ADDRESSES)
		dep_units_add(&s->live, &d->address);
	mark_loads(s, load, d->n_loads);
}

/* Instruction @i of @b; the scan's place is behind it, and before it afterwards. */
static void take_insn(struct scan *s, const struct dep_block *b, unsigned i, bool wanted)
{
	const struct dep_insn *d = &b->insns[i];
	const struct dep_event *e = NULL;
	struct slice_step step = {0};
	bool hit = wanted || dep_units_meet(&d->writes, &s->live), copied = false;
	bool moved = dep_units_meet(&d->moved, &s->live);
	if (d->string) {
		e = &s->t->events[s->t->strings.at[--s->at.string]];
		hit |= take_defs(s, e, &step);
		copied = step.first;
		s->at.def -= e->n_defs;
	}
	for (unsigned k = 0; k < d->n_stores; k++, s->at.def--)
		if (scan_has(s, s->at.def)) {
			scan_clear(s, s->at.def);
			hit = true;
		}
	s->at.load -= d->n_loads;
	s->at.count--;
	if (!hit && !moved && !copied)
		return;
	if (hit)
		dep_units_remove(&s->live, &d->kills);
	if (moved)
		dep_units_remove(&s->live, &d->moved);
	if (moved)
		dep_units_add(&s->live, &d->moves_by);
	if (hit)
		want_reads(s, b, i, s->at.load);
	else if (copied && s->follow & SLICE_ADDRESSES)
		dep_units_add(&s->live, &d->address);
	if (hit && e)
		mark_list(s, &s->t->sources.at[e->first_read], e->n_reads);
	step.count = s->at.count;
	step.load = s->at.load;
	step.reads = hit;
	step.ip = b->ip + d->ip_off;
	step.block = b;
	step.insn = d;
	step.event = e;
	tell(s, &step);
}

/* A call's reads belong to the moment when it left, where callbacks came in between. */
static void leave_for_callbacks(struct scan *s, const struct dep_event *e)
{
	scan_put_aside(s, e->id, &s->live);
	s->live = (struct dep_units){{0}};
}

/* Bytes of input, or of the parent's memory: a step for each run of them. */
static void take_input(struct scan *s, const struct dep_event *e)
{
	uint32_t end = e->first_def + e->n_defs;
	for (uint32_t def = e->first_def; def < end; def++) {
		if (!(def % 64) && !s->defs[def / 64])
			def += 63;
		if (def >= end || !scan_has(s, def))
			continue;
		struct slice_step step = {.count = e->count, .ip = e->ip, .event = e, .first = def};
		for (; def < end && scan_has(s, def); def++) {
			scan_clear(s, def);
			step.last = def;
		}
		tell(s, &step);
	}
}

static void take_event(struct scan *s, const struct dep_event *e)
{
	struct slice_step step = {.count = e->count, .ip = e->ip, .event = e};
	struct dep_units writes = dep_event_writes(e), reads = dep_event_reads(e);
	bool hit = dep_units_meet(&s->live, &writes);
	s->at.count = e->count;
	if (s->control)
		s->parent = s->control->parents[--s->at.parent];
	if (e->flags & DEP_INPUT || e->kind == DEP_BORN)
		take_input(s, e);
	else
		hit |= take_defs(s, e, &step);
	s->at.def -= e->n_defs;
	dep_units_remove(&s->live, &writes);
	if (hit && !(s->follow & SLICE_INSIDE) &&
	    (!(s->follow & SLICE_PINNED) || e->flags & DEP_OUTPUT)) {
		dep_units_add(&s->live, &reads);
		mark_list(s, &s->t->sources.at[e->first_read], e->n_reads);
	}
	switch (e->kind) {
	case DEP_SIGNAL_END:
		leave_for_callbacks(s, e);
		return;
	case DEP_SIGNAL:
	case DEP_LEFT:
		scan_take_back(s, e->id, &s->live);
		return;
	default:
		break;
	}
	if (hit || step.first) {
		step.ends = hit && !(e->flags & DEP_READS_KNOWN);
		tell(s, &step);
	}
	if (e->flags & DEP_SPANS)
		leave_for_callbacks(s, e);
}

/* The first @from instructions of the block of item @number, before which the scan's words stand.
 */
static void take_block(struct scan *s, uint32_t number, unsigned from)
{
	const struct dep_block *b = s->t->blocks[number];
	for (unsigned i = from; i-- > 0;) {
		if (s->control)
			s->parent = scan_parent(s, s->at.parent, number, i);
		take_insn(s, b, i, i + 1u == b->n_insns && scan_decisive(s, s->at.item));
	}
}

/* Passes a block that has nothing to do with what is live. */
static inline bool pass_block(struct scan *s, const struct dep_block *b)
{
	if (scan_decisive(s, s->at.item) || dep_units_meet(&b->writes, &s->live) || b->n_strings ||
	    (b->n_stores && scan_any(s, s->at.def - b->n_stores + 1, b->n_stores)))
		return false;
	s->at.def -= b->n_stores;
	s->at.load -= b->n_loads;
	s->at.count -= b->n_insns;
	return true;
}

static void take_item(struct scan *s, uint32_t number)
{
	if (s->control)
		s->at.parent -= control_words(s->control, number);
	if (!pass_block(s, s->t->blocks[number]))
		take_block(s, number, s->t->blocks[number]->n_insns);
	if (scan_decisive(s, s->at.item))
		s->n_decisive--;
}

static void start(struct scan *s, const struct slice_criterion *c)
{
	unsigned within = scan_seek(s, c->count, false);
	s->live = c->units;
	mark_list(s, c->defs, c->n_defs);
	if (c->decided && s->control)
		scan_decides(s, slice_control_parent(s->control, c->moment));
	if (!c->insn && !within)
		return;
	if (s->at.item >= s->t->items.n || s->t->items.at[s->at.item] & DEP_ITEM_EVENT)
		return;
	uint32_t number = s->t->items.at[s->at.item];
	const struct dep_block *b = s->t->blocks[number];
	s->at = scan_within(s, b, within + c->insn);
	if (s->control)
		s->parent = scan_parent(s, s->at.parent, number, within);
	if (c->insn)
		take_insn(s, b, within, true);
	take_block(s, number, within);
}

int slice_backward(const struct dep_trace *trace, const struct slice_criterion *criterion,
		   unsigned follow, const struct slice_control *control, slice_visit_fn *visit,
		   void *ctx)
{
	struct scan s;
	if (!scan_init(&s, trace, follow, control, visit, ctx)) {
		scan_deinit(&s);
		return -ENOMEM;
	}
	start(&s, criterion);
	size_t more = 0;
	while (s.at.item && !s.no_memory &&
	       (s.n_live || s.n_aside || s.n_decisive || dep_units_any(&s.live) ||
		more < criterion->n_more)) {
		for (; more < criterion->n_more && s.at.count <= criterion->more[more].count;
		     more++)
			dep_units_add(&s.live, &criterion->more[more].units);
		uint32_t item = trace->items.at[--s.at.item];
		if (item & DEP_ITEM_EVENT)
			take_event(&s, &trace->events[item & ~DEP_ITEM_EVENT]);
		else
			take_item(&s, item);
	}
	if (criterion->left)
		*criterion->left = s.live;
	scan_deinit(&s);
	return s.no_memory ? -ENOMEM : 0;
}

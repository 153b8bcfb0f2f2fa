// SPDX-License-Identifier: LGPL-2.1-or-later
/* forward.c: one scan from the criterion to the end. A definition stays what it is, so its bit is
 * never cleared; a register is tainted until something else is written to it. */
#include "offline/slice/scan.h"

#include <errno.h>

static bool any_of(const struct scan *s, const uint32_t *defs, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (defs[i] && scan_has(s, defs[i]))
			return true;
	return false;
}

static bool any_load(const struct scan *s, uint64_t first, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t k;
		const uint32_t *defs = dep_trace_load(s->t, &s->t->loads.at[first + i], &k);
		if (any_of(s, defs, k))
			return true;
	}
	return false;
}

/* Taints the definitions of an event that follow from what is tainted. */
static void give_defs(struct scan *s, const struct dep_event *e, bool hit, struct slice_step *step)
{
	for (uint32_t i = 0; i < e->n_defs; i++) {
		uint32_t def = e->first_def + i;
		bool tainted = e->flags & DEP_COPIES
				       ? any_of(s, &s->t->sources.at[e->first_source + i], 1)
				       : hit;
		if (!tainted)
			continue;
		scan_mark(s, def);
		step->first = step->first ? step->first : def;
		step->last = def;
	}
}

/* Whether instances may depend on that instruction by control: a jump or a call. */
static bool decides(const struct dep_block *b, unsigned i)
{
	return i + 1u == b->n_insns && (b->insns[i].predicate || b->last_kind == VALUE_INSN_CALL ||
					b->last_kind == VALUE_INSN_CALL_IND);
}

/* Whether something in the slice decided that this was executed. */
static bool is_decided(const struct scan *s)
{
	return s->control && s->parent && scan_decisive(s, s->parent - 1);
}

static void take_insn(struct scan *s, const struct dep_block *b, unsigned i, bool wanted)
{
	const struct dep_insn *d = &b->insns[i];
	struct slice_step step = {
		.count = s->at.count, .ip = b->ip + d->ip_off, .block = b, .insn = d};
	bool hit = wanted || is_decided(s) || dep_units_meet(&d->data, &s->live) ||
		   (s->follow & SLICE_ADDRESSES && dep_units_meet(&d->address, &s->live)) ||
		   (s->n_live && any_load(s, s->at.load, d->n_loads));
	bool moved = dep_units_meet(&d->moves_by, &s->live);
	if (d->string) {
		const struct dep_event *e = &s->t->events[s->t->strings.at[s->at.string++]];
		hit |= any_of(s, &s->t->sources.at[e->first_read], e->n_reads);
		give_defs(s, e, hit, &step);
		step.event = e;
		s->at.def += e->n_defs;
	}
	if (hit)
		dep_units_add(&s->live, &d->writes);
	else
		dep_units_remove(&s->live, &d->kills);
	dep_units_remove(&s->live, &d->moved);
	if (moved)
		dep_units_add(&s->live, &d->moved);
	for (unsigned k = 0; k < d->n_stores; k++) {
		s->at.def++;
		if (hit)
			scan_mark(s, s->at.def);
	}
	s->at.load += d->n_loads;
	s->at.count++;
	if (hit && s->control && decides(b, i))
		scan_decides(s, s->at.item + 1);
	if (hit || moved || step.first)
		s->visit(s->ctx, &step);
}

static void call_result(struct scan *s)
{
	struct dep_units rax = dep_units_gpr(VALUE_RAX, 0, 8), rdx = dep_units_gpr(VALUE_RDX, 0, 8);
	struct dep_units low = dep_units_vec(0, 0, 16), high = dep_units_vec(1, 0, 16);
	dep_units_add(&s->live, &rax);
	dep_units_add(&s->live, &rdx);
	dep_units_add(&s->live, &low);
	dep_units_add(&s->live, &high);
}

/* Whether an output wrote tainted bytes. */
static bool writes_tainted(const struct scan *s, const struct dep_event *e)
{
	for (uint32_t i = 0; e->flags & DEP_OUTPUT && i < e->n_runs; i++)
		if (any_of(s, &s->t->runs[e->first_run + i].def, 1))
			return true;
	return false;
}

static void take_event(struct scan *s, const struct dep_event *e)
{
	struct slice_step step = {.count = e->count, .ip = e->ip, .event = e};
	struct dep_units writes = dep_event_writes(e), reads = dep_event_reads(e), kept;
	s->at.count = e->count;
	if (s->control)
		s->parent = s->control->parents[s->at.parent++];
	if (e->kind == DEP_SIGNAL || e->kind == DEP_LEFT)
		scan_put_aside(s, e->id, &s->live);
	if ((e->kind == DEP_SIGNAL_END || e->flags & DEP_SPANS) && scan_take_back(s, e->id, &kept))
		s->live = kept;
	bool inside = s->follow & SLICE_INSIDE;
	bool hit = !inside && (is_decided(s) || dep_units_meet(&reads, &s->live) ||
			       any_of(s, &s->t->sources.at[e->first_read], e->n_reads));
	if (!inside)
		give_defs(s, e, hit, &step);
	s->at.def += e->n_defs;
	dep_units_remove(&s->live, &writes);
	if (hit && e->kind == DEP_CALL)
		call_result(s);
	if (hit || step.first || writes_tainted(s, e)) {
		step.ends = !(e->flags & DEP_READS_KNOWN);
		s->visit(s->ctx, &step);
	}
}

static inline bool pass_block(struct scan *s, const struct dep_block *b)
{
	if (s->n_decisive || dep_units_any(&s->live) || b->n_strings ||
	    any_load(s, s->at.load, b->n_loads))
		return false;
	s->at.def += b->n_stores;
	s->at.load += b->n_loads;
	s->at.count += b->n_insns;
	return true;
}

/* The block of the item that the scan stands at, from instruction @from on: behind it. */
static void take_block(struct scan *s, uint32_t number, unsigned from, bool wanted)
{
	const struct dep_block *b = s->t->blocks[number];
	for (unsigned i = from; i < b->n_insns; i++) {
		if (s->control)
			s->parent = scan_parent(s, s->at.parent, number, i);
		take_insn(s, b, i, wanted && i == from);
	}
	if (s->control)
		s->at.parent += control_words(s->control, number);
	s->at.item++;
}

int slice_forward(const struct dep_trace *trace, const struct slice_criterion *criterion,
		  unsigned follow, const struct slice_control *control, slice_visit_fn *visit,
		  void *ctx)
{
	struct scan s;
	if (!scan_init(&s, trace, follow, control, visit, ctx)) {
		scan_deinit(&s);
		return -ENOMEM;
	}
	unsigned within = scan_seek(&s, criterion->count, criterion->events);
	s.live = criterion->units;
	for (uint64_t i = 0; i < criterion->n_defs; i++)
		scan_mark(&s, criterion->defs[i]);
	if (s.at.item < trace->items.n && !(trace->items.at[s.at.item] & DEP_ITEM_EVENT)) {
		uint32_t number = trace->items.at[s.at.item];
		s.at = scan_within(&s, trace->blocks[number], within);
		take_block(&s, number, within, criterion->insn);
	}
	while (s.at.item < trace->items.n && !s.no_memory &&
	       (s.n_live || s.n_aside || s.n_decisive || dep_units_any(&s.live))) {
		uint32_t item = trace->items.at[s.at.item];
		if (item & DEP_ITEM_EVENT) {
			take_event(&s, &trace->events[item & ~DEP_ITEM_EVENT]);
			s.at.item++;
		} else if (pass_block(&s, trace->blocks[item])) {
			s.at.parent += control ? control_words(control, item) : 0;
			s.at.item++;
		} else {
			take_block(&s, item, 0, false);
		}
	}
	if (criterion->tainted) {
		*criterion->tainted = s.defs;
		s.defs = NULL;
	}
	scan_deinit(&s);
	return s.no_memory ? -ENOMEM : 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* edges.c: one scan from the start to the end that remembers, for each unit of registers and for
 * each definition, which node of the slice made it. What is outside of the slice makes nothing:
 * blocks without an instance of the slice only end what they overwrite. */
#include "offline/slice/edges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS = 64 * DEP_WORDS };

/* Who made what is in the registers. */
struct makers {
	struct dep_units known; /* units that have a maker */
	uint32_t of[UNITS];
};

/* Registers that were put aside: those of a signal, or of a call with callbacks. */
struct aside {
	uint32_t id;
	struct makers regs;
};

struct edges {
	const struct dep_trace *t;
	const struct slice_members *members;
	const struct slice_control *control; /* NULL: not followed */
	unsigned follow;
	slice_node_fn *node;
	slice_edge_fn *edge;
	void *ctx;
	struct makers regs;
	uint32_t *defs;	     /* the node that made each definition; 0: none */
	uint32_t *decisions; /* the node of each item's last instruction; 0: none */
	struct aside *aside;
	size_t n_aside;
	uint64_t item, count, load, parent, reader;
	uint32_t def; /* definitions made before */
	uint32_t string;
	bool no_memory;
};

/* --- members --------------------------------------------------------------------------------- */

int slice_members_init(struct slice_members *m, const struct dep_trace *t)
{
	m->insns = calloc(t->count / 64 + 1, sizeof(*m->insns));
	m->events = calloc(t->n_events / 64 + 1, sizeof(*m->events));
	return m->insns && m->events ? 0 : -ENOMEM;
}

void slice_members_add(struct slice_members *m, const struct dep_trace *t,
		       const struct slice_step *step)
{
	uint64_t *bits = step->insn ? m->insns : m->events;
	uint64_t i = step->insn ? step->count : (uint64_t)(step->event - t->events);
	bits[i / 64] |= (uint64_t)1 << i % 64;
}

void slice_members_deinit(struct slice_members *m)
{
	free(m->insns);
	free(m->events);
}

static bool has(const uint64_t *bits, uint64_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static bool has_any(const uint64_t *bits, uint64_t first, unsigned n)
{
	for (uint64_t i = first; i < first + n; i++)
		if (!bits[i / 64])
			i |= 63;
		else if (has(bits, i))
			return true;
	return false;
}

/* --- reads and writes ------------------------------------------------------------------------ */

/* Tells of the makers of what node @to reads in registers. */
static void read_units(struct edges *s, const struct dep_units *units, uint32_t to,
		       enum slice_edge_kind kind)
{
	for (unsigned w = 0; w < DEP_WORDS; w++)
		for (uint64_t left = units->w[w] & s->regs.known.w[w]; left; left &= left - 1)
			s->edge(s->ctx, s->regs.of[64 * w + (unsigned)__builtin_ctzll(left)], to,
				kind, s->reader);
}

static void read_defs(struct edges *s, const uint32_t *defs, uint64_t n, uint32_t to)
{
	for (uint64_t i = 0; i < n; i++)
		if (defs[i] && s->defs[defs[i]])
			s->edge(s->ctx, s->defs[defs[i]], to, SLICE_EDGE_DATA, s->reader);
}

static void read_parent(struct edges *s, uint32_t parent, uint32_t to)
{
	if (parent && s->decisions[parent - 1])
		s->edge(s->ctx, s->decisions[parent - 1], to, SLICE_EDGE_CONTROL, s->reader);
}

/* @by made what is in @units now; 0: nobody of the slice. */
static void write_units(struct edges *s, const struct dep_units *units, uint32_t by)
{
	dep_units_remove(&s->regs.known, units);
	if (!by)
		return;
	dep_units_add(&s->regs.known, units);
	for (unsigned w = 0; w < DEP_WORDS; w++)
		for (uint64_t left = units->w[w]; left; left &= left - 1)
			s->regs.of[64 * w + (unsigned)__builtin_ctzll(left)] = by;
}

/* The next @n definitions are @by's. */
static void write_defs(struct edges *s, uint32_t n, uint32_t by)
{
	for (uint32_t i = 0; by && i < n; i++)
		s->defs[s->def + 1 + i] = by;
	s->def += n;
}

/* --- instructions and events ----------------------------------------------------------------- */

static void insn_reads(struct edges *s, const struct dep_insn *d, const struct dep_event *e,
		       uint32_t to)
{
	read_units(s, &d->data, to, SLICE_EDGE_DATA);
	if (s->follow & SLICE_ADDRESSES) {
		read_units(s, &d->address, to, SLICE_EDGE_ADDRESS);
		read_units(s, &d->moves_by, to, SLICE_EDGE_ADDRESS);
	}
	for (unsigned i = 0; i < d->n_loads; i++) {
		uint32_t n;
		const uint32_t *defs = dep_trace_load(s->t, &s->t->loads.at[s->load + i], &n);
		read_defs(s, defs, n, to);
	}
	if (!e)
		return;
	read_defs(s, &s->t->sources.at[e->first_read], e->n_reads, to);
	if (e->flags & DEP_COPIES)
		read_defs(s, &s->t->sources.at[e->first_source], e->n_defs, to);
}

/* Instruction @i of @b. Returns its node. */
static uint32_t take_insn(struct edges *s, const struct dep_block *b, unsigned i, uint32_t parent)
{
	const struct dep_insn *d = &b->insns[i];
	const struct dep_event *e = d->string ? &s->t->events[s->t->strings.at[s->string++]] : NULL;
	uint32_t node = 0;
	if (has(s->members->insns, s->count)) {
		struct slice_step step = {.count = s->count,
					  .ip = b->ip + d->ip_off,
					  .block = b,
					  .insn = d,
					  .event = e};
		node = s->node(s->ctx, &step);
	}
	if (node) {
		s->reader++;
		read_parent(s, parent, node);
		insn_reads(s, d, e, node);
		write_units(s, &d->writes, node);
	} else {
		write_units(s, &d->writes, 0);
	}
	write_units(s, &d->moved, node);
	write_defs(s, (e ? e->n_defs : 0) + d->n_stores, node);
	s->load += d->n_loads;
	s->count++;
	return node;
}

static uint32_t parent_of(const struct edges *s, uint32_t number, unsigned i)
{
	const struct control_segments *b = &s->control->blocks[number];
	uint64_t word = s->parent;
	for (unsigned k = 0; k < b->n && b->at[k] <= i; k++)
		word++;
	return s->control->parents[word];
}

static void take_block(struct edges *s, uint32_t number)
{
	const struct dep_block *b = s->t->blocks[number];
	uint32_t node = 0;
	if (!b->n_strings && !dep_units_meet(&b->writes, &s->regs.known) &&
	    !has_any(s->members->insns, s->count, b->n_insns)) {
		s->def += b->n_stores;
		s->load += b->n_loads;
		s->count += b->n_insns;
	} else {
		for (unsigned i = 0; i < b->n_insns; i++)
			node = take_insn(s, b, i, s->control ? parent_of(s, number, i) : 0);
		if (node && s->control)
			s->decisions[s->item] = node;
	}
	s->parent += s->control ? control_words(s->control, number) : 0;
}

static void put_aside(struct edges *s, uint32_t id)
{
	struct aside *aside = realloc(s->aside, (s->n_aside + 1) * sizeof(*aside));
	if (!aside) {
		s->no_memory = true;
		return;
	}
	s->aside = aside;
	s->aside[s->n_aside].id = id;
	s->aside[s->n_aside++].regs = s->regs;
}

static void take_back(struct edges *s, uint32_t id)
{
	for (size_t i = s->n_aside; i-- > 0;)
		if (s->aside[i].id == id) {
			s->regs = s->aside[i].regs;
			s->n_aside = i;
			return;
		}
}

/* What a pure copy says of its arguments is where the bytes lie: addresses. */
static void event_reads(struct edges *s, const struct dep_event *e, uint32_t to)
{
	struct dep_units units = dep_event_reads(e);
	if (!(e->flags & DEP_COPIES))
		read_units(s, &units, to, SLICE_EDGE_DATA);
	else if (s->follow & SLICE_ADDRESSES)
		read_units(s, &units, to, SLICE_EDGE_ADDRESS);
	read_defs(s, &s->t->sources.at[e->first_read], e->n_reads, to);
	if (e->flags & DEP_COPIES)
		read_defs(s, &s->t->sources.at[e->first_source], e->n_defs, to);
	for (uint32_t i = 0; e->flags & DEP_OUTPUT && i < e->n_runs; i++)
		read_defs(s, &s->t->runs[e->first_run + i].def, 1, to);
}

static void take_event(struct edges *s, uint32_t number)
{
	const struct dep_event *e = &s->t->events[number];
	struct dep_units writes = dep_event_writes(e);
	uint32_t parent = s->control ? s->control->parents[s->parent++] : 0, node = 0;
	s->count = e->count;
	if (e->kind == DEP_SIGNAL || e->kind == DEP_LEFT)
		put_aside(s, e->id);
	if (e->kind == DEP_SIGNAL_END || e->flags & DEP_SPANS)
		take_back(s, e->id);
	if (has(s->members->events, number)) {
		struct slice_step step = {.count = e->count, .ip = e->ip, .event = e};
		node = s->node(s->ctx, &step);
	}
	if (node) {
		s->reader++;
		read_parent(s, parent, node);
		event_reads(s, e, node);
	}
	write_units(s, &writes, node);
	write_defs(s, e->n_defs, node);
}

int slice_edges(const struct dep_trace *trace, const struct slice_members *members, unsigned follow,
		const struct slice_control *control, slice_node_fn *node, slice_edge_fn *edge,
		void *ctx)
{
	struct edges s = {.t = trace,
			  .members = members,
			  .control = control,
			  .follow = follow,
			  .node = node,
			  .edge = edge,
			  .ctx = ctx};
	/* Pages of zeroes that nobody writes take no memory. */
	s.defs = calloc((uint64_t)trace->n_defs + 1, sizeof(*s.defs));
	s.decisions = control ? calloc(trace->items.n + 1, sizeof(*s.decisions)) : NULL;
	s.no_memory = !s.defs || (control && !s.decisions);
	for (; s.item < trace->items.n && !s.no_memory; s.item++) {
		uint32_t item = trace->items.at[s.item];
		if (item & DEP_ITEM_EVENT)
			take_event(&s, item & ~DEP_ITEM_EVENT);
		else
			take_block(&s, item);
	}
	free(s.defs);
	free(s.decisions);
	free(s.aside);
	return s.no_memory ? -ENOMEM : 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* doubt.c: see doubt.h. Instances are numbered in the order of execution, so that a sweep over the
 * edges from the last to the first meets each instance when all of its readers are done. */
#include "offline/slice/doubt.h"

#include "offline/base/vec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	VALUES = 64
}; /* of a profile; what more there are share the last place, which tells nothing */

struct instance {
	uint64_t count;
	uint32_t place;
	uint32_t hash;	/* of its value, or of what its makers have made */
	uint8_t value;	/* its index in the place's profile */
	uint32_t event; /* 1 + its index; 0: an instruction */
	bool has_value, jump;
};

struct edge {
	uint32_t from, to; /* indices of instances */
	uint8_t kind;
};

struct profile {
	uint32_t hash[VALUES];
	uint8_t n;
};

/* What instances of place @to have made of each value of place @from. */
struct mapping {
	uint32_t from, to;
	uint64_t made[VALUES];
};

struct slice_doubt {
	struct slice_places places;
	const struct dep_trace *trace;
	struct value_run *run; /* of which the values are taken */
	VEC(struct instance) instances;
	VEC(struct edge) edges;
	struct profile *profiles;  /* by place */
	struct mapping **mappings; /* a hash table */
	size_t n_mappings, room_mappings;
	uint64_t next;	       /* instance that the watch is at */
	uint64_t jump, target; /* 1 + the instance whose way the next block shows; 0: none */
	bool no_memory;
};

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15;
	return h ^ h >> 29;
}

/* --- instances and edges --------------------------------------------------------------------- */

static uint32_t number(void *ctx, const struct slice_step *step)
{
	struct slice_doubt *d = ctx;
	struct instance i = {.count = step->count};
	if (!step->insn)
		i.event = (uint32_t)(step->event - d->trace->events) + 1;
	i.place = d->places.place(d->places.ctx, step);
	if (!i.place)
		return 0;
	if (!VEC_PUSH(&d->instances, i)) {
		d->no_memory = true;
		return 0;
	}
	return d->instances.n;
}

static void add(void *ctx, uint32_t from, uint32_t to, enum slice_edge_kind kind, uint64_t reader)
{
	struct slice_doubt *d = ctx;
	struct edge e = {from - 1, to - 1, kind};
	const struct edge *last = d->edges.n ? &d->edges.at[d->edges.n - 1] : NULL;
	(void)reader;
	if (last && last->from == e.from && last->to == e.to && last->kind == e.kind)
		return;
	d->no_memory |= !VEC_PUSH(&d->edges, e);
}

int slice_doubt_new(const struct dep_trace *trace, const struct slice_members *members,
		    unsigned follow, const struct slice_control *control,
		    const struct slice_places *places, struct slice_doubt **out)
{
	struct slice_doubt *d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->places = *places;
	d->trace = trace;
	d->profiles = calloc(places->n_places, sizeof(*d->profiles));
	if (!d->profiles || slice_edges(trace, members, follow, control, number, add, d) ||
	    d->no_memory) {
		slice_doubt_free(d);
		return -ENOMEM;
	}
	*out = d;
	return 0;
}

void slice_doubt_free(struct slice_doubt *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->room_mappings; i++)
		free(d->mappings[i]);
	free(d->mappings);
	free(d->profiles);
	VEC_FREE(&d->instances);
	VEC_FREE(&d->edges);
	free(d);
}

/* --- values ---------------------------------------------------------------------------------- */

static void set_value(struct slice_doubt *d, uint64_t i, uint64_t hash)
{
	d->instances.at[i].hash = (uint32_t)(hash >> 32);
	d->instances.at[i].has_value = true;
}

/* A call's value is its result. */
static void watch_event(struct slice_doubt *d, const struct dep_trace *trace)
{
	struct instance *i = d->instances.at;
	while (d->next < d->instances.n && (i[d->next].event ? i[d->next].event < trace->n_events
							     : i[d->next].count < trace->count))
		d->next++;
	if (d->next >= d->instances.n || i[d->next].event != trace->n_events)
		return;
	const struct value_state *state = value_machine_state(value_run_machine(d->run));
	if (trace->events[trace->n_events - 1].kind == DEP_CALL)
		set_value(d, d->next, mix(2, state->gpr[VALUE_RAX]));
	d->next++;
}

/* An event is before the instruction with its count. */
static bool is_before(const struct instance *i, uint64_t count)
{
	return i->count < count || (i->event && i->count == count);
}

static void watch(void *ctx, const struct dep_trace *trace, const struct dep_mark *before,
		  const struct dep_block *b, const struct dep_event *event,
		  const uint64_t *addresses, const uint64_t *results)
{
	struct slice_doubt *d = ctx;
	(void)addresses;
	if (event) {
		watch_event(d, trace);
		return;
	}
	if (d->jump)
		set_value(d, d->jump - 1, mix(1, b->ip == d->target));
	d->jump = 0;
	for (unsigned i = 0; i < b->n_insns; i++) {
		const struct dep_insn *insn = &b->insns[i];
		uint64_t count = before->count + i, hash = 2;
		while (d->next < d->instances.n && is_before(&d->instances.at[d->next], count))
			d->next++;
		if (d->next >= d->instances.n)
			return;
		if (d->instances.at[d->next].count == count) {
			for (unsigned k = 0; k < insn->n_results; k++)
				hash = mix(hash, results[k]);
			if (insn->n_results)
				set_value(d, d->next, hash);
			if (b->block->insns[i].kind == VALUE_INSN_JCC) {
				d->jump = d->next + 1;
				d->target = b->block->insns[i].target;
				d->instances.at[d->next].jump = true;
			}
		}
		results += insn->n_results;
	}
}

void slice_doubt_take(struct slice_doubt *d, struct value_run *run, struct dep_build *build)
{
	d->run = run;
	dep_build_watch(build, watch, d);
}

static uint8_t profile_index(struct profile *p, uint32_t hash)
{
	uint8_t i = 0;
	while (i < p->n && p->hash[i] != hash)
		i++;
	if (i < p->n || p->n == VALUES)
		return i < VALUES ? i : VALUES - 1;
	p->hash[p->n] = hash;
	return p->n++;
}

/* What has no value of its own (a comparison, a store, an event) stands for what it read. */
static void profile_all(struct slice_doubt *d)
{
	size_t e = 0;
	for (uint32_t i = 0; i < d->instances.n; i++) {
		struct instance *at = &d->instances.at[i];
		uint64_t hash = 3;
		for (; e < d->edges.n && d->edges.at[e].to == i; e++)
			if (d->edges.at[e].kind == SLICE_EDGE_DATA)
				hash = mix(hash, d->instances.at[d->edges.at[e].from].hash);
		if (!at->has_value)
			at->hash = (uint32_t)(hash >> 32);
		at->value = profile_index(&d->profiles[at->place], at->hash);
	}
}

/* --- mappings -------------------------------------------------------------------------------- */

static struct mapping **slot_of(struct mapping **at, size_t room, uint32_t from, uint32_t to)
{
	size_t i = mix(from, to) >> 20 & (room - 1);
	while (at[i] && (at[i]->from != from || at[i]->to != to))
		i = (i + 1) & (room - 1);
	return &at[i];
}

static bool make_room(struct slice_doubt *d)
{
	if (2 * (d->n_mappings + 1) <= d->room_mappings)
		return true;
	size_t room = d->room_mappings ? 2 * d->room_mappings : 1024;
	struct mapping **at = calloc(room, sizeof(struct mapping *));
	if (!at)
		return false;
	for (size_t i = 0; i < d->room_mappings; i++)
		if (d->mappings[i])
			*slot_of(at, room, d->mappings[i]->from, d->mappings[i]->to) =
				d->mappings[i];
	free(d->mappings);
	d->mappings = at;
	d->room_mappings = room;
	return true;
}

static struct mapping *mapping_of(struct slice_doubt *d, const struct edge *e)
{
	uint32_t from = d->instances.at[e->from].place, to = d->instances.at[e->to].place;
	if (!make_room(d))
		return NULL;
	struct mapping **m = slot_of(d->mappings, d->room_mappings, from, to);
	if (*m)
		return *m;
	*m = calloc(1, sizeof(**m));
	if (*m) {
		(*m)->from = from;
		(*m)->to = to;
		d->n_mappings++;
	}
	return *m;
}

static bool map_all(struct slice_doubt *d)
{
	for (size_t i = 0; i < d->edges.n; i++) {
		const struct edge *e = &d->edges.at[i];
		struct mapping *m = e->kind == SLICE_EDGE_DATA ? mapping_of(d, e) : NULL;
		if (m)
			m->made[d->instances.at[e->from].value] |= (uint64_t)1
								   << d->instances.at[e->to].value;
		else if (e->kind == SLICE_EDGE_DATA)
			return false;
	}
	return true;
}

/* --- confidence ------------------------------------------------------------------------------ */

static bool has(const uint64_t *bits, uint64_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static uint64_t own(const struct instance *i)
{
	return (uint64_t)1 << i->value;
}

/* The values of the maker with which its reader would have made one of @alternatives. */
static uint64_t alternatives_of(const struct mapping *m, uint64_t alternatives)
{
	uint64_t left = 0;
	for (unsigned v = 0; v < VALUES; v++)
		if (m->made[v] & alternatives)
			left |= (uint64_t)1 << v;
	return left;
}

static void follow(const struct slice_doubt *d, const struct slice_members *right, uint64_t *left)
{
	for (size_t k = d->edges.n; k-- > 0;) {
		const struct edge *e = &d->edges.at[k];
		const struct instance *to = &d->instances.at[e->to], *from;
		from = &d->instances.at[e->from];
		if (to->event || !has(right->insns, to->count))
			continue;
		if (e->kind == SLICE_EDGE_CONTROL && from->jump)
			left[e->from] &= own(from);
		else if (e->kind == SLICE_EDGE_DATA)
			left[e->from] &= alternatives_of(*slot_of(d->mappings, d->room_mappings,
								  from->place, to->place),
							 left[e->to]) |
					 own(from);
	}
}

int slice_doubt_confidence(struct slice_doubt *d, const struct slice_members *right,
			   const uint64_t *pinned, float *of_places)
{
	uint64_t *left = calloc(d->instances.n + 1, sizeof(*left));
	if (!left)
		return -ENOMEM;
	profile_all(d);
	if (!map_all(d)) {
		free(left);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < d->instances.n; i++) {
		const struct instance *at = &d->instances.at[i];
		unsigned n = d->profiles[at->place].n;
		left[i] = !at->event && has(pinned, at->count) ? own(at)
			  : n == VALUES			       ? UINT64_MAX
							       : ((uint64_t)1 << n) - 1;
	}
	follow(d, right, left);
	for (uint32_t p = 0; p < d->places.n_places; p++)
		of_places[p] = 1;
	for (uint32_t i = 0; i < d->instances.n; i++) {
		const struct instance *at = &d->instances.at[i];
		unsigned n = d->profiles[at->place].n, a = (unsigned)__builtin_popcountll(left[i]);
		float c = 0;
		if (!at->event && has(pinned, at->count))
			c = 1;
		else if (!at->event && has(right->insns, at->count) && n > 1 &&
			 !(n == VALUES && left[i] >> (VALUES - 1)))
			c = 1 - logf((float)a) / logf((float)n);
		if (c < of_places[at->place])
			of_places[at->place] = c;
	}
	free(left);
	return 0;
}

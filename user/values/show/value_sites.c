// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_sites.c: see value_sites.h. The trace of a run goes block by block to a processor, whose
 * events are counted by instruction. */
#include "user/values/show/value_sites.h"

#include "offline/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 1 << 15, VALUES = 1 << 20, NOBODY = 0, SLOTS = 2048 };

/* A block, and 1 + the number of the site that each of its operands is of; 0: not met yet. */
struct known_block {
	struct dep_block *dep;
	uint32_t *sites;
};

struct counting {
	VEC(struct known_block) blocks; /* by number of the evaluator's */
	VEC(struct value_site) sites;
	uint32_t *slots; /* of a table by address and kind: 1 + number of the site */
	uint32_t n_slots;
	struct misses *misses;
	struct value_machine *machine;
	struct value_trace trace;
	size_t done, done_addresses, done_results;
	struct value_sites *out;
	bool no_memory;
};

static uint64_t scatter(uint64_t v)
{
	v *= 0x9e3779b97f4a7c15;
	return v ^ v >> 32;
}

/* --- sets ------------------------------------------------------------------------------------ */

static bool add_distinct(struct site_set *set, uint64_t v)
{
	if (!v) {
		set->zero = true;
		return true;
	}
	if (!set->at && !(set->at = calloc(SLOTS, sizeof(*set->at))))
		return false;
	uint64_t *at = &set->at[scatter(v) % SLOTS];
	while (*at && *at != v)
		at = at + 1 == set->at + SLOTS ? set->at : at + 1;
	if (*at == v)
		return true;
	set->more |= set->n == SITE_DISTINCT;
	if (!set->more) {
		*at = v;
		set->n++;
	}
	return true;
}

/* --- sites ----------------------------------------------------------------------------------- */

static bool grow_slots(struct counting *c)
{
	uint32_t n = c->n_slots ? 2 * c->n_slots : 1024;
	uint32_t *slots = calloc(n, sizeof(*slots));
	if (!slots)
		return false;
	for (uint32_t i = 0; i < c->sites.n; i++) {
		uint32_t at = scatter(c->sites.at[i].ip * 4 + c->sites.at[i].what) % n;
		while (slots[at])
			at = (at + 1) % n;
		slots[at] = i + 1;
	}
	free(c->slots);
	c->slots = slots;
	c->n_slots = n;
	return true;
}

/* 1 + the number of the instruction's site; NOBODY: out of memory. */
static uint32_t site_of(struct counting *c, uint64_t ip, uint8_t what)
{
	if (2 * c->sites.n >= c->n_slots && !grow_slots(c))
		return NOBODY;
	uint32_t at = scatter(ip * 4 + what) % c->n_slots;
	for (; c->slots[at]; at = (at + 1) % c->n_slots) {
		const struct value_site *s = &c->sites.at[c->slots[at] - 1];
		if (s->ip == ip && s->what == what)
			return c->slots[at];
	}
	if (!VEC_PUSH(&c->sites, ((struct value_site){.ip = ip, .what = what})))
		return NOBODY;
	c->slots[at] = c->sites.n;
	return c->sites.n;
}

static void add_stride(struct value_site *s, uint64_t address)
{
	uint64_t stride = address - s->last;
	uint32_t i = 0;
	if (s->executions) {
		while (i < s->n_strides && s->stride[i] != stride)
			i++;
		if (i == s->n_strides && i < SITE_STRIDES)
			s->stride[s->n_strides++] = stride;
		if (i < s->n_strides)
			s->times[i]++;
	}
	s->last = address;
}

static bool take_event(void *ctx, const struct miss_event *e)
{
	struct counting *c = ctx;
	uint32_t *known = &c->blocks.at[e->block->block->number].sites[e->operand];
	if (!*known)
		*known = site_of(c, e->block->block->insns[e->insn].ip, e->what);
	if (!*known)
		return false;
	struct value_site *s = &c->sites.at[*known - 1];
	unsigned n_results = e->block->insns[e->insn].n_results;
	bool fine = true;
	c->out->executions[e->what]++;
	c->out->misses[e->what] += e->miss;
	if (e->what != MISS_JUMP) {
		uint64_t result = n_results ? e->results[0] : 0;
		add_stride(s, e->address);
		for (unsigned i = 1; i < n_results; i++)
			result = scatter(result) + e->results[i];
		s->has_results |= n_results;
		fine = add_distinct(&s->addresses, e->address) &&
		       (!n_results || add_distinct(&s->results, result));
	}
	s->executions++;
	s->misses += e->miss;
	s->taken += e->taken;
	return fine;
}

/* --- the run --------------------------------------------------------------------------------- */

static struct dep_block *block_of(struct counting *c, uint32_t number)
{
	while (c->blocks.n <= number)
		if (!VEC_PUSH(&c->blocks, (struct known_block){0}))
			return NULL;
	struct known_block *known = &c->blocks.at[number];
	if (!known->dep) {
		known->dep = dep_block_new(value_machine_block(c->machine, number));
		if (known->dep)
			known->sites = calloc(known->dep->n_accesses + 1, sizeof(*known->sites));
	}
	return known->sites ? known->dep : NULL;
}

static void take_trace(struct counting *c)
{
	for (; c->done < c->trace.n_blocks && !c->no_memory; c->done++) {
		const struct dep_block *b = block_of(c, c->trace.blocks[c->done]);
		c->no_memory =
			!b || !misses_block(c->misses, b, c->trace.addresses + c->done_addresses,
					    c->trace.results + c->done_results);
		if (!b)
			return;
		c->done_addresses += b->n_addresses;
		c->done_results += b->n_results;
	}
}

/* What comes behind may be a handler. */
static void crossing(void *ctx, struct value_run *run, enum value_crossing what,
		     const struct capture *capture, const char *import)
{
	struct counting *c = ctx;
	(void)run, (void)what, (void)capture, (void)import;
	take_trace(c);
	misses_break(c->misses);
}

static bool make(struct counting *c)
{
	c->misses = misses_new(take_event, c);
	return value_trace_init(&c->trace, BLOCKS, VALUES, VALUES) && c->misses;
}

static void unmake(struct counting *c)
{
	for (uint32_t i = 0; i < c->blocks.n; i++) {
		free(c->blocks.at[i].dep);
		free(c->blocks.at[i].sites);
	}
	VEC_FREE(&c->blocks);
	free(c->slots);
	value_trace_deinit(&c->trace);
	misses_free(c->misses);
}

int value_sites_find(struct value_run *run, struct value_sites *out)
{
	struct counting c = {.machine = value_run_machine(run), .out = out};
	*out = (struct value_sites){.stop = VALUE_REPLAY_TRACE_FULL};
	c.no_memory = !make(&c);
	value_run_snapshot_every(run, UINT64_MAX / 2);
	value_run_crossings(run, crossing, &c);
	while (!c.no_memory && out->stop == VALUE_REPLAY_TRACE_FULL) {
		c.trace.n_blocks = c.trace.n_addresses = c.trace.n_results = 0;
		c.done = c.done_addresses = c.done_results = 0;
		out->stop = value_run_forward(run, UINT64_MAX / 4, &c.trace);
		take_trace(&c);
	}
	value_run_crossings(run, NULL, NULL);
	out->at = c.sites.at;
	out->n = c.sites.n;
	unmake(&c);
	if (!c.no_memory && out->stop != VALUE_REPLAY_NO_MEMORY)
		return 0;
	value_sites_deinit(out);
	return -ENOMEM;
}

void value_sites_deinit(struct value_sites *sites)
{
	for (uint32_t i = 0; i < sites->n; i++) {
		free(sites->at[i].addresses.at);
		free(sites->at[i].results.at);
	}
	free(sites->at);
	*sites = (struct value_sites){0};
}

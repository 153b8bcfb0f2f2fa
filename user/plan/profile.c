// SPDX-License-Identifier: LGPL-2.1-or-later
/* profile.c: see profile.h. Addresses in recordings are counted in a hash table, which is then
 * mapped to the blocks of the model. Each of several recordings has counted some of the blocks: a
 * count that one has and another has not is taken to be as frequent in the other, relative to calls
 * and returns; to time, where they have traced different functions. */
#include "user/plan/profile.h"

#include <pugmark/trace.h>

#include "user/plan/profile_calls.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MAX_COUNT 1e15 /* exact as a double, and not "not known" */

struct hit {
	uint64_t addr; /* UINT64_MAX: free */
	uint64_t count;
};

struct profiler {
	const struct pugmark_model *model;
	struct pugmark_trace *trace;
	const struct pugmark_plan *plan; /* of the model's binary in the recording */
	uint16_t module;
	struct hit *table;
	uint32_t size;		/* a power of two */
	uint64_t *hits, *taken; /* per site of the plan */
	uint64_t *ran;		/* per block of the model: in a recording of level paths */
	uint64_t events;
	struct profile_calls *calls;
	uint64_t end_ns; /* what comes later is not counted */
	double seconds;	 /* in which what is counted was; 0: not known */
	bool of_share;	 /* the recording is of some of the functions */
};

static struct hit *slot(struct profiler *p, uint64_t addr)
{
	uint64_t h = (addr * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
	while (p->table[h & (p->size - 1)].addr != UINT64_MAX &&
	       p->table[h & (p->size - 1)].addr != addr)
		h++;
	return &p->table[h & (p->size - 1)];
}

/* Counts where @addr is one of those that are counted. */
static void hit(struct profiler *p, uint64_t addr)
{
	struct hit *h = slot(p, addr);
	if (h->addr == addr)
		h->count++;
}

static int find_module(struct profiler *p, const char *dir, struct pugmark_diag *diag)
{
	uint32_t n;
	const struct pugmark_model *m = p->model;
	const struct pugmark_recording_module *modules =
		pugmark_recording_modules(pugmark_trace_recording(p->trace), &n);
	for (uint32_t i = 0; i < n; i++)
		if (m->build_id_len && modules[i].build_id_len == m->build_id_len &&
		    !memcmp(modules[i].build_id, m->build_id, m->build_id_len)) {
			p->module = (uint16_t)i;
			p->plan = pugmark_trace_plan(p->trace, i);
			return 0;
		}
	return pugmark_diag_set(diag, -ENOENT, dir, PUGMARK_NO_OFFSET,
				m->build_id_len ? "%s is not in it: no module has its build-id"
						: "%s has no build-id to find it by",
				m->path);
}

/* Whether the call at @addr is made each time its block runs. */
static bool tells_block(const struct pugmark_model *m, uint64_t addr)
{
	uint32_t block = pugmark_model_block_at(m, addr);
	if (block == PUGMARK_NONE)
		return false;
	uint8_t end = m->blocks[block].end;
	return end == PUGMARK_END_CALL || end == PUGMARK_END_TAIL || end == PUGMARK_END_NORETURN;
}

static int prepare(struct profiler *p)
{
	const struct pugmark_plan *plan = p->plan;
	uint32_t n = plan->n_nodes + plan->n_funcs;
	p->size = 64;
	while (p->size < 2 * n)
		p->size *= 2;
	p->table = malloc(p->size * sizeof(*p->table));
	p->hits = calloc(plan->n_sites + 1, sizeof(*p->hits));
	p->taken = calloc(plan->n_sites + 1, sizeof(*p->taken));
	p->ran = calloc(p->model->n_blocks + 1, sizeof(*p->ran));
	if (!p->table || !p->hits || !p->taken || !p->ran)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->size; i++)
		p->table[i] = (struct hit){.addr = UINT64_MAX};
	for (uint32_t i = 1; i < plan->n_nodes; i++) {
		const struct pugmark_plan_node *node = &plan->nodes[i];
		bool call = node->kind == PUGMARK_NODE_KIND_CALL ||
			    node->kind == PUGMARK_NODE_KIND_UNKNOWN ||
			    node->kind == PUGMARK_NODE_KIND_LEAF;
		if (call && tells_block(p->model, node->addr))
			slot(p, node->addr)->addr = node->addr;
	}
	for (uint32_t f = 0; f < plan->n_funcs; f++)
		if (plan->funcs[f].entry != PUGMARK_NONE)
			slot(p, plan->funcs[f].addr)->addr = plan->funcs[f].addr;
	return 0;
}

static void count_block(struct profiler *p, uint64_t addr)
{
	uint32_t block = pugmark_model_block_at(p->model, addr);
	if (block != PUGMARK_NONE)
		p->ran[block]++;
}

/* Counts the trace as far as its first @n_events witness events tell it. */
static int count_trace(struct profiler *p, uint32_t task, uint64_t n_events)
{
	struct pugmark_trace_iter *it;
	const struct pugmark_trace_event *e;
	int got = pugmark_trace_iter_new(p->trace, task, &it);
	if (got)
		return got;
	while (pugmark_trace_witnesses(it) <= n_events && (got = pugmark_trace_next(it, &e)) == 1) {
		bool call = e->kind == PUGMARK_TRACE_CALL || e->kind == PUGMARK_TRACE_TAIL;
		if (call && e->module == p->module)
			hit(p, e->addr);
		if (call && e->target && e->target_module == p->module)
			hit(p, e->target);
		if (e->kind == PUGMARK_TRACE_ENTER && e->module == p->module)
			hit(p, e->addr);
		if (e->kind == PUGMARK_TRACE_BLOCK && e->module == p->module)
			count_block(p, e->addr);
		p->events += e->module == p->module && e->kind < PUGMARK_TRACE_BLOCK;
	}
	pugmark_trace_iter_free(it);
	return got < 0 ? got : 0;
}

/* Counts the hits of a thread before end_ns, and in *@n_events all events until then. */
static int count_witnesses(struct profiler *p, uint32_t task, uint64_t *n_events)
{
	*n_events = 0;
	struct pugmark_recording_iter *it;
	struct pugmark_witness_event e;
	int got = pugmark_recording_iter_new(pugmark_trace_recording(p->trace), task, &it);
	if (got)
		return got;
	while ((got = pugmark_recording_next(it, &e)) == 1 && e.time_ns <= p->end_ns) {
		++*n_events;
		if (e.kind != PUGMARK_EVENT_WITNESS || e.module != p->module ||
		    e.site >= p->plan->n_sites)
			continue;
		p->hits[e.site]++;
		p->taken[e.site] += p->plan->sites[e.site].kind == PUGMARK_WITNESS_BRANCH &&
				    pugmark_event_taken(&e);
		got = profile_calls_count(p->calls, p->plan, &e);
		if (got)
			break;
	}
	pugmark_recording_iter_free(it);
	return got < 0 ? got : 0;
}

/* ---- what it says of blocks ---- */

/* Sets a block's count, or keeps the larger one: gaps make counts too small, never too large. */
static void say(uint64_t *counts, uint32_t block, uint64_t count)
{
	if (block != PUGMARK_NONE && (counts[block] == UINT64_MAX || counts[block] < count))
		counts[block] = count;
}

/* Counts the ways of a branch: each may be the only way to the block that it leads to. */
static void say_ways(struct profiler *p, uint64_t *counts, const uint32_t *n_ways, uint32_t site)
{
	const struct pugmark_model *m = p->model;
	uint32_t block = pugmark_model_block_at(m, p->plan->sites[site].addr);
	if (block == PUGMARK_NONE || m->blocks[block].end != PUGMARK_END_JCC)
		return;
	const struct pugmark_block *b = &m->blocks[block];
	for (uint32_t i = b->edge; i < b->edge + b->n_edges; i++) {
		const struct pugmark_edge *e = &m->edges[i];
		if (n_ways[e->to] == 1)
			say(counts, e->to,
			    e->kind == PUGMARK_EDGE_TAKEN ? p->taken[site]
							  : p->hits[site] - p->taken[site]);
	}
}

/* Of level paths, every block that shows each time it runs is counted, also if it never ran. */
static void say_blocks(const struct profiler *p, uint64_t *counts)
{
	for (uint32_t i = 1; i < p->plan->n_nodes; i++) {
		const struct pugmark_plan_node *n = &p->plan->nodes[i];
		if (!(n->flags & PUGMARK_NODE_SHOWS_BLOCK))
			continue;
		bool call = n->kind == PUGMARK_NODE_KIND_CALL ||
			    n->kind == PUGMARK_NODE_KIND_UNKNOWN ||
			    n->kind == PUGMARK_NODE_KIND_LEAF;
		uint64_t addr = call ? n->addr - pugmark_node_block_bytes(n) : n->addr;
		uint32_t block = pugmark_model_block_at(p->model, addr);
		if (block != PUGMARK_NONE)
			say(counts, block, p->ran[block]);
	}
}

static int lay_over(struct profiler *p, struct profile *out)
{
	const struct pugmark_model *m = p->model;
	uint64_t *counts = malloc((m->n_blocks + 1) * sizeof(*counts));
	uint32_t *n_ways = calloc(m->n_blocks + 1, sizeof(*n_ways));
	if (!counts || !n_ways) {
		free(counts);
		free(n_ways);
		return -ENOMEM;
	}
	memset(counts, 0xff, (m->n_blocks + 1) * sizeof(*counts));
	for (uint32_t i = 0; i < m->n_edges; i++)
		n_ways[m->edges[i].to]++;
	for (uint32_t i = 0; i < m->n_funcs; i++)
		if (m->funcs[i].n_blocks)
			n_ways[m->funcs[i].block]++;
	for (uint32_t i = 0; i < p->size; i++)
		if (p->table[i].addr != UINT64_MAX)
			say(counts, pugmark_model_block_at(m, p->table[i].addr), p->table[i].count);
	for (uint32_t i = 0; i < p->plan->n_sites; i++) {
		say(counts, pugmark_model_block_at(m, p->plan->sites[i].addr), p->hits[i]);
		if (p->plan->sites[i].kind == PUGMARK_WITNESS_BRANCH)
			say_ways(p, counts, n_ways, i);
	}
	say_blocks(p, counts);
	free(n_ways);
	*out = (struct profile){.counts = counts, .events = p->events, .seconds = p->seconds};
	return 0;
}

/* Reads of the recording's meta.json how long it was on, and whether it is one of several shares.
 */
static void read_times(struct profiler *p, uint64_t most_events)
{
	const struct pugmark_recording_info *info =
		pugmark_recording_info(pugmark_trace_recording(p->trace));
	json_t *meta = json_loads(info->meta, 0, NULL);
	double from_ns = json_number_value(json_object_get(meta, "probed_from_ns"));
	double to_ns = json_number_value(json_object_get(meta, "probed_to_ns"));
	p->of_share = json_integer_value(json_object_get(meta, "shares")) > 1;
	json_decref(meta);
	p->end_ns = UINT64_MAX;
	if (!(from_ns > 0 && to_ns > from_ns))
		return;
	if (most_events && info->times && info->events > most_events) {
		to_ns = from_ns + (to_ns - from_ns) * (double)most_events / (double)info->events;
		p->end_ns = (uint64_t)to_ns;
	}
	p->seconds = (to_ns - from_ns) / 1e9;
}

/* The counts of one recording, and its calls by pointers in @calls. */
static int read_one(const char *dir, const struct pugmark_model *model, uint64_t most_events,
		    struct profile_calls *calls, bool *of_share, struct profile *out,
		    struct pugmark_diag *diag)
{
	struct profiler p = {.model = model, .calls = calls};
	uint32_t n;
	int err = pugmark_trace_open(dir, &p.trace, diag);
	if (err)
		return err;
	err = find_module(&p, dir, diag);
	if (!err) {
		pugmark_recording_tasks(pugmark_trace_recording(p.trace), &n);
		read_times(&p, most_events);
		*of_share |= p.of_share;
		err = prepare(&p);
		for (uint32_t i = 0; i < n && !err; i++) {
			uint64_t n_events;
			err = count_witnesses(&p, i, &n_events);
			if (!err)
				err = count_trace(&p, i, n_events);
		}
		if (!err)
			err = lay_over(&p, out);
		if (err)
			pugmark_diag_set(diag, err, dir, PUGMARK_NO_OFFSET, "%s", strerror(-err));
	}
	free(p.table);
	free(p.hits);
	free(p.taken);
	free(p.ran);
	pugmark_trace_free(p.trace);
	return err;
}

/* What was counted of each block, and in how much: of events, or of seconds. */
struct tally {
	double runs, events, seconds;
	bool known;
};

static void add_up(struct tally *tallies, uint32_t n, const struct profile *one)
{
	for (uint32_t b = 0; b < n; b++)
		if (one->counts[b] != UINT64_MAX) {
			tallies[b].runs += (double)one->counts[b];
			tallies[b].events += (double)one->events;
			tallies[b].seconds += one->seconds;
			tallies[b].known = true;
		}
}

/* By what a count of @t is to be multiplied, as if all recordings had counted it. */
static double scale(const struct tally *t, const struct profile *all, bool by_time)
{
	double of = by_time ? t->seconds : t->events;
	return of > 0 ? (by_time ? all->seconds : (double)all->events) / of : 1;
}

/* Scales a count; what has run at all stays above 0. */
static uint64_t in_all(const struct tally *t, const struct profile *all, bool by_time)
{
	double runs = t->runs > 0 ? ceil(t->runs * scale(t, all, by_time)) : 0;
	return runs < MAX_COUNT ? (uint64_t)runs : (uint64_t)MAX_COUNT;
}

static int join(const struct tally *tallies, const struct pugmark_model *m,
		const struct profile_calls *calls, bool by_time, struct profile *out)
{
	uint64_t *counts = malloc((m->n_blocks + 1) * sizeof(*counts));
	if (!counts || profile_calls_list(calls, &out->calls, &out->n_calls)) {
		free(counts);
		return -ENOMEM;
	}
	for (uint32_t b = 0; b < m->n_blocks; b++)
		counts[b] = tallies[b].known ? in_all(&tallies[b], out, by_time) : UINT64_MAX;
	for (uint32_t i = 0; i < out->n_calls; i++)
		out->calls[i].calls *=
			scale(&tallies[m->funcs[out->calls[i].callee].block], out, by_time);
	out->counts = counts;
	out->hash = (uint32_t)crc32_z(0, (const void *)counts, m->n_blocks * sizeof(*counts));
	return 0;
}

int profile_read(const char *const *dirs, uint32_t n, const struct pugmark_model *model,
		 uint64_t most_events, struct profile *out, struct pugmark_diag *diag)
{
	struct tally *tallies = calloc(model->n_blocks + 1, sizeof(*tallies));
	struct profile_calls *calls = NULL;
	struct profile all = {0};
	bool of_share = false, timed = true;
	if (!tallies || profile_calls_new(model, &calls)) {
		free(tallies);
		return pugmark_diag_set(diag, -ENOMEM, dirs[0], PUGMARK_NO_OFFSET, "out of memory");
	}
	int err = 0;
	for (uint32_t i = 0; i < n && !err; i++) {
		struct profile one;
		err = read_one(dirs[i], model, most_events, calls, &of_share, &one, diag);
		if (err)
			break;
		add_up(tallies, model->n_blocks, &one);
		all.events += one.events;
		all.seconds += one.seconds;
		timed &= one.seconds > 0;
		profile_deinit(&one);
	}
	if (!err && join(tallies, model, calls, of_share && timed, &all))
		err = pugmark_diag_set(diag, -ENOMEM, dirs[0], PUGMARK_NO_OFFSET, "out of memory");
	if (!err)
		*out = all;
	profile_calls_free(calls);
	free(tallies);
	return err;
}

void profile_deinit(struct profile *profile)
{
	free(profile->counts);
	free(profile->calls);
	*profile = (struct profile){0};
}

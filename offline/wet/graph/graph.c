// SPDX-License-Identifier: LGPL-2.1-or-later
/* graph.c: what the replay yields, copied in batches that end where a path ends, and handed from
 * thread to thread (graph_impl.h); edges of control dependence; and questions. */
#include "offline/wet/graph/graph_impl.h"

#include <errno.h>
#include <string.h>

enum { BATCH_STEPS = 1 << 14, DEFS_KEPT_MIN = 1 << 21 };

/* --- threads --------------------------------------------------------------------------------- */

/* Tuples that are looked up together. */
enum { TUPLES = 64 };
struct tuples {
	struct {
		struct wet_group *group;
		const uint64_t *values;
		uint64_t hash;
		bool far;
	} at[TUPLES];
	uint32_t n;
	uint32_t n_values;
	uint64_t values[2 * (UINT16_MAX + 1)];
};

static void add_tuples(struct wet_graph *g, struct tuples *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->at[i].far)
			wet_group_near_tuple(t->at[i].group, t->at[i].hash);
	for (uint32_t i = 0; i < t->n; i++)
		g->values_no_memory |= !wet_group_add(g->press, t->at[i].group, t->at[i].values);
	t->n = t->n_values = 0;
}

static void put_tuple(struct wet_graph *g, struct tuples *t, struct wet_group *group,
		      const uint64_t *values)
{
	if (t->n == TUPLES) {
		g->values_no_memory |= !wet_group_add(g->press, group, values);
		return;
	}
	bool far = group->n_slots >= WET_GROUP_FAR;
	uint64_t hash = far ? wet_group_hash(group, values) : 0;
	if (far)
		wet_group_near_slot(group, hash);
	t->at[t->n].group = group;
	t->at[t->n].values = values;
	t->at[t->n].hash = hash;
	t->at[t->n++].far = far;
}

static void put_values(struct wet_graph *g, struct wet_batch *b)
{
	struct tuples t;
	t.n = t.n_values = 0;
	for (uint32_t i = 0; i < b->paths.n && !g->values_no_memory; i++) {
		const struct wet_path_values *p = &b->paths.at[i];
		const uint64_t *results = b->results.at + p->first;
		/* Those of a path with more groups than fit are added as they come. */
		if (t.n + p->n_groups > TUPLES || t.n_values > UINT16_MAX)
			add_tuples(g, &t);
		uint64_t *of = t.values + t.n_values;
		for (uint32_t k = 0; k < p->n_values; k++)
			of[k] = results[p->order[k]];
		t.n_values += p->n_values;
		for (uint32_t k = 0; k < p->n_groups; of += p->groups[k++].width)
			put_tuple(g, &t, &p->groups[k], of);
	}
	add_tuples(g, &t);
}

/* Works on each batch that is @before, and then it is @behind. */
static void follow(struct wet_graph *g, const uint64_t *before, uint64_t *behind,
		   void (*work)(struct wet_graph *graph, struct wet_batch *batch))
{
	pthread_mutex_lock(&g->lock);
	for (;;) {
		while (*behind == *before && !g->ends)
			pthread_cond_wait(&g->changed, &g->lock);
		if (*behind == *before)
			break;
		struct wet_batch *b = &g->batches[*behind % WET_BATCHES];
		pthread_mutex_unlock(&g->lock);
		work(g, b);
		pthread_mutex_lock(&g->lock);
		++*behind;
		pthread_cond_broadcast(&g->changed);
	}
	pthread_mutex_unlock(&g->lock);
}

static void *link_all(void *graph)
{
	struct wet_graph *g = graph;
	follow(g, &g->filled, &g->linked, wet_graph_link);
	return NULL;
}

static void *value_all(void *graph)
{
	struct wet_graph *g = graph;
	follow(g, &g->linked, &g->valued, put_values);
	return NULL;
}

static bool start(struct wet_graph *g)
{
	if (pthread_create(&g->linker, NULL, link_all, g))
		return false;
	if (!pthread_create(&g->valuer, NULL, value_all, g)) {
		g->running = true;
		return true;
	}
	pthread_mutex_lock(&g->lock);
	g->ends = true;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
	pthread_join(g->linker, NULL);
	return false;
}

/* Waits until all batches are valued, and ends the threads. */
static void stop(struct wet_graph *g)
{
	if (!g->running)
		return;
	pthread_mutex_lock(&g->lock);
	while (g->valued < g->filled)
		pthread_cond_wait(&g->changed, &g->lock);
	g->ends = true;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
	pthread_join(g->linker, NULL);
	pthread_join(g->valuer, NULL);
	g->running = false;
}

struct wet_graph *wet_graph_new(uint64_t from, uint64_t to, bool control, bool executed)
{
	struct wet_graph *g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->from = from;
	g->to = to;
	g->control = control;
	g->executed = g->edges.counts = executed;
	g->first = g->last = g->fresh = UINT32_MAX;
	g->keep_at = DEFS_KEPT_MIN;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->changed, NULL);
	g->press = g->edges.press = wet_press_new();
	if (g->press && start(g))
		return g;
	wet_graph_free(g);
	return NULL;
}

static void free_node(struct wet_node *n)
{
	for (uint32_t k = 0; k < n->n_groups; k++)
		wet_group_deinit(&n->groups[k]);
	free(n->groups);
	free(n->order);
	wet_growing_deinit(&n->times);
	wet_reads_deinit(&n->reads);
	free(n->load_edges);
	free(n->next);
}

void wet_graph_free(struct wet_graph *g)
{
	if (!g)
		return;
	stop(g);
	wet_press_free(g->press);
	for (uint32_t i = 0; i < g->paths.n && i < g->room_nodes; i++)
		free_node(&g->nodes[i]);
	for (uint32_t i = 0; i < WET_BATCHES; i++) {
		struct wet_batch *b = &g->batches[i];
		VEC_FREE(&b->steps);
		VEC_FREE(&b->writes);
		VEC_FREE(&b->results);
		VEC_FREE(&b->addresses);
		VEC_FREE(&b->notes);
		VEC_FREE(&b->loads);
		VEC_FREE(&b->many);
		VEC_FREE(&b->made);
		VEC_FREE(&b->live);
		VEC_FREE(&b->paths);
	}
	wet_paths_deinit(&g->paths);
	wet_edges_deinit(&g->edges);
	wet_makers_deinit(&g->makers);
	free(g->nodes);
	free(g->node_of);
	free(g->stmts);
	wet_writers_deinit(&g->writers);
	unforeseen_deinit(&g->unforeseen);
	wet_flow_deinit(&g->flow);
	for (uint32_t i = 0; i < g->flows.n; i++)
		bytes_deinit(&g->flows.at[i]);
	VEC_FREE(&g->flows);
	for (uint32_t i = 0; i < g->unforeseen_blocks.n; i++)
		free(g->unforeseen_blocks.at[i].at);
	VEC_FREE(&g->unforeseen_blocks);
	VEC_FREE(&g->notes);
	VEC_FREE(&g->last_of);
	VEC_FREE(&g->cuts);
	VEC_FREE(&g->cut_before);
	bytes_deinit(&g->cut_executions);
	pthread_cond_destroy(&g->changed);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

/* --- batches --------------------------------------------------------------------------------- */

static struct wet_batch *filling(struct wet_graph *g)
{
	return &g->batches[g->filled % WET_BATCHES];
}

/* Hands the batch on and empties the next one. */
static void hand_on(struct wet_graph *g, const struct dep_trace *t)
{
	filling(g)->last_def = t->n_defs;
	pthread_mutex_lock(&g->lock);
	g->filled++;
	pthread_cond_broadcast(&g->changed);
	while (g->filled - g->valued == WET_BATCHES)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
	struct wet_batch *b = filling(g);
	b->steps.n = b->writes.n = b->results.n = b->loads.n = b->many.n = b->made.n = 0;
	b->addresses.n = b->notes.n = b->live.n = b->paths.n = b->old = 0;
}

/* Ends the path. @writes: registers that are new then, or NULL. */
static void put_end(struct wet_graph *g, const struct dep_units *writes)
{
	struct wet_batch *b = filling(g);
	bool fine = !writes || VEC_PUSH(&b->writes, *writes);
	struct wet_step end = {.writes = writes ? b->writes.n : 0};
	g->watch_no_memory |= !fine || !VEC_PUSH(&b->steps, end);
	g->last_ip = UINT64_MAX;
}

static bool put_loads(struct wet_batch *b, const struct dep_trace *t, uint64_t load, uint32_t n)
{
	if (!VEC_RESERVE(&b->loads, n))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t word = t->loads.at[load + i], k;
		if (word & DEP_LOAD_MANY) {
			const uint32_t *defs = dep_trace_load(t, &t->loads.at[load + i], &k);
			word = DEP_LOAD_MANY | b->many.n;
			if (!VEC_RESERVE(&b->many, k + 1))
				return false;
			b->many.at[b->many.n++] = k;
			for (uint32_t d = 0; d < k; d++)
				b->many.at[b->many.n++] = defs[d];
		}
		b->loads.at[b->loads.n++] = word;
	}
	return true;
}

static bool put_addresses(struct wet_batch *b, const uint64_t *addresses, uint32_t n)
{
	if (!VEC_RESERVE(&b->addresses, n))
		return false;
	for (uint32_t i = 0; i < n; i++)
		b->addresses.at[b->addresses.n++] = addresses[i];
	return true;
}

static bool put_block(struct wet_batch *b, const struct dep_trace *t, const struct dep_mark *before,
		      const struct dep_block *block, const uint64_t *results)
{
	struct wet_step step = {.block = block, .item = before->item, .def = before->def};
	if (!VEC_PUSH(&b->steps, step) || !VEC_RESERVE(&b->results, block->n_results) ||
	    !put_loads(b, t, before->load, block->n_loads))
		return false;
	for (uint32_t i = 0; i < block->n_results; i++)
		b->results.at[b->results.n++] = results[i];
	for (uint32_t i = 0; i < block->n_strings; i++) {
		uint32_t event = t->strings.at[before->string + i];
		if (!VEC_PUSH(&b->made, t->events[event].n_defs))
			return false;
	}
	return true;
}

void wet_graph_watch(void *graph, const struct dep_trace *t, const struct dep_mark *before,
		     const struct dep_block *block, const struct dep_event *event,
		     const uint64_t *addresses, const uint64_t *results)
{
	struct wet_graph *g = graph;
	if (event) {
		struct dep_units writes = dep_event_writes(event);
		put_end(g, dep_units_any(&writes) ? &writes : NULL);
		return;
	}
	if (before->count < g->from || before->count >= g->to || g->watch_no_memory) {
		if (!g->outside)
			put_end(g, NULL);
		g->outside = true;
		return;
	}
	g->outside = false;
	/* A path never goes back. */
	if (filling(g)->steps.n >= BATCH_STEPS &&
	    (g->last_ip == UINT64_MAX || block->ip <= g->last_ip))
		hand_on(g, t);
	g->last_ip = block->ip;
	g->watch_no_memory |=
		!put_block(filling(g), t, before, block, results) ||
		(g->executed && !put_addresses(filling(g), addresses, block->n_addresses));
}

void wet_graph_told_word(struct wet_graph *g, uint64_t block, uint64_t word)
{
	struct wet_note note = {.block = block, .what = word};
	g->watch_no_memory |= !VEC_PUSH(&filling(g)->notes, note);
}

void wet_graph_told_blocks(struct wet_graph *g, uint64_t block, uint32_t n)
{
	struct wet_note note = {.block = block, .blocks = n};
	g->watch_no_memory |= !VEC_PUSH(&filling(g)->notes, note);
}

void wet_graph_cut(struct wet_graph *g)
{
	struct wet_step cut = {.cut = true};
	g->watch_no_memory |= !VEC_PUSH(&filling(g)->steps, cut);
	g->last_ip = UINT64_MAX;
}

bool wet_graph_wants_live(const struct wet_graph *g, const struct dep_trace *t)
{
	return t->n_defs >= g->keep_at && !g->batches[g->filled % WET_BATCHES].old;
}

bool wet_graph_live(struct wet_graph *g, const struct dep_trace *t, const uint32_t *live, size_t n)
{
	struct wet_batch *b = filling(g);
	if (n >= UINT32_MAX || !VEC_RESERVE(&b->live, (uint32_t)n))
		return false;
	if (n)
		memcpy(b->live.at, live, n * sizeof(*live));
	b->live.n = (uint32_t)n;
	b->old = t->n_defs;
	g->keep_at = t->n_defs + (n > DEFS_KEPT_MIN ? (uint32_t)n : DEFS_KEPT_MIN);
	return true;
}

/* --- at the end ------------------------------------------------------------------------------ */

/* What block @b, whose last statement is @last, was decided by: a word a segment. */
static void put_decided(struct wet_graph *g, const struct slice_control *c,
			const struct dep_block *b, const struct wet_maker *last, uint64_t word)
{
	const struct control_segments *s = &c->blocks[b->block->number];
	uint32_t first = last->stmt - b->n_insns; /* the number of the block's first statement */
	for (unsigned i = 0; i <= s->n; i++) {
		uint32_t parent = c->parents[word + i];
		const struct wet_maker *by =
			parent && parent <= g->last_of.n ? &g->last_of.at[parent - 1] : NULL;
		if (!by || !by->stmt)
			continue;
		struct wet_edge e = {.to = first + (i ? s->at[i - 1] : 0),
				     .from = by->stmt - 1,
				     .to_node = g->node_of[first],
				     .from_node = g->node_of[by->stmt - 1],
				     .operand = WET_CONTROL};
		g->totals.dependences++;
		g->totals.decided++;
		uint32_t any = 0;
		g->no_memory |= !wet_edges_add(&g->edges, &e, last->time, by->time, &any);
	}
}

static void put_control(struct wet_graph *g, const struct dep_trace *t,
			const struct slice_control *c)
{
	uint64_t word = 0;
	for (uint64_t i = 0; i < t->items.n && i < g->last_of.n && !g->no_memory; i++) {
		uint32_t item = t->items.at[i];
		if (g->last_of.at[i].stmt)
			put_decided(g, c, t->blocks[item], &g->last_of.at[i], word);
		word += control_words(c, item);
	}
}

int wet_graph_finish(struct wet_graph *g, const struct dep_trace *trace,
		     const struct slice_control *control)
{
	hand_on(g, trace);
	stop(g);
	g->no_memory |= g->watch_no_memory || g->values_no_memory;
	if (control)
		put_control(g, trace, control);
	uint32_t *executions = calloc(g->paths.n + 1, sizeof(*executions));
	for (uint32_t i = 0; executions && i < g->paths.n; i++)
		executions[i] = g->nodes[i].executions;
	bool fine = executions && !g->no_memory && wet_edges_finish(&g->edges, executions) &&
		    wet_press_wait(g->press);
	free(executions);
	return fine ? 0 : g->totals.paths == UINT32_MAX ? -EOVERFLOW : -ENOMEM;
}

const struct wet_node *wet_graph_nodes(const struct wet_graph *g, uint32_t *n)
{
	*n = g->paths.n;
	return g->nodes;
}

const struct wet_stmt *wet_graph_stmts(const struct wet_graph *g, uint32_t *n)
{
	*n = g->n_stmts;
	return g->stmts;
}

const struct wet_edges *wet_graph_edges(const struct wet_graph *g)
{
	return &g->edges;
}

void wet_graph_inexact(struct wet_graph *g, uint64_t n)
{
	g->totals.inexact = n;
}

void wet_graph_totals(const struct wet_graph *g, struct wet_totals *out)
{
	*out = g->totals;
}

const struct wet_cut *wet_graph_cuts(const struct wet_graph *g, uint32_t *n,
				     const struct bytes **bytes)
{
	*n = g->cuts.n;
	*bytes = &g->cut_executions;
	return g->cuts.at;
}

const struct bytes *wet_graph_flows(const struct wet_graph *g, uint32_t *n)
{
	*n = g->flows.n;
	return g->flows.at;
}

const struct unforeseen_block *wet_graph_unforeseen(const struct wet_graph *g, uint32_t *n)
{
	*n = g->unforeseen_blocks.n;
	return g->unforeseen_blocks.at;
}

uint32_t wet_graph_first(const struct wet_graph *g)
{
	return g->first;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_bound.c: what the costliest machine pays in any split, however jobs are made. Whoever tells
 * a fork has a witness on each directed cycle through it: with a silent one, what it sees first
 * after the way round is also what it sees after the other way. The cheapest such witnesses are a
 * least cut of the graph from the fork back to itself, and as much flows through (Menger), where a
 * node lets through what a witness on it costs. The largest of these cuts is the bound: it is
 * proven, where the weight of a job is only the best that was found. */
#include "offline/share/share_split.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Edges that are looked at before the search ends; what was found by then is a bound as well. */
#define WORK_MAX (1u << 26)

/* Of one graph. Node v has two sides: 2 v is where it is come to, 2 v + 1 where it is left. */
struct cut {
	const struct flow_graph *g;
	double *through; /* per node: what flows */
	double *over;	 /* per edge */
	uint32_t *from;	 /* per side: the side that the walk came from; PUGMARK_NONE: not there */
	uint32_t *edge;	 /* per side: over this edge, forwards or back; PUGMARK_NONE: in its node */
	uint32_t *queue;
	uint32_t n; /* sides in the queue */
	uint64_t work;
};

static int cut_init(struct cut *c, const struct flow_graph *g)
{
	size_t sides = 2 * (size_t)g->n_nodes;
	*c = (struct cut){
		.g = g,
		.through = malloc(g->n_nodes * sizeof(double)),
		.over = malloc((g->n_edges + 1) * sizeof(double)),
		.from = malloc(sides * sizeof(uint32_t)),
		.edge = malloc(sides * sizeof(uint32_t)),
		.queue = malloc(sides * sizeof(uint32_t)),
	};
	return c->through && c->over && c->from && c->edge && c->queue ? 0 : -ENOMEM;
}

static void cut_deinit(struct cut *c)
{
	void *heap[] = {c->through, c->over, c->from, c->edge, c->queue};
	for (size_t i = 0; i < sizeof(heap) / sizeof(*heap); i++)
		free(heap[i]);
}

/* What a witness on @node costs at the least. */
static double capacity(const struct flow_graph *g, uint32_t node)
{
	return fmin(g->nodes[node].weight, g->nodes[node].way_weight);
}

static void reach(struct cut *c, uint32_t side, uint32_t from, uint32_t edge)
{
	c->work++;
	if (c->from[side] != PUGMARK_NONE)
		return;
	c->from[side] = from;
	c->edge[side] = edge;
	c->queue[c->n++] = side;
}

/* Looks for a way from @fork back to it on which more can flow. */
static bool find_way(struct cut *c, uint32_t fork)
{
	const struct flow_graph *g = c->g;
	memset(c->from, 0xff, 2 * (size_t)g->n_nodes * sizeof(*c->from));
	c->n = 0;
	reach(c, 2 * fork + 1, 2 * fork + 1, PUGMARK_NONE);
	for (uint32_t done = 0; done < c->n && c->from[2 * fork] == PUGMARK_NONE; done++) {
		uint32_t side = c->queue[done], v = side / 2;
		const struct fg_node *n = &g->nodes[v];
		if (side & 1) {
			for (uint32_t e = n->out; e < n->out + n->n_out; e++)
				reach(c, 2 * g->edges[e].to, side, e);
			if (c->through[v] > 0)
				reach(c, 2 * v, side, PUGMARK_NONE);
			continue;
		}
		if (c->through[v] < capacity(g, v))
			reach(c, 2 * v + 1, side, PUGMARK_NONE);
		for (uint32_t k = 0; k < n->n_in; k++) {
			uint32_t e = g->in_edges[n->in + k];
			if (c->over[e] > 0)
				reach(c, 2 * g->edges[e].from + 1, side, e);
		}
	}
	return c->from[2 * fork] != PUGMARK_NONE;
}

/* How much more the way that was found lets through, at most; with @add, lets that flow. */
static double along_way(struct cut *c, uint32_t fork, double add)
{
	double least = INFINITY;
	for (uint32_t side = 2 * fork; side != 2 * fork + 1; side = c->from[side]) {
		uint32_t v = side / 2, e = c->edge[side];
		if (e != PUGMARK_NONE) {
			bool back = side & 1;
			if (back)
				least = fmin(least, c->over[e]);
			c->over[e] += back ? -add : add;
			continue;
		}
		bool back = !(side & 1);
		least = fmin(least, back ? c->through[v] : capacity(c->g, v) - c->through[v]);
		c->through[v] += back ? -add : add;
	}
	return least;
}

/* The least cut, INFINITY where a cycle has nothing to be cut, or 0 where the work ran out. */
static double least_cut(struct cut *c, uint32_t fork)
{
	double sum = 0;
	memset(c->through, 0, c->g->n_nodes * sizeof(*c->through));
	memset(c->over, 0, (c->g->n_edges + 1) * sizeof(*c->over));
	while (find_way(c, fork)) {
		double more = along_way(c, fork, 0);
		if (!isfinite(more)) /* but for the fork itself */
			return capacity(c->g, fork);
		along_way(c, fork, more);
		sum += more;
		if (c->work > WORK_MAX)
			return 0;
	}
	return fmin(sum, capacity(c->g, fork));
}

double share_bound_fork(const struct flow_graph *g, uint32_t fork)
{
	struct cut c;
	double cut = cut_init(&c, g) ? 0 : least_cut(&c, fork);
	cut_deinit(&c);
	return cut;
}

static int heavier_first(const void *a, const void *b)
{
	const struct share_job *const *x = a, *const *y = b;
	if ((*x)->weight_ns != (*y)->weight_ns)
		return (*x)->weight_ns < (*y)->weight_ns ? 1 : -1;
	return (*x)->number < (*y)->number ? -1 : (*x)->number > (*y)->number;
}

/* Of one job more than there are machines, two are one machine's. Those of several functions have
 * no witness in common. @jobs: the heaviest first. */
static double two_jobs(const struct share_split *s, const struct share_job *const *jobs)
{
	uint8_t *seen = calloc(s->n_graphs + 1, 1);
	uint32_t n = 0;
	double last = 0, sum = 0;
	for (uint32_t i = 0; seen && i < s->n_jobs && n <= s->options->machines; i++) {
		if (seen[jobs[i]->graph])
			continue;
		seen[jobs[i]->graph] = 1;
		if (++n > s->options->machines)
			sum = last + jobs[i]->weight_ns;
		last = jobs[i]->weight_ns;
	}
	free(seen);
	return split_tellers(s) == 1 ? sum : 0;
}

int share_bound(const struct share_split *s, struct share_bounds *out)
{
	const struct share_job **jobs = malloc((s->n_jobs + 1) * sizeof(*jobs));
	uint64_t work = 0;
	int err = jobs ? 0 : -ENOMEM;
	*out = (struct share_bounds){0};
	for (uint32_t i = 0; i < s->n_jobs && !err; i++)
		jobs[i] = &s->jobs[i];
	if (!err)
		qsort(jobs, s->n_jobs, sizeof(const void *), heavier_first);
	if (!err)
		out->two_jobs_ns = two_jobs(s, jobs);
	/* No fork of a job costs more than the whole job. */
	for (uint32_t i = 0; i < s->n_jobs && !err && jobs[i]->weight_ns > out->least_ns; i++) {
		struct cut c;
		err = cut_init(&c, &s->graphs[jobs[i]->graph].flow);
		for (uint32_t k = 0; k < jobs[i]->n_forks && !err && work < WORK_MAX; k++) {
			c.work = 0;
			double cut = least_cut(&c, s->forks[jobs[i]->fork + k]);
			if (isfinite(cut) && cut > out->least_ns)
				out->least_ns = cut;
			work += c.work;
		}
		cut_deinit(&c);
	}
	free(jobs);
	return err;
}

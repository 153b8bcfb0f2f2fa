// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_jobs.c: what one share is to tell together. The smallest job is a fork: all diamonds that
 * begin at it and, since only a share that also breaks these can tell them, all directed cycles
 * through it. (The diamonds of one fork can be shared out too; but each part would need the
 * cycles.) Optimized grouping joins forks whose covers may have witnesses in common: those of one
 * cycle, and those whose diamonds have an edge in common. */
#include "offline/share/share_split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Groups of one graph: union and find over its nodes. */
struct groups {
	const struct share_graph *g;
	uint32_t *parent;
	uint32_t *owner; /* per edge: a fork that has it in a diamond */
	uint32_t *seen, *queue, now;
	uint8_t *ways; /* per node: how many ways out of the fork reach it, at most 255 */
};

static uint32_t root(struct groups *u, uint32_t v)
{
	while (u->parent[v] != v)
		v = u->parent[v] = u->parent[u->parent[v]];
	return v;
}

static void join(struct groups *u, uint32_t a, uint32_t b)
{
	u->parent[root(u, a)] = root(u, b);
}

/* Which nodes the way out by edge @e reaches without coming back to @fork or leaving the function.
 * Returns whether @fork is come back to. */
static bool reach(struct groups *u, uint32_t fork, uint32_t e)
{
	const struct flow_graph *f = &u->g->flow;
	uint32_t n = 0;
	bool back = false;
	u->now++;
	u->queue[n++] = f->edges[e].to;
	u->seen[f->edges[e].to] = u->now;
	for (uint32_t done = 0; done < n; done++) {
		uint32_t at = u->queue[done];
		if (at == fork) {
			back = true;
			continue;
		}
		u->ways[at] += u->ways[at] < 255;
		if (at == f->exit)
			continue;
		for (uint32_t k = 0; k < f->nodes[at].n_out; k++) {
			uint32_t to = f->edges[f->nodes[at].out + k].to;
			if (u->seen[to] == u->now || to == f->entry)
				continue;
			u->seen[to] = u->now;
			u->queue[n++] = to;
		}
	}
	return back;
}

/* Joins @fork with the forks that have an edge of a diamond, or a cycle, in common with it. */
static void join_around(struct groups *u, uint32_t fork)
{
	const struct flow_graph *f = &u->g->flow;
	const struct fg_node *p = &f->nodes[fork];
	bool cycle = false;
	memset(u->ways, 0, f->n_nodes);
	for (uint32_t k = 0; k < p->n_out; k++)
		cycle |= reach(u, fork, p->out + k);
	uint32_t all = p->n_out < 255 ? p->n_out : 255;
	for (uint32_t e = 0; e < f->n_edges; e++) {
		uint32_t from = f->edges[e].from;
		bool arm = u->ways[from] && u->ways[from] < all; /* of some ways, not of all */
		if (from == f->exit || (!arm && from != fork))
			continue;
		if (u->owner[e] != PUGMARK_NONE)
			join(u, fork, u->owner[e]);
		u->owner[e] = fork;
	}
	/* What can be reached from the fork, and leads back to it, is on a cycle with it. */
	uint32_t n = 0;
	u->now++;
	u->queue[n++] = fork;
	u->seen[fork] = u->now;
	for (uint32_t done = 0; cycle && done < n; done++) {
		uint32_t at = u->queue[done];
		if (at != fork && u->g->told[at] && u->ways[at])
			join(u, fork, at);
		for (uint32_t k = 0; at != f->entry && k < f->nodes[at].n_in; k++) {
			uint32_t from = f->edges[f->in_edges[f->nodes[at].in + k]].from;
			if (u->seen[from] == u->now || from == f->exit)
				continue;
			u->seen[from] = u->now;
			u->queue[n++] = from;
		}
	}
}

/* Past this many forks in a function, looking around each costs too much: all are one group. */
#define FORKS_MAX 400

static int group(struct groups *u, const struct share_graph *g, enum share_grouping grouping)
{
	uint32_t n = g->flow.n_nodes, first = PUGMARK_NONE;
	*u = (struct groups){
		.g = g,
		.parent = malloc(n * sizeof(uint32_t)),
		.owner = malloc((g->flow.n_edges + 1) * sizeof(uint32_t)),
		.seen = calloc(n, sizeof(uint32_t)),
		.queue = malloc(n * sizeof(uint32_t)),
		.ways = malloc(n),
	};
	if (!u->parent || !u->owner || !u->seen || !u->queue || !u->ways)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		u->parent[i] = i;
	memset(u->owner, 0xff, (g->flow.n_edges + 1) * sizeof(uint32_t));
	bool together = grouping == SHARE_FUNCTION ||
			(grouping == SHARE_OPTIMIZED && g->n_told > FORKS_MAX);
	for (uint32_t i = 0; i < n; i++) {
		if (!g->told[i])
			continue;
		if (together && first != PUGMARK_NONE)
			join(u, i, first);
		else if (grouping == SHARE_OPTIMIZED && !together)
			join_around(u, i);
		first = i;
	}
	return 0;
}

static void groups_deinit(struct groups *u)
{
	free(u->parent);
	free(u->owner);
	free(u->seen);
	free(u->queue);
	free(u->ways);
}

static int weigh(struct share_split *s, struct share_job *j)
{
	uint8_t *mask = calloc(s->graphs[j->graph].flow.n_nodes, 1);
	if (!mask)
		return -ENOMEM;
	for (uint32_t i = 0; i < j->n_forks; i++)
		mask[s->forks[j->fork + i]] = 1;
	int err = share_cover_weigh(s, SHARE_WITHOUT_EVENTS, j->graph, mask, &j->weight_ns);
	free(mask);
	return err;
}

/* As many of each job as there are tellers: one after the other, so that a job is given out to all
 * of them before the next is. */
static void repeat(struct share_split *s)
{
	uint32_t n = split_tellers(s);
	for (uint32_t i = s->n_jobs; i-- > 0;) {
		struct share_job j = s->jobs[i];
		j.number = i;
		for (uint32_t k = 0; k < n; k++)
			s->jobs[i * n + k] = j;
	}
	s->n_jobs *= n;
}

int share_jobs_make(struct share_split *s, enum share_grouping grouping)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->n_graphs; i++)
		n += s->graphs[i].n_told;
	s->forks = calloc(n + 1, sizeof(*s->forks));
	s->jobs = calloc((size_t)split_tellers(s) * n + 1, sizeof(*s->jobs));
	s->told_by = calloc(n + 1, sizeof(*s->told_by));
	int err = s->forks && s->jobs && s->told_by ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < s->n_graphs && !err; i++) {
		const struct share_graph *g = &s->graphs[i];
		struct groups u;
		err = group(&u, g, grouping);
		for (uint32_t r = 0; r < g->flow.n_nodes && !err; r++) {
			struct share_job j = {.graph = i, .fork = s->n_forks};
			for (uint32_t k = 0; k < g->flow.n_nodes; k++)
				if (g->told[k] && root(&u, k) == r) {
					s->forks[s->n_forks++] = k;
					j.n_forks++;
				}
			if (!j.n_forks)
				continue;
			s->jobs[s->n_jobs++] = j;
			err = weigh(s, &s->jobs[s->n_jobs - 1]);
		}
		groups_deinit(&u);
	}
	if (!err)
		repeat(s);
	return err;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_tell.c: see share_tell.h. What share k can see first after each way out of a fork is found
 * by a walk through what is silent in k; the first share in which these sets are disjoint tells the
 * fork (Theorem 2, for one function at a time). */
#include "offline/share/share_tell.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void note_sites(struct share_teller *t)
{
	const struct pugmark_plan *p = t->plan;
	for (uint32_t f = 0; f < p->n_funcs; f++) {
		const struct pugmark_plan_func *func = &p->funcs[f];
		for (uint32_t i = func->node; i < func->node + func->n_nodes; i++) {
			uint32_t site = p->nodes[i].site;
			if (site == PUGMARK_NONE)
				continue;
			t->site_func[site] = f;
			t->node_of[site] = i;
			t->is_root[site] |= (p->nodes[i].flags & PUGMARK_NODE_ROOT) != 0;
		}
		if (!(func->flags & PUGMARK_PLAN_FUNC_ENTERED) || func->entry == PUGMARK_NONE)
			continue;
		const struct pugmark_plan_decision *d = &p->decisions[func->entry];
		uint32_t node = d->n == 1 ? p->alternatives[d->first] : 0;
		if (node && p->nodes[node].site != PUGMARK_NONE)
			t->is_entry[p->nodes[node].site] = 1;
	}
}

int share_teller_new(const struct pugmark_plan *plan, const uint64_t *members, uint32_t n_shares,
		     struct share_teller **out)
{
	struct share_teller *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	*t = (struct share_teller){.plan = plan, .members = members, .n_shares = n_shares};
	t->component = calloc(plan->n_funcs + 1, sizeof(*t->component));
	t->site_ns = calloc(plan->n_sites + 1, sizeof(*t->site_ns));
	t->funcs = calloc(plan->n_funcs + 1, sizeof(*t->funcs));
	t->site_func = calloc(plan->n_sites + 1, sizeof(*t->site_func));
	t->node_of = calloc(plan->n_sites + 1, sizeof(*t->node_of));
	t->is_root = calloc(plan->n_sites + 1, 1);
	t->is_entry = calloc(plan->n_sites + 1, 1);
	int err = t->component && t->site_ns && t->funcs && t->site_func && t->node_of &&
				  t->is_root && t->is_entry
			  ? share_components(plan, t->component)
			  : -ENOMEM;
	if (err) {
		share_teller_free(t);
		return err;
	}
	note_sites(t);
	*out = t;
	return 0;
}

void share_teller_free(struct share_teller *t)
{
	if (!t)
		return;
	for (uint32_t f = 0; t->funcs && f < t->plan->n_funcs; f++) {
		struct tell_func *func = &t->funcs[f];
		for (uint32_t i = 0; func->forks && i < func->graph.flow.n_nodes; i++)
			free(func->forks[i].entries);
		free(func->forks);
		share_graph_deinit(&func->graph);
	}
	void *heap[] = {t->component, t->site_ns, t->funcs,    t->site_func,
			t->node_of,   t->is_root, t->is_entry, t};
	for (size_t i = 0; i < sizeof(heap) / sizeof(*heap); i++)
		free(heap[i]);
}

struct tell_func *share_tell_func(struct share_teller *t, uint32_t func)
{
	struct tell_func *f = &t->funcs[func];
	if (f->forks)
		return f;
	if (share_graph_init(&f->graph, t->plan, func, t->component, t->component[t->plan->n_funcs],
			     t->site_ns))
		return NULL;
	f->forks = calloc(f->graph.flow.n_nodes, sizeof(*f->forks));
	return f->forks ? f : NULL;
}

struct walk {
	const struct share_teller *t;
	const struct tell_func *f;
	uint32_t share;
	uint32_t *queue, *stamp, now;
	struct tell_entry *found; /* unsorted */
	uint32_t n, cap;
	bool failed;
};

static void found(struct walk *w, uint32_t site, uint32_t way)
{
	if (w->n == w->cap) {
		uint32_t cap = w->cap ? 2 * w->cap : 16;
		struct tell_entry *more = realloc(w->found, cap * sizeof(*more));
		if (!more) {
			w->failed = true;
			return;
		}
		w->found = more;
		w->cap = cap;
	}
	w->found[w->n++] = (struct tell_entry){site, way};
}

/* The site by which the share sees @node of the graph, or PUGMARK_NONE. */
static uint32_t site_at(const struct walk *w, uint32_t node)
{
	const struct share_graph *g = &w->f->graph;
	if (node >= g->flow.entry)
		return PUGMARK_NONE;
	uint32_t site = w->t->plan->nodes[g->first + node].site;
	return site != PUGMARK_NONE && w->t->members[site] >> w->share & 1 ? site : PUGMARK_NONE;
}

static void look_ahead(struct walk *w, uint32_t way)
{
	const struct flow_graph *g = &w->f->graph.flow;
	uint32_t n = 0;
	w->now++;
	w->queue[n++] = way;
	w->stamp[way] = w->now;
	for (uint32_t done = 0; done < n && !w->failed; done++) {
		uint32_t node = w->queue[done], site = site_at(w, node);
		if (site != PUGMARK_NONE) {
			found(w, site, way);
			continue;
		}
		if (node == g->n_nodes - 1)
			found(w, TELL_ELSEWHERE, way);
		for (uint32_t k = 0; k < g->nodes[node].n_out; k++) {
			uint32_t to = g->edges[g->nodes[node].out + k].to;
			if (w->stamp[to] == w->now)
				continue;
			w->stamp[to] = w->now;
			w->queue[n++] = to;
		}
	}
}

static int by_site(const void *a, const void *b)
{
	const struct tell_entry *x = a, *y = b;
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return x->way < y->way ? -1 : x->way > y->way;
}

/* Whether the share sees something else first after each way. */
static bool tells(struct walk *w, uint32_t fork)
{
	const struct flow_graph *g = &w->f->graph.flow;
	w->n = 0;
	for (uint32_t k = 0; k < g->nodes[fork].n_out; k++)
		look_ahead(w, g->edges[g->nodes[fork].out + k].to);
	if (w->n)
		qsort(w->found, w->n, sizeof(*w->found), by_site);
	for (uint32_t i = 1; i < w->n; i++)
		if (w->found[i].site == w->found[i - 1].site)
			return false;
	return true;
}

struct tell_fork *share_tell_fork(struct share_teller *t, struct tell_func *f, uint32_t node)
{
	struct tell_fork *fork = &f->forks[node];
	if (fork->known)
		return fork;
	uint32_t n = f->graph.flow.n_nodes;
	struct walk w = {
		.t = t,
		.f = f,
		.queue = malloc(n * sizeof(uint32_t)),
		.stamp = calloc(n, sizeof(uint32_t)),
	};
	fork->share = TELL_NOBODY;
	w.failed = !w.queue || !w.stamp;
	for (uint32_t k = 0; k < t->n_shares && !w.failed; k++) {
		w.share = k;
		if (!tells(&w, node) || w.failed)
			continue;
		fork->share = k;
		fork->entries = w.found;
		fork->n = w.n;
		w.found = NULL;
		break;
	}
	fork->known = !w.failed;
	free(w.found);
	free(w.queue);
	free(w.stamp);
	return w.failed ? NULL : fork;
}

uint32_t share_tell_way(const struct tell_fork *fork, uint32_t site)
{
	uint32_t lo = 0, hi = fork->n;
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		if (fork->entries[mid].site < site)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < fork->n && fork->entries[lo].site == site ? fork->entries[lo].way
							      : PUGMARK_NONE;
}

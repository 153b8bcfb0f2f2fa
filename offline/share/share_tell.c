// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_tell.c: see share_tell.h. What share k can see first after each way out of a fork is found
 * by a walk through what is silent in k. The first share in which these sets are disjoint tells the
 * fork; where there is none, those do together that each tell a pair of ways more (Theorem 2, for
 * one function at a time). */
#include "offline/share/share_tell.h"

#include "offline/base/search.h"

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

/* Where the module's code is, with where its last call returns to. */
static void note_text(struct share_teller *t)
{
	const struct pugmark_plan *p = t->plan;
	t->text = p->text_addr;
	t->text_end = p->text_end;
	for (uint32_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].addr + p->nodes[i].call_len >= t->text_end)
			t->text_end = p->nodes[i].addr + p->nodes[i].call_len + 1;
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
	note_text(t);
	*out = t;
	return 0;
}

static void fork_deinit(struct tell_fork *fork)
{
	for (uint32_t i = 0; i < fork->n_shares; i++)
		free(fork->shares[i].entries);
	free(fork->shares);
}

void share_teller_free(struct share_teller *t)
{
	if (!t)
		return;
	for (uint32_t f = 0; t->funcs && f < t->plan->n_funcs; f++) {
		struct tell_func *func = &t->funcs[f];
		for (uint32_t i = 0; func->forks && i < func->graph.flow.n_nodes; i++)
			fork_deinit(&func->forks[i]);
		free(func->forks);
		free(func->nodes);
		share_graph_deinit(&func->graph);
	}
	void *heap[] = {t->component, t->site_ns, t->funcs,    t->site_func,
			t->node_of,   t->is_root, t->is_entry, t};
	for (size_t i = 0; i < sizeof(heap) / sizeof(*heap); i++)
		free(heap[i]);
}

bool share_teller_came_to(const struct share_teller *t, uint32_t func)
{
	return t->funcs[func].forks;
}

static struct tell_node node_at(const struct share_teller *t, const struct share_graph *g,
				const struct pugmark_plan_node *n)
{
	uint64_t members = n->site == PUGMARK_NONE ? 0 : t->members[n->site];
	const struct pugmark_plan_site *s = members ? &t->plan->sites[n->site] : NULL;
	bool jumps = n->kind == PUGMARK_NODE_KIND_TARGET; /* where to, its event tells */
	struct tell_node out = {
		.site = s ? n->site : PUGMARK_NONE,
		.next = jumps ? PUGMARK_NONE : share_graph_after(g, t->plan, pugmark_node_next(n)),
		.taken = PUGMARK_NONE,
		.kind = TELL_PASSES,
		.part = s ? __builtin_ctzll(members) : 0,
		.alone = s && t->n_shares > 1 && !(members & (members - 1)) &&
			 s->cfa_reg != PUGMARK_CFA_UNKNOWN && s->kind != PUGMARK_WITNESS_TARGET &&
			 !(n->flags & (PUGMARK_NODE_CALLEE_CFA | PUGMARK_NODE_ROOT)),
	};
	switch (n->kind) {
	case PUGMARK_NODE_KIND_BRANCH:
		out.kind = TELL_BRANCHES;
		out.taken = share_graph_after(g, t->plan, pugmark_node_taken(n));
		break;
	case PUGMARK_NODE_KIND_TARGET:
	case PUGMARK_NODE_KIND_CALL:
	case PUGMARK_NODE_KIND_UNKNOWN:
	case PUGMARK_NODE_KIND_LEAF:
	case PUGMARK_NODE_KIND_RETURN:
		out.kind = TELL_IS_MORE;
		break;
	default:
		break;
	}
	return out;
}

static int note_nodes(const struct share_teller *t, struct tell_func *f)
{
	const struct share_graph *g = &f->graph;
	uint32_t n = g->flow.entry; /* nodes of the plan come first */
	f->nodes = malloc((n + 1) * sizeof(*f->nodes));
	for (uint32_t i = 0; f->nodes && i < n; i++)
		f->nodes[i] = node_at(t, g, &t->plan->nodes[g->first + i]);
	return f->nodes ? 0 : -ENOMEM;
}

struct tell_func *share_tell_func(struct share_teller *t, uint32_t func)
{
	struct tell_func *f = &t->funcs[func];
	if (f->forks)
		return f;
	if (share_graph_init(&f->graph, t->plan, func, t->component, t->component[t->plan->n_funcs],
			     t->site_ns) ||
	    note_nodes(t, f))
		return NULL;
	f->forks = calloc(f->graph.flow.n_nodes, sizeof(*f->forks));
	return f->forks ? f : NULL;
}

/* A look around a fork. */
struct look {
	const struct share_teller *t;
	const struct tell_func *f;
	uint32_t share;
	uint32_t *queue, *stamp, now;
	struct tell_entry *found; /* unsorted */
	uint32_t n, cap;
	bool failed;
};

static int look_init(struct look *w, const struct share_teller *t, const struct tell_func *f)
{
	uint32_t n = f->graph.flow.n_nodes;
	*w = (struct look){
		.t = t,
		.f = f,
		.queue = malloc(n * sizeof(uint32_t)),
		.stamp = calloc(n, sizeof(uint32_t)),
	};
	return w->queue && w->stamp ? 0 : -ENOMEM;
}

static void look_deinit(struct look *w)
{
	free(w->found);
	free(w->queue);
	free(w->stamp);
}

static void found(struct look *w, uint32_t site, uint32_t way)
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
static uint32_t site_at(const struct look *w, uint32_t node)
{
	const struct share_graph *g = &w->f->graph;
	if (node >= g->flow.entry)
		return PUGMARK_NONE;
	uint32_t site = w->t->plan->nodes[g->first + node].site;
	if (site == PUGMARK_NONE || w->share == TELL_ANYBODY)
		return site;
	return w->t->members[site] >> w->share & 1 ? site : PUGMARK_NONE;
}

/* Adds to the queue what may come after @node. */
static void look_past(struct look *w, uint32_t node, uint32_t *n)
{
	const struct flow_graph *g = &w->f->graph.flow;
	for (uint32_t k = 0; k < g->nodes[node].n_out; k++) {
		uint32_t to = g->edges[g->nodes[node].out + k].to;
		if (w->stamp[to] == w->now)
			continue;
		w->stamp[to] = w->now;
		w->queue[(*n)++] = to;
	}
}

static void look_start(struct look *w, uint32_t way)
{
	w->now++;
	w->queue[0] = way;
	w->stamp[way] = w->now;
}

static void look_ahead(struct look *w, uint32_t way)
{
	uint32_t n = 1;
	look_start(w, way);
	for (uint32_t done = 0; done < n && !w->failed; done++) {
		uint32_t node = w->queue[done], site = site_at(w, node);
		if (site != PUGMARK_NONE) {
			found(w, site, way);
			continue;
		}
		if (node == w->f->graph.flow.n_nodes - 1)
			found(w, TELL_ELSEWHERE, way);
		look_past(w, node, &n);
	}
}

static int by_site(const void *a, const void *b)
{
	const struct tell_entry *x = a, *y = b;
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return x->way < y->way ? -1 : x->way > y->way;
}

/* Finds what the share sees first after each way. Returns whether that is never the same. */
static bool look_after_each(struct look *w, uint32_t fork)
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

/* What was found becomes one more share of the fork. */
static int keep(struct look *w, struct tell_fork *fork)
{
	struct tell_share *more =
		realloc(fork->shares, (fork->n_shares + 1) * sizeof(*fork->shares));
	if (!more)
		return -ENOMEM;
	fork->shares = more;
	fork->shares[fork->n_shares++] =
		(struct tell_share){.share = w->share, .n = w->n, .entries = w->found};
	w->found = NULL;
	w->n = w->cap = 0;
	return 0;
}

/* Which pairs of ways out of a fork no share tells apart, as yet. */
struct pairs {
	const struct flow_graph *g;
	uint32_t first, n; /* edges out of the fork */
	uint8_t *same;	   /* n * n */
	uint8_t *now;	   /* n * n: those that one share does not tell */
	uint32_t left;
};

static uint32_t index_of(const struct pairs *p, uint32_t way)
{
	uint32_t i = 0;
	while (i < p->n && p->g->edges[p->first + i].to != way)
		i++;
	return i;
}

/* Takes out the pairs that the share tells by what was found; returns whether there were any. */
static bool pairs_told(struct pairs *p, const struct look *w)
{
	uint32_t had = p->left;
	memset(p->now, 0, (size_t)p->n * p->n);
	for (uint32_t i = 0; i < w->n; i++)
		for (uint32_t k = i + 1; k < w->n && w->found[k].site == w->found[i].site; k++) {
			uint32_t a = index_of(p, w->found[i].way), b = index_of(p, w->found[k].way);
			p->now[a * p->n + b] = p->now[b * p->n + a] = 1;
		}
	p->left = 0;
	for (size_t i = 0; i < (size_t)p->n * p->n; i++) {
		p->same[i] &= p->now[i];
		p->left += p->same[i];
	}
	return p->left < had;
}

/* No share tells the fork by itself: takes those that each tell some pair more. */
static int tell_together(struct look *w, uint32_t node, struct tell_fork *fork)
{
	const struct flow_graph *g = &w->f->graph.flow;
	struct pairs p = {.g = g, .first = g->nodes[node].out, .n = g->nodes[node].n_out};
	p.same = malloc((size_t)p.n * p.n + 1);
	p.now = malloc((size_t)p.n * p.n + 1);
	int err = p.same && p.now ? 0 : -ENOMEM;
	if (!err)
		memset(p.same, 1, (size_t)p.n * p.n);
	for (uint32_t i = 0; i < p.n && !err; i++)
		p.same[i * p.n + i] = 0;
	p.left = p.n * (p.n - 1);
	for (w->share = 0; w->share < w->t->n_shares && p.left && !err; w->share++) {
		look_after_each(w, node);
		if (w->failed)
			err = -ENOMEM;
		else if (pairs_told(&p, w))
			err = keep(w, fork);
	}
	free(p.same);
	free(p.now);
	return err;
}

struct tell_fork *share_tell_fork(struct share_teller *t, struct tell_func *f, uint32_t node)
{
	struct tell_fork *fork = &f->forks[node];
	struct look w;
	if (fork->known)
		return fork;
	int err = look_init(&w, t, f);
	for (w.share = 0; w.share < t->n_shares && !err; w.share++) {
		bool alone = look_after_each(&w, node);
		if (w.failed || alone) {
			err = w.failed ? -ENOMEM : keep(&w, fork);
			break;
		}
	}
	if (!err && !fork->n_shares)
		err = tell_together(&w, node, fork);
	look_deinit(&w);
	fork->known = !err;
	return err ? NULL : fork;
}

const struct tell_entry *share_tell_ways(const struct tell_share *s, uint32_t site, uint32_t *n)
{
	uint32_t lo = SEARCH_FIRST_NOT(0, s->n, i, s->entries[i].site < site);
	for (*n = 0; lo + *n < s->n && s->entries[lo + *n].site == site; (*n)++)
		;
	return s->entries + lo;
}

int share_tell_possible(const struct share_teller *t, const struct tell_func *f, uint32_t share,
			uint32_t way, enum tell_goal goal, uint32_t target)
{
	struct look w;
	uint32_t n = 1;
	int err = look_init(&w, t, f), got = 0;
	w.share = share;
	if (!err)
		look_start(&w, way);
	for (uint32_t done = 0; done < n && !err && !got; done++) {
		uint32_t node = w.queue[done], site = site_at(&w, node);
		got = goal == TELL_REACHES     ? node == target
		      : goal == TELL_SEES_SITE ? site == target
					       : node == f->graph.flow.n_nodes - 1;
		if (site == PUGMARK_NONE)
			look_past(&w, node, &n);
	}
	look_deinit(&w);
	return err ? err : got;
}

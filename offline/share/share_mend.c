// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_mend.c: the last step of a set. Its own plan can have decisions that the plan which was
 * shared out had not: a witness that was added for the log of all to read one way is one more
 * alternative, and one share alone sees it. Each fork that fewer shares tell than shall is given to
 * one more: the one that pays least with the probes it takes for that, of those the plan has. */
#include "offline/share/share_split.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct mender {
	const struct pugmark_plan *plan;
	struct share_mended *set;
	struct share_graph graph; /* of the function that is looked at */
	struct realizable *told;
	struct witness_set has[SHARES_MAX]; /* what each share has in it */
	struct witness_set tried, best;
};

static uint32_t site_of(const struct mender *m, uint32_t node)
{
	return node < m->graph.flow.entry ? m->plan->nodes[m->graph.first + node].site
					  : PUGMARK_NONE;
}

static void witness(const struct mender *m, struct witness_set *w, uint32_t node)
{
	bool way = isfinite(m->graph.flow.nodes[node].way_weight);
	(way ? w->ways : w->nodes)[node] = 1;
}

static void function_deinit(struct mender *m)
{
	for (uint32_t k = 0; k < m->set->n; k++)
		witness_set_deinit(&m->has[k]);
	witness_set_deinit(&m->tried);
	witness_set_deinit(&m->best);
	realizable_free(m->told);
	m->told = NULL;
	share_graph_deinit(&m->graph);
}

static int function_init(struct mender *m, uint32_t func, const uint32_t *component)
{
	int err = share_graph_init(&m->graph, m->plan, func, component, component[m->plan->n_funcs],
				   m->set->site_ns);
	if (err || !m->graph.n_told)
		return err;
	const struct flow_graph *g = &m->graph.flow;
	if (realizable_new(g, &m->told) || witness_set_init(&m->tried, g) ||
	    witness_set_init(&m->best, g))
		return -ENOMEM;
	for (uint32_t k = 0; k < m->set->n; k++) {
		if (witness_set_init(&m->has[k], g))
			return -ENOMEM;
		for (uint32_t i = 0; i < g->entry; i++) {
			uint32_t site = site_of(m, i);
			if (site != PUGMARK_NONE && m->set->members[site] >> k & 1)
				witness(m, &m->has[k], i);
		}
	}
	return 0;
}

/* Gives @share the witnesses of @w. */
static void give(struct mender *m, uint32_t share, const struct witness_set *w)
{
	for (uint32_t i = 0; i < m->graph.flow.entry; i++) {
		uint32_t site = site_of(m, i);
		if (site == PUGMARK_NONE || !witness_on_node(w, i) ||
		    m->set->members[site] >> share & 1)
			continue;
		m->set->members[site] |= 1ull << share;
		m->set->load_ns[share] += m->set->site_ns[site];
		witness(m, &m->has[share], i);
	}
}

/* A share that does not tell @fork as yet shall. False: none can. */
static bool tell_by_one_more(struct mender *m, uint32_t fork)
{
	const struct flow_graph *g = &m->graph.flow;
	uint32_t best = m->set->n;
	double least = INFINITY;
	for (uint32_t k = 0; k < m->set->n; k++) {
		if (realizable_fork_told(m->told, &m->has[k], fork, NULL))
			continue;
		witness_set_copy(&m->tried, &m->has[k], g);
		if (!share_cover_fork(g, m->told, fork, &m->tried))
			continue;
		double load = m->set->load_ns[k] + witness_set_weight(&m->tried, g) -
			      witness_set_weight(&m->has[k], g);
		if (load < least) {
			least = load;
			best = k;
			witness_set_copy(&m->best, &m->tried, g);
		}
	}
	if (best == m->set->n)
		return false;
	give(m, best, &m->best);
	return true;
}

static void mend_function(struct mender *m)
{
	for (uint32_t i = 0; i < m->graph.flow.n_nodes; i++) {
		uint32_t tellers = 0;
		if (!m->graph.told[i])
			continue;
		for (uint32_t k = 0; k < m->set->n && tellers < m->set->tellers; k++)
			tellers += realizable_fork_told(m->told, &m->has[k], i, NULL);
		bool told = tellers;
		while (tellers < m->set->tellers && tell_by_one_more(m, i)) {
			tellers++;
			told = true;
		}
		m->set->untold += !told;
	}
}

int share_mend(const struct pugmark_plan *plan, struct share_mended *set)
{
	struct mender m = {.plan = plan, .set = set};
	uint32_t *component = calloc(plan->n_funcs + 1, sizeof(*component));
	int err = component ? share_components(plan, component) : -ENOMEM;
	set->untold = 0;
	for (uint32_t f = 0; f < plan->n_funcs && !err && set->n > 1; f++) {
		if (!plan->funcs[f].n_nodes || plan->funcs[f].flags & PUGMARK_PLAN_FUNC_OPAQUE)
			continue;
		err = function_init(&m, f, component);
		if (!err && m.graph.n_told)
			mend_function(&m);
		function_deinit(&m);
	}
	free(component);
	return err;
}

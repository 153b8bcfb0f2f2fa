// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_assign.c: the paper's Figure 5: each job goes to the machine with the least load, whose
 * load is then that of the witnesses it has, not the sum of its jobs' weights. With a bound, what
 * does not fit into the machine's last share begins another one in its queue. */
#include "offline/share/share_split.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static double machine_load(const struct share_split *s, uint32_t machine)
{
	double sum = 0;
	for (uint32_t k = 0; k < s->n; k++)
		sum += s->machine[k] == machine ? s->load_ns[k] : 0;
	return sum;
}

/* Of the machines that do not tell the job already. */
static uint32_t least_loaded(const struct share_split *s, const struct share_job *j)
{
	uint32_t best = 0;
	double least = INFINITY;
	for (uint32_t m = 0; m < s->options->machines; m++) {
		double load = machine_load(s, m);
		if (load < least && !(s->told_by[j->number] >> m & 1)) {
			least = load;
			best = m;
		}
	}
	return best;
}

static uint32_t last_share(const struct share_split *s, uint32_t machine)
{
	uint32_t last = machine;
	for (uint32_t k = 0; k < s->n; k++)
		if (s->machine[k] == machine)
			last = k;
	return last;
}

static int add(struct share_split *s, uint32_t share, struct share_job *j)
{
	struct share_cell *c = share_cell_at(s, share, j->graph);
	if (!c)
		return -ENOMEM;
	double cost = c->cost_ns;
	uint32_t sites = c->n_sites;
	int err = share_cover_add(s, share, j->graph, c, s->forks + j->fork, j->n_forks);
	s->load_ns[share] += c->cost_ns - cost;
	s->n_sites[share] += c->n_sites - sites;
	j->share = share;
	return err;
}

/* Takes the forks of @j out of the share again, that was added last: what it had is @before. */
static void take_back(struct share_split *s, uint32_t share, const struct share_job *j,
		      struct share_cell *before)
{
	struct share_cell *c = share_cell_at(s, share, j->graph);
	const struct flow_graph *g = &s->graphs[j->graph].flow;
	s->load_ns[share] += before->cost_ns - c->cost_ns;
	s->n_sites[share] += before->n_sites - c->n_sites;
	witness_set_copy(&c->w, &before->w, g);
	for (uint32_t i = 0; i < j->n_forks; i++)
		c->forks[s->forks[j->fork + i]] = 0;
	c->cost_ns = before->cost_ns;
	c->n_sites = before->n_sites;
}

/* Into the machine's last share, or if that is then over the bound, into a new one. */
static int add_bounded(struct share_split *s, uint32_t machine, struct share_job *j)
{
	uint32_t share = last_share(s, machine);
	struct share_cell *c = share_cell_at(s, share, j->graph), before = {0};
	if (!c || witness_set_init(&before.w, &s->graphs[j->graph].flow))
		return -ENOMEM;
	witness_set_copy(&before.w, &c->w, &s->graphs[j->graph].flow);
	before.cost_ns = c->cost_ns;
	before.n_sites = c->n_sites;
	int err = add(s, share, j);
	if (!err && s->n_sites[share] > s->options->bound) {
		take_back(s, share, j, &before);
		if (s->n == SHARES_MAX) {
			err = -E2BIG;
		} else {
			s->machine[s->n] = machine;
			err = add(s, s->n++, j);
			if (!err && s->n_sites[s->n - 1] > s->options->bound)
				err = -E2BIG;
		}
	}
	witness_set_deinit(&before.w);
	return err;
}

static int heavier_first(const void *a, const void *b)
{
	const struct share_job *x = a, *y = b;
	if (x->weight_ns != y->weight_ns)
		return x->weight_ns < y->weight_ns ? 1 : -1;
	return x->number < y->number ? -1 : x->number > y->number;
}

int share_assign(struct share_split *s)
{
	int err = 0;
	if (s->refine)
		qsort(s->jobs, s->n_jobs, sizeof(*s->jobs), heavier_first);
	for (uint32_t i = 0; i < s->n_jobs && !err; i++) {
		uint32_t machine = least_loaded(s, &s->jobs[i]);
		s->told_by[s->jobs[i].number] |= 1ull << machine;
		err = s->options->bound ? add_bounded(s, machine, &s->jobs[i])
					: add(s, machine, &s->jobs[i]);
	}
	return err;
}

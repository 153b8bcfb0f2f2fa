// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_refine.c: makes the largest load fall: a job of the machine that has it is moved to
 * another, or swapped with one of another's, whenever the larger of the two loads is less than
 * before. What a job costs depends on what else of its function the share tells, so each try is
 * weighed. */
#include "offline/share/share_split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How many tries in all; each weighs two or four covers of one function. */
#define TRIES_MAX 6000
/* Jobs of a machine that are tried, the heaviest first, of those that matter at all. */
#define JOBS_MAX 96
#define MATTERS 0.002

struct change {
	uint32_t job, to; /* the job goes to that share */
};

/* What share @share costs in function @graph with @with beside what it has, and without
 * @without; PUGMARK_NONE: nothing. */
static int weigh_with(struct share_split *s, uint32_t share, uint32_t graph, uint32_t with,
		      uint32_t without, double *cost)
{
	const struct share_cell *c = share_cell_at(s, share, graph);
	uint32_t n = s->graphs[graph].flow.n_nodes;
	uint8_t *mask = malloc(n);
	if (!c || !mask) {
		free(mask);
		return -ENOMEM;
	}
	memcpy(mask, c->forks, n);
	const uint32_t jobs[] = {without, with};
	for (int k = 0; k < 2; k++)
		for (uint32_t i = 0; jobs[k] != PUGMARK_NONE && i < s->jobs[jobs[k]].n_forks; i++)
			if (s->jobs[jobs[k]].graph == graph)
				mask[s->forks[s->jobs[jobs[k]].fork + i]] = k;
	int err = share_cover_weigh(s, share, graph, mask, cost);
	free(mask);
	return err;
}

/* What the load of @share becomes when @with comes and @without goes. */
static int load_after(struct share_split *s, uint32_t share, uint32_t with, uint32_t without,
		      double *load)
{
	const uint32_t jobs[] = {with, without};
	*load = s->load_ns[share];
	for (int k = 0; k < 2; k++) {
		if (jobs[k] == PUGMARK_NONE ||
		    (k && with != PUGMARK_NONE && s->jobs[with].graph == s->jobs[without].graph))
			continue;
		uint32_t graph = s->jobs[jobs[k]].graph;
		double cost;
		int err = weigh_with(s, share, graph, with, without, &cost);
		if (err)
			return err;
		*load += cost - share_cell_at(s, share, graph)->cost_ns;
	}
	return 0;
}

/* The cell of @graph in @share, chosen anew for what it has now. */
static int choose_cell(struct share_split *s, uint32_t share, uint32_t graph)
{
	struct share_cell *c = share_cell_at(s, share, graph);
	uint32_t n = s->graphs[graph].flow.n_nodes;
	if (!c)
		return -ENOMEM;
	uint8_t *forks = malloc(n);
	uint32_t *list = malloc(n * sizeof(*list)), n_list = 0;
	double cost = c->cost_ns;
	if (!forks || !list) {
		free(forks);
		free(list);
		return -ENOMEM;
	}
	memcpy(forks, c->forks, n);
	for (uint32_t i = 0; i < n; i++)
		if (forks[i])
			list[n_list++] = i;
	share_cell_deinit(c);
	c = share_cell_at(s, share, graph);
	int err = c ? share_cover_add(s, share, graph, c, list, n_list) : -ENOMEM;
	if (!err)
		err = share_cover_anew(s, share, graph, c);
	if (!err)
		s->load_ns[share] += c->cost_ns - cost;
	free(forks);
	free(list);
	return err;
}

static int move(struct share_split *s, uint32_t job, uint32_t to)
{
	struct share_job *j = &s->jobs[job];
	struct share_cell *from = share_cell_at(s, j->share, j->graph);
	struct share_cell *into = share_cell_at(s, to, j->graph);
	uint32_t had = j->share;
	if (!from || !into)
		return -ENOMEM;
	for (uint32_t i = 0; i < j->n_forks; i++) {
		from->forks[s->forks[j->fork + i]] = 0;
		into->forks[s->forks[j->fork + i]] = 1;
	}
	s->told_by[j->number] ^= 1ull << had | 1ull << to;
	j->share = to;
	int err = choose_cell(s, had, j->graph);
	return err ? err : choose_cell(s, to, j->graph);
}

/* The jobs of @share that matter and that @other does not tell, the heaviest first (as all jobs
 * are). */
static uint32_t jobs_of(const struct share_split *s, uint32_t share, uint32_t other, double least,
			uint32_t *out)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->n_jobs && n < JOBS_MAX; i++)
		if (s->jobs[i].share == share && s->jobs[i].weight_ns >= least &&
		    !(s->told_by[s->jobs[i].number] >> other & 1))
			out[n++] = i;
	return n;
}

static uint32_t most_loaded(const struct share_split *s)
{
	uint32_t most = 0;
	for (uint32_t k = 1; k < s->n; k++)
		if (s->load_ns[k] > s->load_ns[most])
			most = k;
	return most;
}

/* Looks for a move or a swap out of @from that makes the larger load of the two fall, and makes the
 * first one. Returns 1, 0 if there is none, or -errno. */
static int improve(struct share_split *s, uint32_t from, uint32_t *tries)
{
	uint32_t ours[JOBS_MAX], theirs[JOBS_MAX];
	double top = s->load_ns[from], least = top * MATTERS, enough = top * (1 - 1e-4);
	for (uint32_t to = 0; to < s->n; to++) {
		if (to == from || s->load_ns[to] >= enough)
			continue;
		uint32_t n = jobs_of(s, from, to, least, ours);
		uint32_t m = jobs_of(s, to, from, least, theirs);
		theirs[m < JOBS_MAX ? m : JOBS_MAX - 1] = PUGMARK_NONE;
		m += m < JOBS_MAX;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = m; k-- > 0;) {
				uint32_t back = theirs[k];
				double a, b = 0;
				/* the lighter must go back, and not by too little */
				if (back != PUGMARK_NONE &&
				    s->jobs[back].weight_ns >= s->jobs[ours[i]].weight_ns)
					continue;
				if (!(*tries)--)
					return 0;
				int err = load_after(s, from, back, ours[i], &a);
				if (!err)
					err = a < enough ? load_after(s, to, ours[i], back, &b) : 0;
				if (err)
					return err;
				if (a >= enough || b >= enough)
					continue;
				err = move(s, ours[i], to);
				if (!err && back != PUGMARK_NONE)
					err = move(s, back, from);
				return err ? err : 1;
			}
	}
	return 0;
}

int share_refine(struct share_split *s)
{
	uint32_t tries = TRIES_MAX;
	int got = 1;
	if (s->n != s->options->machines)
		return 0; /* bounded: shares are full, not machines */
	while (got == 1 && tries && tries <= TRIES_MAX)
		got = improve(s, most_loaded(s), &tries);
	return got < 0 ? got : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* share_split.h: a splitting while it is made, among the files that make it: what is to be told
 * (share_jobs.c), which share tells it (share_assign.c, share_refine.c), by which witnesses
 * (share_cover.c). A job is what one share tells together: some forks of one function. */
#ifndef OFFLINE_SHARE_SHARE_SPLIT_H
#define OFFLINE_SHARE_SHARE_SPLIT_H

#include "offline/share/share.h"
#include "offline/share/share_graph.h"

struct share_job {
	uint32_t graph;
	uint32_t fork, n_forks; /* run in split->forks */
	uint32_t share;		/* that tells it */
	uint32_t number;	/* those of the same forks, told by several, have the same one */
	double weight_ns;	/* what it costs by itself */
};

/* What one share tells of one function, and by what. */
struct share_cell {
	struct witness_set w; /* none yet: nodes is NULL */
	uint8_t *forks;	      /* per node: told by this share */
	double cost_ns;	      /* of what is in @w beyond what the share has anyway */
	uint32_t n_sites;
};

struct share_split {
	const struct share_options *options;
	bool refine; /* the heaviest jobs first, and then moved */
	const struct pugmark_plan *plan;
	const float *site_ns;
	const uint8_t *events; /* per site: tells entries from anywhere: of share 0 */
	struct share_graph *graphs;
	struct realizable **told; /* per graph; NULL: not asked yet */
	uint32_t n_graphs;
	struct share_cell *cells; /* n_graphs for each of SHARES_MAX shares */
	uint32_t *forks;	  /* of the jobs: nodes */
	uint32_t n_forks;
	struct share_job *jobs;
	uint32_t n_jobs;
	uint64_t *told_by; /* per number of a job: a bit for each machine that tells it */
	uint32_t n;	   /* shares */
	uint32_t machine[SHARES_MAX];
	double load_ns[SHARES_MAX];
	uint32_t n_sites[SHARES_MAX];
	uint32_t untold;
};

/* How many machines tell each decision: of a single one that tells all, one. */
static inline uint32_t split_tellers(const struct share_split *s)
{
	uint32_t n = s->options->tellers ? s->options->tellers : 1;
	return n < s->options->machines ? n : s->options->machines;
}

/* Whether share @share tells which function was entered from anywhere. */
static inline bool split_has_events(const struct share_split *s, uint32_t share)
{
	return share < split_tellers(s);
}

#define SHARE_WITHOUT_EVENTS SHARES_MAX /* in place of a share: one that has nothing as yet */

/* Makes the jobs of all forks by @grouping. 0 or -ENOMEM. */
int share_jobs_make(struct share_split *split, enum share_grouping grouping);

/* The cell of share @share and graph @graph, made if there is none; NULL: no memory. */
struct share_cell *share_cell_at(struct share_split *split, uint32_t share, uint32_t graph);
void share_cell_deinit(struct share_cell *cell);
/* Adds forks to @cell, with the cheapest witnesses that are found to tell them beside those it has:
 * the paper's Figure 7, for witnesses on nodes and on ways. 0 or -ENOMEM. */
int share_cover_add(struct share_split *split, uint32_t share, uint32_t graph,
		    struct share_cell *cell, const uint32_t *forks, uint32_t n);
/* Chooses the witnesses of @cell anew, for all its forks at once, and keeps them if they cost less.
 * 0 or -ENOMEM. */
int share_cover_anew(struct share_split *split, uint32_t share, uint32_t graph,
		     struct share_cell *cell);
/* What the forks of @mask cost in a share of their own. */
int share_cover_weigh(struct share_split *split, uint32_t share, uint32_t graph,
		      const uint8_t *mask, double *cost_ns);

/* Adds to @w, from the cheapest on, what breaks each diamond of @fork and each cycle through it;
 * false: nothing there can be witnessed. */
bool share_cover_fork(const struct flow_graph *g, struct realizable *r, uint32_t fork,
		      struct witness_set *w);

/* Figure 5: each job to the machine with the least load. 0, -ENOMEM, or -E2BIG with a bound. */
int share_assign(struct share_split *split);
/* Moves and swaps jobs between machines until the largest load does not fall any more. 0 or
 * -ENOMEM. */
int share_refine(struct share_split *split);

/* Who sees what of a plan, while it is mended. Borrowed, but for what comes out. */
struct share_mended {
	const float *site_ns;
	uint64_t *members; /* grows */
	double load_ns[SHARES_MAX];
	uint32_t n;	  /* shares */
	uint32_t tellers; /* shares that shall tell each fork */
	uint32_t untold;  /* out: forks that no share can tell */
};

/* Makes @tellers shares tell each fork of @plan, with its sites. 0 or -ENOMEM. */
int share_mend(const struct pugmark_plan *plan, struct share_mended *set);

/* The least that it costs to break all directed cycles through @fork: whoever tells it pays that. 0
 * where there are none, it would take too long, or there is no memory; INFINITY: it cannot be. */
double share_bound_fork(const struct flow_graph *g, uint32_t fork);
struct share_bounds {
	double least_ns;    /* some machine pays this in any split, because of a single fork */
	double two_jobs_ns; /* and this in any split of the jobs there are */
};

/* 0 or -ENOMEM. */
int share_bound(const struct share_split *split, struct share_bounds *out);

/* ---- share_make.c ---- */

/* Splits by one grouping; @refine: and moves jobs until the largest load cannot fall. As
 * share_make(), but that a share may have more witnesses than the bound. */
int share_make_set(const struct program *program, const struct pugmark_model *model,
		   const struct share_options *options, bool refine, struct share_set *out,
		   struct pugmark_diag *diag);

#endif

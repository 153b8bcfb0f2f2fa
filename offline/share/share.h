/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* share.h: a plan split into shares, each with some of its witnesses, such that the whole trace can
 * be put together from one run under each ("Distributed Program Tracing", ESEC/FSE 2013, section 4;
 * docs/shares.md). All shares have the sites of one plan, in which every node of the grammar has
 * one that can: a share probes a few of them, and what nobody probes is told by what the others
 * have seen. */
#ifndef OFFLINE_SHARE_SHARE_H
#define OFFLINE_SHARE_SHARE_H

#include <pugmark/diag.h>

#include "offline/choose/choose.h"

#define SHARES_MAX 64

/* Which decisions are told by one share together: the paper's three, and ours. */
enum share_grouping {
	SHARE_FINE,	 /* each fork with its diamonds and the cycles through it by itself */
	SHARE_FUNCTION,	 /* all of a function */
	SHARE_OPTIMIZED, /* forks that have a cycle or an edge of a diamond in common */
	SHARE_BEST,	 /* what costs least of the three, as they are, and refined: jobs moved
			    between shares until the largest load cannot fall */
};

struct share_options {
	uint32_t machines; /* 1 to SHARES_MAX */
	enum share_grouping grouping;
	uint32_t bound;	  /* witnesses that one share may have; 0: any number */
	uint32_t tellers; /* machines that tell each decision, if there are as many; 0 is 1. With
			     two, no run can differ from the others in what it alone has seen */
	bool paths;	  /* every block is to be told, not calls alone */
};

/* What the shares of a plan are. */
struct share_set {
	struct pugmark_plan *plan; /* the whole: owned */
	uint64_t *members;	   /* per site: bit k is set if share k + 1 probes it; heap */
	float *site_ns;		   /* per site: what it is expected to cost in a run; heap */
	uint32_t n;		   /* shares; more than machines only with a bound */
	uint32_t machine[SHARES_MAX];
	double load_ns[SHARES_MAX]; /* of each share, expected */
	double largest_job_ns;	    /* what has to be told by one share, at the most */
	double two_jobs_ns; /* what some machine pays for two of these, as there are more than
			       machines */
	double least_ns;    /* proven: some machine pays this in any split, by whatever jobs */
	uint32_t untold;    /* forks that no witness can tell, whatever the shares: gaps there */
};

/* Splits @program, as seen at level calls or paths; @model as for plan_build(). Returns 0 and a set
 * that the caller releases, or -errno: -ENOMEM; -E2BIG where @bound is too small or more than
 * SHARES_MAX shares come of it, with @diag filled. */
int share_make(const struct program *program, const struct pugmark_model *model,
	       const struct share_options *options, struct share_set *out,
	       struct pugmark_diag *diag);
void share_set_deinit(struct share_set *set);
/* The plan of share @k, from 0: that of the whole, but that the sites of others are marked as
 * such. The caller frees @*sites, which @out points to, once @out is used no more. */
int share_plan(const struct share_set *set, uint32_t k, struct pugmark_plan *out,
	       struct pugmark_plan_site **sites);

#endif

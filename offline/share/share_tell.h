/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* share_tell.h: which share tells a fork, and what it says. The forks of a function are the nodes
 * of its share_graph that have several ways out, its entry among them. */
#ifndef OFFLINE_SHARE_SHARE_TELL_H
#define OFFLINE_SHARE_SHARE_TELL_H

#include "offline/share/share_graph.h"
#include "offline/share/share_merge.h"

#define TELL_ELSEWHERE UINT32_MAX /* in place of a site: none of the function comes first */
#define TELL_NOBODY UINT32_MAX	  /* no share tells the fork */

struct tell_entry {
	uint32_t site; /* or TELL_ELSEWHERE */
	uint32_t way;  /* node of the graph that it says is next */
};

/* One fork. */
struct tell_fork {
	uint32_t share;		    /* that tells it, or TELL_NOBODY */
	struct tell_entry *entries; /* by site; heap */
	uint32_t n;
	bool known;
};

struct tell_func {
	struct share_graph graph;
	struct tell_fork *forks; /* per node of the graph; NULL: not looked at yet */
};

struct share_teller {
	const struct pugmark_plan *plan;
	const uint64_t *members;
	uint32_t n_shares;
	uint32_t *component;
	float *site_ns; /* zeros */
	struct tell_func *funcs;
	uint32_t *site_func; /* per site: the function whose node it is of */
	uint32_t *node_of;   /* per site: that node of the plan */
	uint8_t *is_root;    /* per site */
	uint8_t *is_entry;   /* per site: of a function that may be entered from anywhere */
};

/* The graph and forks of @func; NULL: no memory. */
struct tell_func *share_tell_func(struct share_teller *t, uint32_t func);
/* The fork at node @node of @f's graph, with the share that tells it; NULL: no memory. */
struct tell_fork *share_tell_fork(struct share_teller *t, struct tell_func *f, uint32_t node);
/* Which way @site, which comes first in the fork's share, or TELL_ELSEWHERE, says was taken;
 * PUGMARK_NONE: none that it can come after. */
uint32_t share_tell_way(const struct tell_fork *fork, uint32_t site);

#endif

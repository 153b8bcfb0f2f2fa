/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* share_tell.h: which ways out of a fork go with what a share sees next. The forks of a function
 * are the nodes of its share_graph that have several ways out. Where one share sees something else
 * first after each way, it tells the fork; where two ways are told apart by one share and a third
 * by another, they do so together (the paper's Theorem 2 is of pairs of ways). */
#ifndef OFFLINE_SHARE_SHARE_TELL_H
#define OFFLINE_SHARE_SHARE_TELL_H

#include "offline/share/share_graph.h"
#include "offline/share/share_merge.h"

#define TELL_ANYBODY UINT32_MAX	  /* in place of a share: all of them together */
#define TELL_ELSEWHERE UINT32_MAX /* in place of a site: none of the function comes first */

struct tell_entry {
	uint32_t site; /* or TELL_ELSEWHERE */
	uint32_t way;  /* node of the graph after which it can come first */
};

/* What one share sees first after each way out of a fork. */
struct tell_share {
	uint32_t share, n;
	struct tell_entry *entries; /* by site, then way; heap */
};

/* One fork: the shares that tell its ways apart, the only one or several. */
struct tell_fork {
	struct tell_share *shares; /* heap */
	uint32_t n_shares;
	bool known; /* it was looked at */
};

enum tell_node_kind {
	TELL_PASSES, /* to `next`, whatever its event says */
	TELL_BRANCHES,
	TELL_IS_MORE, /* a call, a return, a jump that is read */
};

/* What a walk asks of a node of the plan each time that it comes there. */
struct tell_node {
	uint32_t site;	      /* PUGMARK_NONE: no share has one there */
	uint32_t next, taken; /* nodes of the graph that follow; PUGMARK_NONE: none */
	uint8_t kind;	      /* enum tell_node_kind */
	bool alone;	      /* one share has the site, */
	uint8_t part;	      /* this one, and its events show their own frame and nothing else */
};

struct tell_func {
	struct share_graph graph;
	struct tell_node *nodes; /* those of the plan, by their place in the graph */
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
	uint64_t text, text_end;
	uint8_t *is_root;  /* per site */
	uint8_t *is_entry; /* per site: of a function that may be entered from anywhere */
};

/* The graph and forks of @func; NULL: no memory. */
struct tell_func *share_tell_func(struct share_teller *t, uint32_t func);
/* The fork at node @node of @f's graph, with the shares that tell it; NULL: no memory. */
struct tell_fork *share_tell_fork(struct share_teller *t, struct tell_func *f, uint32_t node);
/* The entries of @site, *@n of them. */
const struct tell_entry *share_tell_ways(const struct tell_share *s, uint32_t site, uint32_t *n);

/* What a share is known to come to next. */
enum tell_goal {
	TELL_SEES_SITE, /* its next event is of this site */
	TELL_LEAVES,	/* it sees nothing of the activation before that is left, or calls */
	TELL_REACHES,	/* it sees nothing before another share has come to this node */
};

/* Whether share @share can come to that after way @way. 1, 0 or -ENOMEM. Slow: it looks. */
int share_tell_possible(const struct share_teller *t, const struct tell_func *f, uint32_t share,
			uint32_t way, enum tell_goal goal, uint32_t target);

#endif

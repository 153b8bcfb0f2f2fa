/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_dag.h: the call trees of any number of threads folded into one graph without cycles (Reiss
 * and Renieris, "Encoding Program Executions", ICSE 2001, section 3.6): calls of the same function
 * that made the same calls in the same order, and ended the same way, are one node.
 *
 * The memory is that of the graph, and of what is open. */
#ifndef OFFLINE_ENCODE_DAG_H
#define OFFLINE_ENCODE_DAG_H

#include "offline/encode/encode_tree.h"

#define DAG_MANY UINT32_MAX /* count: more than K times, how often is not said */

/* A callee, and how often it was called in a row. */
struct dag_item {
	uint32_t node, count;
};

/* What the calls that this node stands for took, callees included, in ns: the sums of their lower
 * and of their upper bounds, and the sum of the squares of the middle between the two. */
struct dag_times {
	double min, max, squares;
};

/* Adds a call that was opened and closed then. */
void dag_times_add(struct dag_times *times, const struct tree_time *open,
		   const struct tree_time *close);
/* The deviation of @count calls, in ns. */
double dag_times_deviation(const struct dag_times *times, uint64_t count);

struct dag_node {
	uint32_t symbol, token;
	uint32_t first, n; /* items[first .. first + n): its callees */
	uint64_t count;	   /* how many calls are this node */
	struct dag_times times;
};

/* A sequence of outermost calls. */
struct dag_root {
	uint32_t first, n;
};

struct dag;

/* @k: runs longer than that are "many", and so more calls are alike; 0: the graph is exact. Returns
 * 0 and an empty graph freed with dag_free(), or -ENOMEM, as the functions below. */
int dag_new(uint32_t k, struct dag **out);
void dag_free(struct dag *dag);

/* A sequence: calls that open and close in pairs. */
int dag_begin(struct dag *dag);
int dag_open(struct dag *dag, const struct tree_call *call);
int dag_close(struct dag *dag, const struct tree_return *ret);
int dag_end(struct dag *dag);

/* The graph so far; callees have lower numbers than their callers. Borrowed until the next call is
 * opened. */
const struct dag_node *dag_nodes(const struct dag *dag, uint32_t *n);
const struct dag_root *dag_roots(const struct dag *dag, uint32_t *n);
const struct dag_item *dag_items(const struct dag *dag, uint32_t *n);
uint64_t dag_calls(const struct dag *dag);
size_t dag_bytes(const struct dag *dag);

/* Says the sequence at @root of dag_roots(): symbols, and tokens that close them. 0, -ENOMEM, -EDOM
 * if a count is "many", or what @sink said. */
int dag_expand(const struct dag *dag, uint32_t root,
	       int (*sink)(void *ctx, const uint32_t *symbols, size_t n), void *ctx);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cscfg.h: the call-site control-flow graph of one function, and the call graph of a module. Both
 * are arrays that the caller owns and frees with the _deinit function.
 *
 * The nodes of a CSCFG are the function's sites, by their order in the model, one entry and one
 * exit. An edge x -> y stands for a path from x to y with no other site on it. A tail jump leads to
 * the exit: when its callee returns, so has the function. */
#ifndef OFFLINE_CSCFG_H
#define OFFLINE_CSCFG_H

#include <pugmark/model.h>

struct cscfg {
	uint32_t func;
	uint32_t n_sites;     /* node i < n_sites is the site funcs[func].site + i */
	uint32_t entry, exit; /* the other two nodes: n_sites and n_sites + 1 */
	uint32_t *first;      /* by node: index of its first edge; n_sites + 3 of them */
	uint32_t *to;	      /* by edge: the node it leads to */
};

/* Returns 0 and a graph, -ENOMEM, or -E2BIG where the paths are too many to walk. */
int cscfg_build(const struct pugmark_model *model, uint32_t func, struct cscfg *graph);
void cscfg_deinit(struct cscfg *graph);

struct call_graph {
	uint32_t *first;   /* by function: index of its first call; n_funcs + 1 of them */
	uint32_t *callee;  /* by call: a function of the module, ascending within a caller */
	uint32_t *n_sites; /* by call: from how many sites */
};

/* Direct calls and tail jumps between functions of the module, each pair once. Returns 0 or
 * -ENOMEM. */
int call_graph_build(const struct pugmark_model *model, struct call_graph *graph);
void call_graph_deinit(struct call_graph *graph);

#endif

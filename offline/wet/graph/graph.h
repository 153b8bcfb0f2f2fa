/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* graph.h: the whole execution trace of a window of a run, after tier one: nodes with timestamps,
 * values by groups, dependence edges with labels (paths.h, groups.h, labels.h). A statement is an
 * instruction of a node; the same instruction is a statement of each node that it is in. */
#ifndef OFFLINE_WET_GRAPH_H
#define OFFLINE_WET_GRAPH_H

#include "offline/base/varint.h"
#include "offline/dep/dep.h"
#include "offline/slice/control.h"
#include "offline/wet/graph/groups.h"
#include "offline/wet/graph/labels.h"
#include "offline/wet/reads/path_reads.h"
#include "offline/wet/graph/paths.h"
#include "offline/wet/reads/unforeseen.h"

struct wet_node {
	uint32_t first_stmt, n_stmts;
	uint32_t n_values; /* of one execution */
	uint32_t executions;
	struct wet_growing times; /* one an execution; none of a graph that is executed (flow.h) */
	struct wet_reads reads;
	uint32_t *load_edges; /* of each load: as of wet_outer */
	struct wet_group *groups;
	uint32_t n_groups;
	uint16_t *order;	 /* its values, those of a group together */
	uint32_t *next, n_next;	 /* nodes that were executed behind it */
	uint32_t after;		 /* the last one */
	struct dep_units behind; /* what was new in registers behind its first execution */
};

struct wet_stmt {
	uint64_t ip; /* run-time */
	uint8_t n_results;
};

struct wet_graph;

/* To be fed by dep_build_watch() with wet_graph_watch, which copies what it needs: other threads
 * make the graph of it. @control: edges of control dependence are to be among its edges. @executed:
 * values, and labels of data dependences, are not kept, as executing the window again yields them
 * but for what is unforeseen. NULL: out of memory. */
struct wet_graph *wet_graph_new(uint64_t from, uint64_t to, bool control, bool executed);
void wet_graph_free(struct wet_graph *graph);
void wet_graph_watch(void *graph, const struct dep_trace *trace, const struct dep_mark *before,
		     const struct dep_block *block, const struct dep_event *event,
		     const uint64_t *addresses, const uint64_t *results);
/* What executing again is told before block @block, of all of the window from 0, which is to be
 * watched yet: a word of memory (its address by 8); or that this block and those behind it, @n in
 * all, are told by their results. */
void wet_graph_told_word(struct wet_graph *graph, uint64_t block, uint64_t word);
void wet_graph_told_blocks(struct wet_graph *graph, uint64_t block, uint32_t n);
/* Whether it is time to tell which definitions memory has: others are forgotten, as no load can
 * read them any more. To be asked between two blocks. */
bool wet_graph_wants_live(const struct wet_graph *graph, const struct dep_trace *trace);
/* @live: definitions, in any order. False: out of memory. */
bool wet_graph_live(struct wet_graph *graph, const struct dep_trace *trace, const uint32_t *live,
		    size_t n);
/* Ends the last path and gives up labels that need none. @control: of the whole @trace, or NULL.
 * 0, -ENOMEM, or -EOVERFLOW: more paths were executed than timestamps can tell. */
int wet_graph_finish(struct wet_graph *graph, const struct dep_trace *trace,
		     const struct slice_control *control);

const struct wet_node *wet_graph_nodes(const struct wet_graph *graph, uint32_t *n);
/* By number, those of a node together. */
const struct wet_stmt *wet_graph_stmts(const struct wet_graph *graph, uint32_t *n);
const struct wet_edges *wet_graph_edges(const struct wet_graph *graph);
/* A path ends where the window is cut: what was executed since the cut before, told behind
 * wet_graph_finish(). */
struct wet_cut {
	uint64_t paths, values; /* before it, from the start */
	size_t executions; /* where those of each node since the cut before begin: varints; of nodes
			    * that are not there it had none */
};
/* The window is cut at what was watched so far. */
void wet_graph_cut(struct wet_graph *graph);
/* Those of the cuts, and @bytes; borrowed. */
const struct wet_cut *wet_graph_cuts(const struct wet_graph *graph, uint32_t *n,
				     const struct bytes **bytes);
/* Of a graph that is executed: the nodes between each cut and the next, by flow.h. */
const struct bytes *wet_graph_flows(const struct wet_graph *graph, uint32_t *n);
/* And what is unforeseen there. */
const struct unforeseen_block *wet_graph_unforeseen(const struct wet_graph *graph, uint32_t *n);
/* Totals of the window. */
struct wet_totals {
	uint64_t statements, blocks, paths, values, dependences;
	uint64_t decided; /* dependences on who decided: of these */
	uint64_t inexact; /* statements that are not wholly exact: nothing says which */
};
void wet_graph_totals(const struct wet_graph *graph, struct wet_totals *out);
/* So many are not wholly exact, as whoever executes them has counted. */
void wet_graph_inexact(struct wet_graph *graph, uint64_t n);
/* The node of timestamp 1. */
uint32_t wet_graph_first(const struct wet_graph *graph);

#endif

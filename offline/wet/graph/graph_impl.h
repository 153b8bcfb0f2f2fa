/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* graph_impl.h: what the files of the graph share. graph.c takes what the replay yields and hands
 * it on in batches; graph_paths.c makes paths of it, by nodes that graph_nodes.c makes, and where
 * the window will be executed again graph_foreseen.c says what that does not yield; and behind that
 * the values of each path come to their groups. These three are threads. */
#ifndef OFFLINE_WET_GRAPH_IMPL_H
#define OFFLINE_WET_GRAPH_IMPL_H

#include "offline/base/vec.h"
#include "offline/wet/graph/graph.h"
#include "offline/wet/reads/makers.h"
#include "offline/wet/reads/writers.h"
#include "offline/wet/streams/flow.h"

#include <pthread.h>

enum { WET_BATCHES = 4 };
enum { WET_PATH_VALUES = 1 << 10 }; /* of a path at most, but of one block */

/* A block, or (@block NULL) what ends a path. */
struct wet_step {
	const struct dep_block *block;
	uint64_t item;
	uint32_t def;	 /* definitions made before it */
	uint32_t writes; /* of an event: index in @writes, + 1; 0: it writes no register */
	bool cut;	 /* a block of again.h ends */
};

/* What executing again is told before block @block of all: word @what of memory; or (@blocks) that
 * so many blocks are told by their results. */
struct wet_note {
	uint64_t block, what;
	uint32_t blocks;
};

/* The values of an execution of a node. */
struct wet_path_values {
	struct wet_group *groups;
	const uint16_t *order;
	uint32_t n_groups, n_values;
	size_t first; /* in @results */
};

/* Steps in order, which end with a path, and what they have: each list in the order of steps. */
struct wet_batch {
	VEC(struct wet_step) steps;
	VEC(struct dep_units) writes;
	VEC(uint64_t) results, addresses;
	VEC(struct wet_note) notes; /* of blocks of this batch, or of later ones */
	struct vec_u32 loads, many; /* as dep_trace has them */
	struct vec_u32 made;	    /* by each string instruction: definitions */
	uint32_t last_def;
	uint32_t old; /* not 0: behind this batch, definitions up to it are kept only if in @live */
	struct vec_u32 live;
	VEC(struct wet_path_values) paths;
};

struct wet_graph {
	uint64_t from, to; /* the window, in instructions */
	bool control, executed;

	/* Filled by who watches, then worked on by two threads, one behind the other. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct wet_batch batches[WET_BATCHES]; /* batch i: at i % WET_BATCHES */
	uint64_t filled, linked, valued;       /* batches */
	bool ends, running;
	pthread_t linker, valuer;

	/* The one who watches. */
	uint64_t last_ip; /* of the block before */
	bool outside;	  /* of the window */
	uint32_t keep_at; /* definitions after which the old ones are given up */
	bool watch_no_memory;

	/* The thread that makes paths. */
	struct wet_paths paths;
	struct wet_node *nodes; /* by number of the path */
	uint32_t room_nodes;
	uint32_t n_stmts;
	uint32_t *node_of; /* of a statement */
	struct wet_stmt *stmts;
	size_t room_stmts;
	struct wet_press *press;
	struct wet_edges edges;
	struct wet_totals totals;
	struct wet_maker units[WET_UNITS];
	struct wet_makers makers;
	uint32_t first, last; /* nodes */
	VEC(struct wet_cut) cuts;
	struct bytes cut_executions;
	VEC(uint32_t) cut_before; /* of each node: executions before the last cut */
	bool no_memory;
	/* With @executed: */
	struct wet_writers writers;			/* as executing again has them */
	struct wet_maker found[UNFORESEEN_WRITERS_MAX]; /* of a load */
	uint32_t fresh; /* the node that was executed last, for the first time; or NONE */
	VEC(struct wet_note) notes;
	uint32_t n_noted;    /* of them that are over */
	uint64_t next_block; /* of all, that is put into a path next */
	uint64_t told_until; /* blocks before that one, and behind those that were asked for, are
			      * told by their results */
	struct wet_flow flow;
	VEC(struct bytes) flows;
	struct unforeseen unforeseen;
	VEC(struct unforeseen_block) unforeseen_blocks;

	VEC(struct wet_maker)
	last_of; /* with @control: of each item, the last statement of its block;
		    statement 0: it is none, or not of the window */

	/* The thread of values. */
	bool values_no_memory;
};

/* Makes @node of blocks that have not been executed like this before. */
bool wet_graph_make_node(struct wet_graph *graph, struct wet_node *node,
			 const struct wet_step *steps, uint32_t n_blocks);
/* graph_foreseen.c: what executing the window again will say, beside what is so. The path whose
 * first block is @first, of all, is put by these, in this order, with its accesses in theirs. */
struct wet_foreseen {
	const struct wet_step *steps; /* its blocks */
	const uint64_t *addresses;    /* of all its accesses */
	uint64_t block;		      /* the one that is looked at, of all */
	uint32_t end;		      /* its end, in statements of the node */
	bool told;		      /* it is told by its results */
};
void wet_foreseen_begin(struct wet_graph *graph, struct wet_foreseen *f,
			const struct wet_step *steps, const uint64_t *addresses, uint64_t first);
/* Before the loads of @access. */
void wet_foreseen_access(struct wet_graph *graph, struct wet_foreseen *f,
			 const struct wet_access *access);
/* Load @i of it was written by the @n first of graph->found. */
void wet_foreseen_load(struct wet_graph *graph, const struct wet_foreseen *f,
		       const struct wet_access *access, unsigned i, uint32_t n);
/* Behind its loads: its stores are by @by. */
void wet_foreseen_stores(struct wet_graph *graph, const struct wet_foreseen *f,
			 const struct wet_access *access, struct wet_maker by);
/* The units of @outer and those in a row with it are read. */
void wet_foreseen_units(struct wet_graph *graph, const struct wet_outer *outer);
/* The path, of @node, is over; before that its executions are not counted. */
void wet_foreseen_end(struct wet_graph *graph, uint32_t node, bool fresh);
/* The window is cut behind it. */
void wet_foreseen_cut(struct wet_graph *graph);
/* All paths of @batch. */
void wet_graph_link(struct wet_graph *graph, struct wet_batch *batch);

#endif

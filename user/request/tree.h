/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tree.h: what requests did, as a tree: a node for each distinct stack of calls from the request's
 * function on, with what the fast and what the slow requests did there, side by side. */
#ifndef USER_REQUEST_TREE_H
#define USER_REQUEST_TREE_H

#include "user/request/requests.h"

/* Sums over the requests of one class. */
struct request_weight {
	uint64_t requests;	  /* in which it was called */
	uint64_t calls, blocks;	  /* blocks: of its own (level paths) */
	struct time_bounds total; /* what it called included */
	struct time_bounds self;
};

struct request_node {
	uint32_t parent; /* index; the root is its own */
	uint32_t id;	 /* of func_ids */
	uint32_t last;	 /* the child that was entered last; 0: none */
	struct request_weight of[N_REQUEST_CLASSES];
	/* While a thread is walked: the request that was counted last, and up to where the upper
	 * bounds are counted, so that no span of time is counted twice. */
	uint64_t counted, total_to_ns, self_to_ns;
};

/* A parent's index is lower than its children's. Node 0 is the root, above the requests. */
struct request_tree {
	struct request_node *nodes; /* heap */
	uint32_t n, cap;
	uint32_t *slots; /* heap: open addressing by parent and id; 0: free */
	uint32_t n_slots;
};

/* 0 or -ENOMEM; request_tree_deinit() either way. */
int request_tree_init(struct request_tree *tree);
void request_tree_deinit(struct request_tree *tree);
/* The child @id of @parent, made where there is none; 0: no memory. */
uint32_t request_tree_child(struct request_tree *tree, uint32_t parent, uint32_t id);
/* Adds the weights of all of @from. 0 or -ENOMEM. */
int request_tree_add(struct request_tree *tree, const struct request_tree *from);
/* Another thread's requests follow. */
void request_tree_next_thread(struct request_tree *tree);

#endif

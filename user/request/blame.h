/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* blame.h: why the slow requests are slow: the place in the tree where what they took longer comes
 * together, and the functions by what they took longer themselves. All figures are means for one
 * request, of the fast ones and of the slow ones. */
#ifndef USER_REQUEST_BLAME_H
#define USER_REQUEST_BLAME_H

#include "user/request/tree.h"

struct request_means {
	double calls, blocks;
	double total_min_ns, total_max_ns, self_min_ns, self_max_ns;
	double requests; /* the share that called it, 0 to 1 */
};

/* What the slow ones took longer, between bounds; what is below 0 they took less. */
struct request_excess {
	double min_ns, max_ns;
};

/* A function, over all places of the tree. */
struct request_row {
	uint32_t id; /* of func_ids */
	struct request_means of[N_REQUEST_CLASSES];
	struct request_excess self;
};

struct request_blame {
	/* From the request's function to the one at fault: nodes of the tree. None where the slow
	 * ones took no longer in anything. */
	uint32_t *path; /* heap */
	uint32_t n_path;
	/* What the last of the path calls more often, each time that it runs; 0: nothing. */
	uint32_t loop;
	double loop_calls[N_REQUEST_CLASSES]; /* calls of it for one call of the function */
	struct request_excess excess;	      /* of a whole request */
	struct request_row *rows;	      /* heap: the most self time longer first */
	uint32_t n_rows;
};

struct request_means request_means_of(const struct requests *requests,
				      const struct request_weight *weight, int class);
/* What the slow ones took longer in @node, its callees included. */
struct request_excess request_excess_of(const struct requests *requests,
					const struct request_node *node);
/* 0 or -ENOMEM; request_blame_deinit() either way. */
int request_blame(const struct requests *requests, const struct request_tree *tree,
		  struct request_blame *out);
void request_blame_deinit(struct request_blame *blame);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* node.h: a node of a cluster at one task of a job (job.h). It has a folder of its own, with
 * program/NAME, stdin, and `run`, where the command runs among its inputs. The program is a copy,
 * so that a probe on it is on no other run's, also where nodes share a host. */
#ifndef USER_CLUSTER_NODE_H
#define USER_CLUSTER_NODE_H

#include "user/cluster/staged.h"

struct cluster_node {
	const char *folder; /* that all nodes see; borrowed */
	struct staged_list list;
	char *own; /* the node's folder */
	char **command, **environ;
	bool has_input;
};

/* Takes what was staged, and goes into `run`. @sum: of the job's list. Returns 0, or -errno with
 * @diag filled; to be closed in both cases. */
int cluster_node_open(const char *folder, const char *sum, struct cluster_node *out,
		      struct pugmark_diag *diag);
/* Removes the node's folder. 0 or -errno. */
int cluster_node_close(struct cluster_node *node);
/* Takes a file: @value is its sum, a space, and its path below @base of the node's folder, or all
 * of @fixed. */
int cluster_node_take(const struct cluster_node *node, const char *value, const char *base,
		      const char *fixed, mode_t mode, struct pugmark_diag *diag);

#endif

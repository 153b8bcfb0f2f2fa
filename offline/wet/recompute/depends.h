/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* depends.h: data dependences of a WET file that are executed again: who has made what each path
 * reads, path by path. */
#ifndef OFFLINE_WET_DEPENDS_H
#define OFFLINE_WET_DEPENDS_H

#include "offline/wet/file/file.h"

/* An instance of an edge; executions are counted from 0. */
struct wet_depend {
	uint32_t to, operand, to_execution; /* statement, and what it has read */
	uint32_t from, from_execution;
};

/* False: no more is wanted. */
typedef bool wet_depend_fn(void *ctx, const struct wet_depend *depend);

struct wet_depends;

/* @file is borrowed until wet_depends_free(). 0, -EBADMSG, -ENOTSUP, or -ENOMEM. */
int wet_depends_open(const struct wet_file *file, struct wet_depends **out);
void wet_depends_free(struct wet_depends *depends);
/* Tells @fn of what the paths with timestamps @from to @to read, in their order; @nodes: only of
 * nodes that have true there, NULL: of all. Blocks are executed from where all begins anew, unless
 * it goes on where it was; so each is as cheap to come to as any. 0, or as above. */
int wet_depends_run(struct wet_depends *depends, uint64_t from, uint64_t to, const bool *nodes,
		    wet_depend_fn *fn, void *ctx);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* block_paths.h: which node each path of a block of again.h is an execution of (flow.h), and which
 * execution. */
#ifndef OFFLINE_WET_BLOCK_PATHS_H
#define OFFLINE_WET_BLOCK_PATHS_H

#include "offline/wet/file/file.h"

struct block_paths {
	const struct wet_file *file;
	struct codec *codec;
	uint32_t *before; /* of block i and node k, at i * n_nodes + k: executions before it */
	uint32_t *nodes;  /* of each path of the block that was read last */
	uint32_t *counts; /* of each node, while a block is read */
	uint32_t open;	  /* that block; n_again: none */
	uint64_t n, room;
};

/* 0, -EBADMSG, -ENOTSUP or -ENOMEM; either way it is given back by block_paths_deinit(). */
int block_paths_init(struct block_paths *paths, const struct wet_file *file);
void block_paths_deinit(struct block_paths *paths);
/* Reads those of block @i, unless it was read last. 0, or as above. */
int block_paths_read(struct block_paths *paths, uint32_t i);
/* The block that has timestamp @time; n_again: none has. */
uint32_t block_paths_find(const struct wet_file *file, uint64_t time);
/* How often node @node was executed before block @i. */
static inline uint32_t block_paths_executions(const struct block_paths *p, uint32_t i,
					      uint32_t node)
{
	return p->before[(uint64_t)i * p->file->n_nodes + node];
}
/* Timestamps before block @i. */
static inline uint64_t block_paths_before(const struct wet_file *f, uint32_t i)
{
	return i < f->n_again ? f->again[i].paths : f->totals.paths;
}
/* The pages of code of the file, to be freed, as after an error. */
int block_paths_code(const struct wet_file *file, uint8_t **out);

#endif

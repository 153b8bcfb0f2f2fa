/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* block_counts.h: how often each block of a module was executed, and how often each edge between
 * two of them was taken, in a recording of level paths. */
#ifndef USER_BLOCK_COUNTS_H
#define USER_BLOCK_COUNTS_H

#include <pugmark/model.h>

#include "user/view/trace/trace_view.h"

struct block_counts {
	uint64_t *blocks; /* per block of the model */
	uint64_t *edges;  /* per edge of the model */
	uint64_t gaps;	  /* in the threads that were counted: what ran in them is missing */
	uint64_t total;	  /* executions of all blocks */
};

/* Whether what @plan records has the blocks of at least one function (record --level paths). */
bool plan_shows_blocks(const struct pugmark_plan *plan);
/* Counts what the threads that @view shows did in @module, whose model is @model. Returns 0, or
 * -errno with @diag filled (-ENODATA: the module was not recorded with --level paths). */
int block_counts_collect(const struct trace_view *view, uint32_t module,
			 const struct pugmark_model *model, struct block_counts *out,
			 struct pugmark_diag *diag);
void block_counts_deinit(struct block_counts *counts);

/* Opens the file that was recorded as @module, and makes its model. The file is @path or, if that
 * is NULL, where it was then. Returns 0 and a model that the caller frees, or -errno with @diag
 * filled (-ESTALE: the file is another than the recorded one). */
int block_counts_open_model(const struct trace_view *view, uint32_t module, const char *path,
			    struct pugmark_model **out, struct pugmark_diag *diag);

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
/* block_counts.c: see block_counts.h. An edge is two blocks of one frame in a row, so the last
 * block of every open frame is kept, by the frame's depth. */
#include "user/view/lines/block_counts.h"

#include "user/file/debuginfod.h"
#include "user/view/trace/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct counting {
	const struct pugmark_model *model;
	struct block_counts *counts;
	uint32_t *block_at; /* per byte of code: the block that begins there, or PUGMARK_NONE */
	uint32_t *last;	    /* per depth: the block that ran last in that frame */
	uint32_t n_last, cap_last;
	struct stacks stacks; /* the same of stacks that the thread has left */
	uint32_t module;
	bool failed;
};

static uint32_t block_of(const struct counting *c, uint64_t addr)
{
	uint64_t off = addr - c->model->text_addr;
	return off < c->model->text_end - c->model->text_addr ? c->block_at[off] : PUGMARK_NONE;
}

static void count_edge(struct counting *c, uint32_t from, uint32_t to)
{
	const struct pugmark_block *b = &c->model->blocks[from];
	for (uint32_t e = b->edge; e < b->edge + b->n_edges; e++)
		if (c->model->edges[e].to == to) {
			c->counts->edges[e]++;
			return;
		}
}

/* The block that ran last in the frame at which @depth frames are open; deeper frames are gone. */
static uint32_t *last_at(struct counting *c, uint32_t depth)
{
	if (depth >= c->cap_last) {
		uint32_t cap = 2 * depth + 64;
		uint32_t *last = realloc(c->last, cap * sizeof(*last));
		if (!last) {
			c->failed = true;
			return NULL;
		}
		c->last = last;
		c->cap_last = cap;
	}
	while (c->n_last <= depth)
		c->last[c->n_last++] = PUGMARK_NONE;
	c->n_last = depth + 1;
	return &c->last[depth];
}

static void on_block(struct counting *c, const struct pugmark_trace_event *e)
{
	uint32_t *last = last_at(c, e->depth);
	uint32_t block = e->module == c->module ? block_of(c, e->addr) : PUGMARK_NONE;
	if (!last)
		return;
	if (block != PUGMARK_NONE) {
		c->counts->blocks[block]++;
		c->counts->total++;
		if (*last != PUGMARK_NONE)
			count_edge(c, *last, block);
	}
	*last = block;
}

static void switch_to(struct counting *c, uint32_t stack)
{
	struct stack_array last = {c->last, c->n_last, c->cap_last};
	c->failed |= stacks_switch(&c->stacks, stack, &last) != 0;
	c->last = last.at;
	c->n_last = last.n;
	c->cap_last = last.cap;
}

static void on_event(struct counting *c, const struct pugmark_trace_event *e)
{
	uint32_t *last;
	switch (e->kind) {
	case PUGMARK_TRACE_BLOCK:
		on_block(c, e);
		break;
	case PUGMARK_TRACE_GAP:
		c->counts->gaps++;
		c->n_last = 0;
		break;
	case PUGMARK_TRACE_TAIL: /* another function in the same frame */
		last = last_at(c, e->depth);
		if (last)
			*last = PUGMARK_NONE;
		break;
	case PUGMARK_TRACE_CALL:
	case PUGMARK_TRACE_ENTER:
		c->n_last = c->n_last < e->depth + 1 ? c->n_last : e->depth + 1;
		break;
	case PUGMARK_TRACE_SWITCH:
		switch_to(c, e->func);
		break;
	case PUGMARK_TRACE_RET:
	case PUGMARK_TRACE_UNWIND:
		c->n_last = c->n_last < e->depth ? c->n_last : e->depth;
		break;
	}
}

static int count_task(struct counting *c, const struct trace_view *view, uint32_t task)
{
	struct pugmark_trace_iter *it;
	const struct pugmark_trace_event *e;
	int got = pugmark_trace_iter_new(view->trace, task, &it);
	if (got)
		return got;
	c->n_last = 0;
	while (!c->failed && (got = pugmark_trace_next(it, &e)) == 1)
		on_event(c, e);
	stacks_deinit(&c->stacks);
	pugmark_trace_iter_free(it);
	return c->failed ? -ENOMEM : got;
}

bool plan_shows_blocks(const struct pugmark_plan *plan)
{
	for (uint32_t i = 1; i < plan->n_nodes; i++)
		if (plan->nodes[i].flags & PUGMARK_NODE_SHOWS_BLOCK)
			return true;
	return false;
}

static int index_blocks(struct counting *c)
{
	uint64_t bytes = c->model->text_end - c->model->text_addr;
	c->block_at = malloc((bytes + 1) * sizeof(*c->block_at));
	if (!c->block_at)
		return -ENOMEM;
	memset(c->block_at, 0xff, bytes * sizeof(*c->block_at));
	for (uint32_t i = 0; i < c->model->n_blocks; i++)
		if (c->model->blocks[i].addr - c->model->text_addr < bytes)
			c->block_at[c->model->blocks[i].addr - c->model->text_addr] = i;
	return 0;
}

int block_counts_collect(const struct trace_view *view, uint32_t module,
			 const struct pugmark_model *model, struct block_counts *out,
			 struct pugmark_diag *diag)
{
	*out = (struct block_counts){0};
	if (!plan_shows_blocks(pugmark_trace_plan(view->trace, module)))
		return pugmark_diag_set(diag, -ENODATA, view->dir, PUGMARK_NO_OFFSET,
					"%s was recorded without its blocks (record with --level "
					"paths)",
					pugmark_trace_module_name(view->trace, module));
	struct counting c = {.model = model, .counts = out, .module = module};
	out->blocks = calloc(model->n_blocks + 1, sizeof(*out->blocks));
	out->edges = calloc(model->n_edges + 1, sizeof(*out->edges));
	int err = out->blocks && out->edges ? index_blocks(&c) : -ENOMEM;
	if (err)
		trace_view_no_memory(view, diag);
	for (uint32_t i = 0; i < view->n_tasks && !err; i++)
		if (trace_view_has_task(view, i)) {
			err = count_task(&c, view, i);
			if (err)
				trace_view_task_failed(view, i, err, diag);
		}
	free(c.block_at);
	free(c.last);
	if (err)
		block_counts_deinit(out);
	return err;
}

void block_counts_deinit(struct block_counts *counts)
{
	free(counts->blocks);
	free(counts->edges);
	*counts = (struct block_counts){0};
}

int block_counts_open_model(const struct trace_view *view, uint32_t module, const char *path,
			    struct pugmark_model **out, struct pugmark_diag *diag)
{
	uint32_t n;
	const struct pugmark_recording_module *m =
		&pugmark_recording_modules(view->rec, &n)[module];
	struct pugmark_model *model;
	path = path ? path : m->path;
	debuginfod_fetch(path);
	int err = pugmark_model_open(path, &model, diag);
	if (err)
		return err;
	bool has_id = model->build_id_len && m->build_id_len;
	bool same = has_id && model->build_id_len == m->build_id_len &&
		    !memcmp(model->build_id, m->build_id, m->build_id_len);
	const struct pugmark_plan *plan = pugmark_trace_plan(view->trace, module);
	if (!same || model->text_addr != plan->text_addr || model->text_end != plan->text_end) {
		pugmark_model_free(model);
		return pugmark_diag_set(diag, -ESTALE, path, PUGMARK_NO_OFFSET,
					has_id ? "not the file that was recorded"
					       : "without a build-id nothing says whether "
						 "this is the file that was recorded");
	}
	*out = model;
	return 0;
}

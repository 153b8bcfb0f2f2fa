// SPDX-License-Identifier: LGPL-2.1-or-later
/* wet_walk.c: see wet_walk.h. */
#include "user/wet/wet_walk.h"

#include <errno.h>
#include <stdlib.h>

/* The node's next timestamp in the direction of the walk. */
static void pass(struct wet_walk *w, uint32_t node)
{
	uint64_t v;
	bool more = w->backward ? wet_cursor_previous(w->times[node], &v)
				: wet_cursor_next(w->times[node], &v);
	w->at[node] = more ? v : 0;
}

/* To where the timestamp @at would be, or is, in the node's stream. */
static void go_to(struct wet_walk *w, uint32_t node, uint64_t at)
{
	struct wet_cursor *c = w->times[node];
	uint64_t v;
	while (wet_cursor_next(c, &v))
		if (v > at) {
			wet_cursor_previous(c, &v);
			break;
		}
	/* Forwards the one at @at itself comes next. */
	if (!w->backward && wet_cursor_previous(c, &v) && v < at)
		wet_cursor_next(c, &v);
	pass(w, node);
}

/* The reverse of who was executed next. */
static int find_before(struct wet_walk *w)
{
	const struct wet_file *f = w->file;
	w->first = calloc(f->n_nodes + (size_t)2, sizeof(*w->first));
	w->before = calloc(f->n_next + (size_t)1, sizeof(*w->before));
	if (!w->first || !w->before)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_next; i++)
		w->first[f->next[i] + (size_t)2]++;
	for (size_t i = 2; i < f->n_nodes + (size_t)2; i++)
		w->first[i] += w->first[i - 1];
	for (uint32_t i = 0; i < f->n_nodes; i++)
		for (uint32_t k = 0; k < f->nodes[i].n_next; k++) {
			uint32_t next = f->next[f->nodes[i].first_next + k];
			w->before[w->first[next + (size_t)1]++] = i;
		}
	return 0;
}

/* Where no list of nodes can have it: at the beginning. */
static void find_node(struct wet_walk *w)
{
	for (uint32_t i = 0; i < w->file->n_nodes; i++)
		if (w->at[i] == w->now) {
			w->node = i;
			return;
		}
	w->now = 0;
}

/* The node at w->now by the block that has it, or the walk is over. */
static void find_in_block(struct wet_walk *w)
{
	uint32_t i = block_paths_find(w->file, w->now);
	if (i == w->file->n_again || block_paths_read(&w->paths, i))
		w->now = 0;
	else
		w->node = w->paths.nodes[w->now - w->file->again[i].paths - 1];
}

static int begin_in_blocks(struct wet_walk *w)
{
	int err = block_paths_init(&w->paths, w->file);
	if (err)
		wet_walk_deinit(w);
	else
		find_in_block(w);
	return err;
}

int wet_walk_init(struct wet_walk *w, const struct wet_file *file, uint64_t at, bool backward)
{
	int err = 0;
	*w = (struct wet_walk){.file = file, .backward = backward, .now = at};
	if (file->n_again)
		return begin_in_blocks(w);
	w->times = calloc(file->n_nodes + (size_t)1, sizeof(struct wet_cursor *));
	w->at = calloc(file->n_nodes + (size_t)1, sizeof(*w->at));
	if (!w->times || !w->at)
		err = -ENOMEM;
	if (!err && backward)
		err = find_before(w);
	for (uint32_t i = 0; i < file->n_nodes && !err; i++) {
		err = wet_file_stream(file, file->nodes[i].times, &w->times[i]);
		if (!err)
			go_to(w, i, at);
	}
	if (err)
		wet_walk_deinit(w);
	else
		find_node(w);
	return err;
}

void wet_walk_deinit(struct wet_walk *w)
{
	for (uint32_t i = 0; w->times && i < w->file->n_nodes; i++)
		wet_cursor_free(w->times[i]);
	block_paths_deinit(&w->paths);
	free(w->times);
	free(w->at);
	free(w->first);
	free(w->before);
	*w = (struct wet_walk){0};
}

bool wet_walk_step(struct wet_walk *w, uint64_t *time, uint32_t *node)
{
	if (!w->now)
		return false;
	if (w->file->n_again) {
		*time = w->now;
		*node = w->node;
		w->now = w->backward ? w->now - 1 : w->now + 1;
		find_in_block(w);
		return true;
	}
	const struct wet_file_node *n = &w->file->nodes[w->node];
	const uint32_t *may = w->file->next + n->first_next;
	uint32_t n_may = n->n_next;
	if (w->backward) {
		may = w->before + w->first[w->node];
		n_may = w->first[w->node + (size_t)1] - w->first[w->node];
	}
	*time = w->now;
	*node = w->node;
	pass(w, w->node);
	w->now = w->backward ? w->now - 1 : w->now + 1;
	for (uint32_t k = 0; k < n_may; k++)
		if (w->at[may[k]] == w->now) {
			w->node = may[k];
			return true;
		}
	find_node(w);
	return true;
}

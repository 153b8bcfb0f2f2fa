// SPDX-License-Identifier: LGPL-2.1-or-later
/* times.c: see times.h. Holds the node's timestamps of one block, the one read last. */
#include "offline/wet/recompute/times.h"

#include "offline/base/search.h"

#include <errno.h>
#include <stdlib.h>

struct wet_times {
	struct wet_cursor *stored; /* NULL: by blocks */
	struct block_paths *paths;
	uint32_t node, open; /* block; n_again: none */
	uint64_t length, position;
	uint64_t first; /* execution that is the first of the block */
	uint64_t *at;	/* timestamps of those of the block */
	uint64_t n, room;
};

int wet_times_open(const struct wet_file *f, struct block_paths *paths, uint32_t node,
		   struct wet_times **out)
{
	struct wet_times *t = calloc(1, sizeof(*t));
	*out = NULL;
	if (!t)
		return -ENOMEM;
	t->paths = paths;
	t->node = node;
	t->open = f->n_again;
	int err = 0;
	if (f->n_again)
		t->length = block_paths_executions(paths, f->n_again, node);
	else
		err = wet_file_stream(f, f->nodes[node].times, &t->stored);
	if (err)
		wet_times_free(t);
	else
		*out = t;
	return err;
}

void wet_times_free(struct wet_times *t)
{
	if (!t)
		return;
	wet_cursor_free(t->stored);
	free(t->at);
	free(t);
}

/* Holds those of block @i. */
static bool open_block(struct wet_times *t, uint32_t i)
{
	struct block_paths *p = t->paths;
	uint64_t before = p->file->again[i].paths, n = 0;
	t->open = p->file->n_again;
	if (block_paths_read(p, i)) /* the counts are right then */
		return false;
	t->first = block_paths_executions(p, i, t->node);
	t->n = block_paths_executions(p, i + 1, t->node) - t->first;
	if (t->n > t->room) {
		free(t->at);
		t->at = malloc(t->n * sizeof(*t->at));
		t->room = t->at ? t->n : 0;
	}
	if (t->n > t->room)
		return false;
	for (uint64_t path = 0; path < p->n && n < t->n; path++)
		if (p->nodes[path] == t->node)
			t->at[n++] = before + path + 1;
	if (n != t->n)
		return false;
	t->open = i;
	return true;
}

/* The timestamp of execution @k. */
static bool time_at(struct wet_times *t, uint64_t k, uint64_t *time)
{
	const struct wet_file *f = t->paths->file;
	if (t->open == f->n_again || k - t->first >= t->n) {
		uint32_t i = (uint32_t)SEARCH_FIRST_NOT(
			0, f->n_again, b,
			block_paths_executions(t->paths, (uint32_t)b + 1, t->node) <= k);
		if (i == f->n_again || !open_block(t, i))
			return false;
	}
	*time = t->at[k - t->first];
	return true;
}

uint64_t wet_times_length(const struct wet_times *t)
{
	return t->stored ? wet_cursor_length(t->stored) : t->length;
}

uint64_t wet_times_position(const struct wet_times *t)
{
	return t->stored ? wet_cursor_position(t->stored) : t->position;
}

bool wet_times_next(struct wet_times *t, uint64_t *time)
{
	if (t->stored)
		return wet_cursor_next(t->stored, time);
	return t->position < t->length && time_at(t, t->position, time) && ++t->position;
}

bool wet_times_previous(struct wet_times *t, uint64_t *time)
{
	if (t->stored)
		return wet_cursor_previous(t->stored, time);
	if (!t->position || !time_at(t, t->position - 1, time))
		return false;
	t->position--;
	return true;
}

bool wet_times_seek(struct wet_times *t, uint64_t position)
{
	if (t->stored)
		return wet_cursor_seek(t->stored, position);
	if (position > t->length)
		return false;
	t->position = position;
	return true;
}

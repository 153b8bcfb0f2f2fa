// SPDX-License-Identifier: LGPL-2.1-or-later
/* flow.c: see flow.h. Who reads makes the same guesses from what was read so far. */
#include "offline/wet/streams/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 10 /* bytes */ };

void wet_flow_deinit(struct wet_flow *f)
{
	free(f->guesses);
	for (unsigned i = 0; i < FLOW_COLUMNS; i++)
		bytes_deinit(&f->columns[i]);
	*f = (struct wet_flow){0};
}

static bool has_guesses(struct wet_flow *f)
{
	if (!f->guesses)
		f->guesses = calloc(1, sizeof(*f->guesses));
	f->no_memory |= !f->guesses;
	return f->guesses;
}

void wet_flow_add(struct wet_flow *f, uint32_t node)
{
	if (!has_guesses(f))
		return;
	uint32_t *guess = wet_guess(f->guesses);
	if (*guess == node + 1) {
		f->right++;
	} else {
		bytes_put_varint(&f->columns[FLOW_RUNS], f->right);
		bytes_put_varint(&f->columns[FLOW_NODES], node);
		f->right = 0;
		*guess = node + 1;
	}
	wet_guess_next(f->guesses, node);
}

bool wet_flow_end(struct wet_flow *f, struct bytes *to)
{
	bytes_put_varint(&f->columns[FLOW_RUNS], f->right);
	bool fine = !f->no_memory && columns_pack(f->columns, FLOW_COLUMNS, to);
	for (unsigned i = 0; i < FLOW_COLUMNS; i++)
		f->columns[i].len = 0;
	f->right = 0;
	if (f->guesses)
		memset(f->guesses, 0, sizeof(*f->guesses));
	return fine;
}

/* @n guesses that were right. */
static bool take_right(struct wet_guesses *g, uint32_t n_nodes, uint64_t n, uint32_t *to)
{
	for (uint64_t i = 0; i < n; i++) {
		uint32_t guess = *wet_guess(g);
		if (!guess || guess > n_nodes)
			return false;
		to[i] = guess - 1;
		wet_guess_next(g, to[i]);
	}
	return true;
}

static bool take(struct wet_guesses *g, struct columns *c, uint32_t n_nodes, uint64_t n,
		 uint32_t *nodes)
{
	struct cursor *runs = &c->in[FLOW_RUNS], *others = &c->in[FLOW_NODES];
	for (uint64_t at = 0, right, node;;) {
		if (!cursor_varint(runs, &right) || right > n - at ||
		    !take_right(g, n_nodes, right, nodes + at))
			return false;
		at += right;
		if (at == n)
			return runs->at == runs->end && others->at == others->end;
		if (!cursor_varint(others, &node) || node >= n_nodes)
			return false;
		nodes[at++] = (uint32_t)node;
		*wet_guess(g) = (uint32_t)node + 1;
		wet_guess_next(g, (uint32_t)node);
	}
}

int wet_flow_read(struct codec *codec, const uint8_t *at, size_t len, uint32_t n_nodes, uint64_t n,
		  uint32_t *nodes)
{
	uint64_t lens[FLOW_COLUMNS];
	struct columns c = {0};
	if (!columns_lens(at, len, FLOW_COLUMNS, lens) || lens[FLOW_RUNS] > NUMBER_MAX * (n + 1) ||
	    lens[FLOW_NODES] > NUMBER_MAX * n)
		return -EBADMSG;
	int err = columns_read(codec, at, len, FLOW_COLUMNS, &c);
	struct wet_guesses *g = err ? NULL : calloc(1, sizeof(*g));
	if (!err)
		err = !g ? -ENOMEM : take(g, &c, n_nodes, n, nodes) ? 0 : -EBADMSG;
	free(g);
	columns_free(&c);
	return err;
}

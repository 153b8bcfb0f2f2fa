// SPDX-License-Identifier: LGPL-2.1-or-later
/* graph.c: see graph.h. */
#include "user/why/graph.h"

#include <errno.h>
#include <stdlib.h>

struct building {
	const struct fold *fold;
	struct why_graph *graph;
	const uint32_t *line_of; /* of each entry: 1 + the index of its line, 0: not among them */
};

static uint32_t node_of(void *ctx, const struct slice_step *step)
{
	const struct building *b = ctx;
	const struct fold_entry *e = fold_find(b->fold, step);
	return e ? b->line_of[e->group] : 0;
}

static struct why_edge *slot_of(struct why_edge *at, size_t room, uint32_t from, uint32_t to,
				enum slice_edge_kind kind)
{
	uint64_t key = ((uint64_t)from << 34 ^ (uint64_t)to << 2 ^ kind) * 0x9e3779b97f4a7c15;
	size_t i = key >> 32 & (room - 1);
	while (at[i].times && (at[i].from != from || at[i].to != to || at[i].kind != kind))
		i = (i + 1) & (room - 1);
	return &at[i];
}

static bool make_room(struct why_graph *g)
{
	if (2 * (g->n + 1) <= g->room)
		return true;
	size_t room = g->room ? 2 * g->room : 256;
	struct why_edge *at = calloc(room, sizeof(*at));
	if (!at)
		return false;
	for (size_t i = 0; i < g->room; i++) {
		const struct why_edge *e = &g->edges[i];
		if (e->times)
			*slot_of(at, room, e->from, e->to, e->kind) = *e;
	}
	free(g->edges);
	g->edges = at;
	g->room = room;
	return true;
}

/* A reader counts once for an edge, however many of its bytes came along it. */
static void add(void *ctx, uint32_t from, uint32_t to, enum slice_edge_kind kind, uint64_t reader)
{
	struct why_graph *g = ((struct building *)ctx)->graph;
	if (!make_room(g)) {
		g->no_memory = true;
		return;
	}
	struct why_edge *e = slot_of(g->edges, g->room, from - 1, to - 1, kind);
	if (!e->times) {
		*e = (struct why_edge){.from = from - 1, .to = to - 1, .kind = kind};
		g->n++;
	}
	e->times += e->reader != reader;
	e->reader = reader;
}

static int by_ends(const void *a, const void *b)
{
	const struct why_edge *x = a, *y = b;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

int why_graph_init(struct why_graph *g, const struct dep_trace *trace, const struct fold *fold,
		   const struct why_line *lines, size_t n_lines, unsigned follow,
		   const struct slice_control *control)
{
	uint32_t *line_of = calloc(fold->n + 1, sizeof(*line_of));
	struct building b = {fold, g, line_of};
	*g = (struct why_graph){0};
	if (!line_of)
		return -ENOMEM;
	for (size_t i = 0; i < n_lines; i++)
		line_of[lines[i].group] = (uint32_t)i + 1;
	int err = slice_edges(trace, &fold->members, follow, control, node_of, add, &b);
	free(line_of);
	size_t n = 0;
	for (size_t i = 0; i < g->room; i++)
		if (g->edges[i].times)
			g->edges[n++] = g->edges[i];
	g->n = n;
	if (n)
		qsort(g->edges, n, sizeof(*g->edges), by_ends);
	return err || !g->no_memory ? err : -ENOMEM;
}

void why_graph_deinit(struct why_graph *g)
{
	free(g->edges);
}

const char *why_graph_kind(enum slice_edge_kind kind)
{
	static const char *const names[] = {
		[SLICE_EDGE_DATA] = "data",
		[SLICE_EDGE_ADDRESS] = "address",
		[SLICE_EDGE_CONTROL] = "control",
	};
	return names[kind];
}

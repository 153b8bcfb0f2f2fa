// SPDX-License-Identifier: LGPL-2.1-or-later
/* wet_gather.c: see wet_gather.h. */
#include "user/wet/wet_gather.h"

#include "offline/wet/recompute/depends.h"

#include <errno.h>
#include <stdlib.h>

struct gathering {
	struct wet_gathered *g;
	const struct wet_gathered_edge *first; /* that is shown */
	uint64_t limit;
	int err;
};

static int compare(const void *a, const void *b)
{
	const struct wet_file_edge *x = ((const struct wet_gathered_edge *)a)->edge;
	const struct wet_file_edge *y = ((const struct wet_gathered_edge *)b)->edge;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->operand != y->operand)
		return x->operand < y->operand ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static struct wet_gathered_edge *find(const struct wet_gathered *g,
				      const struct wet_file_edge *edge)
{
	struct wet_gathered_edge key = {.edge = edge};
	return bsearch(&key, g->edges, g->n, sizeof(key), compare);
}

static bool take(void *ctx, const struct wet_depend *d)
{
	struct gathering *s = ctx;
	struct wet_file_edge edge = {.to = d->to, .operand = d->operand, .from = d->from};
	struct wet_gathered_edge *e = find(s->g, &edge);
	if (!e || e->n > s->limit) /* it is of another instruction, inferred, or has enough */
		return true;
	if (e->n == e->room) {
		uint64_t room = 2 * e->room + 64;
		struct wet_pair *pairs = realloc(e->pairs, room * sizeof(*pairs));
		if (!pairs) {
			s->err = -ENOMEM;
			return false;
		}
		e->pairs = pairs;
		e->room = room;
	}
	e->pairs[e->n++] = (struct wet_pair){d->to_execution, d->from_execution};
	return e != s->first || e->n <= s->limit;
}

int wet_gather(const struct wet_file *f, const struct wet_asked *a, struct wet_gathered *out)
{
	struct gathering s = {.g = out, .limit = a->limit};
	bool *nodes = calloc(f->n_nodes + (size_t)1, sizeof(*nodes));
	const struct wet_file_edge *first = NULL;
	uint32_t n = 0;
	*out = (struct wet_gathered){0};
	for (uint32_t i = 0; i < f->n_edges; i++)
		n += f->edges[i].executed && f->stmts[f->edges[i].to].addr == a->addr;
	out->edges = calloc(n + (size_t)1, sizeof(*out->edges));
	int err = nodes && out->edges ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < f->n_edges && !err; i++) {
		const struct wet_file_edge *e = &f->edges[i];
		if (f->stmts[e->to].addr != a->addr)
			continue;
		if (!first)
			first = e;
		if (!e->executed)
			continue;
		nodes[f->stmts[e->to].node] = true;
		out->edges[out->n++].edge = e;
	}
	struct wet_depends *d = NULL;
	if (!err && out->n) {
		qsort(out->edges, out->n, sizeof(*out->edges), compare);
		s.first = first->executed ? find(out, first) : NULL;
		err = wet_depends_open(f, &d);
	}
	if (!err && out->n)
		err = wet_depends_run(d, a->from, a->to, nodes, take, &s);
	wet_depends_free(d);
	free(nodes);
	return err ? err : s.err;
}

void wet_gathered_deinit(struct wet_gathered *g)
{
	for (uint32_t i = 0; g->edges && i < g->n; i++)
		free(g->edges[i].pairs);
	free(g->edges);
	*g = (struct wet_gathered){0};
}

const struct wet_gathered_edge *wet_gathered_of(const struct wet_gathered *g,
						const struct wet_file_edge *edge)
{
	return find(g, edge);
}

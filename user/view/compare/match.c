// SPDX-License-Identifier: LGPL-2.1-or-later
/* match.c: see match.h. Each function begins with a colour: its name, or that it has none. Then, in
 * rounds, its colour becomes that of its own and of the sets of colours that it calls and is called
 * from (Weisfeiler and Leman's refinement). Those match whose colour one function of each side has
 * and no other, if a neighbour has a name. Many rounds see far and say much, but one difference
 * spoils all that is near: so it is done again with fewer, where those that matched have names. */
#include "user/view/compare/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const int rounds[] = {12, 6, 3, 2, 1};

struct side {
	struct trace_view *view;
	const struct report *report;
	uint64_t *colour, *next; /* heap: by number of the report's functions */
	uint64_t *fixed;	 /* heap: the same: those that matched have a colour for good; 0 */
	bool *nameless;		 /* heap: the same */
	bool *known;		 /* heap: the same: a neighbour has a name or has matched */
};

static uint64_t mix(uint64_t h)
{
	h ^= h >> 31;
	h *= 0x9e3779b97f4a7c15u;
	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9u;
	return h ^ h >> 32;
}

static uint64_t hash_text(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return mix(h);
}

static bool is_nameless(const struct side *s, const struct func_id *id)
{
	return id->kind == FUNC_OF_PLAN &&
	       !strncmp(pugmark_trace_func_name(s->view->trace, id->module, id->func), "sub_", 4);
}

static void begin(struct side *s)
{
	for (uint32_t i = 0; i < s->report->n_funcs; i++) {
		const struct func_id *id = &s->report->funcs[i].id;
		s->colour[i] = s->fixed[i]	? s->fixed[i]
			       : s->nameless[i] ? 1
						: hash_text(func_id_name(s->view, id));
	}
	for (uint32_t i = 0; i < s->report->n_edges; i++) {
		const struct report_edge *e = &s->report->edges[i];
		s->known[e->caller] |= s->colour[e->callee] != 1;
		s->known[e->callee] |= s->colour[e->caller] != 1;
	}
}

static void refine(struct side *s)
{
	const struct report *r = s->report;
	for (uint32_t i = 0; i < r->n_funcs; i++)
		s->next[i] = mix(s->colour[i]);
	for (uint32_t i = 0; i < r->n_edges; i++) {
		const struct report_edge *e = &r->edges[i];
		/* Sums: the order of edges is not the same in two recordings. */
		s->next[e->caller] += mix(s->colour[e->callee] + 2);
		s->next[e->callee] += mix(s->colour[e->caller] + 3);
	}
	uint64_t *next = s->next;
	s->next = s->colour;
	s->colour = next;
}

struct coloured {
	uint64_t colour;
	uint32_t func;
	uint8_t side;
};

static int by_colour(const void *a, const void *b)
{
	const struct coloured *x = a, *y = b;
	if (x->colour != y->colour)
		return x->colour < y->colour ? -1 : 1;
	return (x->side > y->side) - (x->side < y->side);
}

static int pair(const struct side *sides, uint32_t first, uint32_t second, uint64_t colour)
{
	const struct func_id *from = &sides[0].report->funcs[first].id;
	const struct func_id *to = &sides[1].report->funcs[second].id;
	sides[0].fixed[first] = sides[1].fixed[second] = mix(colour) | 2;
	return pugmark_trace_rename_func(
		sides[1].view->trace, to->module, to->func,
		pugmark_trace_func_name(sides[0].view->trace, from->module, from->func));
}

/* Returns how many pairs it has found among the @n of @all, or -ENOMEM. */
static int64_t pair_up(const struct side *sides, struct coloured *all, uint32_t n)
{
	int64_t pairs = 0;
	qsort(all, n, sizeof(*all), by_colour);
	for (uint32_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && all[end].colour == all[i].colour; end++)
			;
		if (end - i != 2 || all[i].side == all[i + 1].side ||
		    !sides[0].known[all[i].func] || !sides[1].known[all[i + 1].func])
			continue;
		if (pair(sides, all[i].func, all[i + 1].func, all[i].colour))
			return -ENOMEM;
		pairs++;
	}
	return pairs;
}

static int64_t match_once(struct side *sides, struct coloured *all, int n_rounds)
{
	uint32_t n = 0;
	for (int i = 0; i < 2; i++) {
		struct side *s = &sides[i];
		begin(s);
		for (int round = 0; round < n_rounds; round++)
			refine(s);
		for (uint32_t f = 0; f < s->report->n_funcs; f++)
			if (s->report->funcs[f].calls && !s->fixed[f] && s->nameless[f])
				all[n++] = (struct coloured){s->colour[f], f, (uint8_t)i};
	}
	return pair_up(sides, all, n);
}

static int side_init(struct side *s)
{
	size_t n = s->report->n_funcs + 1ul;
	s->colour = calloc(n, sizeof(*s->colour));
	s->next = calloc(n, sizeof(*s->next));
	s->fixed = calloc(n, sizeof(*s->fixed));
	s->known = calloc(n, sizeof(*s->known));
	s->nameless = calloc(n, sizeof(*s->nameless));
	if (!s->colour || !s->next || !s->fixed || !s->known || !s->nameless)
		return -ENOMEM;
	for (uint32_t f = 0; f < s->report->n_funcs; f++)
		s->nameless[f] = is_nameless(s, &s->report->funcs[f].id);
	return 0;
}

static void side_deinit(struct side *s)
{
	free(s->colour);
	free(s->next);
	free(s->fixed);
	free(s->known);
	free(s->nameless);
}

/* A function without a name that ran, by the one that it goes by; UINT32_MAX: there is none. */
static uint32_t find(const struct side *s, const char *name)
{
	for (uint32_t f = 0; f < s->report->n_funcs; f++) {
		const struct func_id *id = &s->report->funcs[f].id;
		if (s->nameless[f] && s->report->funcs[f].calls && !s->fixed[f] &&
		    !strcmp(pugmark_trace_func_name(s->view->trace, id->module, id->func), name))
			return f;
	}
	return UINT32_MAX;
}

/* Returns how many, or -ENOMEM. */
static int64_t pair_known(const struct side *sides, struct match_known *known, size_t n)
{
	int64_t pairs = 0;
	uint32_t *found = calloc(2 * n + 1, sizeof(*found));
	if (!found)
		return -ENOMEM;
	/* All are looked for before any has another's name. */
	for (size_t i = 0; i < n; i++) {
		found[2 * i] = find(&sides[0], known[i].first);
		found[2 * i + 1] = find(&sides[1], known[i].second);
	}
	for (size_t i = 0; i < n && pairs >= 0; i++) {
		known[i].used = found[2 * i] != UINT32_MAX && found[2 * i + 1] != UINT32_MAX;
		if (!known[i].used)
			continue;
		pairs++;
		if (pair(sides, found[2 * i], found[2 * i + 1], hash_text(known[i].first)))
			pairs = -ENOMEM;
	}
	free(found);
	return pairs;
}

int64_t match_functions(struct trace_view *const views[2], const struct report *const reports[2],
			struct match_known *known, size_t n_known)
{
	struct side sides[2] = {{.view = views[0], .report = reports[0]},
				{.view = views[1], .report = reports[1]}};
	size_t n_all = (size_t)reports[0]->n_funcs + reports[1]->n_funcs;
	struct coloured *all = calloc(n_all + 1, sizeof(*all));
	int64_t pairs = all && !side_init(&sides[0]) && !side_init(&sides[1])
				? pair_known(sides, known, n_known)
				: -ENOMEM;
	for (size_t i = 0; pairs >= 0 && i < sizeof(rounds) / sizeof(*rounds); i++) {
		int64_t more;
		do {
			more = match_once(sides, all, rounds[i]);
			pairs = more < 0 ? more : pairs + more;
		} while (more > 0);
	}
	side_deinit(&sides[0]);
	side_deinit(&sides[1]);
	free(all);
	return pairs;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_make.c: from a program to its shares, see share.h. What tells which function was entered
 * from anywhere is one job, of share 1. What costs next to nothing is every share's: it is compared
 * between the runs, and so are the landmarks, entries of a few functions that run often. */
#include "offline/share/share_marks.h"
#include "offline/share/share_split.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What all shares have, as a part of what everything costs: cold functions, and landmarks; and
 * these as a part of what a share pays. */
#define COLD_PART 0.004
#define LANDMARKS_PART 0.02
#define LANDMARKS_OF_SHARE 0.06
#define LANDMARKS_MAX 24

struct maker {
	struct share_whole whole;
	struct share_split split;
	struct share_cell *cold; /* per graph: of those that all shares have */
	uint32_t cold_untold;	 /* forks of these that nothing can tell */
	uint64_t *members;
	struct share_whole kept; /* what remains of the whole: what some share has */
};

static int make_graphs(struct maker *m)
{
	const struct pugmark_plan *plan = m->whole.plan;
	struct share_split *s = &m->split;
	uint32_t *component = calloc(plan->n_funcs + 1, sizeof(*component));
	s->graphs = calloc(plan->n_funcs + 1, sizeof(*s->graphs));
	int err = component && s->graphs ? share_components(plan, component) : -ENOMEM;
	for (uint32_t f = 0; f < plan->n_funcs && !err; f++) {
		struct share_graph *g = &s->graphs[s->n_graphs];
		if (!plan->funcs[f].n_nodes || plan->funcs[f].flags & PUGMARK_PLAN_FUNC_OPAQUE)
			continue;
		err = share_graph_init(g, plan, f, component, component[plan->n_funcs],
				       m->whole.site_ns);
		if (err)
			break;
		if (g->n_told)
			s->n_graphs++;
		else
			share_graph_deinit(g);
	}
	free(component);
	if (err)
		return err;
	s->told = calloc(s->n_graphs + 1, sizeof(*s->told));
	s->cells = calloc((size_t)SHARES_MAX * (s->n_graphs + 1), sizeof(*s->cells));
	m->cold = calloc(s->n_graphs + 1, sizeof(*m->cold));
	return s->told && s->cells && m->cold ? 0 : -ENOMEM;
}

struct weighed {
	uint32_t graph;
	double ns;
};

static int lighter_first(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->graph < y->graph ? -1 : x->graph > y->graph;
}

/* Functions that cost next to nothing are told by all shares. */
static int choose_cold(struct maker *m)
{
	struct share_split *s = &m->split;
	struct weighed *list = calloc(s->n_graphs + 1, sizeof(*list));
	double sum = 0, spent = 0;
	int err = list ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < s->n_graphs && !err; i++) {
		list[i].graph = i;
		err = share_cover_weigh(s, SHARE_WITHOUT_EVENTS, i, s->graphs[i].told, &list[i].ns);
		sum += list[i].ns;
	}
	if (!err)
		qsort(list, s->n_graphs, sizeof(*list), lighter_first);
	for (uint32_t i = 0; i < s->n_graphs && !err && !s->options->bound; i++) {
		struct share_graph *g = &s->graphs[list[i].graph];
		struct share_cell *c = share_cell_at(s, SHARES_MAX - 1, list[i].graph);
		uint32_t *forks = calloc(g->n_told + 1, sizeof(*forks)), n = 0;
		spent += list[i].ns;
		if (spent > COLD_PART * sum || !forks || !c) {
			err = forks && c ? 0 : -ENOMEM;
			free(forks);
			break;
		}
		for (uint32_t k = 0; k < g->flow.n_nodes; k++)
			if (g->told[k])
				forks[n++] = k;
		err = share_cover_add(s, SHARES_MAX - 1, list[i].graph, c, forks, n);
		for (uint32_t k = 0; k < n; k++)
			m->cold_untold += !c->forks[forks[k]];
		m->cold[list[i].graph] = *c;
		*c = (struct share_cell){0};
		memset(g->told, 0, g->flow.n_nodes);
		g->n_told = 0;
		free(forks);
	}
	free(list);
	return err;
}

static void add_members(struct maker *m, uint32_t graph, const struct share_cell *c, uint64_t bits)
{
	const struct share_graph *g = &m->split.graphs[graph];
	const struct pugmark_plan_func *f = &m->whole.plan->funcs[g->func];
	for (uint32_t i = 0; c->forks && i < f->n_nodes; i++) {
		uint32_t site = m->whole.plan->nodes[f->node + i].site;
		if (witness_on_node(&c->w, i) && site != PUGMARK_NONE)
			m->members[site] |= bits;
	}
}

static void find_untold(struct maker *m)
{
	struct share_split *s = &m->split;
	s->untold = m->cold_untold;
	for (uint32_t i = 0; i < s->n_jobs; i++) {
		const struct share_job *j = &s->jobs[i];
		const struct share_cell *c = share_cell_at(s, j->share, j->graph);
		bool again = i && s->jobs[i - 1].number == j->number;
		for (uint32_t k = 0; c && !again && k < j->n_forks; k++)
			s->untold += !c->forks[s->forks[j->fork + k]];
	}
}

/* The entries of functions that run often, as long as they cost little beside what a share pays. */
static void choose_landmarks(struct maker *m, double total, uint64_t all)
{
	const struct pugmark_plan *plan = m->whole.plan;
	double budget = total * fmin(LANDMARKS_PART, LANDMARKS_OF_SHARE / m->split.n);
	for (uint32_t n = 0; n < LANDMARKS_MAX; n++) {
		uint32_t best = PUGMARK_NONE;
		for (uint32_t f = 0; f < plan->n_funcs; f++) {
			const struct pugmark_plan_func *func = &plan->funcs[f];
			if (func->entry == PUGMARK_NONE || plan->decisions[func->entry].n != 1)
				continue;
			uint32_t node = plan->alternatives[plan->decisions[func->entry].first];
			uint32_t site = node ? plan->nodes[node].site : PUGMARK_NONE;
			if (site == PUGMARK_NONE || m->members[site] == all ||
			    m->whole.site_ns[site] > budget / 2)
				continue;
			if (best == PUGMARK_NONE || m->whole.site_ns[site] > m->whole.site_ns[best])
				best = site;
		}
		if (best == PUGMARK_NONE)
			return;
		m->members[best] = all;
		budget -= m->whole.site_ns[best];
	}
}

/* The share that has the least load, and room, of those not in @but; s->n: none. */
static uint32_t share_with_room(const struct share_split *s, uint64_t but)
{
	uint32_t least = s->n;
	for (uint32_t k = 0; k < s->n; k++)
		if (!(but >> k & 1) && (!s->options->bound || s->n_sites[k] < s->options->bound) &&
		    (least == s->n || s->load_ns[k] < s->load_ns[least]))
			least = k;
	return least;
}

/* Gives a site to as many shares as tell a decision, those that pay least. 0 or -E2BIG. */
static int give_out(struct share_split *s, double site_ns, uint64_t *members)
{
	for (uint32_t n = __builtin_popcountll(*members); n < split_tellers(s); n++) {
		uint32_t share = share_with_room(s, *members);
		if (share == s->n)
			return -E2BIG;
		*members |= 1ull << share;
		s->load_ns[share] += site_ns;
		s->n_sites[share]++;
	}
	return 0;
}

/* A bit for each share that tells what is entered from anywhere. */
static uint64_t event_members(const struct share_split *s)
{
	return split_tellers(s) == 64 ? UINT64_MAX : (1ull << split_tellers(s)) - 1;
}

static int collect(struct maker *m)
{
	struct share_split *s = &m->split;
	uint64_t all = s->n == 64 ? UINT64_MAX : (1ull << s->n) - 1;
	double total = 0;
	for (uint32_t i = 0; i < s->n_graphs; i++) {
		add_members(m, i, &m->cold[i], all);
		for (uint32_t k = 0; k < s->n; k++)
			add_members(m, i, &s->cells[(size_t)k * s->n_graphs + i], 1ull << k);
	}
	for (uint32_t i = 0; i < m->whole.plan->n_sites; i++) {
		m->members[i] |= m->whole.all[i] ? all : m->whole.events[i] ? event_members(s) : 0;
		if (m->whole.some[i] && give_out(s, m->whole.site_ns[i], &m->members[i]))
			return -E2BIG;
		for (uint64_t bits = m->members[i]; bits; bits &= bits - 1)
			total += m->whole.site_ns[i];
	}
	if (s->n > 1 && !s->options->bound)
		choose_landmarks(m, total, all);
	return 0;
}

/* FNV-1a: which set it is. Two that are the same are the same set. */
static uint64_t set_number(const struct share_set *set)
{
	uint64_t h = 0xcbf29ce484222325;
	const struct pugmark_plan *p = set->plan;
	const struct {
		const void *at;
		size_t len;
	} parts[] = {
		{p->build_id, p->build_id_len},
		{p->sites, p->n_sites * sizeof(*p->sites)},
		{p->nodes, p->n_nodes * sizeof(*p->nodes)},
		{set->members, p->n_sites * sizeof(*set->members)},
	};
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		for (size_t k = 0; k < parts[i].len; k++)
			h = (h ^ ((const uint8_t *)parts[i].at)[k]) * 0x100000001b3;
	return h;
}

/* Who sees the sites of what is kept, where the whole's members are @had; what was added to it is
 * seen by whoever has the least load. 0, -ENOMEM or -E2BIG. */
static int share_kept(struct maker *m, const struct program *program, const uint64_t *had)
{
	struct share_split *s = &m->split;
	const struct pugmark_plan *whole = m->whole.plan, *kept = m->kept.plan;
	uint64_t all = s->n == 64 ? UINT64_MAX : (1ull << s->n) - 1;
	for (uint32_t b = 0; b < program->n_blocks; b++) {
		uint32_t from = whole->nodes[m->whole.node_of[b]].site;
		uint32_t to = kept->nodes[m->kept.node_of[b]].site;
		if (m->whole.node_of[b] && m->kept.node_of[b] && from != PUGMARK_NONE &&
		    to != PUGMARK_NONE)
			m->members[to] |= had[from];
	}
	for (uint32_t i = 0; i < kept->n_sites; i++) {
		/* What shows the stack is taken from the first share, as all stack addresses are.
		 */
		bool stack =
			kept->sites[i].capture & (PUGMARK_CAPTURE_SNAPSHOT | PUGMARK_CAPTURE_STACK);
		bool added = !m->members[i];
		m->members[i] |= m->kept.all[i]	     ? all
				 : m->kept.events[i] ? event_members(s)
						     : stack;
		if (added && give_out(s, m->kept.site_ns[i], &m->members[i]))
			return -E2BIG;
	}
	return 0;
}

/* Has each fork of what is kept told by as many shares as shall. 0 or -ENOMEM. */
static int mend_kept(struct maker *m)
{
	struct share_split *s = &m->split;
	const struct pugmark_plan *kept = m->kept.plan;
	struct share_mended set = {
		.site_ns = m->kept.site_ns,
		.members = m->members,
		.n = s->n,
		.tellers = split_tellers(s),
	};
	for (uint32_t i = 0; i < kept->n_sites; i++)
		for (uint64_t bits = m->members[i]; bits; bits &= bits - 1)
			set.load_ns[__builtin_ctzll(bits)] += m->kept.site_ns[i];
	int err = share_mend(kept, &set);
	if (s->n > 1)
		s->untold = set.untold;
	return err;
}

/* The plan of the witnesses that some share has, and of what else it takes for their log to read
 * one way. What no share sees is silent there, as in any plan. 0, -ENOMEM or -E2BIG. */
static int keep_what_is_seen(struct maker *m, const struct program *program,
			     const struct pugmark_model *model)
{
	uint8_t *given = calloc(program->n_blocks + 1, 1);
	uint64_t *had = m->members;
	int err = given ? 0 : -ENOMEM;
	for (uint32_t b = 0; b < program->n_blocks && !err; b++) {
		uint32_t site = m->whole.plan->nodes[m->whole.node_of[b]].site;
		if (m->whole.node_of[b] && site != PUGMARK_NONE && had[site])
			given[b] = m->whole.marks[b];
	}
	if (!err)
		err = share_whole_make(program, model, m->split.options->paths, given, &m->kept);
	m->members = err ? NULL : calloc(m->kept.plan->n_sites + 1, sizeof(*m->members));
	if (!err)
		err = m->members ? share_kept(m, program, had) : -ENOMEM;
	if (!err)
		err = mend_kept(m);
	free(given);
	free(had);
	return err;
}

static void finish(struct maker *m, const struct share_bounds *bounds, struct share_set *out)
{
	struct share_split *s = &m->split;
	*out = (struct share_set){
		.plan = m->kept.plan,
		.members = m->members,
		.site_ns = m->kept.site_ns,
		.n = s->n,
		.untold = s->untold,
		.least_ns = bounds->least_ns,
		.two_jobs_ns = bounds->two_jobs_ns,
	};
	m->kept.plan = NULL;
	m->kept.site_ns = NULL;
	m->members = NULL;
	memcpy(out->machine, s->machine, sizeof(out->machine));
	for (uint32_t i = 0; i < out->plan->n_sites; i++) {
		if (m->kept.events[i])
			out->largest_job_ns += out->site_ns[i];
		for (uint32_t k = 0; k < s->n; k++)
			out->load_ns[k] += out->members[i] >> k & 1 ? out->site_ns[i] : 0;
	}
	for (uint32_t i = 0; i < s->n_jobs; i++)
		if (s->jobs[i].weight_ns > out->largest_job_ns)
			out->largest_job_ns = s->jobs[i].weight_ns;
	out->plan->share_set = set_number(out);
	out->plan->n_shares = s->n;
}

static int polish(struct share_split *s)
{
	int err = 0;
	for (uint32_t k = 0; k < s->n && !err; k++)
		for (uint32_t i = 0; i < s->n_graphs && !err; i++) {
			struct share_cell *c = &s->cells[(size_t)k * s->n_graphs + i];
			double cost = c->cost_ns;
			if (!c->forks)
				continue;
			err = share_cover_anew(s, k, i, c);
			s->load_ns[k] += c->cost_ns - cost;
		}
	return err;
}

static int bound_too_small(const struct share_options *o, struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, -E2BIG, NULL, PUGMARK_NO_OFFSET,
				"--bound %u: one job has more witnesses than that, or more than %d "
				"shares come of it (a larger bound, or --grouping fine)",
				o->bound, SHARES_MAX);
}

static int split(struct maker *m, struct pugmark_diag *diag)
{
	struct share_split *s = &m->split;
	uint32_t n_events = 0;
	s->n = s->options->machines;
	for (uint32_t k = 0; k < s->n; k++)
		s->machine[k] = k;
	for (uint32_t i = 0; i < m->whole.plan->n_sites; i++)
		if (m->whole.events[i]) {
			for (uint32_t k = 0; k < split_tellers(s); k++)
				s->load_ns[k] += m->whole.site_ns[i];
			n_events++;
		}
	for (uint32_t k = 0; k < split_tellers(s); k++)
		s->n_sites[k] = n_events;
	if (s->options->bound && n_events > s->options->bound)
		return pugmark_diag_set(
			diag, -E2BIG, NULL, PUGMARK_NO_OFFSET,
			"--bound %u: %u witnesses tell what is called from anywhere, "
			"and no share can tell a part of that (a larger bound, or "
			"fewer functions with -F)",
			s->options->bound, n_events);
	int err = share_jobs_make(s, s->options->grouping);
	if (!err)
		err = share_assign(s);
	if (err == -E2BIG)
		return bound_too_small(s->options, diag);
	if (!err)
		err = polish(s);
	if (!err && s->refine)
		err = share_refine(s);
	return err;
}

static void maker_deinit(struct maker *m)
{
	struct share_split *s = &m->split;
	for (uint32_t i = 0; i < s->n_graphs; i++) {
		share_graph_deinit(&s->graphs[i]);
		if (s->told)
			realizable_free(s->told[i]);
		if (m->cold)
			share_cell_deinit(&m->cold[i]);
	}
	for (size_t i = 0; s->cells && i < (size_t)SHARES_MAX * s->n_graphs; i++)
		share_cell_deinit(&s->cells[i]);
	share_whole_deinit(&m->whole);
	share_whole_deinit(&m->kept);
	void *heap[] = {s->graphs, s->told,    s->cells, s->forks,
			s->jobs,   s->told_by, m->cold,	 m->members};
	for (size_t i = 0; i < sizeof(heap) / sizeof(*heap); i++)
		free(heap[i]);
}

int share_make_set(const struct program *program, const struct pugmark_model *model,
		   const struct share_options *options, bool refine, struct share_set *out,
		   struct pugmark_diag *diag)
{
	struct maker m = {.split = {.options = options, .refine = refine}};
	int err = share_whole_make(program, model, options->paths, NULL, &m.whole);
	if (!err) {
		m.split.plan = m.whole.plan;
		m.split.site_ns = m.whole.site_ns;
		m.split.events = m.whole.events;
		m.members = calloc(m.whole.plan->n_sites + 1, sizeof(*m.members));
		err = m.members ? make_graphs(&m) : -ENOMEM;
	}
	if (!err)
		err = choose_cold(&m);
	if (!err)
		err = split(&m, diag);
	if (!err) {
		find_untold(&m);
		err = collect(&m);
		if (!err)
			err = keep_what_is_seen(&m, program, model);
		if (err == -E2BIG)
			bound_too_small(options, diag);
	}
	struct share_bounds bounds;
	if (!err)
		err = share_bound(&m.split, &bounds);
	if (!err)
		finish(&m, &bounds, out);
	maker_deinit(&m);
	return err == -ENOMEM
		       ? pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET, "out of memory")
		       : err;
}

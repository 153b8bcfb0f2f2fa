// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_forks.c: which way a walk goes at a fork, see share_walk.h: the one that goes with what all
 * shares that tell it have next. */
#include "offline/share/share_walk.h"

#include <errno.h>
#include <stdlib.h>

/* What is known of a part's next event. */
enum told {
	TOLD_NOTHING,
	TOLD_SITE,  /* it is of this site, of the activation that the walk is in */
	TOLD_OTHER, /* it is of none of that activation's */
	TOLD_NONE,  /* none comes before the next that is not ordinary */
};

static enum told what_is_next(const struct share_walk *w, uint32_t part)
{
	const struct walk_frame *f = &w->frames[w->n_frames - 1];
	const struct share_graph *g = &f->f->graph;
	const struct pugmark_witness_event *e = w->fronts[part];
	if (!(w->ordinary >> part & 1))
		return walk_is_at_a_place(e) ? TOLD_NONE : TOLD_NOTHING;
	if (w->t->site_func[e->site] != f->func)
		return TOLD_OTHER;
	if (!g->by_frame || !g->recursive)
		return TOLD_SITE;
	if (!f->cfa)
		return TOLD_NOTHING;
	return walk_in_frame(w, part, f, e) ? TOLD_SITE : TOLD_OTHER;
}

/* Whether some part has an event before the next that is not ordinary, and not of this activation:
 * then the activation is left, or calls, before that. */
static bool leaves(const struct share_walk *w)
{
	for (uint64_t bits = w->ordinary; bits; bits &= bits - 1)
		if (what_is_next(w, __builtin_ctzll(bits)) == TOLD_OTHER)
			return true;
	return false;
}

/* Keeps of the ways in w->ways, *@n of them, those that are in @entries; the first time, all. */
static int keep_ways(struct share_walk *w, uint32_t *n, const struct tell_entry *entries,
		     uint32_t n_entries)
{
	uint32_t kept = 0;
	if (*n == PUGMARK_NONE) {
		if (n_entries > w->cap_ways) {
			uint32_t *more = realloc(w->ways, n_entries * sizeof(*more));
			if (!more)
				return -ENOMEM;
			w->ways = more;
			w->cap_ways = n_entries;
		}
		for (uint32_t i = 0; i < n_entries; i++)
			w->ways[i] = entries[i].way;
		*n = n_entries;
		return 0;
	}
	for (uint32_t i = 0; i < *n; i++)
		for (uint32_t k = 0; k < n_entries; k++)
			if (w->ways[i] == entries[k].way)
				w->ways[kept++] = w->ways[i];
	*n = kept;
	return 0;
}

/* Whether @part can have next what it has, after way @way. 1, 0 or -ENOMEM. */
static int goes_with(struct share_walk *w, uint32_t part, uint32_t way)
{
	const struct walk_frame *f = walk_top(w);
	switch (what_is_next(w, part)) {
	case TOLD_NOTHING:
		return 1;
	case TOLD_SITE:
		return share_tell_possible(w->t, f->f, part, way, TELL_SEES_SITE,
					   w->fronts[part]->site);
	case TOLD_OTHER:
		return share_tell_possible(w->t, f->f, part, way, TELL_LEAVES, 0);
	case TOLD_NONE:
		break;
	}
	for (uint64_t bits = w->ordinary; bits; bits &= bits - 1) {
		uint32_t other = __builtin_ctzll(bits);
		enum told told = what_is_next(w, other);
		if (told == TOLD_NOTHING)
			continue;
		int got = told == TOLD_OTHER
				  ? share_tell_possible(w->t, f->f, part, way, TELL_LEAVES, 0)
				  : share_tell_possible(w->t, f->f, part, way, TELL_REACHES,
							w->t->node_of[w->fronts[other]->site] -
								f->f->graph.first);
		if (got <= 0)
			return got;
	}
	return 1;
}

/* The one way that goes with what all parts have next. 0, -EDOM: there are several, -ESTALE or
 * -ENOMEM. */
static int only_way(struct share_walk *w, uint32_t node, uint32_t *way)
{
	const struct flow_graph *g = &walk_top(w)->f->graph.flow;
	*way = PUGMARK_NONE;
	for (uint32_t k = 0; k < g->nodes[node].n_out; k++) {
		uint32_t to = g->edges[g->nodes[node].out + k].to;
		int goes = 1;
		if (to + 1 == g->n_nodes) /* elsewhere: no way by itself */
			continue;
		for (uint32_t part = 0; part < w->t->n_shares && goes == 1; part++)
			goes = goes_with(w, part, to);
		if (goes < 0)
			return goes;
		if (goes && *way != PUGMARK_NONE)
			return -EDOM;
		*way = goes ? to : *way;
	}
	return *way == PUGMARK_NONE ? walk_parted(w, 0, PUGMARK_NONE, w->fronts[0]) : 0;
}

uint32_t walk_way_told(const struct share_walk *w, uint32_t node)
{
	const struct walk_frame *f = walk_top((struct share_walk *)w);
	const struct tell_fork *fork = &f->f->forks[node];
	const struct tell_share *s = fork->shares;
	if (!fork->known || fork->n_shares != 1)
		return PUGMARK_NONE;
	enum told told = what_is_next(w, s->share);
	uint32_t n;
	if (told != TOLD_SITE && told != TOLD_OTHER)
		return PUGMARK_NONE;
	const struct tell_entry *entries = share_tell_ways(
		s, told == TOLD_SITE ? w->fronts[s->share]->site : TELL_ELSEWHERE, &n);
	return n == 1 ? entries->way : PUGMARK_NONE;
}

/* Which way the fork at @node goes, by what its shares have next. 0, -EDOM: that is not told,
 * -ESTALE or -ENOMEM. */
int walk_tell(struct share_walk *w, uint32_t node, uint32_t *way)
{
	struct tell_fork *fork = &walk_top(w)->f->forks[node];
	uint32_t n = PUGMARK_NONE;
	if (!fork->known && !share_tell_fork(w->t, walk_top(w)->f, node))
		return -ENOMEM;
	for (uint32_t i = 0; i < fork->n_shares; i++) {
		const struct tell_share *s = &fork->shares[i];
		enum told told = what_is_next(w, s->share);
		uint32_t n_entries;
		if (told == TOLD_NOTHING || (told == TOLD_NONE && !leaves(w)))
			continue;
		uint32_t site = told == TOLD_SITE ? w->fronts[s->share]->site : TELL_ELSEWHERE;
		const struct tell_entry *entries = share_tell_ways(s, site, &n_entries);
		int err = n_entries == 1 && n == PUGMARK_NONE
				  ? 0
				  : keep_ways(w, &n, entries, n_entries);
		if (err)
			return err;
		if (n_entries == 1 && n == PUGMARK_NONE) {
			*way = entries->way;
			return 0;
		}
		if (!n)
			return walk_parted(w, s->share, PUGMARK_NONE, w->fronts[s->share]);
		if (n == 1) {
			*way = w->ways[0];
			return 0;
		}
	}
	return only_way(w, node, way);
}

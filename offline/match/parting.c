// SPDX-License-Identifier: LGPL-2.1-or-later
/* parting.c: see parting.h. Both runs become streams of values in the order of time. */
#include "offline/match/parting.h"

#include "offline/base/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	AROUND = 32,	/* events of the first run around two anchors that are at the same time */
	HABIT = 3,	/* executions that are common before one that is strange is a turn */
	NEAR = 500,	/* instructions; turns nearer than that are as good as one another */
	LEFT_OUT = 20,	/* the weight of a turn that leaves out a large part of the run */
	LARGE_PART = 3, /* a third */
};

struct event {
	uint32_t when, what, insn;
};

struct stream {
	struct event *at;  /* by time */
	uint32_t *by_what; /* numbers of events, by value and time */
	uint32_t n;
};

struct anchor {
	uint32_t a, b; /* numbers of events */
};

/* --- streams --------------------------------------------------------------------------------- */

static int by_time(const void *x, const void *y)
{
	const struct event *a = x, *b = y;
	if (a->when != b->when)
		return a->when < b->when ? -1 : 1;
	return a->insn < b->insn ? -1 : a->insn > b->insn;
}

static int by_what(const void *x, const void *y, void *events)
{
	const struct event *all = events;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	if (all[a].what != all[b].what)
		return all[a].what < all[b].what ? -1 : 1;
	return a < b ? -1 : a > b;
}

static bool stream_init(struct stream *s, const struct match_side *side)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < side->n; i++)
		n += side->insns[i].n;
	if (n >= UINT32_MAX)
		return false;
	s->at = malloc((n + 1) * sizeof(*s->at));
	s->by_what = malloc((n + 1) * sizeof(*s->by_what));
	if (!s->at || !s->by_what)
		return false;
	for (uint32_t i = 0; i < side->n; i++) {
		const struct match_insn *m = &side->insns[i];
		/* A compiler may turn a jump. */
		uint32_t mask = m->kind == MATCH_JUMP ? ~1u : ~0u;
		for (uint32_t k = 0; k < m->n; k++)
			s->at[s->n++] = (struct event){m->when[k], m->what[k] & mask, i};
	}
	qsort(s->at, s->n, sizeof(*s->at), by_time);
	for (uint32_t k = 0; k < s->n; k++)
		s->by_what[k] = k;
	qsort_r(s->by_what, s->n, sizeof(*s->by_what), by_what, s->at);
	return true;
}

static void stream_deinit(struct stream *s)
{
	free(s->at);
	free(s->by_what);
}

static uint32_t what_at(const struct stream *s, uint32_t k)
{
	return s->at[s->by_what[k]].what;
}

static bool is_once(const struct stream *s, uint32_t k)
{
	return (!k || what_at(s, k - 1) != what_at(s, k)) &&
	       (k + 1 == s->n || what_at(s, k + 1) != what_at(s, k));
}

/* Whether the value is in the stream, in events from @from to before @to. */
static bool has(const struct stream *s, uint32_t what, uint32_t from, uint32_t to)
{
	uint32_t at = (uint32_t)SEARCH_FIRST_NOT(
		0, s->n, k,
		what_at(s, k) < what || (what_at(s, k) == what && s->by_what[k] < from));
	return at < s->n && what_at(s, at) == what && s->by_what[at] < to;
}

/* --- anchors --------------------------------------------------------------------------------- */

static int by_b(const void *x, const void *y)
{
	const struct anchor *a = x, *b = y;
	return a->b < b->b ? -1 : a->b > b->b;
}

/* Values that both have once, in the order of the second run. */
static uint32_t find_pairs(const struct stream *a, const struct stream *b, struct anchor *out)
{
	uint32_t n = 0;
	for (uint32_t i = 0, k = 0; i < a->n && k < b->n;) {
		uint32_t x = what_at(a, i), y = what_at(b, k);
		if (x == y && is_once(a, i) && is_once(b, k))
			out[n++] = (struct anchor){a->by_what[i], b->by_what[k]};
		i += x <= y;
		k += y <= x;
	}
	if (n)
		qsort(out, n, sizeof(*out), by_b);
	return n;
}

/* Leaves the longest chain that is in the order of the first run as well; UINT32_MAX: memory is
 * out. */
static uint32_t longest_chain(struct anchor *pairs, uint32_t n)
{
	uint32_t *last = malloc((n + 1) * sizeof(*last)); /* of the best chain of each length */
	uint32_t *before = malloc((n + 1) * sizeof(*before));
	uint32_t length = 0;
	for (uint32_t i = 0; last && before && i < n; i++) {
		uint32_t at =
			(uint32_t)SEARCH_FIRST_NOT(0, length, k, pairs[last[k]].a < pairs[i].a);
		before[i] = at ? last[at - 1] : UINT32_MAX;
		last[at] = i;
		length += at == length;
	}
	bool fine = last && before;
	struct anchor *chain = fine ? malloc((length + 1) * sizeof(*chain)) : NULL;
	for (uint32_t k = length, at = length && chain ? last[length - 1] : 0; chain && k--;
	     at = before[at])
		chain[k] = pairs[at];
	if (chain)
		memcpy(pairs, chain, length * sizeof(*chain));
	fine = fine && chain;
	free(chain);
	free(last);
	free(before);
	return fine ? length : UINT32_MAX;
}

/* --- what is strange ------------------------------------------------------------------------- */

/* What is known of an instruction so far. */
struct habit {
	uint32_t first; /* value that was common */
	bool varied;	/* another one was */
};

/* Whether between two anchors a large part of the first run is left out, and more than @*most. */
static bool leaves_out(const uint64_t executed[2], const uint32_t from[2], const uint32_t to[2],
		       double *most)
{
	/* As slow as it was until then. */
	double pace = from[1] ? (double)from[0] / from[1] : 0;
	double left = (double)(to[0] - from[0]) - pace * (double)(to[1] - from[1]);
	if (!executed[0] || !from[1] || left * LARGE_PART < (double)executed[0] || left <= *most)
		return false;
	*most = left;
	return true;
}

static void add_turn(struct match_parting *p, uint32_t when, float weight)
{
	p->turns[p->n_turns++] = (struct match_turn){when, weight};
}

static void look_at(struct match_parting *p, struct habit *habits, const struct event *e,
		    bool common)
{
	struct habit *h = &habits[e->insn];
	uint32_t *n = &p->common[e->insn];
	if (common) {
		h->varied |= *n && h->first != e->what;
		h->first = *n ? h->first : e->what;
		++*n;
	} else if (p->strange[e->insn] == UINT32_MAX) {
		p->strange[e->insn] = e->when;
		if (*n >= HABIT && h->varied)
			add_turn(p, e->when, 1);
	}
}

/* From anchor to anchor; the ends of the runs are two more. */
static void walk(struct match_parting *p, const struct stream *a, const struct stream *b,
		 const struct anchor *anchors, uint32_t n, const uint64_t executed[2],
		 struct habit *habits)
{
	struct anchor last = {0, 0};
	uint32_t when[2] = {0, 0}, at = 0;
	double most = 0;
	for (uint32_t i = 0; i <= n; i++) {
		struct anchor next = i < n ? anchors[i] : (struct anchor){a->n, b->n};
		uint32_t from = last.a > AROUND ? last.a - AROUND : 0;
		uint32_t to = next.a < a->n - AROUND && a->n > AROUND ? next.a + AROUND : a->n;
		for (uint32_t k = last.b; k < next.b; k++)
			look_at(p, habits, &b->at[k], has(a, b->at[k].what, from, to));
		uint32_t then[2] = {i < n ? a->at[next.a].when : (uint32_t)executed[0],
				    i < n ? b->at[next.b].when : (uint32_t)executed[1]};
		if (leaves_out(executed, when, then, &most))
			at = then[1];
		memcpy(when, then, sizeof(when));
		last = next;
	}
	if (most > 0)
		add_turn(p, at, LEFT_OUT);
}

int match_parting_init(struct match_parting *p, const struct match_side *a,
		       const struct match_side *b, const uint64_t executed[2])
{
	struct stream first = {0}, second = {0};
	struct anchor *anchors = NULL;
	struct habit *habits = calloc(b->n + 1, sizeof(*habits));
	uint32_t n = UINT32_MAX;
	*p = (struct match_parting){.strange = malloc((b->n + 1) * sizeof(*p->strange)),
				    .common = calloc(b->n + 1, sizeof(*p->common)),
				    .turns = calloc(b->n + 2, sizeof(*p->turns))};
	bool fine = habits && p->strange && p->common && p->turns && stream_init(&first, a) &&
		    stream_init(&second, b);
	if (fine) {
		memset(p->strange, 0xff, (b->n + 1) * sizeof(*p->strange));
		anchors = malloc((second.n + 1) * sizeof(*anchors));
	}
	if (anchors)
		n = longest_chain(anchors, find_pairs(&first, &second, anchors));
	if (n != UINT32_MAX)
		walk(p, &first, &second, anchors, n, executed, habits);
	free(anchors);
	free(habits);
	stream_deinit(&first);
	stream_deinit(&second);
	return n != UINT32_MAX ? 0 : -ENOMEM;
}

void match_parting_deinit(struct match_parting *p)
{
	free(p->strange);
	free(p->common);
	free(p->turns);
}

float match_parting_follows(const struct match_parting *p, uint32_t when)
{
	float sum = 0;
	for (uint32_t i = 0; i < p->n_turns; i++)
		if (p->turns[i].when >= when)
			sum += p->turns[i].weight / (float)(NEAR + p->turns[i].when - when);
	return sum;
}

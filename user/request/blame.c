// SPDX-License-Identifier: LGPL-2.1-or-later
/* blame.c: see blame.h. From the root on, the walk goes down into the call that explains most of
 * what the slow requests took longer, for as long as one does. It ends
 *
 * - above a call that a loop makes, unless each of these calls takes longer than in fast requests:
 *   the fault is in how often the loop goes round, or in that the function was called at all;
 * - where no single call explains it: the function itself does, or several that it calls. */
#include "user/request/blame.h"

#include <errno.h>
#include <stdlib.h>

/* The share of the excess that a single call has to explain, certainly or possibly. */
#define EXPLAINS_CERTAINLY 0.5
#define EXPLAINS_POSSIBLY 0.6
/* A call is a loop's if it is made so many times in one call of its caller. */
#define LOOP_CALLS 4.0
/* The loop goes round more often, or its calls take longer, if that is so many times as much as in
 * fast requests. */
#define GROWTH 2.0
/* Next to no fast request makes a call if so many times the share of slow ones does. */
#define HARDLY_EVER 50.0

struct request_means request_means_of(const struct requests *r, const struct request_weight *w,
				      int class)
{
	double n = (double)r->n_of[class];
	if (!r->n_of[class])
		return (struct request_means){0};
	return (struct request_means){
		.calls = (double)w->calls / n,
		.blocks = (double)w->blocks / n,
		.total_min_ns = (double)w->total.min_ns / n,
		.total_max_ns = (double)w->total.max_ns / n,
		.self_min_ns = (double)w->self.min_ns / n,
		.self_max_ns = (double)w->self.max_ns / n,
		.requests = (double)w->requests / n,
	};
}

struct request_excess request_excess_of(const struct requests *r, const struct request_node *node)
{
	struct request_means fast = request_means_of(r, &node->of[REQUEST_FAST], REQUEST_FAST);
	struct request_means slow = request_means_of(r, &node->of[REQUEST_SLOW], REQUEST_SLOW);
	return (struct request_excess){slow.total_min_ns - fast.total_max_ns,
				       slow.total_max_ns - fast.total_min_ns};
}

static double middle(struct request_excess e)
{
	return (e.min_ns + e.max_ns) / 2;
}

/* Children of each node, as lists: the tree has parents alone. */
struct family {
	uint32_t *first, *next; /* heap; 0: none */
};

static int family_init(struct family *f, const struct request_tree *t)
{
	f->first = calloc(t->n, sizeof(*f->first));
	f->next = calloc(t->n, sizeof(*f->next));
	if (!f->first || !f->next)
		return -ENOMEM;
	for (uint32_t i = t->n; i-- > 1;) {
		f->next[i] = f->first[t->nodes[i].parent];
		f->first[t->nodes[i].parent] = i;
	}
	return 0;
}

/* Better comes first: what is certain, what the fast ones never do, what is possible. */
static bool explains_more(const struct request_tree *t, uint32_t a, struct request_excess of_a,
			  uint32_t b, struct request_excess of_b)
{
	double certain_a = of_a.min_ns > 0 ? of_a.min_ns : 0;
	double certain_b = of_b.min_ns > 0 ? of_b.min_ns : 0;
	if (certain_a != certain_b)
		return certain_a > certain_b;
	bool only_a = !t->nodes[a].of[REQUEST_FAST].calls;
	bool only_b = !t->nodes[b].of[REQUEST_FAST].calls;
	if (only_a != only_b)
		return only_a;
	return of_a.max_ns > of_b.max_ns;
}

/* What @node possibly took longer itself, without what it calls. */
static double own_excess(const struct requests *r, const struct request_node *node)
{
	return request_means_of(r, &node->of[REQUEST_SLOW], REQUEST_SLOW).self_max_ns -
	       request_means_of(r, &node->of[REQUEST_FAST], REQUEST_FAST).self_min_ns;
}

/* The child of @at that explains what its @excess is, or 0. */
static uint32_t explained_by(const struct requests *r, const struct request_tree *t,
			     const struct family *f, uint32_t at, struct request_excess excess)
{
	uint32_t best = 0, possible = 0;
	struct request_excess of_best = {0};
	double whole = middle(excess);
	for (uint32_t i = f->first[at]; i; i = f->next[i]) {
		struct request_excess e = request_excess_of(r, &t->nodes[i]);
		possible += e.max_ns >= EXPLAINS_POSSIBLY * whole;
		if (best && !explains_more(t, i, e, best, of_best))
			continue;
		best = i;
		of_best = e;
	}
	if (!best || whole <= 0)
		return 0;
	bool certain = of_best.min_ns >= EXPLAINS_CERTAINLY * whole;
	possible += at && own_excess(r, &t->nodes[at]) >= EXPLAINS_POSSIBLY * whole;
	bool only = possible == 1 || !t->nodes[best].of[REQUEST_FAST].calls;
	if (!certain && !(of_best.max_ns >= EXPLAINS_POSSIBLY * whole && only))
		return 0;
	/* Without a name there is nothing to go down into. */
	return r->of.ids.at[t->nodes[best].id].kind <= FUNC_IMPORT ? best : 0;
}

/* How often @child is called for one call of @at, in requests of @class. */
static double calls_each(const struct request_tree *t, uint32_t at, uint32_t child, int class)
{
	uint64_t calls = t->nodes[at].of[class].calls;
	return calls ? (double)t->nodes[child].of[class].calls / (double)calls : 0;
}

/* The child that @at calls more often in slow requests, by how much more often; 0: none. */
static uint32_t looped(const struct request_tree *t, const struct family *f, uint32_t at)
{
	uint32_t best = 0;
	double most = 0;
	for (uint32_t i = at ? f->first[at] : 0; i; i = f->next[i]) {
		double slow = calls_each(t, at, i, REQUEST_SLOW);
		double fast = calls_each(t, at, i, REQUEST_FAST);
		if (slow < LOOP_CALLS || slow < GROWTH * fast || slow - fast <= most)
			continue;
		most = slow - fast;
		best = i;
	}
	return best;
}

/* Whether slow requests call @node, and next to no fast one. */
static bool of_slow_ones(const struct requests *r, const struct request_node *node)
{
	return request_means_of(r, &node->of[REQUEST_SLOW], REQUEST_SLOW).requests >=
	       HARDLY_EVER * request_means_of(r, &node->of[REQUEST_FAST], REQUEST_FAST).requests;
}

/* Whether @child is called in a loop of @at that goes round more often, and that explains more of
 * the excess than that each of its calls certainly took longer: a machine that is busy with other
 * things makes calls longer too. Where only slow requests call @at, its loop is what they have
 * more. */
static bool only_repeats(const struct requests *r, const struct request_tree *t, uint32_t at,
			 uint32_t child)
{
	const struct request_weight *of = t->nodes[child].of;
	double calls = at ? calls_each(t, at, child, REQUEST_SLOW) : 0;
	if (calls < LOOP_CALLS)
		return false;
	const struct request_weight *slow = &of[REQUEST_SLOW], *fast = &of[REQUEST_FAST];
	if (!fast->calls || !fast->total.max_ns || of_slow_ones(r, &t->nodes[at]))
		return true;
	double longer = (double)slow->total.min_ns / (double)slow->calls /
			((double)fast->total.max_ns / (double)fast->calls);
	double more = calls / calls_each(t, at, child, REQUEST_FAST);
	return longer <= GROWTH || longer <= more;
}

static int find_fault(const struct requests *r, const struct request_tree *t, struct family *f,
		      struct request_blame *out)
{
	out->path = calloc(t->n, sizeof(*out->path));
	if (!out->path || family_init(f, t))
		return -ENOMEM;
	for (uint32_t i = f->first[0]; i; i = f->next[i]) {
		struct request_excess e = request_excess_of(r, &t->nodes[i]);
		out->excess.min_ns += e.min_ns;
		out->excess.max_ns += e.max_ns;
	}
	struct request_excess excess = out->excess;
	for (uint32_t at = 0, child; (child = explained_by(r, t, f, at, excess)); at = child) {
		if (only_repeats(r, t, at, child))
			break;
		out->path[out->n_path++] = child;
		excess = request_excess_of(r, &t->nodes[child]);
	}
	if (!out->n_path)
		return 0;
	uint32_t at = out->path[out->n_path - 1];
	out->loop = looped(t, f, at);
	for (int c = 0; c < N_REQUEST_CLASSES && out->loop; c++)
		out->loop_calls[c] = calls_each(t, at, out->loop, c);
	return 0;
}

/* ---- functions, over all places ---- */

static int by_excess(const void *a, const void *b)
{
	const struct request_row *x = a, *y = b;
	double certain_x = x->self.min_ns > 0 ? x->self.min_ns : 0;
	double certain_y = y->self.min_ns > 0 ? y->self.min_ns : 0;
	if (certain_x != certain_y)
		return certain_x < certain_y ? 1 : -1;
	if (x->self.max_ns != y->self.max_ns)
		return x->self.max_ns < y->self.max_ns ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

static void add_means(struct request_means *to, struct request_means from)
{
	to->calls += from.calls;
	to->blocks += from.blocks;
	to->total_min_ns += from.total_min_ns;
	to->total_max_ns += from.total_max_ns;
	to->self_min_ns += from.self_min_ns;
	to->self_max_ns += from.self_max_ns;
	if (from.requests > to->requests)
		to->requests = from.requests;
}

static int make_rows(const struct requests *r, const struct request_tree *t,
		     struct request_blame *out)
{
	struct request_row *rows = calloc(r->of.ids.n + 1ul, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	out->rows = rows;
	for (uint32_t i = 1; i < t->n; i++)
		for (int c = 0; c < N_REQUEST_CLASSES; c++)
			add_means(&rows[t->nodes[i].id].of[c],
				  request_means_of(r, &t->nodes[i].of[c], c));
	for (uint32_t id = 0; id < r->of.ids.n; id++) {
		struct request_row row = rows[id];
		const struct request_means *fast = &row.of[REQUEST_FAST];
		const struct request_means *slow = &row.of[REQUEST_SLOW];
		if (!slow->calls)
			continue;
		row.id = id;
		row.self = (struct request_excess){slow->self_min_ns - fast->self_max_ns,
						   slow->self_max_ns - fast->self_min_ns};
		rows[out->n_rows++] = row;
	}
	qsort(rows, out->n_rows, sizeof(*rows), by_excess);
	return 0;
}

int request_blame(const struct requests *r, const struct request_tree *t, struct request_blame *out)
{
	struct family f = {0};
	*out = (struct request_blame){0};
	int err = find_fault(r, t, &f, out);
	free(f.first);
	free(f.next);
	return err ? err : make_rows(r, t, out);
}

void request_blame_deinit(struct request_blame *blame)
{
	free(blame->path);
	free(blame->rows);
	*blame = (struct request_blame){0};
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* switch.c: see switch.h. The answer is the first candidate in order that does it, whichever try
 * ends first; or (all) each that does it. */
#include "user/switch/tries.h"

#include <errno.h>
#include <stdlib.h>

enum { CLOSER = 10 };

static int by_candidate(const void *a, const void *b)
{
	const struct critical *x = a, *y = b;
	return x->candidate < y->candidate ? -1 : x->candidate > y->candidate;
}

static int by_right(const void *a, const void *b)
{
	const struct critical *x = a, *y = b;
	if (x->same_ways != y->same_ways)
		return x->same_ways < y->same_ways ? -1 : 1;
	return x->right > y->right ? -1 : x->right < y->right ? 1 : by_candidate(a, b);
}

/* Those that come closest first, each jump once. */
static void sort_closer(struct tries *t)
{
	uint32_t n = 0;
	if (t->closer.n)
		qsort(t->closer.at, t->closer.n, sizeof(*t->closer.at), by_right);
	for (uint32_t i = 0; i < t->closer.n && n < CLOSER; i++) {
		uint32_t k = 0;
		while (k < n && t->c->at[t->closer.at[k].candidate].ip !=
					t->c->at[t->closer.at[i].candidate].ip)
			k++;
		if (k == n)
			t->closer.at[n++] = t->closer.at[i];
	}
	t->closer.n = n;
}

static int by_progress(const void *a, const void *b)
{
	const struct unfinished *x = a, *y = b;
	if (x->right != y->right)
		return x->right > y->right ? -1 : 1;
	return x->candidate < y->candidate ? -1 : x->candidate > y->candidate;
}

static void put_in_order(struct tries *t)
{
	if (t->found.n)
		qsort(t->found.at, t->found.n, sizeof(*t->found.at), by_candidate);
	sort_closer(t);
	if (t->unfinished.n)
		qsort(t->unfinished.at, t->unfinished.n, sizeof(*t->unfinished.at), by_progress);
	if (t->found.n && !t->o->all)
		t->found.n = 1;
}

int switch_print(struct switch_options *o, struct pugmark_diag *diag)
{
	struct why_run w = {0};
	struct candidates c = {0};
	struct tries *t = calloc(1, sizeof(*t));
	int err = !t ? -ENOMEM : o->replay ? replay_as_it_is(o, diag) : run_as_it_is(o, diag);
	if (t && !err)
		err = why_run_init(&w, &o->why, diag);
	if (t && !err)
		err = candidates_find(&w, &o->why, o->beside, o->order, &c, diag);
	if (t && !err) {
		t->o = o;
		t->c = &c;
		err = o->replay		? tries_in_replay(t, &w, diag)
		      : o->cluster.used ? tries_on_cluster(t, diag)
					: tries_by_running(t, diag);
		put_in_order(t);
	}
	if (!err)
		(o->json ? tries_print_json : tries_print_text)(t, &w);
	bool found = !err && t->found.n;
	if (t) {
		VEC_FREE(&t->found);
		VEC_FREE(&t->closer);
		VEC_FREE(&t->unfinished);
	}
	candidates_deinit(&c);
	why_run_deinit(&w);
	free(t);
	return err ? err : !found;
}

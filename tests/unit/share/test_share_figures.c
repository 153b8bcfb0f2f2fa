// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_share_figures.c: claims that the check of a distribution gives the paper's answers on its
 * Figures 2, 4, 6 and 9 ("Distributed Program Tracing", ESEC/FSE 2013), that the merge rebuilds the
 * walk of Figure 9, and that of random small graphs no distribution is accepted under which two
 * different walks record the same: all walks up to a length are compared.
 *
 * Drawings are lost in the text of the paper; loops are where the text says that cycles are. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offline/plan/plan_build.h"
#include "offline/prove/share_check.h"
#include "offline/share/share_merge.h"
#include "tests/support/hand_program.h"
#include "tests/support/random_program.h"

#define BLOCKS_MAX 16
#define SUCCS_MAX 6

/* A function's graph: block 0 is the entry; a block without successors returns. */
struct graph {
	uint32_t n;
	int succ[BLOCKS_MAX][SUCCS_MAX]; /* ends with -1 */
};

/* Its plan, in which each block has a witness. */
struct planned {
	struct prog_func func;
	struct prog_block blocks[BLOCKS_MAX];
	uint32_t succs[BLOCKS_MAX * SUCCS_MAX];
	struct program prog;
	struct choice choice;
	struct pugmark_plan *plan;
	uint32_t site_of[BLOCKS_MAX];
	uint64_t members[BLOCKS_MAX];
};

static void plan_graph(const struct graph *g, struct planned *p)
{
	uint8_t marks[BLOCKS_MAX];
	uint32_t unresolved, node_of[BLOCKS_MAX];
	*p = (struct planned){.func = {.n_blocks = g->n, .freq = 1, .flags = PROG_PATHS}};
	p->func.addr = hand_block(0, 0).addr;
	p->prog = (struct program){.funcs = &p->func,
				   .blocks = p->blocks,
				   .succs = p->succs,
				   .n_funcs = 1,
				   .n_blocks = g->n};
	for (uint32_t b = 0; b < g->n; b++) {
		p->blocks[b] = hand_block(b, 0);
		p->blocks[b].succ = p->prog.n_succs;
		for (int k = 0; k < SUCCS_MAX && g->succ[b][k] >= 0; k++) {
			p->succs[p->prog.n_succs++] = g->succ[b][k];
			p->blocks[b].n_succ++;
		}
		p->blocks[b].flags |= p->blocks[b].n_succ == 2 ? PROG_BRANCH : 0;
		p->blocks[b].flags |= p->blocks[b].n_succ ? 0 : PROG_RET;
		marks[b] = MARK_BLOCK;
	}
	p->func.flags |= PROG_ENTRY_WITNESS;
	assert_int_equal(choose_witnesses_given(&p->prog, marks, &p->choice, &unresolved), 0);
	assert_int_equal(
		plan_build_mapped(&p->prog, &p->choice, MODE_PATHS_BLOCKS, NULL, node_of, &p->plan),
		0);
	assert_true(p->plan->n_sites <= BLOCKS_MAX);
	for (uint32_t b = 0; b < g->n; b++)
		p->site_of[b] = p->plan->nodes[node_of[b]].site;
}

static void planned_deinit(struct planned *p)
{
	pugmark_plan_free(p->plan);
	choice_deinit(&p->choice);
}

/* The shares see the entry, all of them, and the blocks of @shares: each share's, ended by -1. */
static void distribute(const struct graph *g, struct planned *p, uint32_t n_shares,
		       const int shares[][BLOCKS_MAX])
{
	memset(p->members, 0, sizeof(p->members));
	p->members[p->site_of[0]] = (1ull << n_shares) - 1;
	for (uint32_t k = 0; k < n_shares; k++)
		for (int i = 0; shares[k][i] >= 0; i++) {
			assert_true((uint32_t)shares[k][i] < g->n);
			p->members[p->site_of[shares[k][i]]] |= 1ull << k;
		}
}

struct untold {
	uint32_t n;
	uint64_t a, b; /* addresses of two ways that are looked for */
	bool found;
	const struct pugmark_plan *plan;
};

static void note_untold(void *ctx, const struct share_fault *f)
{
	struct untold *u = ctx;
	if (f->kind != SHARE_FAULT_UNTOLD)
		return;
	uint64_t a = u->plan->nodes[f->node].addr, b = u->plan->nodes[f->other].addr;
	u->n++;
	u->found |= (a == u->a && b == u->b) || (a == u->b && b == u->a);
}

static struct untold check(const struct planned *p, uint32_t n_shares)
{
	struct untold u = {
		.plan = p->plan,
		.a = hand_block(3, 0).addr,
		.b = hand_block(4, 0).addr,
	};
	struct share_check_counts counts = {0};
	assert_int_equal(share_check(p->plan, p->members, n_shares, note_untold, &u, &counts), 0);
	return u;
}

/* entry, b1: b2 or exit; b2: b3 or b4; both b5, back to b1. */
static const struct graph figure_2 = {
	7,
	{{1, -1}, {2, 6, -1}, {3, 4, -1}, {5, -1}, {5, -1}, {1, -1}, {-1}},
};

static void figure_2_is_refused_with_the_reason(void **state)
{
	(void)state;
	const int apart[][BLOCKS_MAX] = {{3, -1}, {4, -1}};
	const int both[][BLOCKS_MAX] = {{3, 2, -1}, {4, 2, -1}};
	struct planned p;
	plan_graph(&figure_2, &p);
	distribute(&figure_2, &p, 2, apart);
	struct untold u = check(&p, 2);
	assert_true(u.n && u.found); /* because of b3 and b4 */
	distribute(&figure_2, &p, 2, both);
	assert_int_equal(check(&p, 2).n, 0);
	planned_deinit(&p);
}

/* Blocks b1 to b11 and the exit, 12; b11 goes back to b1. */
static const struct graph figure_4 = {
	13,
	{{1, -1},
	 {2, 12, -1},
	 {3, 4, -1},
	 {5, -1},
	 {5, -1},
	 {6, 7, -1},
	 {11, -1},
	 {8, 9, -1},
	 {10, -1},
	 {10, -1},
	 {11, -1},
	 {1, -1},
	 {-1}},
};

static void figure_4_is_accepted(void **state)
{
	(void)state;
	const int shares[][BLOCKS_MAX] = {{3, 4, -1}, {5, 6, -1}, {8, 10, -1}};
	const int less[][BLOCKS_MAX] = {{3, 4, -1}, {5, 6, -1}, {8, -1}};
	struct planned p;
	plan_graph(&figure_4, &p);
	distribute(&figure_4, &p, 3, shares);
	assert_int_equal(check(&p, 3).n, 0);
	distribute(&figure_4, &p, 3, less);
	assert_true(check(&p, 3).n > 0);
	planned_deinit(&p);
}

/* Three diamonds, at b2, b5 and b8, in one loop. */
static const struct graph figure_6 = {
	13,
	{{1, -1},
	 {2, 12, -1},
	 {3, 4, -1},
	 {5, -1},
	 {5, -1},
	 {6, 7, -1},
	 {8, -1},
	 {8, -1},
	 {9, 10, -1},
	 {11, -1},
	 {11, -1},
	 {1, -1},
	 {-1}},
};

static void figure_6_has_one_profile_for_two_diamonds(void **state)
{
	(void)state;
	const int shares[][BLOCKS_MAX] = {{3, 4, 6, -1}, {9, 10, -1}};
	const int three[][BLOCKS_MAX] = {{3, 4, -1}, {6, 7, -1}, {9, 10, -1}};
	const int less[][BLOCKS_MAX] = {{3, 6, -1}, {9, 10, -1}};
	struct planned p;
	plan_graph(&figure_6, &p);
	distribute(&figure_6, &p, 2, shares);
	assert_int_equal(check(&p, 2).n, 0);
	distribute(&figure_6, &p, 3, three);
	assert_int_equal(check(&p, 3).n, 0);
	distribute(&figure_6, &p, 2, less);
	assert_true(check(&p, 2).n > 0);
	planned_deinit(&p);
}

/* entry, b0: b1, b2, b3 or the exit (5, which is block 6 here); each to b4, back to b0. */
static const struct graph figure_9 = {
	7,
	{{1, -1}, {2, 3, 4, 6, -1}, {5, -1}, {5, -1}, {5, -1}, {1, -1}, {-1}},
};

struct replay {
	const struct planned *p;
	const int *path; /* blocks, ended by -1 */
	uint32_t next[4], n;
	struct pugmark_witness_event event[4];
	uint32_t merged[16];
	bool ended[4];
};

static int next_event(void *ctx, uint32_t part, const struct pugmark_witness_event **event)
{
	struct replay *r = ctx;
	struct pugmark_witness_event *e = &r->event[part];
	*event = e;
	*e = (struct pugmark_witness_event){
		.kind = PUGMARK_EVENT_WITNESS, .bias = 0x10000, .arm.witness.cfa = 0x7000};
	while (r->path[r->next[part]] >= 0) {
		e->site = r->p->site_of[r->path[r->next[part]++]];
		if (r->p->members[e->site] >> part & 1)
			return 1;
	}
	e->kind = PUGMARK_EVENT_END;
	bool more = !r->ended[part];
	r->ended[part] = true;
	return more;
}

static int take_event(void *ctx, const struct pugmark_witness_event *event)
{
	struct replay *r = ctx;
	if (event->kind == PUGMARK_EVENT_WITNESS && r->n < 16)
		r->merged[r->n++] = event->site;
	return 0;
}

static void figure_9_is_rebuilt(void **state)
{
	(void)state;
	/* <entry, b0, b3, b4, b0, b1, b4, b0, b2, b4, b0, exit> under {b1,b3} {b1,b2} {b2,b3}
	 * {exit}. */
	const int path[] = {0, 1, 4, 5, 1, 2, 5, 1, 3, 5, 1, 6, -1};
	const int shares[][BLOCKS_MAX] = {{2, 4, -1}, {2, 3, -1}, {3, 4, -1}, {6, -1}};
	const int seen[] = {0, 4, 2, 3, 6};
	struct planned p;
	struct share_teller *teller;
	struct share_walk *walk;
	struct share_divergence diverged;
	plan_graph(&figure_9, &p);
	distribute(&figure_9, &p, 4, shares);
	assert_int_equal(check(&p, 4).n, 0);
	struct replay r = {.p = &p, .path = path};
	const struct share_io io = {next_event, take_event, &r};
	assert_int_equal(share_teller_new(p.plan, p.members, 4, &teller), 0);
	assert_int_equal(share_walk_new(teller, &io, NULL, &walk), 0);
	assert_int_equal(share_walk_run(walk, &diverged), 0);
	assert_int_equal(r.n, sizeof(seen) / sizeof(*seen));
	for (uint32_t i = 0; i < r.n; i++)
		assert_int_equal(r.merged[i], p.site_of[seen[i]]);
	share_walk_free(walk);
	share_teller_free(teller);
	planned_deinit(&p);
}

/* ---- all walks of small graphs ---- */

#define LENGTH_MAX 11
#define WALKS_MAX 4000
#define KEY_BYTES (LENGTH_MAX + 1) * 4

struct walked {
	uint8_t key[KEY_BYTES]; /* what each share records, one after the other */
	uint8_t path[LENGTH_MAX + 1];
};

struct walks {
	const struct graph *g;
	const struct planned *p;
	uint32_t n_shares, n;
	struct walked *at;
	uint8_t path[LENGTH_MAX + 1];
};

static void add_walk(struct walks *w, uint32_t length)
{
	struct walked *out = &w->at[w->n++];
	uint32_t at = 0;
	memset(out, 0xff, sizeof(*out));
	for (uint32_t k = 0; k < w->n_shares; k++) {
		for (uint32_t i = 0; i < length; i++)
			if (w->p->members[w->p->site_of[w->path[i]]] >> k & 1)
				out->key[at++] = w->path[i];
		out->key[at++] = 0xfe;
	}
	memcpy(out->path, w->path, length);
}

static void walk_on(struct walks *w, uint32_t block, uint32_t length)
{
	w->path[length++] = block;
	if (w->g->succ[block][0] < 0 && w->n < WALKS_MAX)
		add_walk(w, length);
	for (int k = 0; k < SUCCS_MAX && w->g->succ[block][k] >= 0 && length < LENGTH_MAX; k++)
		walk_on(w, w->g->succ[block][k], length);
}

static int by_key(const void *a, const void *b)
{
	return memcmp(a, b, KEY_BYTES);
}

/* Whether two different walks record the same under every share. */
static bool two_look_alike(struct walks *w)
{
	w->n = 0;
	walk_on(w, 0, 0);
	qsort(w->at, w->n, sizeof(*w->at), by_key);
	for (uint32_t i = 1; i < w->n; i++)
		if (!by_key(&w->at[i - 1], &w->at[i]) &&
		    memcmp(w->at[i - 1].path, w->at[i].path, sizeof(w->at[i].path)))
			return true;
	return false;
}

static void small_graph(struct graph *g, uint64_t *rng)
{
	g->n = 4 + random_below(rng, 5);
	for (uint32_t b = 0; b < g->n; b++) {
		int n = 0;
		if (b + 1 < g->n)
			g->succ[b][n++] = b + 1;
		for (uint32_t k = random_below(rng, 3); b && b + 1 < g->n && k; k--) {
			int to = 1 + random_below(rng, g->n - 1);
			bool had = false;
			for (int i = 0; i < n; i++)
				had |= g->succ[b][i] == to;
			if (!had && n < 3)
				g->succ[b][n++] = to;
		}
		g->succ[b][n] = -1;
	}
}

static void what_is_accepted_tells_all_walks_apart(void **state)
{
	(void)state;
	uint32_t accepted = 0, refused = 0, refused_alike = 0;
	struct walks w = {.at = malloc(WALKS_MAX * sizeof(*w.at))};
	assert_non_null(w.at);
	for (uint64_t seed = 1; seed <= 20000; seed++) {
		struct graph g;
		struct planned p;
		uint64_t rng = seed;
		small_graph(&g, &rng);
		plan_graph(&g, &p);
		w.g = &g;
		w.p = &p;
		w.n_shares = 1 + random_below(&rng, 3);
		uint32_t dense = 20 + random_below(&rng, 60);
		p.members[p.site_of[0]] = (1ull << w.n_shares) - 1;
		for (uint32_t b = 1; b < g.n; b++)
			for (uint32_t k = 0; k < w.n_shares; k++)
				p.members[p.site_of[b]] |= (uint64_t)random_chance(&rng, dense)
							   << k;
		bool good = !check(&p, w.n_shares).n, alike = two_look_alike(&w);
		if (good && alike)
			print_error("graph %llu: accepted, and two walks look alike\n",
				    (unsigned long long)seed);
		assert_false(good && alike);
		accepted += good;
		refused += !good;
		refused_alike += !good && alike;
		planned_deinit(&p);
	}
	print_message("%u distributions accepted, none of which two walks look alike under; %u "
		      "refused, of which under %u two walks of at most %d blocks look alike\n",
		      accepted, refused, refused_alike, LENGTH_MAX);
	assert_true(accepted > 1000 && refused_alike > 1000);
	free(w.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figure_2_is_refused_with_the_reason),
		cmocka_unit_test(figure_4_is_accepted),
		cmocka_unit_test(figure_6_has_one_profile_for_two_diamonds),
		cmocka_unit_test(figure_9_is_rebuilt),
		cmocka_unit_test(what_is_accepted_tells_all_walks_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_placement.c: claims about placements of witnesses inside a function, on random graphs: each
 * is realizable by both conditions, a walk is recovered from what its witnesses say, and none of
 * its kind is cheaper, which on small graphs is tried for every set there is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "offline/place/placement_search.h"
#include "offline/place/placement.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_program.h"

static const enum placement placements[] = {PLACE_BLOCKS, PLACE_TARGETS, PLACE_EDGES, PLACE_NODES,
					    PLACE_BEST};
#define N_PLACEMENTS 5

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void both_conditions_agree(struct realizable *r, const struct witness_set *w, bool holds)
{
	assert_int_equal(realizable_holds(r, w, NULL), holds);
	assert_int_equal(realizable_witnesses_differ(r, w), holds);
}

static void every_placement_is_realizable(void **state)
{
	(void)state;
	uint64_t n = setting("PLACEMENT_GRAPHS", 20000), steps = 0, events = 0;
	for (uint64_t seed = 1; seed <= n; seed++) {
		struct flow_graph g;
		struct realizable *r;
		struct witness_set w;
		random_graph(&g, seed, 2 + seed % 30);
		assert_int_equal(realizable_new(&g, &r), 0);
		assert_int_equal(witness_set_init(&w, &g), 0);
		for (int i = 0; i < N_PLACEMENTS; i++) {
			witness_set_clear(&w, &g);
			assert_int_equal(placement_choose(&g, placements[i], &w), 0);
			both_conditions_agree(r, &w, true);
			uint64_t rng = seed;
			for (int walk = 0; walk < 4; walk++)
				assert_true(graph_walk_recovers(&g, &w, &rng, 60, &steps, &events));
			assert_int_equal(placement_without_edges(&g, &w), 0);
			both_conditions_agree(r, &w, true);
		}
		witness_set_deinit(&w);
		realizable_free(r);
		flow_graph_deinit(&g);
	}
	print_message("%llu graphs, %d placements, %llu steps walked, %llu witness events\n",
		      (unsigned long long)n, N_PLACEMENTS, (unsigned long long)steps,
		      (unsigned long long)events);
}

/* Any sets, most of them not realizable: the two conditions are the same one. */
static void the_two_conditions_are_one(void **state)
{
	(void)state;
	uint64_t n = setting("PLACEMENT_GRAPHS", 20000), held = 0, asked = 0;
	for (uint64_t seed = 1; seed <= n; seed++) {
		struct flow_graph g;
		struct realizable *r;
		struct witness_set w;
		uint64_t rng = seed * 77;
		random_graph(&g, seed, 2 + seed % 12);
		assert_int_equal(realizable_new(&g, &r), 0);
		assert_int_equal(witness_set_init(&w, &g), 0);
		for (int i = 0; i < 10; i++) {
			uint32_t all = 2 * g.n_nodes + g.n_edges;
			for (uint32_t id = 0; id < all; id++)
				w.nodes[id] = random_chance(&rng, 10 + 8 * i);
			bool holds = realizable_holds(r, &w, NULL);
			both_conditions_agree(r, &w, holds);
			held += holds;
			asked++;
		}
		witness_set_deinit(&w);
		realizable_free(r);
		flow_graph_deinit(&g);
	}
	print_message("%llu sets, %llu realizable\n", (unsigned long long)asked,
		      (unsigned long long)held);
	assert_true(held > asked / 20 && held < asked - asked / 20);
}

/* A set that is not realizable has two walks that it cannot tell apart: what a violation names. */
static void a_violation_is_a_pair_of_walks(void **state)
{
	(void)state;
	uint64_t diamonds = 0, cycles = 0;
	for (uint64_t seed = 1; seed <= 20000; seed++) {
		struct flow_graph g;
		struct realizable *r;
		struct witness_set w;
		struct violation v;
		uint64_t rng = seed * 991;
		random_graph(&g, seed, 2 + seed % 12);
		assert_int_equal(realizable_new(&g, &r), 0);
		assert_int_equal(witness_set_init(&w, &g), 0);
		for (uint32_t id = 0; id < 2 * g.n_nodes + g.n_edges; id++)
			w.nodes[id] = random_chance(&rng, 20);
		if (!realizable_holds(r, &w, &v)) {
			assert_true(graph_violation_is_silent(&g, &w, &v));
			diamonds += v.kind == VIOLATION_DIAMOND;
			cycles += v.kind == VIOLATION_CYCLE;
		}
		witness_set_deinit(&w);
		realizable_free(r);
		flow_graph_deinit(&g);
	}
	print_message("%llu diamonds, %llu cycles\n", (unsigned long long)diamonds,
		      (unsigned long long)cycles);
	assert_true(diamonds > 1000 && cycles > 1000);
}

/* The least weight of a realizable set among the @n witnesses from @first on: all 2^n are tried. */
static double brute_force(const struct flow_graph *g, struct realizable *r, uint32_t first,
			  uint32_t n, struct witness_set *w)
{
	double least = INFINITY;
	for (uint32_t set = 0; set < 1u << n; set++) {
		witness_set_clear(w, g);
		bool possible = true;
		for (uint32_t i = 0; i < n; i++)
			w->nodes[first + i] = set >> i & 1;
		double weight = witness_set_weight(w, g);
		possible = isfinite(weight);
		if (possible && weight < least && realizable_witnesses_differ(r, w))
			least = weight;
	}
	return least;
}

struct optimum_tally {
	uint64_t graphs, tree_optimal, figure_realizable, figure_optimal;
	double tree_excess, figure_excess;
};

static void check_edges(const struct flow_graph *g, struct realizable *r, struct witness_set *w,
			struct optimum_tally *t)
{
	double least = brute_force(g, r, 2 * g->n_nodes, g->n_edges, w);
	witness_set_clear(w, g);
	assert_int_equal(placement_spanning_tree(g, w), 0);
	double tree = witness_set_weight(w, g);
	witness_set_clear(w, g);
	assert_int_equal(placement_choose(g, PLACE_EDGES, w), 0);
	assert_float_equal(witness_set_weight(w, g), least, 1e-3);
	assert_true(tree >= least - 1e-3);
	t->tree_optimal += tree < least + 1e-3;
	t->tree_excess += tree / (least ? least : 1) - 1;
}

static void check_nodes(const struct flow_graph *g, struct realizable *r, struct witness_set *w,
			struct optimum_tally *t)
{
	double least = brute_force(g, r, 0, g->n_nodes, w);
	witness_set_clear(w, g);
	assert_int_equal(placement_figure_11(g, w), 0);
	double figure = witness_set_weight(w, g);
	bool realizable = realizable_holds(r, w, NULL);
	t->figure_realizable += realizable;
	t->figure_optimal += realizable && figure < least + 1e-3;
	witness_set_clear(w, g);
	assert_int_equal(placement_choose(g, PLACE_NODES, w), 0);
	assert_float_equal(witness_set_weight(w, g), least, 1e-3);
}

static void small_graphs_have_no_cheaper_set(void **state)
{
	(void)state;
	struct optimum_tally t = {0};
	uint64_t n = setting("PLACEMENT_SMALL", 20000);
	for (uint64_t seed = 1; t.graphs < n; seed++) {
		struct flow_graph g;
		struct realizable *r;
		struct witness_set w;
		random_graph(&g, seed, 2 + seed % 8);
		if (g.n_edges > 12) {
			flow_graph_deinit(&g);
			continue;
		}
		assert_int_equal(realizable_new(&g, &r), 0);
		assert_int_equal(witness_set_init(&w, &g), 0);
		check_edges(&g, r, &w, &t);
		check_nodes(&g, r, &w, &t);
		t.graphs++;
		witness_set_deinit(&w);
		realizable_free(r);
		flow_graph_deinit(&g);
	}
	print_message("%llu graphs. The spanning tree's edges: the least in %llu. Figure 11 as "
		      "printed: realizable in %llu, the least in %llu\n",
		      (unsigned long long)t.graphs, (unsigned long long)t.tree_optimal,
		      (unsigned long long)t.figure_realizable,
		      (unsigned long long)t.figure_optimal);
}

/* Ball and Larus' claim: no cheaper set of edges breaks every cycle of the undirected graph. */
static void the_spanning_tree_breaks_all_cycles_cheapest(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5000; seed++) {
		struct flow_graph g;
		struct witness_set w;
		random_graph(&g, seed, 2 + seed % 8);
		assert_int_equal(witness_set_init(&w, &g), 0);
		if (g.n_edges <= 12) {
			assert_int_equal(placement_spanning_tree(&g, &w), 0);
			double tree = witness_set_weight(&w, &g), least = INFINITY;
			for (uint32_t set = 0; set < 1u << g.n_edges; set++) {
				for (uint32_t i = 0; i < g.n_edges; i++)
					w.edges[i] = set >> i & 1;
				double weight = witness_set_weight(&w, &g);
				if (weight < least && graph_is_forest_without(&g, w.edges))
					least = weight;
			}
			assert_float_equal(tree, least, 1e-3);
		}
		witness_set_deinit(&w);
		flow_graph_deinit(&g);
	}
}

/* What is fixed stays, counts, and need not be paid for twice. */
static void what_is_witnessed_anyway_is_used(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5000; seed++) {
		struct flow_graph g;
		struct realizable *r;
		struct witness_set w, fixed;
		uint64_t rng = seed * 31;
		random_graph(&g, seed, 2 + seed % 20);
		assert_int_equal(realizable_new(&g, &r), 0);
		assert_int_equal(witness_set_init(&w, &g), 0);
		assert_int_equal(witness_set_init(&fixed, &g), 0);
		for (uint32_t i = 0; i < g.n_nodes; i++) {
			fixed.nodes[i] = isfinite(g.nodes[i].weight) && random_chance(&rng, 20);
			fixed.ways[i] = isfinite(g.nodes[i].way_weight) && random_chance(&rng, 20);
		}
		for (int i = 0; i < N_PLACEMENTS; i++) {
			witness_set_copy(&w, &fixed, &g);
			assert_int_equal(placement_choose(&g, placements[i], &w), 0);
			both_conditions_agree(r, &w, true);
			for (uint32_t id = 0; id < 2 * g.n_nodes; id++)
				assert_true(w.nodes[id] >= fixed.nodes[id]);
			if (placements[i] < PLACE_EDGES)
				continue;
			for (uint32_t id = 0; id < 2 * g.n_nodes + g.n_edges; id++) {
				if (!w.nodes[id] || fixed.nodes[id])
					continue;
				w.nodes[id] = 0;
				assert_false(realizable_witnesses_differ(r, &w));
				w.nodes[id] = 1;
			}
		}
		witness_set_deinit(&fixed);
		witness_set_deinit(&w);
		realizable_free(r);
		flow_graph_deinit(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_placement_is_realizable),
		cmocka_unit_test(the_two_conditions_are_one),
		cmocka_unit_test(a_violation_is_a_pair_of_walks),
		cmocka_unit_test(small_graphs_have_no_cheaper_set),
		cmocka_unit_test(the_spanning_tree_breaks_all_cycles_cheapest),
		cmocka_unit_test(what_is_witnessed_anyway_is_used),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

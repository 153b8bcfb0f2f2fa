// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_share_bound.c: claims that what share_bound_fork() finds is, for random graphs, the least
 * weight of any set of witnesses that breaks all directed cycles through a fork, as it is found by
 * trying each set; and that a fork which realizable.h says to be told never costs less. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "offline/share/share_split.h"

#define NODES 9

static uint64_t state_of_lot;

static uint32_t lot(uint32_t n)
{
	state_of_lot = state_of_lot * 6364136223846793005u + 1442695040888963407u;
	return (state_of_lot >> 33) % n;
}

/* Whether @fork comes back to itself past none of @witnesses, a bit a node. */
static bool comes_back(const struct flow_graph *g, uint32_t fork, uint32_t witnesses)
{
	uint32_t seen = 0, open = 1u << fork;
	if (witnesses >> fork & 1)
		return false;
	while (open) {
		uint32_t v = __builtin_ctz(open);
		open &= open - 1;
		for (uint32_t e = g->nodes[v].out; e < g->nodes[v].out + g->nodes[v].n_out; e++) {
			uint32_t to = g->edges[e].to;
			if (to == fork)
				return true;
			if (!((seen | witnesses) >> to & 1)) {
				seen |= 1u << to;
				open |= 1u << to;
			}
		}
	}
	return false;
}

static float weight_of(const struct flow_graph *g, uint32_t v)
{
	return fminf(g->nodes[v].weight, g->nodes[v].way_weight);
}

/* @told: of the sets that tell the fork, nodes and ways alike, and not only break its cycles. */
static double least_by_trying(const struct flow_graph *g, uint32_t fork, struct realizable *told)
{
	double least = INFINITY;
	for (uint32_t set = 0; set < 1u << NODES; set++) {
		double sum = 0;
		struct witness_set w;
		bool breaks = !comes_back(g, fork, set);
		for (uint32_t v = 0; v < NODES; v++)
			sum += set >> v & 1 ? weight_of(g, v) : 0;
		if (sum >= least || !breaks)
			continue;
		if (told) {
			assert_int_equal(witness_set_init(&w, g), 0);
			for (uint32_t v = 0; v < NODES; v++) {
				bool way = g->nodes[v].way_weight < g->nodes[v].weight;
				(way ? w.ways : w.nodes)[v] = set >> v & 1;
			}
			breaks = realizable_fork_told(told, &w, fork, NULL);
			witness_set_deinit(&w);
		}
		least = breaks ? sum : least;
	}
	return least;
}

static void make_graph(struct flow_graph *g)
{
	uint32_t pairs[2 * NODES][2];
	uint8_t there[NODES][NODES] = {{0}};
	uint32_t n = 0;
	for (uint32_t i = 0; i < 2 * NODES; i++) {
		uint32_t from = lot(NODES), to = lot(NODES);
		if (there[from][to]++)
			continue;
		pairs[n][0] = from;
		pairs[n++][1] = to;
	}
	assert_int_equal(flow_graph_init(g, NODES, (const uint32_t(*)[2])pairs, n, 0, NODES - 1),
			 0);
	for (uint32_t v = 0; v < NODES; v++) {
		g->nodes[v].weight = lot(8) ? lot(100) + 1 : INFINITY;
		g->nodes[v].way_weight = lot(3) ? INFINITY : lot(100) + 1;
	}
}

static void cut_is_the_least(void **state)
{
	uint32_t cut_short = 0, above = 0;
	(void)state;
	state_of_lot = 1;
	for (uint32_t i = 0; i < 2000; i++) {
		struct flow_graph g;
		struct realizable *told;
		uint32_t fork = lot(NODES);
		make_graph(&g);
		assert_int_equal(realizable_new(&g, &told), 0);
		double cut = share_bound_fork(&g, fork), least = least_by_trying(&g, fork, NULL);
		double tells = least_by_trying(&g, fork, told);
		assert_true(cut == least || fabs(cut - least) < 1e-6 * least);
		assert_true(tells >= cut * (1 - 1e-6));
		cut_short += isfinite(cut) && cut > 0;
		above += tells > cut * (1 + 1e-6);
		realizable_free(told);
		flow_graph_deinit(&g);
	}
	print_message("%u of 2000 forks lie on cycles that can be broken; to tell %u costs more\n",
		      cut_short, above);
	assert_true(cut_short > 500 && above > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(cut_is_the_least)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

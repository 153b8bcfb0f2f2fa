// SPDX-License-Identifier: LGPL-2.1-or-later
/* Tier one of a WET: timestamps of paths, values by groups and labels of edges, on examples like
 * the paper's (its sections 3.1 to 3.3) and on random ones against what was put in. */
#include "offline/wet/groups.h"
#include "offline/wet/labels.h"
#include "offline/wet/paths.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t random_number(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

/* Executes blocks by number (their addresses in that order) and counts paths. */
struct counting {
	struct wet_paths paths;
	uint32_t timestamps, blocks;
};

static void execute(struct counting *c, uint32_t block)
{
	bool fresh;
	if (c->paths.n_now && !wet_paths_goes_on(&c->paths, block)) {
		assert_int_not_equal(wet_paths_end(&c->paths, &fresh), UINT32_MAX);
		c->timestamps++;
	}
	wet_paths_add(&c->paths, block, block);
	c->blocks++;
}

/* Figure 2's numbers: 103 executions of blocks, in a loop with several ways through it, are 10
 * executions of 4 paths. */
static void timestamps_of_paths(void **state)
{
	struct counting c = {0};
	bool fresh;
	(void)state;
	/* Ways through the loop: 10 blocks, 12, 9; and one that leaves it, of 7. */
	static const uint32_t lengths[] = {10, 12, 9, 7}, skips[] = {0, 1, 2, 3};
	static const uint32_t order[] = {0, 0, 1, 1, 2, 0, 1, 1, 2, 3};
	for (unsigned i = 0; i < 10; i++)
		for (uint32_t k = 0; k < lengths[order[i]]; k++)
			execute(&c, k ? 10 * k + skips[order[i]] : 1);
	wet_paths_end(&c.paths, &fresh);
	c.timestamps++;
	assert_int_equal(c.blocks, 103);
	assert_int_equal(c.timestamps, 10);
	assert_int_equal(c.paths.n, 4);
	wet_paths_deinit(&c.paths);
}

/* Section 3.2: x, y = f(x), z = g(x, y); of x only two values occur. */
static void one_pattern_for_a_group(void **state)
{
	const uint64_t inputs[] = {1, 1, 1};
	uint32_t group[3];
	struct wet_group g = {.width = 3};
	(void)state;
	assert_int_equal(wet_groups_form(inputs, 3, group), 1);
	for (int i = 0; i < 4; i++) {
		uint64_t x = i % 2 ? 20 : 10, values[] = {x, x * x, x + x * x};
		assert_true(wet_group_add(&g, values));
	}
	assert_int_equal(g.n_uvals, 2);
	const uint32_t pattern[] = {0, 1, 0, 1};
	assert_memory_equal(g.pattern, pattern, sizeof(pattern));
	assert_int_equal(wet_group_value(&g, 2, 3), 420);
	wet_group_deinit(&g);
}

/* Figure 3: statements that depend on x and v, others on x and u; the one that reads x is in
 * exactly one group. */
static void groups_by_inputs(void **state)
{
	enum { X = 1, U = 2, V = 4, W = 8 };
	const uint64_t inputs[] = {X, X | V, X | V, X | U, X | U, U, W};
	uint32_t group[7];
	(void)state;
	assert_int_equal(wet_groups_form(inputs, 7, group), 3);
	assert_int_equal(group[1], group[2]);
	assert_int_equal(group[3], group[4]);
	assert_int_not_equal(group[1], group[3]);
	assert_true(group[0] == group[1] || group[0] == group[3]);
	assert_int_equal(group[5], group[3]);
	assert_int_not_equal(group[6], group[1]);
	assert_int_not_equal(group[6], group[3]);
}

static void values_come_back(void **state)
{
	enum { N = 3000, WIDTH = 5 };
	static uint64_t all[N][WIDTH];
	struct wet_group g = {.width = WIDTH};
	uint64_t seed = 7;
	(void)state;
	for (int i = 0; i < N; i++) {
		uint32_t which = random_number(&seed) % 50;
		for (int k = 0; k < WIDTH; k++)
			all[i][k] = which * (uint64_t)(k + 1) * 0x9e3779b97f4a7c15;
		assert_true(wet_group_add(&g, all[i]));
	}
	assert_true(g.n_uvals <= 50);
	for (int i = 0; i < N; i++)
		for (int k = 0; k < WIDTH; k++)
			assert_int_equal(wet_group_value(&g, k, i), all[i][k]);
	wet_group_deinit(&g);
}

/* Figure 4: no labels where an edge is local in every execution; one list for edges between the
 * same nodes with the same labels. */
static void labels_of_edges(void **state)
{
	struct wet_edges e = {0};
	const struct wet_edge local = {.to = 11, .from = 10, .to_node = 3, .from_node = 3};
	const struct wet_edge mixed = {.to = 12, .from = 10, .to_node = 3, .from_node = 3};
	const struct wet_edge one = {.to = 13, .from = 5, .to_node = 3, .from_node = 2};
	const struct wet_edge two = {.to = 14, .from = 6, .to_node = 3, .from_node = 2};
	const struct wet_edge other = {.to = 15, .from = 6, .to_node = 3, .from_node = 2};
	const uint32_t executions[] = {0, 0, 9, 4};
	uint32_t last = 0; /* of whichever edge: it is looked at */
	(void)state;
	for (uint32_t t = 0; t < 4; t++) {
		assert_true(wet_edges_add(&e, &local, t, t, &last));
		assert_true(wet_edges_add(&e, &mixed, t, t == 2 ? 1 : t, &last));
		assert_true(wet_edges_add(&e, &one, t, 2 * t, &last));
		assert_true(wet_edges_add(&e, &two, t, 2 * t, &last));
		assert_true(wet_edges_add(&e, &other, t, 2 * t + 1, &last));
	}
	assert_true(wet_edges_finish(&e, executions));
	assert_int_equal(e.n, 5);
	assert_true(e.at[0].inferred);
	assert_int_equal(e.at[0].n_times, 0);
	assert_int_equal(e.at[1].n_times, 8);
	const uint32_t pairs[] = {0, 0, 1, 1, 2, 1, 3, 3};
	assert_memory_equal(e.at[1].times, pairs, sizeof(pairs));
	assert_int_equal((e.at[2].shares != 0) + (e.at[3].shares != 0), 1);
	assert_int_equal(e.at[2].n_times + e.at[3].n_times, 8);
	assert_int_equal(e.at[4].shares, 0);
	wet_edges_deinit(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timestamps_of_paths), cmocka_unit_test(one_pattern_for_a_group),
		cmocka_unit_test(groups_by_inputs),    cmocka_unit_test(values_come_back),
		cmocka_unit_test(labels_of_edges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* Tier one of a WET: timestamps of paths, values by groups and labels of edges, on examples like
 * the paper's (its sections 3.1 to 3.3) and on random ones against what was put in. */
#include "offline/dep/reads.h"
#include "offline/wet/graph/graph_impl.h"
#include "offline/wet/graph/groups.h"
#include "offline/wet/graph/labels.h"
#include "offline/wet/reads/makers.h"
#include "offline/wet/graph/paths.h"

#include <errno.h>
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

/* All numbers of a stream that is complete; to be freed. */
static uint64_t *numbers(struct wet_press *press, const struct wet_growing *g)
{
	struct wet_blocks *blocks = wet_blocks_new();
	uint64_t *all = malloc((g->n + 1) * sizeof(*all));
	assert_non_null(blocks);
	assert_non_null(all);
	assert_true(wet_press_wait(press));
	assert_true(wet_growing_read(g, blocks, all, g->n));
	wet_blocks_free(blocks);
	return all;
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
		assert_int_not_equal(wet_paths_end(&c->paths, UINT32_MAX, &fresh), UINT32_MAX);
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
	wet_paths_end(&c.paths, 0, &fresh);
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
	struct wet_press *press = wet_press_new();
	(void)state;
	assert_non_null(press);
	assert_int_equal(wet_groups_form(inputs, 3, group), 1);
	for (int i = 0; i < 4; i++) {
		uint64_t x = i % 2 ? 20 : 10, values[] = {x, x * x, x + x * x};
		assert_true(wet_group_add(press, &g, values));
	}
	assert_int_equal(g.n_uvals, 2);
	const uint64_t pattern[] = {0, 1, 0, 1};
	uint64_t *got = numbers(press, &g.pattern);
	assert_int_equal(g.pattern.n, 4);
	assert_memory_equal(got, pattern, sizeof(pattern));
	assert_int_equal(g.uvals[3 * pattern[3] + 2], 420);
	free(got);
	wet_group_deinit(&g);
	wet_press_free(press);
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
	enum { N = 30000, WIDTH = 5 };
	static uint64_t all[N][WIDTH];
	struct wet_group g = {.width = WIDTH};
	struct wet_press *press = wet_press_new();
	uint64_t seed = 7;
	(void)state;
	assert_non_null(press);
	for (int i = 0; i < N; i++) {
		uint32_t which = i < 100 ? 7 : random_number(&seed) % 50; /* long the same */
		for (int k = 0; k < WIDTH; k++)
			all[i][k] = which * (uint64_t)(k + 1) * 0x9e3779b97f4a7c15;
		assert_true(wet_group_add(press, &g, all[i]));
	}
	assert_true(g.n_uvals <= 50);
	assert_int_equal(g.pattern.n, N);
	uint64_t *pattern = numbers(press, &g.pattern);
	for (int i = 0; i < N; i++)
		assert_memory_equal(&g.uvals[WIDTH * pattern[i]], all[i], sizeof(all[i]));
	free(pattern);
	wet_group_deinit(&g);
	wet_press_free(press);
}

/* Streams that begin as others are what was put in, whichever of their blocks they share. */
static void streams_begin_as_others(void **state)
{
	static const uint64_t lengths[] = {1, 5, 4095, 4096, 4097, 8192, 9000, 20000};
	enum { LENGTHS = sizeof(lengths) / sizeof(*lengths), N = 20000 };
	struct wet_press *press = wet_press_new();
	struct wet_growing one = {0};
	uint64_t seed = 9;
	(void)state;
	assert_non_null(press);
	for (int i = 0; i < N; i++)
		assert_true(wet_growing_add(press, &one, random_number(&seed)));
	uint64_t *all = numbers(press, &one);
	seed = 9;
	for (int i = 0; i < N; i++)
		assert_int_equal(all[i], random_number(&seed));
	for (unsigned k = 0; k < LENGTHS; k++) {
		struct wet_growing other = {0}, third = {0};
		assert_true(wet_growing_begin_as(press, &other, &one, lengths[k]));
		for (uint64_t i = 0; i < lengths[k]; i++)
			assert_true(wet_growing_add(press, &third, (uint32_t)all[i]));
		assert_true(wet_press_wait(press));
		assert_int_equal(wet_growing_compare(&other, &third), 0);
		for (uint64_t i = lengths[k]; i < 2 * lengths[k]; i++)
			assert_true(wet_growing_add(press, &other, (uint32_t)i));
		uint64_t *got = numbers(press, &other);
		assert_int_equal(other.n, 2 * lengths[k]);
		assert_memory_equal(got, all, lengths[k] * sizeof(*got));
		for (uint64_t i = lengths[k]; i < 2 * lengths[k]; i++)
			assert_int_equal(got[i], i);
		assert_int_not_equal(wet_growing_compare(&other, &third), 0);
		free(got);
		wet_growing_deinit(&other);
		wet_growing_deinit(&third);
	}
	free(all);
	wet_growing_deinit(&one);
	wet_press_free(press);
}

/* Figure 4: no labels where an edge is local in every execution; one list for edges between the
 * same nodes with the same labels. */
static void labels_of_edges(void **state)
{
	struct wet_edges e = {.press = wet_press_new()};
	const struct wet_edge local = {.to = 11, .from = 10, .to_node = 3, .from_node = 3};
	const struct wet_edge mixed = {.to = 12, .from = 10, .to_node = 3, .from_node = 3};
	const struct wet_edge one = {.to = 13, .from = 5, .to_node = 3, .from_node = 2};
	const struct wet_edge two = {.to = 14, .from = 6, .to_node = 3, .from_node = 2};
	const struct wet_edge other = {.to = 15, .from = 6, .to_node = 3, .from_node = 2};
	const uint32_t executions[] = {0, 0, 9, 4};
	uint32_t last = 0; /* of whichever edge: it is looked at */
	(void)state;
	assert_non_null(e.press);
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
	assert_int_equal(wet_edge_labels(&e.at[0]), 0);
	assert_int_equal(wet_edge_labels(&e.at[1]), 4);
	static const uint64_t pairs[2][4] = {{0, 1, 2, 3}, {0, 1, 1, 3}};
	for (int side = 0; side < 2; side++) {
		uint64_t *got = numbers(e.press, &e.at[1].times[side]);
		assert_memory_equal(got, pairs[side], sizeof(pairs[side]));
		free(got);
	}
	assert_int_equal((e.at[2].shares != 0) + (e.at[3].shares != 0), 1);
	assert_int_equal(wet_edge_labels(&e.at[2]) + wet_edge_labels(&e.at[3]), 4);
	assert_int_equal(e.at[4].shares, 0);
	wet_press_free(e.press);
	wet_edges_deinit(&e);
}

/* What edges were told, kept by a list each. */
enum { EDGES = 24, TOLD_MAX = 40000 };
struct told {
	uint32_t n, times[TOLD_MAX][2];
};

/* Edges that are alike for long or short, from the first execution or from a later one, and part:
 * each has the labels that it was told, its own or another one's between the same nodes; the same
 * labels are kept once, by the first that has them, and those of an edge that is there in every
 * execution from the same one not at all. */
static void labels_are_those_told(void **state)
{
	enum { EXECUTIONS = 9000, SEEDS = 12 };
	static struct told told[EDGES];
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct wet_edges e = {.press = wet_press_new()};
		uint64_t random = seed;
		uint32_t numbers_of[EDGES], last[EDGES] = {0};
		uint32_t n = seed % 3 ? EXECUTIONS : 60, executions[] = {n, n};
		assert_non_null(e.press);
		for (int k = 0; k < EDGES; k++)
			told[k].n = 0;
		for (uint32_t t = 0; t < n; t++)
			for (int k = 0; k < EDGES; k++) {
				/* Of four kinds; one kind in three goes its own way for a while. */
				const struct wet_edge edge = {.to = 100 + k,
							      .from = k % 2 ? 100 : 1,
							      .to_node = 1,
							      .from_node = k % 2};
				uint32_t when = random_number(&random) % (n / (1 + k % 3)) + 1;
				bool odd = k % 3 == 0 && t > n / 3 && !(t % when);
				uint32_t from = k % 4 < 2 ? t : t / 2 + (t * 7 % 5 == 0);
				unsigned times = odd && k % 6 == 0 ? 2 : odd ? 0 : 1;
				if (k >= EDGES / 2 && t < n / 4)
					continue;
				for (unsigned i = 0; i < times && told[k].n < TOLD_MAX; i++) {
					uint32_t *pair = told[k].times[told[k].n++];
					pair[0] = t;
					pair[1] = i ? t / 3 : from;
					assert_true(wet_edges_add(&e, &edge, pair[0], pair[1],
								  &last[k]));
					numbers_of[k] = last[k] - 1;
				}
			}
		assert_true(wet_edges_finish(&e, executions));
		for (int k = 0; k < EDGES; k++) {
			const struct wet_edge *x = &e.at[numbers_of[k]];
			const struct wet_edge *of = x->shares ? &e.at[x->shares - 1] : x;
			assert_int_equal(x->n, told[k].n);
			bool whole = told[k].n == n && k % 2;
			for (uint32_t i = 0; i < told[k].n; i++)
				whole &= told[k].times[i][0] == i && told[k].times[i][1] == i;
			assert_int_equal(x->inferred, whole);
			assert_true(of <= x && !of->shares);
			if (whole)
				continue;
			assert_int_equal(of->from_node, x->from_node);
			for (int side = 0; side < 2; side++) {
				uint64_t *got = numbers(e.press, &of->times[side]);
				assert_int_equal(of->times[side].n, told[k].n);
				for (uint32_t i = 0; i < told[k].n; i++)
					assert_int_equal(got[i], told[k].times[i][side]);
				free(got);
			}
			for (int m = 0; m < EDGES; m++) {
				bool same = k % 2 == m % 2 && told[k].n == told[m].n &&
					    !memcmp(told[k].times, told[m].times,
						    8 * (size_t)told[k].n);
				if (same)
					assert_true(of <= &e.at[numbers_of[m]]);
			}
		}
		wet_press_free(e.press);
		wet_edges_deinit(&e);
	}
}

/* Of old definitions those that live are known; of new ones all. */
static void makers_of_old_definitions(void **state)
{
	enum { N = 20000 };
	static struct wet_maker all[N + 1];
	struct wet_makers m = {0};
	uint64_t seed = 5;
	uint32_t made = 0, live[N];
	bool lives[N + 1] = {false};
	(void)state;
	for (int round = 0; round < 10; round++) {
		uint32_t old = made, n = 0;
		for (uint32_t last = made + N / 10; made < last;) {
			assert_true(wet_makers_room(&m, last));
			made++;
			all[made] = (struct wet_maker){random_number(&seed) % 3, made};
			lives[made] = true;
			if (all[made].stmt)
				wet_makers_set(&m, made, all[made]);
		}
		for (uint32_t d = 1; d <= made; d++) {
			struct wet_maker by = wet_makers_get(&m, d);
			if (lives[d])
				assert_int_equal(by.stmt, all[d].stmt);
			if (lives[d] && by.stmt)
				assert_int_equal(by.time, d);
			lives[d] = lives[d] && random_number(&seed) % 4;
			if (lives[d])
				live[n++] = d;
		}
		assert_true(wet_makers_keep(&m, old + (made - old) / 2, live, n));
		for (uint32_t d = old + (made - old) / 2 + 1; d <= made; d++)
			lives[d] = true;
	}
	assert_int_equal(wet_makers_get(&m, made + 1).stmt, 0);
	wet_makers_deinit(&m);
}

/* Timestamps have 32 bits: what would need more is refused, and what just fits is not. */
static void no_more_paths_than_timestamps_tell(void **state)
{
	struct value_insn insn = {.ip = 16, .len = 1};
	const struct value_block code = {.ip = 16, .n_insns = 1, .insns = &insn};
	struct dep_block *block = dep_block_new(&code);
	(void)state;
	assert_non_null(block);
	for (unsigned paths = 1; paths <= 2; paths++) {
		struct dep_trace trace = {0};
		struct wet_graph *g = wet_graph_new(0, UINT64_MAX, false, false);
		assert_non_null(g);
		/* The threads wait for the first batch. */
		g->totals.paths = UINT32_MAX - (uint64_t)1;
		for (unsigned i = 0; i < paths; i++) {
			assert_true(
				VEC_PUSH(&g->batches[0].steps, (struct wet_step){.block = block}));
			assert_true(
				VEC_PUSH(&g->batches[0].steps, (struct wet_step){.block = NULL}));
		}
		assert_int_equal(wet_graph_finish(g, &trace, NULL), paths == 1 ? 0 : -EOVERFLOW);
		assert_int_equal(g->totals.paths, UINT32_MAX);
		wet_graph_free(g);
	}
	free(block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timestamps_of_paths),
		cmocka_unit_test(one_pattern_for_a_group),
		cmocka_unit_test(groups_by_inputs),
		cmocka_unit_test(values_come_back),
		cmocka_unit_test(labels_of_edges),
		cmocka_unit_test(streams_begin_as_others),
		cmocka_unit_test(labels_are_those_told),
		cmocka_unit_test(makers_of_old_definitions),
		cmocka_unit_test(no_more_paths_than_timestamps_tell),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

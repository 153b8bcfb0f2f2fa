// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_share_functions.c: shares of whole functions. Each function is in one; the same program is
 * split alike twice; groups that call each other often are found again, however their functions
 * lie; no share has more than it may; callers are taken along only if they cost less than they
 * spare. */
#include "offline/share/share_functions.h"

#include "tests/support/random_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 4, IN_GROUP = 8, N = GROUPS * IN_GROUP };

/* Function f is of group f % GROUPS. It calls the next one of its group @inside times an
 * activation, and once in a hundred the next function, which is of another group. */
static void group_program(struct program *p, struct prog_func *funcs, struct prog_block *blocks,
			  float inside)
{
	*p = (struct program){.funcs = funcs, .blocks = blocks, .n_funcs = N, .n_blocks = 2 * N};
	for (uint32_t f = 0; f < N; f++) {
		funcs[f] =
			(struct prog_func){.block = 2 * f, .n_blocks = 2, .origin = f, .freq = 100};
		blocks[2 * f] = (struct prog_block){.func = f,
						    .call = CALL_DIRECT,
						    .callee = (f + GROUPS) % N,
						    .freq = inside,
						    .any = {.cost_ns = 600}};
		blocks[2 * f + 1] = (struct prog_block){.func = f,
							.call = CALL_DIRECT,
							.callee = (f + 1) % N,
							.freq = 0.01f,
							.flags = PROG_RET};
	}
}

static void test_groups_are_found(void **state)
{
	(void)state;
	struct program p;
	struct prog_func funcs[N];
	struct prog_block blocks[2 * N];
	struct share_functions_cost cost;
	uint32_t share[N], taken = 0;
	group_program(&p, funcs, blocks, 1);
	assert_int_equal(share_functions(&p, NULL, 0, GROUPS, share, &cost), 0);
	for (uint32_t f = 0; f < N; f++)
		assert_int_equal(share[f], share[f % GROUPS]);
	for (uint32_t g = 0; g < GROUPS; g++)
		taken |= 1u << share[g];
	assert_int_equal(taken, (1u << GROUPS) - 1);
	assert_true(fabs(cost.between - N) < 0.01 * N);
}

/* Calls by pointers count as others do. */
static void test_pointers_count(void **state)
{
	(void)state;
	struct program p;
	struct prog_func funcs[N];
	struct prog_block blocks[2 * N];
	struct share_call calls[N];
	uint32_t share[N];
	group_program(&p, funcs, blocks, 1);
	for (uint32_t f = 0; f < N; f++) {
		blocks[2 * f].call = CALL_UNKNOWN;
		calls[f] = (struct share_call){f, (f + GROUPS) % N, 100};
	}
	assert_int_equal(share_functions(&p, calls, N, GROUPS, share, NULL), 0);
	for (uint32_t f = 0; f < N; f++)
		assert_int_equal(share[f], share[f % GROUPS]);
}

/* A seldom caller is traced along; one that calls often is not. */
static void test_seldom_callers_come_along(void **state)
{
	(void)state;
	struct program p;
	struct prog_func funcs[N];
	struct prog_block blocks[2 * N];
	uint32_t share[N];
	bool in[N];
	for (int often = 0; often < 2; often++) {
		group_program(&p, funcs, blocks, 1);
		assert_int_equal(share_functions(&p, NULL, 0, GROUPS, share, NULL), 0);
		for (uint32_t b = 1; b < 2 * N; b += 2)
			blocks[b].call = CALL_NONE;
		/* Only function 0 calls out of its group: function 1. */
		blocks[1].call = CALL_DIRECT;
		funcs[0].freq = often ? 1000 : 0.001f;
		assert_int_equal(share_functions_along(&p, share, share[1], in), 0);
		for (uint32_t f = 1; f < N; f++)
			assert_int_equal(in[f], share[f] == share[1]);
		assert_int_equal(in[0], !often);
	}
}

static void test_random_programs(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		struct program *p = random_program(seed);
		uint32_t n = 1 + seed % 9;
		uint32_t *share = malloc((p->n_funcs + 1) * sizeof(*share));
		uint32_t *again = malloc((p->n_funcs + 1) * sizeof(*again));
		bool *in = calloc(p->n_funcs + 1, sizeof(*in));
		struct share_functions_cost cost;
		assert_int_equal(share_functions(p, NULL, 0, n, share, &cost), 0);
		assert_int_equal(share_functions(p, NULL, 0, n, again, NULL), 0);
		assert_memory_equal(share, again, p->n_funcs * sizeof(*share));
		assert_true(cost.between >= 0 && (n > 1 || cost.between == 0));
		for (uint32_t k = 0; k < n; k++) {
			assert_int_equal(share_functions_along(p, share, k, in), 0);
			for (uint32_t f = 0; f < p->n_funcs; f++) {
				assert_true(share[f] < n);
				assert_true(in[f] || share[f] != k);
			}
		}
		free(share);
		free(again);
		free(in);
		program_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups_are_found),
		cmocka_unit_test(test_pointers_count),
		cmocka_unit_test(test_seldom_callers_come_along),
		cmocka_unit_test(test_random_programs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

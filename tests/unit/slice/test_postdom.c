// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_postdom.c: immediate postdominators of the functions of real programs are those that the
 * definition gives: x postdominates b if no way from b to the exit is left when x is taken away. */
#include "offline/slice/postdom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 120 };

/* The ways of block @b, the exit among them. Written down again, from the model's description. */
static uint32_t ways(const struct pugmark_model *m, const struct pugmark_func *f, uint32_t b,
		     uint32_t *to)
{
	const struct pugmark_block *block = &m->blocks[f->block + b];
	uint32_t n = 0;
	for (uint32_t e = 0; e < block->n_edges; e++)
		if (m->edges[block->edge + e].kind != PUGMARK_EDGE_UNWIND)
			to[n++] = m->edges[block->edge + e].to - f->block;
	bool returns = block->end == PUGMARK_END_RET || block->end == PUGMARK_END_TAIL ||
		       block->end == PUGMARK_END_NORETURN || block->end == PUGMARK_END_TRAP ||
		       block->end == PUGMARK_END_STRAY || block->end == PUGMARK_END_OPEN;
	if (returns || !n || (block->end == PUGMARK_END_JCC && n < 2))
		to[n++] = f->n_blocks;
	return n;
}

/* Whether a way leads from @from to the exit that does not touch @without. */
static bool reaches(const struct pugmark_model *m, const struct pugmark_func *f, uint32_t from,
		    uint32_t without)
{
	uint32_t stack[MOST * 4], depth = 0, to[4096];
	bool seen[MOST + 1] = {false};
	if (from == without)
		return false;
	seen[from] = true;
	stack[depth++] = from;
	while (depth) {
		uint32_t b = stack[--depth];
		if (b == f->n_blocks)
			return true;
		uint32_t n = ways(m, f, b, to);
		for (uint32_t i = 0; i < n; i++)
			if (to[i] != without && !seen[to[i]]) {
				seen[to[i]] = true;
				stack[depth++] = to[i];
			}
	}
	return false;
}

static uint32_t check(const struct pugmark_model *m, uint32_t func)
{
	const struct pugmark_func *f = &m->funcs[func];
	uint32_t *up = postdom_new(m, func), jumps = 0;
	assert_non_null(up);
	for (uint32_t b = 0; b < f->n_blocks; b++) {
		bool pdom[MOST + 1];
		if (!reaches(m, f, b, UINT32_MAX)) {
			assert_int_equal(up[b], UINT32_MAX);
			continue;
		}
		for (uint32_t x = 0; x < f->n_blocks; x++)
			pdom[x] = x != b && !reaches(m, f, b, x);
		pdom[f->n_blocks] = true;
		/* The immediate one is postdominated by all the others. */
		assert_true(up[b] <= f->n_blocks && pdom[up[b]]);
		for (uint32_t x = 0; x < f->n_blocks; x++)
			if (pdom[x] && x != up[b])
				assert_false(up[b] == f->n_blocks || reaches(m, f, up[b], x));
		jumps += m->blocks[f->block + b].n_edges > 1;
	}
	free(up);
	return jumps;
}

static void of_program(const char *path)
{
	struct pugmark_diag diag;
	struct pugmark_model *model;
	uint32_t jumps = 0;
	if (pugmark_model_open(path, &model, &diag)) {
		print_message("%s is not here\n", path);
		skip();
	}
	for (uint32_t f = 0; f < model->n_funcs; f++)
		if (model->funcs[f].n_blocks && model->funcs[f].n_blocks < MOST)
			jumps += check(model, f);
	assert_true(jumps > 100);
	pugmark_model_free(model);
}

static void of_gzip(void **state)
{
	(void)state;
	of_program("/bin/gzip");
}

static void of_itself(void **state)
{
	(void)state;
	of_program("/proc/self/exe");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(of_gzip), cmocka_unit_test(of_itself)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

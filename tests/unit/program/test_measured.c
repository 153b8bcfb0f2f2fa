// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_measured.c: how often blocks run that a recording has not counted, beside how often they
 * did: random flow graphs are walked, some of their blocks are counted, and the others' counts have
 * to follow from those as far as they can. */
#include "offline/program/program.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BLOCKS 14
#define ACTIVATIONS 2000
#define GRAPHS 300

static uint32_t below(uint32_t n)
{
	return (uint32_t)rand() % n;
}

/* One function: each block goes on to the next, or to another one, now and then an earlier one. */
struct graph {
	struct prog_func func;
	struct prog_block blocks[BLOCKS];
	uint32_t succs[2 * BLOCKS];
	double taken[BLOCKS]; /* how often a branch is */
	uint64_t ran[BLOCKS];
	struct program program;
};

static void make(struct graph *g)
{
	*g = (struct graph){.func = {.n_blocks = BLOCKS, .freq = 1}};
	for (uint32_t b = 0; b < BLOCKS; b++) {
		struct prog_block *block = &g->blocks[b];
		*block = (struct prog_block){.origin = b, .succ = 2 * b, .flags = PROG_REACHED};
		g->taken[b] = below(4) ? below(100) / 100.0 : 0;
		if (b == BLOCKS - 1) {
			block->flags |= PROG_RET;
			continue;
		}
		bool back = b > 2 && !below(5);
		g->succs[2 * b] = b + 1;
		g->succs[2 * b + 1] = back ? 1 + below(b) : b + 1 + below(BLOCKS - b - 1);
		block->n_succ = 1 + (below(3) && g->succs[2 * b + 1] != b + 1);
		if (back)
			g->taken[b] *= 0.9;
		if (block->n_succ == 2)
			block->flags |= PROG_BRANCH;
	}
	g->program = (struct program){
		.funcs = &g->func,
		.blocks = g->blocks,
		.succs = g->succs,
		.n_funcs = 1,
		.n_blocks = BLOCKS,
		.n_succs = 2 * BLOCKS,
	};
}

static void walk(struct graph *g)
{
	for (uint32_t i = 0; i < ACTIVATIONS; i++)
		for (uint32_t b = 0;;) {
			g->ran[b]++;
			if (!g->blocks[b].n_succ)
				break;
			bool taken = g->blocks[b].n_succ == 2 && rand() < g->taken[b] * RAND_MAX;
			b = g->succs[2 * b + taken];
		}
}

/* How far the frequencies of the blocks that were not counted are from what they were, in all. */
static double off(const struct graph *g, const uint64_t *counts, double *all)
{
	double sum = 0;
	for (uint32_t b = 0; b < BLOCKS; b++)
		if (counts[b] == UINT64_MAX) {
			double was = (double)g->ran[b] / ACTIVATIONS;
			sum += fabs((double)g->blocks[b].freq - was);
			*all += was;
		}
	return sum;
}

struct errors {
	double estimated, measured, all;
};

/* Counts each block but the entry with this chance. */
static struct errors count_some(double chance)
{
	struct errors e = {0};
	double unused = 0;
	srand(1);
	for (int i = 0; i < GRAPHS; i++) {
		struct graph g;
		uint64_t counts[BLOCKS];
		make(&g);
		walk(&g);
		for (uint32_t b = 0; b < BLOCKS; b++)
			counts[b] = !b || rand() < chance * RAND_MAX ? g.ran[b] : UINT64_MAX;
		assert_int_equal(program_estimate(&g.program, NULL), 0);
		e.estimated += off(&g, counts, &e.all);
		assert_int_equal(program_measure(&g.program, counts), 0);
		e.measured += off(&g, counts, &unused);
		free(g.program.chances);
	}
	return e;
}

static void what_counts_tell_of_others(void **state)
{
	(void)state;
	static const struct {
		double chance, most; /* of the estimate's error that may remain */
	} cases[] = {{0.3, 0.65}, {0.6, 0.4}, {0.9, 0.2}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct errors e = count_some(cases[i].chance);
		print_message("%.0f %% counted: the others off by %.1f %% of what they ran, by "
			      "estimates %.1f %%\n",
			      100 * cases[i].chance, 100 * e.measured / e.all,
			      100 * e.estimated / e.all);
		assert_true(e.measured < cases[i].most * e.estimated);
	}
}

static bool leads_to(const struct graph *g, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < g->blocks[from].n_succ; i++)
		if (g->succs[2 * from + i] == to)
			return true;
	return false;
}

/* Whether some way around @b is no other block: an if without an else, or a loop of itself. */
static bool is_bypassed(const struct graph *g, uint32_t b)
{
	for (uint32_t from = 0; from < BLOCKS; from++)
		for (uint32_t to = 0; to < BLOCKS; to++)
			if (leads_to(g, from, b) && leads_to(g, b, to) &&
			    (leads_to(g, from, to) || from == b))
				return true;
	return false;
}

/* All blocks but one were counted: flow tells how often that one ran, unless it is a way around
 * nothing. Flows that are 0 are come near to slowly. */
static void one_block_not_counted(void **state)
{
	(void)state;
	uint32_t told = 0, tried = 0;
	srand(2);
	for (int i = 0; i < GRAPHS; i++) {
		struct graph g;
		uint64_t counts[BLOCKS];
		make(&g);
		walk(&g);
		memcpy(counts, g.ran, sizeof(counts));
		uint32_t b = 1 + below(BLOCKS - 2);
		counts[b] = UINT64_MAX;
		if (is_bypassed(&g, b))
			continue;
		assert_int_equal(program_estimate(&g.program, NULL), 0);
		assert_int_equal(program_measure(&g.program, counts), 0);
		double was = (double)g.ran[b] / ACTIVATIONS;
		tried++;
		told += fabs((double)g.blocks[b].freq - was) < 0.02 * was + 0.02;
		free(g.program.chances);
	}
	print_message("%u of %u told\n", told, tried);
	assert_true(tried > GRAPHS / 3 && 20 * told >= 19 * tried);
}

/* Blocks in a row, some with a second way; the count of each, or UINT64_MAX. */
static void measure_row(struct graph *g, uint32_t n, const uint32_t (*succs)[2],
			const uint64_t *counts)
{
	*g = (struct graph){.func = {.n_blocks = n, .freq = 1}};
	for (uint32_t b = 0; b < n; b++) {
		uint32_t n_succ = b + 1 == n ? 0 : succs[b][1] == UINT32_MAX ? 1 : 2;
		g->blocks[b] = (struct prog_block){.origin = b, .succ = 2 * b, .n_succ = n_succ};
		g->blocks[b].flags = PROG_REACHED | (n_succ == 2 ? PROG_BRANCH : 0);
		g->succs[2 * b] = succs[b][0];
		g->succs[2 * b + 1] = n_succ == 2 ? succs[b][1] : 0;
	}
	g->program = (struct program){
		.funcs = &g->func,
		.blocks = g->blocks,
		.succs = g->succs,
		.n_funcs = 1,
		.n_blocks = n,
		.n_succs = 2 * n,
	};
	assert_int_equal(program_estimate(&g->program, NULL), 0);
	assert_int_equal(program_measure(&g->program, counts), 0);
	free(g->program.chances);
}

/* A block that jumps to itself a million times, and one behind it that was not counted, and runs
 * once: which of a million are the first and the last is come near to slowly. */
static void a_block_that_is_a_loop(void **state)
{
	(void)state;
	static const uint32_t succs[][2] = {{1, UINT32_MAX}, {2, 1}, {3, UINT32_MAX}, {0, 0}};
	static const uint64_t counts[] = {1, 1000000, UINT64_MAX, UINT64_MAX};
	struct graph g;
	measure_row(&g, 4, succs, counts);
	print_message("behind it %.3f\n", (double)g.blocks[3].freq);
	assert_true(g.blocks[3].freq > 0.02f && g.blocks[3].freq < 20);
}

/* A loop whose head is the function's entry: its body runs, though the counts do not say so. */
static void an_entry_that_is_a_loop(void **state)
{
	(void)state;
	static const uint32_t succs[][2] = {{1, 2}, {0, UINT32_MAX}, {0, 0}};
	static const uint64_t counts[] = {1000, UINT64_MAX, UINT64_MAX};
	struct graph g;
	measure_row(&g, 3, succs, counts);
	assert_true(g.blocks[1].freq > 0.1f);
	assert_true(g.blocks[2].freq > 0.5f && g.blocks[2].freq < 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_counts_tell_of_others),
		cmocka_unit_test(one_block_not_counted),
		cmocka_unit_test(a_block_that_is_a_loop),
		cmocka_unit_test(an_entry_that_is_a_loop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_casper_cover.c: claims about section 4 of "Casper: An Efficient Approach to Call Trace
 * Collection" (POPL 2016): Figure 6, that to instrument a function is to cover the vertices of a
 * graph, on random graphs; Figure 7, what the removal takes away. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "offline/choose/conflict.h"
#include "tests/support/hand_program.h"
#include "tests/support/random_program.h"

/* ---- programs made by hand ---- */

#define FUNCS_MAX 64
#define BLOCKS_MAX 256

struct sketch {
	struct program program;
	struct prog_func funcs[FUNCS_MAX];
	struct prog_block blocks[BLOCKS_MAX];
	uint32_t succs[BLOCKS_MAX * 8];
};

static uint32_t sketch_func(struct sketch *s)
{
	uint32_t f = s->program.n_funcs++;
	assert_true(f < FUNCS_MAX);
	s->funcs[f] = (struct prog_func){.block = s->program.n_blocks, .origin = f, .freq = 1};
	return f;
}

/* A block of the function that was begun last; with a call of @callee, or without (NONE). */
static uint32_t sketch_block(struct sketch *s, uint32_t callee)
{
	uint32_t b = s->program.n_blocks++, f = s->program.n_funcs - 1;
	assert_true(b < BLOCKS_MAX);
	s->blocks[b] = hand_block(b, f);
	s->blocks[b].call = callee == PUGMARK_NONE ? CALL_NONE : CALL_DIRECT;
	s->blocks[b].callee = callee;
	s->funcs[f].n_blocks++;
	return b;
}

static void sketch_edges(struct sketch *s, uint32_t from, const uint32_t *to, uint32_t n)
{
	s->blocks[from].succ = s->program.n_succs;
	s->blocks[from].n_succ = n;
	for (uint32_t i = 0; i < n; i++)
		s->succs[s->program.n_succs++] = to[i];
}

static const struct program *sketch_end(struct sketch *s)
{
	s->program.funcs = s->funcs;
	s->program.blocks = s->blocks;
	s->program.succs = s->succs;
	for (uint32_t f = 0; f < s->program.n_funcs; f++)
		s->funcs[f].addr = s->blocks[s->funcs[f].block].addr;
	return &s->program;
}

/* ---- Figure 6: vertex cover as an instrumentation ---- */

#define VERTICES_MAX 7

struct graph {
	uint32_t n, n_edges, max_degree;
	bool edge[VERTICES_MAX][VERTICES_MAX];
};

static struct graph random_graph(uint64_t seed)
{
	struct graph g = {.n = 2 + random_below(&seed, VERTICES_MAX - 1)};
	uint32_t percent = 10 + random_below(&seed, 80);
	for (uint32_t i = 0; i < g.n; i++)
		for (uint32_t j = 0; j < i; j++)
			g.edge[i][j] = g.edge[j][i] = random_chance(&seed, percent);
	for (uint32_t i = 0; i < g.n; i++) {
		uint32_t degree = 0;
		for (uint32_t j = 0; j < g.n; j++)
			degree += g.edge[i][j];
		if (!degree) { /* the synthesis has a broker call something */
			uint32_t j = (i + 1) % g.n;
			g.edge[i][j] = g.edge[j][i] = true;
		}
	}
	for (uint32_t i = 0; i < g.n; i++) {
		uint32_t degree = 0;
		for (uint32_t j = 0; j < g.n; j++)
			degree += g.edge[i][j];
		g.n_edges += degree;
		g.max_degree = degree > g.max_degree ? degree : g.max_degree;
	}
	g.n_edges /= 2;
	return g;
}

/* The synthesis of the proof of Theorem 3: terminal functions with two returns, one for each edge;
 * brokers that call the terminals of their vertex's edges; main, which calls one of the brokers.
 * Call sites of main are blocks first_call .. first_call + n. */
static const struct program *synthesise(const struct graph *g, struct sketch *s,
					uint32_t *main_func, uint32_t *first_call)
{
	uint32_t terminal[VERTICES_MAX][VERTICES_MAX], broker[VERTICES_MAX];
	uint32_t to[VERTICES_MAX + 1];
	*s = (struct sketch){0};
	for (uint32_t i = 0; i < g->n; i++)
		for (uint32_t j = 0; j < i; j++) {
			if (!g->edge[i][j])
				continue;
			terminal[i][j] = terminal[j][i] = sketch_func(s);
			uint32_t entry = sketch_block(s, PUGMARK_NONE);
			for (int k = 0; k < 2; k++) {
				to[k] = sketch_block(s, PUGMARK_NONE);
				s->blocks[to[k]].flags |= PROG_RET;
			}
			sketch_edges(s, entry, to, 2);
		}
	for (uint32_t i = 0; i <= g->n; i++) {
		uint32_t f = sketch_func(s), n = 0;
		uint32_t entry = sketch_block(s, PUGMARK_NONE);
		for (uint32_t j = 0; j < g->n; j++)
			if (i == g->n || g->edge[i][j])
				to[n++] = sketch_block(s, i == g->n ? broker[j] : terminal[i][j]);
		uint32_t end = sketch_block(s, PUGMARK_NONE);
		s->blocks[end].flags |= PROG_RET;
		sketch_edges(s, entry, to, n);
		for (uint32_t k = 0; k < n; k++)
			sketch_edges(s, to[k], &end, 1);
		if (i < g->n)
			broker[i] = f;
		*main_func = f;
		*first_call = to[0];
	}
	return sketch_end(s);
}

/* The conflict graph of main where all that it calls is instrumented and main is not. */
static void check_conflict_graph(const struct graph *g, const struct program *prog,
				 const struct choice *choice, uint32_t main_func, uint32_t first)
{
	struct conflicts ch;
	struct vec_u32 edges = {0};
	bool found[VERTICES_MAX][VERTICES_MAX] = {0};
	assert_int_equal(conflict_init(&ch, prog), 0);
	ch.returns_apart = ch.plain = true;
	for (uint32_t b = 0; b < prog->funcs[main_func].block; b++)
		ch.marks[b] = choice->marks[b];
	for (uint32_t f = 0; f < main_func; f++) { /* callees come first */
		ch.sums[f].known = true;
		while (conflict_summarise(&ch, f))
			;
	}
	assert_true(conflict_edges(&ch, main_func, &edges, 1 << 20));
	for (uint32_t i = 0; i < edges.n; i += 2) {
		uint32_t a = edges.at[i] - first, b = edges.at[i + 1] - first;
		if (a < g->n && b < g->n)
			found[a][b] = found[b][a] = true;
	}
	for (uint32_t i = 0; i < g->n; i++)
		for (uint32_t j = 0; j < g->n; j++)
			assert_int_equal(found[i][j], g->edge[i][j]);
	free(edges.at);
	conflict_deinit(&ch);
}

static bool covers(const struct graph *g, uint32_t set)
{
	for (uint32_t i = 0; i < g->n; i++)
		for (uint32_t j = 0; j < i; j++)
			if (g->edge[i][j] && !(set >> i & 1) && !(set >> j & 1))
				return false;
	return true;
}

static uint32_t least_cover(const struct graph *g)
{
	uint32_t least = g->n;
	for (uint32_t set = 0; set < 1u << g->n; set++) {
		uint32_t size = __builtin_popcount(set);
		if (size < least && covers(g, set))
			least = size;
	}
	return least;
}

static void instrumenting_main_of_figure_6_is_vertex_cover(void **state)
{
	static struct sketch s;
	uint32_t graphs = 0, optimal = 0;
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct graph g = random_graph(seed);
		uint32_t main_func, first, unresolved, cover = 0;
		const struct program *prog = synthesise(&g, &s, &main_func, &first);
		struct choice choice;
		assert_int_equal(choose_witnesses(prog, MODE_CASPER, &choice, &unresolved), 0);
		for (uint32_t b = 0; b < prog->n_blocks; b++) {
			bool terminal = prog->blocks[b].func < g.n_edges;
			bool ret = prog->blocks[b].flags & PROG_RET;
			if (terminal) /* 1: both returns of a terminal function */
				assert_int_equal(choice.marks[b] != MARK_NONE, ret);
			else if (prog->blocks[b].func != main_func) /* 2: no broker */
				assert_int_equal(choice.marks[b], MARK_NONE);
			else if (choice.marks[b])
				cover |= 1u << (b - first);
		}
		check_conflict_graph(&g, prog, &choice, main_func, first); /* 3 */
		assert_true(cover < 1u << g.n);
		assert_true(covers(&g, cover));
		/* Section 4.2: H_d times the least one at most. */
		double h = 0;
		for (uint32_t d = 1; d <= g.max_degree; d++)
			h += 1.0 / d;
		uint32_t least = least_cover(&g), size = __builtin_popcount(cover);
		assert_true(size <= h * least);
		graphs++;
		optimal += size == least;
		choice_deinit(&choice);
	}
	print_message("%u graphs, of %u the cover is a least one\n", graphs, optimal);
}

/* ---- Figure 7: what the removal takes away ---- */

/* ci is followed by cj or ck, both of functions that show nothing; ck by cm alone; cj by cm or
 * another call of what cm calls, or a third. The figure's marks: cj and ck for the VC-transform
 * condition, cm by the vertex cover, and then not ck. */
static void removal_is_that_of_figure_7(void **state)
{
	static struct sketch s;
	uint32_t unresolved, to[3];
	struct choice choice;
	(void)state;
	s = (struct sketch){0};
	uint32_t silent = sketch_func(&s);
	s.blocks[sketch_block(&s, PUGMARK_NONE)].flags |= PROG_RET;
	uint32_t loud[2];
	for (int i = 0; i < 2; i++) {
		loud[i] = sketch_func(&s);
		uint32_t entry = sketch_block(&s, PUGMARK_NONE);
		for (int k = 0; k < 2; k++) {
			to[k] = sketch_block(&s, PUGMARK_NONE);
			s.blocks[to[k]].flags |= PROG_RET;
		}
		sketch_edges(&s, entry, to, 2);
	}
	uint32_t both = sketch_func(&s);
	uint32_t entry = sketch_block(&s, PUGMARK_NONE);
	for (int i = 0; i < 2; i++)
		to[i] = sketch_block(&s, loud[i]);
	sketch_edges(&s, entry, to, 2);
	uint32_t end = sketch_block(&s, PUGMARK_NONE);
	s.blocks[end].flags |= PROG_RET;
	for (int i = 0; i < 2; i++)
		sketch_edges(&s, to[i], &end, 1);

	sketch_func(&s);
	uint32_t ci = sketch_block(&s, loud[0]), cj = sketch_block(&s, silent);
	uint32_t ck = sketch_block(&s, silent), cm = sketch_block(&s, both);
	uint32_t cn = sketch_block(&s, loud[0]), cp = sketch_block(&s, loud[1]);
	uint32_t last = sketch_block(&s, PUGMARK_NONE);
	s.blocks[last].flags |= PROG_RET;
	sketch_edges(&s, ci, (uint32_t[]){cj, ck}, 2);
	sketch_edges(&s, cj, (uint32_t[]){cm, cn, cp}, 3);
	sketch_edges(&s, ck, &cm, 1);
	for (uint32_t b = cm; b <= cp; b++)
		sketch_edges(&s, b, &last, 1);

	assert_int_equal(choose_witnesses(sketch_end(&s), MODE_CASPER, &choice, &unresolved), 0);
	assert_int_equal(choice.marks[ci], MARK_NONE);
	assert_int_equal(choice.marks[cj], MARK_LAST);
	assert_int_equal(choice.marks[ck], MARK_NONE);
	assert_int_equal(choice.marks[cm], MARK_LAST);
	assert_int_equal(choice.marks[cn], MARK_NONE);
	assert_int_equal(choice.marks[cp], MARK_NONE);
	assert_int_equal(choice.marks[last], MARK_NONE);
	choice_deinit(&choice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instrumenting_main_of_figure_6_is_vertex_cover),
		cmocka_unit_test(removal_is_that_of_figure_7),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_paths_real.c: claims about every function of real programs: each placement of witnesses is
 * realizable by both conditions of the checker, which knows nothing of how it was chosen, and so
 * are the marks of the plans that are made of it; random walks through each function are recovered
 * from what its witnesses say; and so are random walks through the whole program, by the parser,
 * from the events that the plan's probes would send. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offline/place/placement.h"
#include "offline/place/realizable.h"
#include "offline/plan/plan_build.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_program.h"
#include "tests/support/walker.h"

#define N_PLACEMENTS 5
static const char *const names[N_PLACEMENTS] = {"blocks", "targets", "edges", "nodes", "best"};

struct real {
	struct pugmark_model *model;
	struct program *prog;
};

static void real_open(struct real *real, const char *path)
{
	struct pugmark_diag diag;
	if (access(path, R_OK)) {
		print_message("%s is not installed\n", path);
		skip();
	}
	assert_int_equal(pugmark_model_open(path, &real->model, &diag), 0);
	bool *paths = malloc(real->model->n_funcs + 1);
	memset(paths, true, real->model->n_funcs + 1);
	struct program_options options = {.costs = probe_costs_default, .paths = paths};
	assert_int_equal(program_from_model(real->model, &options, &real->prog), 0);
	free(paths);
	/* Nothing calls the program's first function but the kernel, and it has no CFA. */
	for (uint32_t f = 0; f < real->prog->n_funcs; f++)
		if (real->prog->funcs[f].addr == real->model->entry)
			real->prog->funcs[f].flags &= ~PROG_ENTRY_WITNESS;
}

static void real_close(struct real *real)
{
	program_free(real->prog);
	pugmark_model_free(real->model);
}

struct tally {
	uint64_t functions, impossible, steps, events, cycles;
};

static void holds(struct realizable *r, const struct witness_set *w)
{
	assert_true(realizable_holds(r, w, NULL));
	assert_true(realizable_witnesses_differ(r, w));
}

/* Not even all witnesses that there can be would do. */
static void is_impossible(const struct flow_graph *g, struct realizable *r, struct witness_set *w)
{
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		w->nodes[i] = isfinite(g->nodes[i].weight);
		w->ways[i] = isfinite(g->nodes[i].way_weight);
	}
	assert_false(realizable_witnesses_differ(r, w));
}

static void check_placement(const struct flow_graph *g, struct realizable *r, struct witness_set *w,
			    enum placement how, uint64_t seed, struct tally *t)
{
	uint64_t rng = seed;
	witness_set_clear(w, g);
	int err = placement_choose(g, how, w);
	if (err == -EDOM) {
		is_impossible(g, r, w);
		t->impossible++;
		return;
	}
	assert_int_equal(err, 0);
	holds(r, w);
	for (int walk = 0; walk < 2; walk++)
		assert_true(graph_walk_recovers(g, w, &rng, 100, &t->steps, &t->events));
	assert_int_equal(placement_without_edges(g, w), 0);
	for (uint32_t e = 0; e < g->n_edges; e++)
		assert_false(w->edges[e]);
	holds(r, w);
	assert_true(graph_walk_recovers(g, w, &rng, 100, &t->steps, &t->events));
}

static void every_placement_of_every_function(const char *path)
{
	struct real real;
	struct tally t = {0};
	real_open(&real, path);
	for (uint32_t f = 0; f < real.prog->n_funcs; f++) {
		struct flow_graph g;
		struct realizable *r;
		struct witness_set w;
		if (!real.prog->funcs[f].n_blocks)
			continue;
		assert_int_equal(flow_graph_of_function(&g, real.prog, f), 0);
		assert_int_equal(realizable_new(&g, &r), 0);
		assert_int_equal(witness_set_init(&w, &g), 0);
		for (int i = 0; i < N_PLACEMENTS; i++)
			check_placement(&g, r, &w, PLACE_BLOCKS + i, f + 1, &t);
		t.functions++;
		witness_set_deinit(&w);
		realizable_free(r);
		flow_graph_deinit(&g);
	}
	print_message("%s: %llu functions, %d placements each, %llu of them impossible; %llu steps "
		      "walked, %llu witness events\n",
		      path, (unsigned long long)t.functions, N_PLACEMENTS,
		      (unsigned long long)t.impossible, (unsigned long long)t.steps,
		      (unsigned long long)t.events);
	assert_true(t.functions > 50 && t.steps > 20 * t.functions);
	assert_true(t.impossible * 20 < t.functions);
	real_close(&real);
}

/* The witnesses of one function that a plan's marks are. */
static void marks_as_witnesses(const struct program *prog, const struct choice *choice,
			       uint32_t func, struct witness_set *w)
{
	const struct prog_func *f = &prog->funcs[func];
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		const struct prog_block *b = &prog->blocks[f->block + i];
		uint8_t mark = choice->marks[f->block + i];
		w->ways[i] = mark == MARK_BRANCH || (mark == MARK_TARGET && prog_jump_read(b));
		w->nodes[i] = mark && !w->ways[i];
	}
}

static uint32_t functions_not_realizable(const struct program *prog, const struct choice *choice)
{
	uint32_t n = 0;
	for (uint32_t f = 0; f < prog->n_funcs; f++) {
		struct flow_graph g;
		struct realizable *r;
		struct witness_set w;
		if (!prog->funcs[f].n_blocks)
			continue;
		assert_int_equal(flow_graph_of_function(&g, prog, f), 0);
		assert_int_equal(realizable_new(&g, &r), 0);
		assert_int_equal(witness_set_init(&w, &g), 0);
		marks_as_witnesses(prog, choice, f, &w);
		n += !realizable_witnesses_differ(r, &w);
		witness_set_deinit(&w);
		realizable_free(r);
		flow_graph_deinit(&g);
	}
	return n;
}

static uint32_t random_root(const struct program *prog, uint64_t *rng)
{
	for (;;) {
		uint32_t f = random_below(rng, prog->n_funcs);
		if (prog->funcs[f].n_blocks && prog->funcs[f].flags & PROG_ENTRY_WITNESS)
			return f;
	}
}

static void plan_of_all_paths(const struct real *real, enum plan_mode mode, uint32_t walks)
{
	const struct program *prog = real->prog;
	struct choice choice;
	struct pugmark_plan *plan;
	uint32_t unresolved = 0;
	uint64_t rng = mode, events = 0, blocks = 0;
	int err = choose_witnesses(prog, mode, &choice, &unresolved);
	assert_true(err == 0 || (err == -EDOM && unresolved));
	assert_int_equal(plan_build(prog, &choice, mode, real->model, &plan), 0);
	uint32_t told_by_calls = functions_not_realizable(prog, &choice);
	if (mode != MODE_PATHS_BEST) /* which also uses what calls in between tell */
		assert_true(told_by_calls <= unresolved);
	for (uint32_t i = 0; i < walks; i++) {
		struct walk walk;
		struct walk_verdict verdict;
		uint32_t root = random_root(prog, &rng);
		walk_program(prog, &choice, plan, root, 50 + 50 * (i % 20), i, &walk);
		bool same = walk_check(&walk, plan, &verdict);
		if (!same && getenv("WALK_PRINT"))
			walk_print(&walk);
		if (!same)
			fail_msg("%s, from function %u, walk %u: %s",
				 names[mode - MODE_PATHS_BLOCKS], root, i, verdict.text);
		events += walk.n_events;
		for (uint32_t k = 0; k < walk.n_steps; k++)
			blocks += walk.steps[k].kind == PUGMARK_TRACE_BLOCK;
		walk_deinit(&walk);
	}
	print_message("  %-8s %u unresolved, %u functions told apart with the help of calls; %u "
		      "walks, %llu blocks, %llu events\n",
		      names[mode - MODE_PATHS_BLOCKS], unresolved, told_by_calls, walks,
		      (unsigned long long)blocks, (unsigned long long)events);
	assert_true(blocks > 10ull * walks && events > walks);
	pugmark_plan_free(plan);
	choice_deinit(&choice);
}

static void plans_of_every_function(const char *path, uint32_t walks)
{
	struct real real;
	real_open(&real, path);
	print_message("%s\n", path);
	for (int mode = MODE_PATHS_BLOCKS; mode <= MODE_PATHS_BEST; mode++)
		plan_of_all_paths(&real, mode, walks);
	real_close(&real);
}

static void placements_of_gzip(void **state)
{
	(void)state;
	every_placement_of_every_function("/usr/bin/gzip");
}

static void placements_of_lua(void **state)
{
	(void)state;
	every_placement_of_every_function("/usr/bin/lua5.4");
}

static void placements_of_redis(void **state)
{
	(void)state;
	every_placement_of_every_function("/usr/bin/redis-server");
}

static void plans_of_gzip(void **state)
{
	(void)state;
	plans_of_every_function("/usr/bin/gzip", 2600);
}

static void plans_of_lua(void **state)
{
	(void)state;
	plans_of_every_function("/usr/bin/lua5.4", 1000);
}

static void plans_of_redis(void **state)
{
	(void)state;
	plans_of_every_function("/usr/bin/redis-server", 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placements_of_gzip),  cmocka_unit_test(plans_of_gzip),
		cmocka_unit_test(placements_of_lua),   cmocka_unit_test(plans_of_lua),
		cmocka_unit_test(placements_of_redis), cmocka_unit_test(plans_of_redis),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

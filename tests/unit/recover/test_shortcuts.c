// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_shortcuts.c: claims that what a parser keeps of what it did (state/shortcut.c) only saves
 * time: a parser with a long memory and one that forgets before each event do the same. They are
 * fed walks through programs made at random, each again and again, mostly with some events changed
 * a little, left out, doubled or lost, and some stretches elsewhere on the stack or in another
 * module: then the grammar is asked what no run would ask it, and what a shortcut takes for granted
 * is most likely to be something else. And so where blocks cannot be probed, and the plan names
 * places at which nothing tells what happened.
 *
 * SHORTCUT_PROGRAMS=n tries programs 1 to n, SHORTCUT_SEED=n only program n. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "offline/plan/plan_build.h"
#include "tests/support/random_program.h"
#include "tests/support/twin.h"
#include "tests/support/walker.h"

/* Programs that have failed are always among them. 1015: a shortcut that ended in a gap. */
static const uint64_t once_failed[] = {1015};

enum { PROGRAMS = 300, WALKS = 3, ROUNDS = 6 };

/* The second module is the same program elsewhere. */
#define MODULES 2
#define APART 0x10000000000ull

struct ground {
	struct parse_tables *tables[MODULES];
	const struct pugmark_plan *plans[MODULES];
	struct twin twin;
	uint64_t rng, time_ns, fed, came_out;
	uint32_t strayed; /* for so many events all is elsewhere */
	int64_t shift;	  /* there: of the frames */
	uint16_t module;
};

static bool feed(struct ground *g, struct pugmark_witness_event e)
{
	uint32_t n;
	if (g->strayed) {
		g->strayed--;
		e.arm.witness.cfa += g->shift;
		e.module = g->module;
		e.bias += g->module * APART;
	}
	e.time_ns = g->time_ns += 1 + random_below(&g->rng, 3);
	const char *differs = twin_feed(&g->twin, &e);
	parser_events(g->twin.parser, &n);
	g->fed++;
	g->came_out += n;
	if (differs)
		print_error("event %" PRIu64 ", site %u: %s\n", g->fed, e.site, differs);
	return !differs;
}

/* The event, one field of which is another's, or out by a little. */
static struct pugmark_witness_event changed(struct ground *g, struct pugmark_witness_event e,
					    const struct pugmark_witness_event *other)
{
	static const uint64_t values = 1;
	switch (random_below(&g->rng, 10)) {
	case 0:
		e.arm.witness.ret = 0;
		break;
	case 1:
		e.arm.witness.ret = other->arm.witness.ret;
		break;
	case 2:
		e.arm.witness.cfa = other->arm.witness.cfa;
		break;
	case 3:
		e.arm.witness.cfa += 8 * (int64_t)random_below(&g->rng, 9) - 32;
		break;
	case 4:
		e.arm.witness.val =
			random_chance(&g->rng, 50) ? other->arm.witness.val : !e.arm.witness.val;
		break;
	case 5:
		e.site = other->site;
		break;
	case 6:
		e.flags ^= 1u << random_below(&g->rng, 3);
		break;
	case 7:
		e.stack = NULL;
		e.stack_words = 0;
		break;
	case 8:
		e.values = &values;
		e.n_values = 1;
		break;
	default:
		g->strayed = 1 + random_below(&g->rng, 30);
		g->shift = random_chance(&g->rng, 50)
				   ? 0
				   : 8 * (int64_t)random_below(&g->rng, 65) - 256;
		g->module = random_below(&g->rng, MODULES);
	}
	return e;
}

/* One event in @odds is not fed as it is. */
static bool feed_walk(struct ground *g, const struct walk *walk, uint32_t odds)
{
	bool same = true;
	for (uint32_t i = 0; i < walk->n_events && same; i++) {
		struct pugmark_witness_event e = walk->events[i];
		if (!odds || random_below(&g->rng, odds)) {
			same = feed(g, e);
			continue;
		}
		switch (random_below(&g->rng, 8)) {
		case 0: /* left out */
			break;
		case 1:
			same = feed(g, e) && feed(g, e);
			break;
		case 2:
			same = feed(g, (struct pugmark_witness_event){.kind = PUGMARK_EVENT_LOST,
								      .lost = 1});
			break;
		default:
			same = feed(g,
				    changed(g, e,
					    &walk->events[random_below(&g->rng, walk->n_events)]));
		}
	}
	g->strayed = 0;
	return same && feed(g, (struct pugmark_witness_event){.kind = PUGMARK_EVENT_STOP});
}

static bool feed_walks(struct ground *g, const struct program *prog, const struct choice *choice)
{
	static const uint32_t odds[ROUNDS] = {0, 0, 40, 10, 40, 4};
	bool same = true;
	for (uint32_t i = 0; i < WALKS && same; i++) {
		struct walk walk;
		walk_program(prog, choice, g->plans[0], 0, 100 + 200 * i, g->rng, &walk);
		for (uint32_t round = 0; round < ROUNDS && same; round++)
			same = feed_walk(g, &walk, odds[round]);
		walk_deinit(&walk);
	}
	return same;
}

static bool one_program(uint64_t seed, enum plan_mode mode, bool forbid, uint64_t *fed,
			uint64_t *came_out)
{
	struct program *prog = random_program(seed);
	struct ground g = {.rng = seed};
	struct pugmark_plan *plan;
	struct choice choice;
	uint32_t unresolved = 0;
	if (forbid)
		random_forbid_probes(prog, seed);
	int err = choose_witnesses(prog, mode, &choice, &unresolved);
	assert_true(err == 0 || err == -EDOM);
	assert_int_equal(plan_build(prog, &choice, mode, NULL, &plan), 0);
	for (uint32_t m = 0; m < MODULES; m++) {
		g.plans[m] = plan;
		assert_int_equal(parse_tables_new(plan, &g.tables[m]), 0);
	}
	assert_int_equal(twin_init(g.tables, g.plans, MODULES, &g.twin), 0);
	bool same = feed_walks(&g, prog, &choice);
	if (!same)
		print_error("of program %" PRIu64 "\n", seed);
	*fed += g.fed;
	*came_out += g.came_out;
	twin_deinit(&g.twin);
	for (uint32_t m = 0; m < MODULES; m++)
		parse_tables_free(g.tables[m]);
	pugmark_plan_free(plan);
	choice_deinit(&choice);
	program_free(prog);
	return same;
}

static void many_programs(enum plan_mode mode, bool forbid)
{
	const char *one = getenv("SHORTCUT_SEED"), *many = getenv("SHORTCUT_PROGRAMS");
	uint64_t from = one ? strtoull(one, NULL, 0) : 1, fed = 0, came_out = 0;
	uint64_t to = one ? from : many ? strtoull(many, NULL, 0) : PROGRAMS;
	int failed = 0;
	for (size_t i = 0; !one && i < sizeof(once_failed) / sizeof(*once_failed); i++)
		failed += !one_program(once_failed[i], mode, forbid, &fed, &came_out);
	for (uint64_t seed = from; seed <= to && failed < 5; seed++)
		failed += !one_program(seed, mode, forbid, &fed, &came_out);
	print_message("%" PRIu64 " events fed, %" PRIu64 " came out\n", fed, came_out);
	assert_int_equal(failed, 0);
}

static void memory_makes_no_difference_to_casper(void **state)
{
	(void)state;
	many_programs(MODE_CASPER, false);
}

static void memory_makes_no_difference_to_best(void **state)
{
	(void)state;
	many_programs(MODE_BEST, false);
}

static void nor_where_places_are_unresolved(void **state)
{
	(void)state;
	many_programs(MODE_BEST, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_makes_no_difference_to_casper),
		cmocka_unit_test(memory_makes_no_difference_to_best),
		cmocka_unit_test(nor_where_places_are_unresolved),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

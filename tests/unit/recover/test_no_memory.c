// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_no_memory.c: claims about a parser whose memory runs out, at each of its allocations in
 * turn, on walks through random programs whose thread goes to and fro between two stacks: it says
 * so, what it reported before is the beginning of the trace, and it touches nothing that is not its
 * own. NO_MEMORY_PROGRAMS=n looks at n programs. The linker puts the functions below before those
 * of the C library. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "offline/plan/plan_build.h"
#include "offline/recover/parser.h"
#include "tests/support/random_program.h"
#include "tests/support/walker.h"

enum { STEPS = 150, TURN = 5 };

static uint32_t left = UINT32_MAX; /* allocations until memory is out */

static bool is_out(void)
{
	if (!left)
		return true;
	left -= left != UINT32_MAX;
	return false;
}

void *__real_malloc(size_t len);
void *__real_calloc(size_t n, size_t len);
void *__real_realloc(void *old, size_t len);
void *__real_aligned_alloc(size_t align, size_t len);

void *__wrap_malloc(size_t len)
{
	return is_out() ? NULL : __real_malloc(len);
}

void *__wrap_calloc(size_t n, size_t len)
{
	return is_out() ? NULL : __real_calloc(n, len);
}

void *__wrap_realloc(void *old, size_t len)
{
	return is_out() ? NULL : __real_realloc(old, len);
}

void *__wrap_aligned_alloc(size_t align, size_t len)
{
	return is_out() ? NULL : __real_aligned_alloc(align, len);
}

struct tally {
	uint32_t reported, switches, handlers, forks, failures;
};

/* The program may leave its stack everywhere, as code that switches stacks does. */
static void let_it_switch(const struct pugmark_plan *plan)
{
	struct pugmark_plan_func *funcs = (struct pugmark_plan_func *)plan->funcs;
	struct pugmark_plan_node *nodes = (struct pugmark_plan_node *)plan->nodes;
	for (uint32_t i = 0; i < plan->n_funcs; i++)
		funcs[i].flags |= PUGMARK_PLAN_FUNC_SWITCHES | PUGMARK_PLAN_FUNC_ENTERED;
	for (uint32_t i = 1; i < plan->n_nodes; i++)
		if (nodes[i].kind == PUGMARK_NODE_KIND_CALL ||
		    nodes[i].kind == PUGMARK_NODE_KIND_UNKNOWN)
			nodes[i].flags |= PUGMARK_NODE_SWITCHES;
}

/* The event @i of both walks in turns, the second on a stack of its own. */
static struct pugmark_witness_event event_at(const struct walk walks[2], uint32_t i)
{
	uint32_t second = i / TURN % 2, at = i / (2 * TURN) * TURN + i % TURN;
	struct pugmark_witness_event e = walks[second].events[at % (walks[second].n_events - 1)];
	if (second) {
		e.arm.witness.cfa += e.arm.witness.cfa ? 1 << 24 : 0;
		e.stack_addr += e.stack ? 1 << 24 : 0;
	}
	return e;
}

/* Feeds the walks to a new parser, and half way on to a child of it, which knows all that it does.
 * Returns what failed first, or 0. */
static int parse(const struct walk_ground *ground, const struct walk walks[2], uint32_t n,
		 struct tally *t)
{
	struct parser *p = NULL, *child = NULL;
	int err = parser_new(&ground->tables, &ground->plan, 1, &p);
	*t = (struct tally){0};
	for (uint32_t i = 0; !err && i < n; i++) {
		if (i == n / 2) {
			err = parser_fork(p, &ground->tables, &child);
			if (err)
				break;
			t->forks++;
		}
		struct pugmark_witness_event e = event_at(walks, i);
		struct parser *now = child ? child : p;
		uint32_t n_events = 0;
		err = parser_feed(now, &e);
		const struct pugmark_trace_event *events =
			err ? NULL : parser_events(now, &n_events);
		for (uint32_t k = 0; k < n_events; k++) {
			t->switches += events[k].kind == PUGMARK_TRACE_SWITCH;
			t->handlers += events[k].cause == PUGMARK_CAUSE_SIGNAL;
		}
		t->reported += n_events;
	}
	parser_free(child);
	parser_free(p);
	return err;
}

static void look_at(uint64_t seed, enum plan_mode mode, struct tally *all)
{
	struct program *prog = random_program(seed);
	struct choice choice;
	struct pugmark_plan *plan;
	struct walk_ground ground;
	struct walk walks[2];
	uint32_t unresolved = 0;
	int err = choose_witnesses(prog, mode, &choice, &unresolved);
	assert_true(!err || (err == -EDOM && unresolved));
	assert_int_equal(plan_build(prog, &choice, mode, NULL, &plan), 0);
	walk_ground_init(&ground, prog, &choice, plan);
	for (uint32_t i = 0; i < 2; i++)
		walk_over(&ground, 0, STEPS, seed * 1000003 + i, &walks[i]);
	let_it_switch(plan);
	uint32_t n =
		2 * (walks[0].n_events < walks[1].n_events ? walks[0].n_events : walks[1].n_events);
	struct tally whole, part;
	assert_int_equal(parse(&ground, walks, n, &whole), 0);
	err = -ENOMEM;
	for (uint32_t k = 0; err; k++) {
		left = k;
		err = parse(&ground, walks, n, &part);
		left = UINT32_MAX;
		assert_true(err == 0 || err == -ENOMEM);
		assert_true(err ? part.reported <= whole.reported
				: part.reported == whole.reported);
		all->failures += err != 0;
	}
	all->reported += whole.reported;
	all->switches += whole.switches;
	all->handlers += whole.handlers;
	all->forks += whole.forks;
	for (uint32_t i = 0; i < 2; i++)
		walk_deinit(&walks[i]);
	walk_ground_deinit(&ground);
	pugmark_plan_free(plan);
	choice_deinit(&choice);
	program_free(prog);
}

static void a_parser_says_when_memory_is_out(void **state)
{
	struct tally all = {0};
	const char *text = getenv("NO_MEMORY_PROGRAMS");
	uint64_t programs = text ? strtoull(text, NULL, 0) : 40;
	(void)state;
	for (uint64_t seed = 1; seed <= programs; seed++)
		for (int mode = MODE_FULL; mode <= MODE_BEST; mode++)
			look_at(seed, mode, &all);
	print_message("%u allocations failed, in traces of %u events, %u of them other stacks, %u "
		      "handlers; %u forks\n",
		      all.failures, all.reported, all.switches, all.handlers, all.forks);
	assert_true(all.switches > 0 && all.handlers > 0 && all.forks > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_parser_says_when_memory_is_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

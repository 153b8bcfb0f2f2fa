// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_wide_jumps.c: claims about what it takes to choose for interpreters, in which each of N
 * handlers ends with a jump to all N: it grows with the jumps or with their ways, not with the
 * product. Counted are the steps that the chooser counts itself. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "offline/choose/choose.h"
#include "offline/choose/conflict.h"
#include "tests/support/hand_program.h"

struct machine {
	struct program program;
	struct prog_func funcs[2];
	struct prog_block *blocks;
	uint32_t *succs;
	uint32_t first; /* block of the first handler */
};

/* Function 0 returns. Function 1 begins with a jump to @n handlers, each of which calls function 0;
 * the first @wide of them end with such a jump as well, the others return. */
static void machine_init(struct machine *m, uint32_t n, uint32_t wide)
{
	*m = (struct machine){.first = 2};
	m->blocks = calloc(n + 2, sizeof(*m->blocks));
	m->succs = calloc((size_t)n * (wide + 1), sizeof(*m->succs));
	assert_non_null(m->blocks);
	assert_non_null(m->succs);
	m->funcs[0] = (struct prog_func){.block = 0, .n_blocks = 1, .freq = 1};
	m->funcs[1] = (struct prog_func){.block = 1, .n_blocks = n + 1, .origin = 1, .freq = 1};
	m->blocks[0] = hand_block(0, 0);
	m->blocks[0].flags |= PROG_RET;
	m->blocks[1] = hand_block(1, 1);
	for (uint32_t i = 0; i < n * (wide + 1); i++)
		m->succs[i] = m->first + i % n;
	m->blocks[1].n_succ = n;
	for (uint32_t i = 0; i < n; i++) {
		struct prog_block *b = &m->blocks[m->first + i];
		*b = hand_block(m->first + i, 1);
		b->call = CALL_DIRECT;
		b->callee = 0;
		b->succ = (i + 1) * n;
		b->n_succ = i < wide ? n : 0;
		b->flags |= i < wide ? 0 : PROG_RET;
	}
	m->program = (struct program){.funcs = m->funcs,
				      .blocks = m->blocks,
				      .succs = m->succs,
				      .n_funcs = 2,
				      .n_blocks = n + 2,
				      .n_succs = n * (wide + 1)};
}

static void machine_deinit(struct machine *m)
{
	free(m->blocks);
	free(m->succs);
}

/* Each way of a jump is a decision of its own, with what it leads to and nothing else. */
static void a_way_has_its_own_alternative(void **state)
{
	enum { WAYS = 1000 };
	struct machine m;
	struct conflicts ch;
	struct vec_u32 alts = {0};
	(void)state;
	machine_init(&m, WAYS, 0);
	assert_int_equal(conflict_init(&ch, &m.program), 0);
	conflict_alternatives(&ch, (struct decision){1, 1, WAY_ALL}, &alts);
	assert_int_equal(alts.n, WAYS);
	for (uint32_t i = 0; i < WAYS; i++) {
		conflict_alternatives(&ch, (struct decision){1, 1, i}, &alts);
		assert_int_equal(alts.n, 1);
		assert_int_equal(alts.at[0], m.first + i);
	}
	free(alts.at);
	conflict_deinit(&ch);
	machine_deinit(&m);
}

/* Returns in how many steps it is found what the handlers conflict with: each other, and nothing.
 */
static uint64_t conflicts_steps(uint32_t n, uint32_t wide)
{
	struct machine m;
	struct conflicts ch;
	struct vec_u32 edges = {0};
	machine_init(&m, n, wide);
	assert_int_equal(conflict_init(&ch, &m.program), 0);
	ch.returns_apart = ch.plain = true;
	ch.marks[0] = MARK_BLOCK;
	for (uint32_t f = 0; f < 2; f++) {
		ch.sums[f].known = true;
		while (conflict_summarise(&ch, f))
			;
	}
	uint64_t before = ch.steps;
	assert_true(conflict_edges(&ch, 1, &edges, 1 << 20));
	uint64_t steps = ch.steps - before;
	assert_int_equal(edges.n / 2, n * (n - 1) / 2);
	free(edges.at);
	conflict_deinit(&ch);
	machine_deinit(&m);
	return steps;
}

/* Alike jumps have the same conflicts, and many of them take little more than one. */
static void conflicts_of_alike_jumps_are_found_once(void **state)
{
	(void)state;
	assert_true(conflicts_steps(400, 400) < 5 * conflicts_steps(400, 1));
}

/* Where patches carry events, what each jump leads to is marked from the start: chosen for in a
 * fraction of the steps, and not all over. */
static void what_many_jumps_lead_to_is_marked(void **state)
{
	enum { HANDLERS = 600 };
	uint64_t steps[2];
	(void)state;
	for (int patched = 0; patched < 2; patched++) {
		struct machine m;
		struct choice choice;
		uint32_t unresolved, marked = 0;
		machine_init(&m, HANDLERS, HANDLERS);
		m.program.patched = patched;
		assert_int_equal(choose_witnesses(&m.program, MODE_BEST, &choice, &unresolved), 0);
		for (uint32_t i = 0; i < HANDLERS; i++)
			marked += choice.marks[m.first + i] != MARK_NONE;
		steps[patched] = choice.steps;
		if (patched) {
			assert_false(choice.whole[1]);
			assert_int_equal(marked, HANDLERS);
		}
		choice_deinit(&choice);
		machine_deinit(&m);
	}
	assert_true(steps[1] < steps[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_way_has_its_own_alternative),
		cmocka_unit_test(conflicts_of_alike_jumps_are_found_once),
		cmocka_unit_test(what_many_jumps_lead_to_is_marked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

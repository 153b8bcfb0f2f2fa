// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_wide_jumps.c: claims about what it takes to choose for interpreters, in which each of N
 * handlers ends with a jump to all N: it grows with the jumps or with their ways, not with the
 * product. Times are of the processor, and compared with each other only. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <time.h>

#include "offline/chooser.h"
#include "tests/support/hand_program.h"

static double cpu_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

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

/* All ways of one jump, each a decision of its own, take little more than the jump as one. */
static void a_way_is_found_at_once(void **state)
{
	enum { WAYS = 60000 };
	struct machine m;
	struct chooser ch;
	struct vec alts = {0};
	(void)state;
	machine_init(&m, WAYS, 0);
	assert_int_equal(chooser_init(&ch, &m.program), 0);
	double start = cpu_seconds();
	for (int i = 0; i < 10; i++)
		chooser_alternatives(&ch, (struct decision){1, 1, WAY_ALL}, &alts);
	double as_one = (cpu_seconds() - start) / 10;
	assert_int_equal(alts.n, WAYS);
	start = cpu_seconds();
	for (uint32_t i = 0; i < WAYS; i++) {
		chooser_alternatives(&ch, (struct decision){1, 1, i}, &alts);
		assert_int_equal(alts.n, 1);
		assert_int_equal(alts.at[0], m.first + i);
	}
	assert_true(cpu_seconds() - start < 100 * as_one);
	free(alts.at);
	chooser_deinit(&ch);
	machine_deinit(&m);
}

/* Returns how long it takes to find what the handlers conflict with: each other, and nothing. */
static double conflicts_seconds(uint32_t n, uint32_t wide)
{
	struct machine m;
	struct chooser ch;
	struct vec edges = {0};
	machine_init(&m, n, wide);
	assert_int_equal(chooser_init(&ch, &m.program), 0);
	ch.returns_apart = ch.plain = true;
	ch.marks[0] = MARK_BLOCK;
	for (uint32_t f = 0; f < 2; f++) {
		ch.sums[f].known = true;
		while (chooser_summarise(&ch, f))
			;
	}
	double start = cpu_seconds();
	assert_true(chooser_conflict_edges(&ch, 1, &edges, 1 << 20));
	double seconds = cpu_seconds() - start;
	assert_int_equal(edges.n / 2, n * (n - 1) / 2);
	free(edges.at);
	chooser_deinit(&ch);
	machine_deinit(&m);
	return seconds;
}

/* Alike jumps have the same conflicts, and many of them take little longer than one. */
static void conflicts_of_alike_jumps_are_found_once(void **state)
{
	(void)state;
	assert_true(conflicts_seconds(400, 400) < 20 * conflicts_seconds(400, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_way_is_found_at_once),
		cmocka_unit_test(conflicts_of_alike_jumps_are_found_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

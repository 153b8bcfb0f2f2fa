// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_inside.c: claims about which functions do nothing outside of their plan, of random programs:
 * that holds of a function just where nothing that its calls lead to, searched from each one by
 * itself, leaves the plan, comes in from elsewhere, or need not come back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "offline/plan/plan_build.h"
#include "offline/recover/tables/parse_tables.h"
#include "tests/support/random_program.h"

enum { PROGRAMS = 300 };

/* Whether the node, whatever it calls, is one that an exception could come out of. */
static bool leads_out(const struct pugmark_plan_node *n)
{
	bool calls = n->kind == PUGMARK_NODE_KIND_CALL;
	bool plain = calls || n->kind == PUGMARK_NODE_KIND_MARK ||
		     n->kind == PUGMARK_NODE_KIND_BRANCH || n->kind == PUGMARK_NODE_KIND_RETURN ||
		     n->kind == PUGMARK_NODE_KIND_BLOCK;
	uint32_t odd = PUGMARK_NODE_NORETURN | PUGMARK_NODE_SWITCHES | PUGMARK_NODE_IFUNC |
		       PUGMARK_NODE_UNTOLD;
	return !plain || (calls ? n->flags & odd : n->flags & PUGMARK_NODE_ROOT);
}

/* Whether anything that @func leads to does; @seen is all false. */
static bool reaches_out(const struct pugmark_plan *plan, uint32_t func, bool *seen)
{
	const struct pugmark_plan_func *f = &plan->funcs[func];
	uint32_t odd =
		PUGMARK_PLAN_FUNC_OPAQUE | PUGMARK_PLAN_FUNC_SWITCHES | PUGMARK_PLAN_FUNC_LEAVES;
	if (seen[func])
		return false;
	seen[func] = true;
	if (f->entry == PUGMARK_NONE || f->flags & odd)
		return true;
	for (uint32_t i = f->node; i < f->node + f->n_nodes; i++) {
		const struct pugmark_plan_node *n = &plan->nodes[i];
		if (leads_out(n) ||
		    (n->kind == PUGMARK_NODE_KIND_CALL && reaches_out(plan, n->callee, seen)))
			return true;
	}
	return false;
}

static void look_at(uint64_t seed, uint32_t found[2])
{
	struct program *prog = random_program(seed);
	struct choice choice;
	struct pugmark_plan *plan;
	struct parse_tables *tables;
	uint32_t unresolved = 0;
	int err = choose_witnesses(prog, MODE_BEST, &choice, &unresolved);
	assert_true(!err || (err == -EDOM && unresolved));
	assert_int_equal(plan_build(prog, &choice, MODE_BEST, NULL, &plan), 0);
	assert_int_equal(parse_tables_new(plan, &tables), 0);
	for (uint32_t f = 0; f < plan->n_funcs; f++) {
		bool *seen = calloc(plan->n_funcs, sizeof(*seen));
		assert_non_null(seen);
		bool out = reaches_out(plan, f, seen);
		assert_int_equal(parse_tables_stays_inside(tables, f), !out);
		found[out]++;
		free(seen);
	}
	parse_tables_free(tables);
	pugmark_plan_free(plan);
	choice_deinit(&choice);
	program_free(prog);
}

static void a_function_stays_inside_if_nothing_leads_out(void **state)
{
	uint32_t found[2] = {0};
	(void)state;
	for (uint64_t seed = 1; seed <= PROGRAMS; seed++)
		look_at(seed, found);
	print_message("%u functions stay inside, %u do not\n", found[0], found[1]);
	assert_true(found[0] > 0 && found[1] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_stays_inside_if_nothing_leads_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

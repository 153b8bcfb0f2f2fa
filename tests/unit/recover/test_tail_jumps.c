// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_tail_jumps.c: claims about where tail jumps lead, on chains of functions that are longer
 * than any search once was: 65 and a thousand. Each function jumps to the next; what is claimed is
 * what the chain is made to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "offline/recover/tables/tail_jumps.h"

/* @n functions, each of which jumps to the next, the last (@last_kind) to the first by name, or
 * out; and one more, to which nothing jumps. */
struct chain_plan {
	struct pugmark_plan plan;
	struct pugmark_plan_func *funcs;
	struct pugmark_plan_node *nodes;
	struct parse_tables *tables;
	uint32_t alone;
};

static void make(struct chain_plan *c, uint32_t n, uint8_t last_kind)
{
	*c = (struct chain_plan){.alone = n};
	c->funcs = calloc(n + 1, sizeof(*c->funcs));
	c->nodes = calloc(n + 1, sizeof(*c->nodes));
	assert_non_null(c->funcs);
	assert_non_null(c->nodes);
	c->nodes[0].site = PUGMARK_NONE; /* the exit */
	for (uint32_t i = 0; i <= n; i++)
		c->funcs[i] = (struct pugmark_plan_func){
			.addr = 0x1000 + 16 * i,
			.entry = PUGMARK_NONE,
			.node = i + 1,
			.n_nodes = i < n,
		};
	for (uint32_t i = 0; i < n; i++) {
		bool last = i + 1 == n;
		c->nodes[i + 1] = (struct pugmark_plan_node){
			.addr = 0x1008 + 16 * i,
			.func = i,
			.site = PUGMARK_NONE,
			.callee = !last					? i + 1
				  : last_kind == PUGMARK_NODE_KIND_CALL ? 0
									: PUGMARK_NONE,
			.arm = PUGMARK_NODE_NOTHING_NEXT,
			.kind = last ? last_kind : PUGMARK_NODE_KIND_CALL,
			.flags = PUGMARK_NODE_TAIL,
		};
	}
	c->plan = (struct pugmark_plan){
		.funcs = c->funcs,
		.nodes = c->nodes,
		.strings = "",
		.n_funcs = n + 1,
		.n_nodes = n + 1,
	};
	assert_int_equal(parse_tables_new(&c->plan, &c->tables), 0);
}

static void release(struct chain_plan *c)
{
	parse_tables_free(c->tables);
	free(c->funcs);
	free(c->nodes);
}

static void every_function_of_a_ring_is_reached_and_no_other(void **state)
{
	(void)state;
	static const uint32_t sizes[] = {1, 2, 64, 65, 66, 1000};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct chain_plan c;
		make(&c, sizes[i], PUGMARK_NODE_KIND_CALL);
		for (uint32_t to = 0; to < sizes[i]; to++) {
			assert_true(tail_jumps_lead(c.tables, 0, to));
			assert_true(tail_jumps_may_lead(c.tables, sizes[i] / 2, to));
		}
		assert_false(tail_jumps_lead(c.tables, 0, c.alone));
		assert_false(tail_jumps_may_lead(c.tables, 0, c.alone));
		assert_false(tail_jumps_lead(c.tables, c.alone, 0));
		assert_false(tail_jumps_lead(c.tables, 0, PUGMARK_NONE));
		release(&c);
	}
}

static void a_jump_out_at_the_end_is_found_from_anywhere(void **state)
{
	(void)state;
	static const uint8_t kinds[] = {PUGMARK_NODE_KIND_LEAF, PUGMARK_NODE_KIND_UNKNOWN};
	for (uint32_t n = 60; n < 70; n++)
		for (size_t k = 0; k < sizeof(kinds); k++) {
			struct chain_plan c;
			make(&c, n, kinds[k]);
			for (uint32_t from = 0; from < n; from++) {
				assert_true(tail_jumps_lead(c.tables, from, PUGMARK_NONE));
				assert_true(tail_jumps_lead(c.tables, from, n - 1));
				assert_int_equal(tail_jumps_lead(c.tables, from, 5), from <= 5);
				assert_int_equal(tail_jumps_may_lead(c.tables, from, 5), from <= 5);
			}
			release(&c);
		}
}

/* By a pointer a frame may come to be that of any function that may be entered so, and of no other;
 * where an entry shows, nothing that comes behind it is missed. */
static void a_pointer_leads_to_what_may_be_entered(void **state)
{
	(void)state;
	struct chain_plan c;
	make(&c, 65, PUGMARK_NODE_KIND_UNKNOWN);
	assert_false(tail_jumps_may_lead(c.tables, 0, c.alone));
	c.tables->enterable[c.alone] = true;
	assert_true(tail_jumps_may_lead(c.tables, 0, c.alone));
	assert_false(tail_jumps_lead(c.tables, 0, c.alone));
	c.funcs[30].flags = PUGMARK_PLAN_FUNC_ENTERED;
	c.funcs[30].entry = 0;
	assert_true(tail_jumps_may_lead(c.tables, 0, 30));
	assert_false(tail_jumps_may_lead(c.tables, 0, 31));
	assert_false(tail_jumps_may_lead(c.tables, 0, c.alone));
	release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_function_of_a_ring_is_reached_and_no_other),
		cmocka_unit_test(a_jump_out_at_the_end_is_found_from_anywhere),
		cmocka_unit_test(a_pointer_leads_to_what_may_be_entered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_plan_version.c: claims that a plan of version 1, which older recordings hold, reads as the
 * same plan without points; that one of version 2, which says how many places are unresolved but
 * not which, is written as it was read; and that the points of a plan are in order, begin where
 * each function does, and lead to nodes of it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "offline/plan/plan_build.h"
#include "offline/plan/plan_file.h"
#include "tests/support/random_program.h"

enum { HEADER = 120, FIRST_HEADER = 112, VERSION_AT = 8, CRC_AT = 12, LENGTH_AT = 16 };

static struct pugmark_plan *random_plan(uint64_t seed, struct program **prog)
{
	struct choice choice;
	struct pugmark_plan *plan;
	uint32_t unresolved;
	*prog = random_program(seed);
	int err = choose_witnesses(*prog, MODE_BEST, &choice, &unresolved);
	assert_true(!err || err == -EDOM);
	assert_int_equal(plan_build(*prog, &choice, MODE_BEST, NULL, &plan), 0);
	choice_deinit(&choice);
	return plan;
}

static void a_plan_of_version_1_is_read(void **state)
{
	(void)state;
	struct program *prog;
	struct pugmark_plan *plan = random_plan(7, &prog), old;
	uint8_t *bytes;
	size_t len;
	assert_int_equal(plan_encode(plan, (void **)&bytes, &len), 0);
	assert_true(plan->n_points > 0);
	assert_int_equal(plan->unresolved, 0);
	size_t points = (plan->n_points * sizeof(struct pugmark_plan_point) + 7) & ~(size_t)7;
	uint64_t first_len = len - points - (HEADER - FIRST_HEADER);
	memmove(bytes + FIRST_HEADER, bytes + HEADER, len - points - HEADER);
	memcpy(bytes + VERSION_AT, &(uint32_t){1}, 4);
	memcpy(bytes + LENGTH_AT, &first_len, 8);
	uint32_t crc = crc32(0, bytes + LENGTH_AT, first_len - LENGTH_AT);
	memcpy(bytes + CRC_AT, &crc, 4);
	assert_int_equal(plan_decode(bytes, first_len, "old", &old, NULL), 0);
	assert_int_equal(old.n_points, 0);
	assert_int_equal(old.n_nodes, plan->n_nodes);
	assert_memory_equal(old.nodes, plan->nodes, plan->n_nodes * sizeof(*plan->nodes));
	assert_memory_equal(old.strings, plan->strings, plan->strings_bytes);
	memcpy(bytes + VERSION_AT, &(uint32_t){5}, 4);
	assert_int_equal(plan_decode(bytes, first_len, "new", &old, NULL), -EPROTO);
	free(bytes);
	pugmark_plan_free(plan);
	program_free(prog);
}

static void a_plan_of_version_2_is_written_again(void **state)
{
	(void)state;
	struct program *prog;
	struct pugmark_plan *plan = random_plan(7, &prog), old;
	uint8_t *bytes, *again;
	size_t len, again_len;
	struct pugmark_plan told = *plan;
	told.unresolved = 3;
	told.unresolved_at = NULL;
	assert_int_equal(plan_encode(&told, (void **)&bytes, &len), 0);
	assert_int_equal(plan_decode(bytes, len, "old", &old, NULL), 0);
	assert_int_equal(old.unresolved, 3);
	assert_null(old.unresolved_at);
	assert_int_equal(plan_encode(&old, (void **)&again, &again_len), 0);
	assert_int_equal(again_len, len);
	assert_memory_equal(again, bytes, len);
	free(again);
	free(bytes);
	pugmark_plan_free(plan);
	program_free(prog);
}

static const struct pugmark_plan_point *point_at(const struct pugmark_plan *plan, uint64_t addr)
{
	const struct pugmark_plan_point *found = NULL;
	for (uint32_t i = 0; i < plan->n_points; i++)
		if (plan->text_addr + plan->points[i].off <= addr)
			found = &plan->points[i];
	return found;
}

static void points_lead_to_nodes_of_their_function(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct program *prog;
		struct pugmark_plan *plan = random_plan(seed, &prog);
		for (uint32_t i = 0; i < plan->n_points; i++) {
			uint32_t next = plan->points[i].next, node = PUGMARK_POINT_NODE(next);
			assert_true(!i || plan->points[i].off > plan->points[i - 1].off);
			if (next != PUGMARK_NONE && node)
				assert_int_equal(plan->nodes[node].func, plan->points[i].func);
		}
		for (uint32_t f = 0; f < plan->n_funcs; f++)
			if (prog->funcs[f].n_blocks) {
				const struct pugmark_plan_point *p =
					point_at(plan, plan->funcs[f].addr);
				assert_non_null(p);
				assert_int_equal(p->func, f);
			}
		pugmark_plan_free(plan);
		program_free(prog);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plan_of_version_1_is_read),
		cmocka_unit_test(a_plan_of_version_2_is_written_again),
		cmocka_unit_test(points_lead_to_nodes_of_their_function),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_detach.c: where the child that is to restore a process is killed, that process keeps what
 * its patches lead to, and it is said so; another attempt takes all of it back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/patch/given.h"
#include "user/patch/detach.h"

/* In the child, while all processes are stopped. */
static void die(void *ctx)
{
	(void)ctx;
	raise(SIGKILL);
}
static void go_on(void *ctx)
{
	(void)ctx;
}
static void note(void *ctx, const struct detached *each, uint32_t n)
{
	(void)ctx, (void)each, (void)n;
}

static void test_what_was_not_restored_keeps_its_code(void **state)
{
	(void)state;
	uint64_t code = given_room();
	pid_t child = given_child();
	struct giving g = given_what(child, getpid(), code);
	given_to(&g);
	uint64_t ino = given_at(child, code);
	struct area area = {.pid = child, .number = 1, .fd = given_open(&g), .record = &g.record};
	struct area *areas[] = {&area};
	struct detached_all *all = NULL;

	assert_int_equal(detach_all(areas, 1, die, note, NULL, &all), -EINTR);
	assert_int_equal(all->n, 1);
	assert_int_equal(all->each[0].err, -EINTR);
	assert_true(all->each[0].kept);
	assert_int_equal(given_left(child, ino, &g), 2);
	detached_all_free(all);

	assert_int_equal(detach_all(areas, 1, go_on, note, NULL, &all), 0);
	assert_int_equal(all->n, 1);
	assert_int_equal(all->each[0].err, 0);
	assert_false(all->each[0].kept);
	assert_int_equal(given_left(child, ino, &g), 0);
	detached_all_free(all);
	close(area.fd);
	given_end(child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_not_restored_keeps_its_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

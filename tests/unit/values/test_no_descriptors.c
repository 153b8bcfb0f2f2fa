// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_no_descriptors.c: while this process can open nothing more, no thread counts as ended, no
 * process as one without threads, without signals, without memory of its own, or without what was
 * placed in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "user/patch/process/signals.h"
#include "user/proc/living_thread.h"
#include "user/values/start/process_maps.h"
#include "user/values/stop/call_removal.h"
#include "user/values/stop/clock_removal.h"
#include "user/values/stop/one_processor.h"

static struct rlimit before;

static void close_the_door(void)
{
	struct rlimit none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

static int open_the_door(void **state)
{
	(void)state;
	return setrlimit(RLIMIT_NOFILE, &before);
}

static void test_a_thread_has_not_ended(void **state)
{
	(void)state;
	close_the_door();
	assert_false(thread_has_ended(getpid(), getpid()));
	assert_int_equal(living_thread(getpid()), getpid());
	open_the_door(NULL);
	assert_true(thread_has_ended(getpid(), 1 << 30));
}

static void test_signals_are_not_none(void **state)
{
	(void)state;
	uint64_t set = 7;

	close_the_door();
	assert_int_equal(signals_of(getpid(), "SigIgn", &set), -EMFILE);
	assert_int_equal(signals_waiting(getpid(), &set), -EMFILE);
	assert_int_equal(set, 7);
}

static void test_threads_are_not_none(void **state)
{
	(void)state;
	struct one_processor *p = NULL;
	struct pugmark_diag diag;

	close_the_door();
	assert_int_equal(one_processor_begin(getpid(), &p, &diag), -EMFILE);
	assert_null(p);
}

static void test_memory_is_not_none(void **state)
{
	(void)state;
	struct process_maps maps = {0};

	assert_int_equal(process_maps_read(&maps, getpid()), 0);
	close_the_door();
	assert_int_equal(process_maps_look(&maps, getpid()), -EMFILE);
	open_the_door(NULL);
	assert_int_equal(process_maps_look(&maps, getpid()), 0);
	process_maps_deinit(&maps);
}

static void test_what_was_placed_is_not_gone(void **state)
{
	(void)state;
	const struct clock_calls nothing = {0}, calls = {.area = 0x10000, .image = 0x20000};
	const struct call_patches no_stubs = {0}, stubs = {.code = 0x10000};
	struct call_waiting *waiting;
	uint32_t n;

	close_the_door();
	assert_int_equal(clock_removal(&calls), 1);
	assert_int_equal(clock_removal(&nothing), 0);
	assert_int_equal(clock_calls_has(&calls, getpid()), -EMFILE);
	assert_int_equal(call_removal(&stubs, getpid(), &waiting, &n), 1);
	assert_int_equal(call_removal(&no_stubs, getpid(), &waiting, &n), 0);
	assert_int_equal(call_patches_has(&stubs, getpid()), -EMFILE);
	open_the_door(NULL);
	assert_int_equal(clock_calls_has(&calls, getpid()), 0);
	assert_int_equal(call_patches_has(&stubs, getpid()), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_a_thread_has_not_ended, open_the_door),
		cmocka_unit_test_teardown(test_signals_are_not_none, open_the_door),
		cmocka_unit_test_teardown(test_threads_are_not_none, open_the_door),
		cmocka_unit_test_teardown(test_memory_is_not_none, open_the_door),
		cmocka_unit_test_teardown(test_what_was_placed_is_not_gone, open_the_door),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

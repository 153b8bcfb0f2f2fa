// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_lines.c: claims that where the file that a trace by goroutine is kept in takes no more, that
 * is what is told, and not that memory is out. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "offline/trace/lines_impl.h"

static int added_to(const char *path)
{
	enum { EVENTS = 1 << 14 }; /* more than a stream holds back */
	const struct pugmark_trace_event gap = {.kind = PUGMARK_TRACE_GAP, .import = ""};
	struct cutting *cutting;
	struct lines *lines;
	int err = 0;

	assert_int_equal(lines_new(NULL, NULL, &lines), 0);
	fclose(lines->events);
	lines->events = fopen(path, "r+");
	assert_non_null(lines->events);
	assert_int_equal(lines_add_task(lines, 0, &cutting), 0);
	for (int i = 0; i < EVENTS && !err; i++)
		err = lines_cut(cutting, &gap, 1);
	int end = lines_end_task(cutting);
	assert_int_equal(end, err);
	lines_free(lines);
	return err;
}

static void a_full_disk_is_told(void **state)
{
	(void)state;
	assert_int_equal(added_to("/dev/full"), -ENOSPC);
	assert_int_equal(added_to("/dev/null"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_full_disk_is_told)};
	return cmocka_run_group_tests_name("a trace by goroutine", tests, NULL, NULL);
}

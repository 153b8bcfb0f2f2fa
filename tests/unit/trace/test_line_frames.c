// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_line_frames.c: a line's open frames follow its events, and a stack is found on a line where
 * the two have most in common. */
#include "offline/trace/line_frames.h"

#include <pugmark/model.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void follow(struct line_frames *f, uint8_t kind, uint32_t func, uint32_t depth)
{
	assert_true(line_frames_follow(
		f, &(struct pugmark_trace_event){.kind = kind, .func = func, .depth = depth}));
}

static void frames_follow_events(void **state)
{
	struct line_frames f = {0};
	(void)state;
	follow(&f, PUGMARK_TRACE_ENTER, 1, 0);
	follow(&f, PUGMARK_TRACE_CALL, 2, 1);
	follow(&f, PUGMARK_TRACE_TAIL, 3, 2);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.at[1].func, 3);
	follow(&f, PUGMARK_TRACE_CALL, PUGMARK_NONE, 2); /* out of what is traced */
	assert_int_equal(f.n, 2);
	follow(&f, PUGMARK_TRACE_RET, 3, 2);
	assert_int_equal(f.n, 1);
	follow(&f, PUGMARK_TRACE_GAP, PUGMARK_NONE, 7);
	assert_int_equal(f.n, 1);
	follow(&f, PUGMARK_TRACE_CALL, 5, 3); /* two were found open behind the gap */
	assert_int_equal(f.n, 4);
	assert_int_equal(f.at[2].func, PUGMARK_NONE);
	assert_int_equal(f.at[3].func, 5);
	free(f.at);
}

static void a_stack_is_found(void **state)
{
	struct line_frame on[] = {{1, 0}, {2, 0}, {3, 0}, {3, 0}, {3, 0}, {4, 0}, {5, 0}};
	struct line_frames line = {on, 7, 7};
	uint32_t base;
	(void)state;
	/* the whole, less what the thread has left in silence, and with what it has called since */
	assert_int_equal(line_frames_match(&line, on, 6, &base), 6);
	assert_int_equal(base, 0);
	struct line_frame other[] = {{1, 0}, {2, 0}, {9, 0}};
	assert_int_equal(line_frames_match(&line, other, 3, &base), 2);
	assert_int_equal(base, 0);
	/* its outer part is not known: the innermost place that fits */
	struct line_frame inner[] = {{3, 0}, {3, 0}, {4, 0}};
	assert_int_equal(line_frames_match(&line, inner, 3, &base), 3);
	assert_int_equal(base, 3);
	struct line_frame deep[] = {{3, 0}, {3, 0}};
	assert_int_equal(line_frames_match(&line, deep, 2, &base), 2);
	assert_int_equal(base, 3);
	/* frames that nobody knows may be any */
	struct line_frame unknown[] = {{1, 0}, {PUGMARK_NONE, 0}, {3, 0}};
	assert_int_equal(line_frames_match(&line, unknown, 3, &base), 3);
	/* another module's, or none */
	struct line_frame foreign[] = {{1, 1}};
	assert_int_equal(line_frames_match(&line, foreign, 1, &base), 0);
	assert_int_equal(line_frames_match(&line, on, 0, &base), 0);
	struct line_frames none = {0};
	assert_int_equal(line_frames_match(&none, on, 3, &base), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_follow_events),
		cmocka_unit_test(a_stack_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

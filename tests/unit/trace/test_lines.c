// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_lines.c: claims that where the file that a trace by goroutine is kept in takes no more, that
 * is what is told, and not that memory is out; and that what is open is kept once. */
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

enum { A, B, C, DEPTH = 100, NUMBERED = 1000, GOROUTINE = 7 };

static void cut(struct cutting *cutting, struct pugmark_trace_event e, uint64_t at_ns)
{
	e.from_ns = e.to_ns = at_ns;
	e.import = "";
	assert_int_equal(lines_cut(cutting, &e, 1), 0);
}

static struct pugmark_trace_event entered(uint32_t func, uint32_t depth)
{
	return (struct pugmark_trace_event){
		.kind = PUGMARK_TRACE_ENTER, .func = func, .depth = depth};
}

/* A thread has the goroutine, and says so again and again; another one may have it in between. */
static void cut_two(struct lines *lines, bool other)
{
	const struct pugmark_trace_event to = {.kind = PUGMARK_TRACE_SWITCH, .target = GOROUTINE};
	const struct pugmark_trace_event call = {
		.kind = PUGMARK_TRACE_CALL, .func = PUGMARK_NONE, .depth = DEPTH, .numbered = true};
	struct cutting *cutting;
	assert_int_equal(lines_add_task(lines, 0, &cutting), 0);
	cut(cutting, to, 1);
	for (uint32_t i = 0; i < DEPTH; i++)
		cut(cutting, entered(i % 2 ? B : A, i), 2 + i);
	for (uint32_t i = 0; i < NUMBERED; i++)
		cut(cutting, call, 1000 + 10 * i);
	assert_int_equal(lines_end_task(cutting), 0);
	assert_int_equal(lines_add_task(lines, 1, &cutting), 0);
	if (other) {
		cut(cutting, to, 1005);
		cut(cutting, entered(C, 0), 1006);
	}
	assert_int_equal(lines_end_task(cutting), 0);
	assert_int_equal(lines_finish(lines), 0);
}

/* What is open is kept once, however often a thread says whose stack it is on; where another one
 * has had the goroutine in between it is known again. */
static void frames_are_kept_once(void **state)
{
	struct pugmark_plan_func funcs[] = {
		[A] = {.addr = 0xa}, [B] = {.addr = 0xb}, [C] = {.addr = 0xc}};
	const struct pugmark_plan plan = {.funcs = funcs, .n_funcs = 3}, *plans[] = {&plan};
	const struct pugmark_recording_task tasks[] = {{.tid = 10}, {.tid = 11}};
	(void)state;
	for (int other = 0; other < 2; other++) {
		const struct pugmark_trace_event *events;
		struct line_reader *reader;
		struct lines *lines;
		uint32_t n, calls = 0, resumed = 0, switches = 0;
		int more;
		assert_int_equal(lines_new(plans, tasks, &lines), 0);
		cut_two(lines, other);
		assert_true(lines->frames.n <= 2 * DEPTH);
		assert_int_equal(line_reader_new(lines, 0, &reader), 0);
		while ((more = line_reader_batch(reader, &events, &n)) > 0)
			for (uint32_t i = 0; i < n; i++) {
				calls += events[i].kind == PUGMARK_TRACE_CALL;
				switches += events[i].kind == PUGMARK_TRACE_SWITCH;
				if (events[i].kind != PUGMARK_TRACE_ENTER ||
				    events[i].cause != PUGMARK_CAUSE_RESUMED)
					continue;
				assert_int_equal(events[i].func, resumed % 2 ? B : A);
				assert_int_equal(events[i].depth, resumed);
				resumed++;
			}
		assert_int_equal(more, 0);
		assert_int_equal(calls, NUMBERED);
		assert_int_equal(switches, other ? 3 : 1);
		assert_int_equal(resumed, other ? DEPTH : 0);
		line_reader_free(reader);
		lines_free(lines);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_full_disk_is_told),
					   cmocka_unit_test(frames_are_kept_once)};
	return cmocka_run_group_tests_name("a trace by goroutine", tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_growing.c: claims that a recording that is read while it is written tells the same as one
 * that is read at once. Its file of events is cut at random places, most of them within a segment,
 * and continued from there, each time up to another; a lock says that a recorder is at it. Three
 * threads are random walks through two random programs, of which one is listed late; the fourth is
 * forked by the first and goes on as that does. So no kernel is needed. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pugmark/trace.h>

#include "tests/support/random_program.h"
#include "tests/support/walk_recording.h"

enum { TASKS = 4, CHILD = 4, STEPS = 400, EVENTS_MAX = 20000, SEGMENT_EVENTS_MAX = 12, SEEDS = 40 };

static char dir[64];
static uint8_t *file;		     /* all of the file of events */
static size_t file_len, second_from; /* where the first segment of the second module is */
static uint64_t file_events;
static uint64_t dice;

/* What was told of a task. */
struct told {
	struct pugmark_trace_event *events;
	uint32_t n;
};

static const char *file_named(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* ---- the recording ---- */

struct source {
	struct pugmark_witness_event *events;
	uint32_t n, done;
	uint64_t bias;
	uint16_t module;
};

/* The next segment of a task, of a few events. */
static void put_events(FILE *f, uint32_t task, struct source *from)
{
	uint32_t n = 1 + random_below(&dice, SEGMENT_EVENTS_MAX), left = from->n - from->done;

	n = n < left ? n : left;
	walk_put_events(f, task, from->done, from->module, from->bias, &from->events[from->done],
			n);
	from->done += n;
}

/* The walk's events as one task's, with the fork of @child somewhere among them. */
static void take_walk(const struct walk *walk, uint16_t module, uint32_t child, struct source *out,
		      struct source *of_child)
{
	uint32_t fork_at = child ? walk->n_events / 3 : UINT32_MAX;

	*out = (struct source){.bias = walk->events[0].bias, .module = module};
	out->events = calloc(walk->n_events + 1, sizeof(*out->events));
	for (uint32_t i = 0; i < walk->n_events; i++) {
		struct pugmark_witness_event e = walk_event(walk, i, module);

		if (i == fork_at) {
			*of_child = (struct source){.bias = out->bias, .module = module};
			of_child->events = calloc(walk->n_events, sizeof(*of_child->events));
			out->events[out->n++] =
				(struct pugmark_witness_event){.kind = PUGMARK_EVENT_FORK,
							       .arm.fork.child = child,
							       .time_ns = e.time_ns - 5};
		}
		out->events[out->n++] = e;
		if (i >= fork_at)
			of_child->events[of_child->n++] = e;
	}
}

static void write_meta(uint32_t n_modules, bool closed)
{
	walk_write_meta(dir, n_modules,
			closed ? json_pack("{s:b,s:s,s:I}", "closed", 1, "stopped", "exit",
					   "events", (json_int_t)file_events)
			       : NULL);
}

/* Fills @file: what a recorder would write of the threads, whose segments come in any order. The
 * child's may come before the one in which its parent forks it. */
static void make_file(uint64_t seed)
{
	struct source from[TASKS] = {0};
	struct walk walks[3];
	struct pugmark_diag diag;
	struct pugmark_plan *plans[2];
	char *text;
	FILE *f = open_memstream(&text, &file_len);

	dice = seed;
	plans[0] = walk_random_program(seed, STEPS, walks, 2);
	plans[1] = walk_random_program(seed + 77, STEPS, &walks[2], 1);
	assert_true(plans[0] && plans[1]);
	assert_int_equal(pugmark_plan_write(plans[0], file_named("plan-0.pmp"), &diag), 0);
	assert_int_equal(pugmark_plan_write(plans[1], file_named("plan-1.pmp"), &diag), 0);
	take_walk(&walks[0], 0, CHILD, &from[0], &from[CHILD - 1]);
	take_walk(&walks[1], 0, 0, &from[1], NULL);
	take_walk(&walks[2], 1, 0, &from[2], NULL);
	for (int i = 1; i <= TASKS; i++)
		walk_put_task(f, i, i == CHILD ? 1 : 0);
	second_from = 0;
	file_events = 0;
	for (uint32_t left = TASKS; left;) {
		uint32_t i = random_below(&dice, TASKS);

		/* The second module comes when some of the first is there. */
		if (from[i].done == from[i].n ||
		    (i == 2 && left == TASKS && from[1].done < from[1].n / 2))
			continue;
		fflush(f);
		if (from[i].module && !second_from)
			second_from = file_len;
		put_events(f, i + 1, &from[i]);
		left -= from[i].done == from[i].n;
	}
	assert_int_equal(fclose(f), 0);
	file = (uint8_t *)text;
	for (int i = 0; i < TASKS; i++) {
		file_events += from[i].n;
		free(from[i].events);
	}
	for (int i = 0; i < 3; i++)
		walk_deinit(&walks[i]);
	for (int i = 0; i < 2; i++)
		pugmark_plan_free(plans[i]);
}

/* ---- reading ---- */

static void take(struct told *told, struct pugmark_trace_iter *it)
{
	const struct pugmark_trace_event *e;
	int got;

	while ((got = pugmark_trace_next(it, &e)) == 1) {
		if (!told->events)
			told->events = calloc(EVENTS_MAX, sizeof(*told->events));
		assert_true(told->n < EVENTS_MAX && e->from_ns <= e->to_ns);
		told->events[told->n++] = *e;
	}
	assert_int_equal(got, 0);
}

/* What is told of each task, by its number. */
static void read_at_once(struct told *told)
{
	struct pugmark_trace *trace;
	struct pugmark_diag diag;
	uint32_t n;

	assert_int_equal(pugmark_trace_open(dir, &trace, &diag), 0);
	const struct pugmark_recording_task *tasks =
		pugmark_recording_tasks(pugmark_trace_recording(trace), &n);
	for (uint32_t i = 0; i < n; i++) {
		struct pugmark_trace_iter *it;

		assert_in_range(tasks[i].number, 1, TASKS);
		assert_int_equal(pugmark_trace_iter_new(trace, i, &it), 0);
		take(&told[tasks[i].number - 1], it);
		pugmark_trace_iter_free(it);
	}
	pugmark_trace_free(trace);
}

/* Reads on in all tasks that there are, beginning with any of them. Returns how many have to wait
 * for their parents. */
static uint32_t read_on(struct pugmark_trace *trace, struct pugmark_trace_iter **its,
			struct told *told)
{
	uint32_t n, begin = random_below(&dice, TASKS), waiting = 0;
	const struct pugmark_recording_task *tasks =
		pugmark_recording_tasks(pugmark_trace_recording(trace), &n);

	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = (begin + k) % n;
		int err = its[i] ? 0 : pugmark_trace_iter_new(trace, i, &its[i]);

		if (err) {
			assert_int_equal(err, -EAGAIN);
			assert_int_equal(tasks[i].number, CHILD);
			waiting++;
			continue;
		}
		take(&told[tasks[i].number - 1], its[i]);
	}
	return waiting;
}

static void same_events(const struct told *a, const struct told *b, uint64_t seed)
{
	for (int t = 0; t < TASKS; t++) {
		if (a[t].n != b[t].n)
			fail_msg("seed %d, task %d: %u events, at once %u", (int)seed, t + 1,
				 a[t].n, b[t].n);
		for (uint32_t i = 0; i < a[t].n; i++) {
			const struct pugmark_trace_event *x = &a[t].events[i], *y = &b[t].events[i];

			if (x->kind != y->kind || x->addr != y->addr || x->target != y->target ||
			    x->depth != y->depth || x->cause != y->cause || x->func != y->func ||
			    x->module != y->module || x->target_module != y->target_module ||
			    x->lost != y->lost || x->from_ns != y->from_ns || x->to_ns != y->to_ns)
				fail_msg("seed %d, task %d: event %u differs", (int)seed, t + 1, i);
		}
	}
}

static void forget(struct told *told)
{
	for (int t = 0; t < TASKS; t++)
		free(told[t].events);
	memset(told, 0, TASKS * sizeof(*told));
}

/* Reads the file as it grows up to @until, where the recorder ends: well (@closed) or not. Returns
 * in how many steps. */
static uint32_t read_growing(size_t until, bool closed, struct told *told)
{
	struct pugmark_trace_iter *its[TASKS] = {NULL};
	struct pugmark_trace *trace;
	struct pugmark_diag diag;
	uint32_t steps = 0;
	size_t len = random_below(&dice, 200);
	int fd = open(file_named("events"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600),
	    more = 1;

	assert_true(fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB));
	write_meta(1, false);
	assert_int_equal(pwrite(fd, file, len, 0), (ssize_t)len);
	assert_int_equal(pugmark_trace_open_growing(dir, &trace, &diag), 0);
	while (more) {
		read_on(trace, its, told);
		size_t add = random_below(&dice, 4) ? random_below(&dice, 600) : 0;
		if (len + add >= until) {
			assert_int_equal(pwrite(fd, file + len, until - len, len),
					 (ssize_t)(until - len));
			write_meta(2, closed);
			close(fd);
		} else {
			if (len + add > second_from)
				write_meta(2, false);
			assert_int_equal(pwrite(fd, file + len, add, len), (ssize_t)add);
		}
		more = pugmark_trace_more(trace, &diag);
		assert_int_equal(more, len + add < until);
		len += add;
		steps++;
	}
	assert_int_equal(pugmark_trace_more(trace, &diag), 0);
	if (read_on(trace, its, told)) /* once its parent has come to the end */
		assert_int_equal(read_on(trace, its, told), 0);
	for (int i = 0; i < TASKS; i++)
		pugmark_trace_iter_free(its[i]);
	pugmark_trace_free(trace);
	return steps;
}

static void check(uint64_t seed, bool closed)
{
	struct told at_once[TASKS] = {0}, growing[TASKS] = {0};
	static uint64_t n, steps;

	make_file(seed);
	size_t until =
		closed ? file_len : second_from + random_below(&dice, file_len - second_from);
	steps += read_growing(until, closed, growing);
	read_at_once(at_once);
	for (int t = 0; t < TASKS; t++)
		n += at_once[t].n;
	assert_true(n > 20 * seed && (steps > 5 * seed || seed < 5));
	same_events(growing, at_once, seed);
	forget(at_once);
	forget(growing);
	free(file);
}

static void what_grows_tells_what_is_read_at_once(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		check(seed, true);
}

static void a_killed_recorder_ends_what_grows(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		check(seed, false);
}

static int set_up(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%.40s/growingXXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	static const char *const names[] = {"events", "meta.json", "plan-0.pmp", "plan-1.pmp"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(file_named(names[i]));
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_grows_tells_what_is_read_at_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_killed_recorder_ends_what_grows, set_up,
						tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_losses.c: claims which gaps are said to be a loss's, where losses are told behind where they
 * were. Of random walks through random programs some events are left out, at three places, and a
 * few are damaged. One loss is told behind the second place; of two walks in three another one at
 * the end, of one of these two behind the beginning of another program. Without `losses_follow` the
 * gaps are what the parser makes of each alone. With it each loss has as many of the gaps before it
 * as events were lost, none from before the loss or the program before it; and all others are what
 * they were. The certificate lists the same. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pugmark/certificate.h>
#include <pugmark/trace.h>

#include "tests/support/walk_recording.h"

enum { STEPS = 400, SEEDS = 400, GAPS_MAX = 500, LEFT_OUT = 3, DAMAGED = 2 };

static char dir[64];

static const char *file_named(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* ---- the recording ---- */

/* A loss, or the beginning of another program (@left 0), in the order of time. */
struct point {
	uint64_t time_ns, left; /* gaps that are still its */
	bool exec;
};
static struct point marks[3];
static uint32_t n_marks;

static void put_mark(struct pugmark_witness_event *e, uint8_t kind, uint64_t time_ns, uint64_t lost)
{
	*e = (struct pugmark_witness_event){.kind = kind, .time_ns = time_ns, .lost = lost};
	marks[n_marks++] = (struct point){
		.time_ns = time_ns, .left = lost, .exec = kind == PUGMARK_EVENT_EXEC};
}

/* Changes the last byte that was written. */
static void damage(FILE *f)
{
	int byte;

	assert_int_equal(fseek(f, -1, SEEK_END), 0);
	assert_true((byte = fgetc(f)) != EOF);
	assert_int_equal(fseek(f, -1, SEEK_END), 0);
	fputc(byte ^ 1, f);
}

/* The walk's events as task 1's, without some, with a few damaged, and with one loss of @lost
 * events or two. */
static void put_walk(FILE *f, const struct walk *walk, bool two, uint64_t lost, bool executes)
{
	uint32_t n = walk->n_events, put = 0, damaged = 0;
	uint64_t bias = walk->events[0].bias;
	struct pugmark_witness_event *events = calloc(n + 3, sizeof(*events));

	assert_non_null(events);
	n_marks = 0;
	for (uint32_t i = 0; i < n; i++) {
		/* The second, fourth and sixth begin with what is missing. */
		uint32_t seventh = i * 7 / n;
		struct pugmark_witness_event e = walk_event(walk, i, 0);

		if (i == n * 2 / 7)
			damaged = put;
		if (i == n * 4 / 7)
			put_mark(&events[put++], PUGMARK_EVENT_LOST, e.time_ns - 5, lost);
		if (i == n - 1 && two && executes)
			put_mark(&events[put++], PUGMARK_EVENT_EXEC, e.time_ns - 7, 0);
		if (i == n - 1 && two)
			put_mark(&events[put++], PUGMARK_EVENT_LOST, e.time_ns - 5, lost);
		if (seventh % 2 == 0 || i - seventh * n / 7 > LEFT_OUT)
			events[put++] = e;
	}
	walk_put_task(f, 1, 0);
	walk_put_events(f, 1, 0, 0, bias, events, damaged);
	walk_put_events(f, 1, damaged, 0, bias, events + damaged, DAMAGED);
	damage(f);
	damaged += DAMAGED;
	walk_put_events(f, 1, damaged, 0, bias, events + damaged, put - damaged);
	free(events);
}

/* False: that program has no plan, or the walk through it is too short to lose anything. */
static bool record_walk(uint64_t seed)
{
	struct pugmark_diag diag;
	struct walk walk;
	struct pugmark_plan *plan = walk_random_program(seed, STEPS, &walk, 1);

	if (!plan)
		return false;
	bool long_enough = walk.n_events > 7 * (LEFT_OUT + 1);
	if (long_enough) {
		FILE *f = fopen(file_named("events"), "w+");
		assert_non_null(f);
		put_walk(f, &walk, seed % 3 > 0, 1 + seed / 3 % 3, seed % 3 == 1);
		assert_int_equal(fclose(f), 0);
		assert_int_equal(pugmark_plan_write(plan, file_named("plan-0.pmp"), &diag), 0);
	}
	walk_deinit(&walk);
	pugmark_plan_free(plan);
	return long_enough;
}

/* ---- reading ---- */

struct gaps {
	uint32_t n;
	struct pugmark_trace_event at[GAPS_MAX];
};

static void same_as_certified(const struct pugmark_trace *trace, const struct gaps *gaps)
{
	struct pugmark_thread_certificate part;

	assert_int_equal(pugmark_certify_thread(trace, 0, NULL, NULL, &part), 0);
	assert_int_equal(part.n_gaps, gaps->n);
	for (uint32_t i = 0; i < gaps->n; i++)
		assert_int_equal(part.gaps[i].cause, gaps->at[i].cause);
	pugmark_thread_certificate_deinit(&part);
}

static void read_gaps(bool losses_follow, struct gaps *gaps)
{
	const struct pugmark_trace_event *e;
	struct pugmark_trace_iter *it;
	struct pugmark_trace *trace;
	struct pugmark_diag diag;
	int got;

	gaps->n = 0;
	walk_write_meta(dir, 1, json_pack("{s:b}", "losses_follow", losses_follow));
	assert_int_equal(pugmark_trace_open(dir, &trace, &diag), 0);
	assert_int_equal(pugmark_trace_iter_new(trace, 0, &it), 0);
	while ((got = pugmark_trace_next(it, &e)) == 1)
		if (e->kind == PUGMARK_TRACE_GAP) {
			assert_true(gaps->n < GAPS_MAX);
			gaps->at[gaps->n++] = *e;
		}
	assert_int_equal(got, 0);
	pugmark_trace_iter_free(it);
	same_as_certified(trace, gaps);
	pugmark_trace_free(trace);
}

/* ---- the claims ---- */

static struct {
	uint32_t blamed, too_many, before_exec, behind;
} seen;

/* Whether the next gap, that ends at @to_ns, is a loss's. */
static bool is_a_loss(uint64_t to_ns)
{
	for (struct point *m = marks; m < marks + n_marks; m++) {
		if (m->time_ns < to_ns)
			continue;
		if (m->left) {
			m->left--;
			seen.blamed++;
			return true;
		}
		seen.before_exec += m->exec;
		seen.too_many += !m->exec;
		return false;
	}
	seen.behind++;
	return false;
}

static void are_told(const struct gaps *alone, const struct gaps *blames)
{
	assert_int_equal(alone->n, blames->n);
	for (uint32_t i = 0; i < alone->n; i++) {
		const struct pugmark_trace_event *was = &alone->at[i], *is = &blames->at[i];
		uint8_t cause = was->cause == PUGMARK_CAUSE_MODEL && is_a_loss(was->to_ns)
					? PUGMARK_CAUSE_LOST
					: was->cause;

		assert_int_equal(is->from_ns, was->from_ns);
		assert_int_equal(is->lost, was->lost);
		assert_int_equal(is->cause, cause);
	}
}

static void gaps_before_a_loss_are_its(void **state)
{
	static struct gaps alone, blames;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		if (!record_walk(seed))
			continue;
		read_gaps(false, &alone);
		read_gaps(true, &blames);
		are_told(&alone, &blames);
	}
	printf("%u gaps are a loss's; %u before one, %u before another program and %u behind all "
	       "are not\n",
	       seen.blamed, seen.too_many, seen.before_exec, seen.behind);
	assert_true(seen.blamed > 20 && seen.too_many > 5 && seen.before_exec > 5 &&
		    seen.behind > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_before_a_loss_are_its),
	};
	char name[] = "/tmp/pugmark-losses-XXXXXX";

	if (!mkdtemp(name))
		return 1;
	snprintf(dir, sizeof(dir), "%s", name);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(file_named("events"));
	unlink(file_named("meta.json"));
	unlink(file_named("plan-0.pmp"));
	rmdir(dir);
	return failed;
}

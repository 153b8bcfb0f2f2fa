// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_losses.c: claims which gaps are said to be a loss's, where losses are told behind where they
 * were. Of random walks through random programs some events are left out, at three places; a loss
 * is told between the second and the third. Without `losses_follow` the gaps are what the parser
 * makes of each alone. With it as many before the loss as events were lost are the loss's, and all
 * others are what they were: one more before it, and all that is behind. The certificate lists the
 * same. */
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
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <pugmark/certificate.h>
#include <pugmark/trace.h>

#include "offline/log/segment.h"
#include "offline/plan/plan_build.h"
#include "tests/support/random_program.h"
#include "tests/support/walker.h"
#include "user/record/write/recording_meta.h"

enum { STEPS = 400, SEEDS = 150, GAPS_MAX = 500, LEFT_OUT = 3 };

static char dir[64];

static const char *file_named(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* ---- the recording ---- */

static void put_segment(FILE *f, struct segment_header *header, const void *payload)
{
	uint8_t head[SEGMENT_HEADER_BYTES];

	header->stored_bytes = header->raw_bytes;
	header->crc = crc32(0, payload, header->raw_bytes);
	segment_header_write(header, head);
	fwrite(head, 1, sizeof(head), f);
	fwrite(payload, 1, header->raw_bytes, f);
}

static void add(struct segment_encoder *enc, const struct pugmark_witness_event *e)
{
	assert_int_equal(segment_encoder_add(enc, e), 0);
}

/* The walk's events as task 1's, without some, and with a loss of @lost. */
static void put_walk(FILE *f, const struct walk *walk, uint64_t lost)
{
	static const char born[] = "{\"ev\":\"task\",\"t\":1,\"task\":1,\"tid\":11,\"pid\":11,"
				   "\"comm\":\"w\",\"parent\":0}\n";
	struct segment_header header = {
		.kind = SEGMENT_PROCESS, .n = 1, .raw_bytes = sizeof(born) - 1};
	struct segment_encoder *enc = segment_encoder_new(1);
	uint64_t bases[SEGMENT_MAX_MODULES] = {walk->events[0].bias};
	uint32_t n = walk->n_events;

	put_segment(f, &header, born);
	assert_non_null(enc);
	segment_encoder_reset(enc, bases, 1);
	for (uint32_t i = 0; i < n; i++) {
		struct pugmark_witness_event e = walk->events[i];

		e.time_ns = 1000 + 10 * i;
		if (e.arm.witness.ret)
			e.flags |= PUGMARK_EVENT_HAS_RET;
		if (i == n * 4 / 7)
			add(enc, &(struct pugmark_witness_event){.kind = PUGMARK_EVENT_LOST,
								 .time_ns = e.time_ns - 5,
								 .lost = lost});
		uint32_t seventh =
			i * 7 / n; /* the second, fourth and sixth begin with what is missing */
		if (seventh % 2 == 0 || i - seventh * n / 7 > LEFT_OUT)
			add(enc, &e);
	}
	header = (struct segment_header){.kind = SEGMENT_EVENTS, .task = 1};
	const uint8_t *payload = segment_encoder_finish(enc, &header);
	assert_non_null(payload);
	put_segment(f, &header, payload);
	segment_encoder_free(enc);
}

static void write_meta(bool losses_follow)
{
	json_t *meta = json_pack("{s:i,s:b,s:i,s:[{s:s,s:s,s:i}],s:b}", "version", SEGMENT_VERSION,
				 "times", 1, "start_monotonic_ns", 1, "modules", "name", "walk",
				 "path", "/walk", "text_addr", 0, "losses_follow", losses_follow);
	struct recording_folder folder = {.fd = open(dir, O_RDONLY | O_DIRECTORY),
					  .owner = FOLDER_OWN};

	assert_non_null(meta);
	assert_int_equal(recording_meta_write(&folder, meta), 0);
	close(folder.fd);
	json_decref(meta);
}

/* False: there is no witness for some place of that program. */
static bool record_walk(uint64_t seed, uint64_t lost)
{
	struct program *prog = random_program(seed);
	struct pugmark_plan *plan;
	struct pugmark_diag diag;
	struct choice choice;
	struct walk walk;
	uint32_t unresolved = 0;

	int err = choose_witnesses(prog, MODE_BEST, &choice, &unresolved);
	if (err) {
		if (err == -EDOM)
			choice_deinit(&choice);
		program_free(prog);
		return false;
	}
	FILE *f = fopen(file_named("events"), "w");
	assert_non_null(f);
	assert_int_equal(plan_build(prog, &choice, MODE_BEST, NULL, &plan), 0);
	walk_program(prog, &choice, plan, 0, STEPS, seed, &walk);
	put_walk(f, &walk, lost);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(pugmark_plan_write(plan, file_named("plan-0.pmp"), &diag), 0);
	walk_deinit(&walk);
	pugmark_plan_free(plan);
	choice_deinit(&choice);
	program_free(prog);
	return true;
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
	write_meta(losses_follow);
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

static uint32_t blamed, left_before, left_behind;

/* The loss is told by the gap that counts what was lost. */
static void is_blamed(const struct gaps *alone, const struct gaps *blames, uint64_t lost)
{
	bool before = true;

	assert_int_equal(alone->n, blames->n);
	for (uint32_t i = 0; i < alone->n; i++) {
		const struct pugmark_trace_event *was = &alone->at[i], *is = &blames->at[i];
		bool model = was->cause == PUGMARK_CAUSE_MODEL;

		before &= !was->lost;
		assert_int_equal(is->from_ns, was->from_ns);
		assert_int_equal(is->lost, was->lost);
		assert_int_equal(is->cause,
				 model && before && lost ? PUGMARK_CAUSE_LOST : was->cause);
		if (!model)
			continue;
		if (before && lost) {
			lost--;
			blamed++;
		} else {
			left_before += before;
			left_behind += !before;
		}
	}
}

static void gaps_before_a_loss_are_its(void **state)
{
	static struct gaps alone, blames;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t lost = 1 + seed % 3;

		if (!record_walk(seed, lost))
			continue;
		read_gaps(false, &alone);
		read_gaps(true, &blames);
		is_blamed(&alone, &blames, lost);
	}
	printf("%u gaps are a loss's; %u before one and %u behind one are not\n", blamed,
	       left_before, left_behind);
	assert_true(blamed > 20 && left_before > 5 && left_behind > 20);
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

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_damage.c: claims that a recording never says more than what happened, whatever becomes of
 * it. Each byte of its files is changed, one at a time, and each file is cut at each length: then
 * either it is refused with a reason, or the certificate says that it is not complete and what
 * comes before the first gap is as it was, or everything is as it was. The recording is of a random
 * walk through a random program, so no kernel is needed; its files are those of the format's page.
 * DAMAGE_STEP=n tries each nth byte and length; an odd n meets every bit.
 */
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

#include "offline/log/segment.h"
#include "offline/plan/plan_build.h"
#include "tests/support/random_program.h"
#include "tests/support/walker.h"
#include "user/record/write/recording_meta.h"

enum { PARTS = 3, STEPS = 150, STEPS_MAX = 4096 };

struct files {
	uint8_t *data;
	size_t len;
};

struct trace {
	struct pugmark_trace_event events[STEPS_MAX];
	uint32_t n;
	bool complete;
};

static char dir[64];
static struct trace whole, now;

static char *file_named(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void write_file(const char *name, const void *data, size_t len)
{
	FILE *f = fopen(file_named(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static struct files read_file(const char *name)
{
	FILE *f = fopen(file_named(name), "r");
	struct files file = {malloc(1 << 20), 0};

	assert_non_null(f);
	file.len = fread(file.data, 1, 1 << 20, f);
	fclose(f);
	return file;
}

/* ---- the recording ---- */

static void put_segment(FILE *f, struct segment_header *header, const void *payload)
{
	static uint32_t number;
	uint8_t head[SEGMENT_HEADER_BYTES];

	header->stored_bytes = header->raw_bytes;
	header->crc = crc32(0, payload, header->raw_bytes);
	header->number = number++;
	segment_header_write(header, head);
	fwrite(head, 1, sizeof(head), f);
	fwrite(payload, 1, header->raw_bytes, f);
}

static void write_events(const struct walk *walk, uint64_t bias)
{
	static const char born[] = "{\"ev\":\"task\",\"t\":1,\"task\":1,\"tid\":7,\"pid\":7,"
				   "\"comm\":\"walk\"}\n";
	struct segment_encoder *enc = segment_encoder_new(1);
	FILE *f = fopen(file_named("events"), "w");
	struct segment_header header = {
		.kind = SEGMENT_PROCESS, .n = 1, .raw_bytes = sizeof(born) - 1};
	uint64_t bases[SEGMENT_MAX_MODULES] = {bias};

	assert_non_null(f);
	put_segment(f, &header, born);
	for (uint32_t part = 0, i = 0; part < PARTS; part++) {
		header = (struct segment_header){
			.kind = SEGMENT_EVENTS, .task = 1, .first_event = i};
		segment_encoder_reset(enc, bases, 1);
		for (; i < walk->n_events * (part + 1) / PARTS; i++) {
			struct pugmark_witness_event e = walk->events[i];

			e.time_ns = 1000 + 10 * i;
			if (e.arm.witness.ret)
				e.flags |= PUGMARK_EVENT_HAS_RET;
			assert_int_equal(segment_encoder_add(enc, &e), 0);
		}
		const uint8_t *payload = segment_encoder_finish(enc, &header);
		assert_non_null(payload);
		put_segment(f, &header, payload);
	}
	assert_int_equal(fclose(f), 0);
	segment_encoder_free(enc);
}

static void write_meta(const struct walk *walk, const struct pugmark_plan *plan)
{
	uint32_t witnesses = 0;

	for (uint32_t i = 0; i < walk->n_events; i++)
		witnesses += walk->events[i].kind == PUGMARK_EVENT_WITNESS;
	json_t *meta = json_pack("{s:i,s:b,s:i,s:[{s:s,s:s,s:s,s:s,s:I,s:I,s:I}],s:b,s:s,s:I,s:I}",
				 "version", SEGMENT_VERSION, "times", 1, "start_monotonic_ns", 1,
				 "modules", "name", "walk", "path", "/walk", "build_id", "", "plan",
				 "plan-0.pmp", "text_addr", (json_int_t)plan->text_addr, "text_end",
				 (json_int_t)plan->text_end, "sites", (json_int_t)plan->n_sites,
				 "closed", 1, "stopped", "exit", "events", (json_int_t)witnesses,
				 "lost", (json_int_t)0);
	assert_non_null(meta);
	struct recording_folder folder = {.fd = open(dir, O_RDONLY | O_DIRECTORY),
					  .owner = FOLDER_OWN};
	assert_int_equal(recording_meta_write(&folder, meta), 0);
	close(folder.fd);
	json_decref(meta);
}

/* A walk that is neither short nor long, and without what a log does not tell. */
static void write_recording(uint64_t seed)
{
	struct program *prog = random_program(seed);
	struct choice choice;
	struct pugmark_plan *plan;
	struct pugmark_diag diag;
	struct walk walk;
	uint32_t unresolved = 0;

	assert_int_equal(choose_witnesses(prog, MODE_BEST, &choice, &unresolved), 0);
	assert_int_equal(plan_build(prog, &choice, MODE_BEST, NULL, &plan), 0);
	walk_program(prog, &choice, plan, 0, STEPS, seed, &walk);
	assert_true(walk.n_events > 10);
	assert_int_equal(pugmark_plan_write(plan, file_named("plan-0.pmp"), &diag), 0);
	write_events(&walk, walk.events[0].bias);
	write_meta(&walk, plan);
	walk_deinit(&walk);
	pugmark_plan_free(plan);
	choice_deinit(&choice);
	program_free(prog);
}

/* ---- what is read of it ---- */

static void read_tasks(struct pugmark_trace *trace, struct trace *out)
{
	struct pugmark_thread_certificate parts[4];
	struct pugmark_certificate certificate;
	uint32_t n;

	pugmark_recording_tasks(pugmark_trace_recording(trace), &n);
	assert_true(n <= 4);
	for (uint32_t i = 0; i < n; i++) {
		struct pugmark_trace_iter *it;
		const struct pugmark_trace_event *e;

		assert_int_equal(pugmark_certify_thread(trace, i, NULL, NULL, &parts[i]), 0);
		assert_int_equal(pugmark_trace_iter_new(trace, i, &it), 0);
		while (pugmark_trace_next(it, &e) == 1) {
			assert_true(out->n < STEPS_MAX && e->from_ns <= e->to_ns);
			out->events[out->n++] = *e;
		}
		pugmark_trace_iter_free(it);
	}
	pugmark_certificate_join(trace, parts, &certificate);
	out->complete = certificate.complete;
	for (uint32_t i = 0; i < n; i++)
		pugmark_thread_certificate_deinit(&parts[i]);
}

/* Returns 0 or why it was refused. */
static int read_recording(struct trace *out)
{
	struct pugmark_trace *trace;
	struct pugmark_diag diag = {.text = ""};

	out->n = 0;
	int err = pugmark_trace_open(dir, &trace, &diag);
	if (err) {
		assert_true(*diag.text);
		return err;
	}
	read_tasks(trace, out);
	pugmark_trace_free(trace);
	return 0;
}

static bool same_event(const struct pugmark_trace_event *a, const struct pugmark_trace_event *b)
{
	return a->kind == b->kind && a->addr == b->addr && a->target == b->target &&
	       a->depth == b->depth;
}

/* How many were refused, not complete, or unharmed. */
struct tally {
	uint32_t refused, partial, unharmed;
};

static void check(const char *name, size_t at, struct tally *tally)
{
	if (read_recording(&now)) {
		tally->refused++;
		return;
	}
	uint32_t n = 0;
	while (n < now.n && n < whole.n && same_event(&now.events[n], &whole.events[n]))
		n++;
	bool all = n == whole.n && n == now.n;
	for (uint32_t i = 0; all && now.complete && i < n; i++)
		assert_true(now.events[i].from_ns == whole.events[i].from_ns &&
			    now.events[i].to_ns == whole.events[i].to_ns);
	if (now.complete && all)
		tally->unharmed++;
	else if (now.complete || (n < now.n && now.events[n].kind != PUGMARK_TRACE_GAP &&
				  n + 1 < now.n && now.events[n + 1].kind != PUGMARK_TRACE_GAP))
		fail_msg("%s at %zu: %s, and event %u of %u is another", name, at,
			 now.complete ? "complete" : "no gap", n, now.n);
	else
		tally->partial++;
}

static void each_byte_of(const char *name, struct tally *flips, struct tally *cuts)
{
	struct files file = read_file(name);
	const char *text = getenv("DAMAGE_STEP");
	size_t step = text ? strtoul(text, NULL, 0) : 1;

	for (size_t at = 0; at < file.len; at += step ? step : 1) {
		uint8_t was = file.data[at];

		file.data[at] ^= 1u << at % 8;
		write_file(name, file.data, file.len);
		check(name, at, flips);
		file.data[at] = was;
		write_file(name, file.data, at);
		check(name, at, cuts);
	}
	write_file(name, file.data, file.len);
	free(file.data);
}

static void damage_is_never_taken_for_what_happened(void **state)
{
	(void)state;
	static const char *const names[] = {"events", "meta.json", "plan-0.pmp"};

	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct tally flips = {0}, cuts = {0};

		write_recording(seed);
		assert_int_equal(read_recording(&whole), 0);
		assert_true(whole.complete && whole.n > 10);
		for (size_t i = 0; i < 3; i++)
			each_byte_of(names[i], &flips, &cuts);
		assert_int_equal(cuts.unharmed, 0);
		print_message("walk %d of %u events: flips: %u refused, %u partial, %u unharmed; "
			      "cuts: %u refused, %u partial\n",
			      (int)seed, whole.n, flips.refused, flips.partial, flips.unharmed,
			      cuts.refused, cuts.partial);
		assert_true(flips.partial && cuts.partial && cuts.refused);
	}
}

static int set_up(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%.40s/damageXXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(file_named("events"));
	unlink(file_named("meta.json"));
	unlink(file_named("plan-0.pmp"));
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(damage_is_never_taken_for_what_happened, set_up,
						tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

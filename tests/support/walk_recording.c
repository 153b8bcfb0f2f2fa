// SPDX-License-Identifier: LGPL-2.1-or-later
/* walk_recording.c: see walk_recording.h. */
#include "tests/support/walk_recording.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <unistd.h>
#include <zlib.h>

#include "offline/plan/plan_build.h"
#include "tests/support/random_program.h"
#include "user/record/write/recording_meta.h"

struct pugmark_plan *walk_random_program(uint64_t seed, uint32_t steps, struct walk *walks,
					 uint32_t n)
{
	struct program *prog = random_program(seed);
	struct pugmark_plan *plan = NULL;
	struct choice choice;
	uint32_t unresolved = 0;
	int err = choose_witnesses(prog, MODE_BEST, &choice, &unresolved);

	if (!err) {
		assert_int_equal(plan_build(prog, &choice, MODE_BEST, NULL, &plan), 0);
		for (uint32_t i = 0; i < n; i++)
			walk_program(prog, &choice, plan, 0, steps, seed + 1000 * i, &walks[i]);
	}
	if (!err || err == -EDOM)
		choice_deinit(&choice);
	program_free(prog);
	return plan;
}

struct pugmark_witness_event walk_event(const struct walk *walk, uint32_t i, uint16_t module)
{
	struct pugmark_witness_event e = walk->events[i];

	e.time_ns = 1000 + 10 * i;
	e.module = module;
	if (e.arm.witness.ret)
		e.flags |= PUGMARK_EVENT_HAS_RET;
	return e;
}

static void put_segment(FILE *f, struct segment_header *header, const void *payload)
{
	uint8_t head[SEGMENT_HEADER_BYTES];

	header->stored_bytes = header->raw_bytes;
	header->crc = crc32(0, payload, header->raw_bytes);
	segment_header_write(header, head);
	fwrite(head, 1, sizeof(head), f);
	fwrite(payload, 1, header->raw_bytes, f);
}

void walk_put_task(FILE *f, int task, int parent)
{
	char text[160];
	struct segment_header header = {.kind = SEGMENT_PROCESS, .n = 1};

	header.raw_bytes = (uint32_t)snprintf(text, sizeof(text),
					      "{\"ev\":\"task\",\"t\":1,\"task\":%d,\"tid\":%d,"
					      "\"pid\":%d,\"comm\":\"w\",\"parent\":%d}\n",
					      task, 10 + task, 10 + task, parent);
	put_segment(f, &header, text);
}

void walk_put_events(FILE *f, uint32_t task, uint64_t first_event, uint16_t module, uint64_t bias,
		     const struct pugmark_witness_event *events, uint32_t n)
{
	struct segment_encoder *enc = segment_encoder_new(1);
	struct segment_header header = {
		.kind = SEGMENT_EVENTS, .task = task, .first_event = first_event};
	uint64_t bases[SEGMENT_MAX_MODULES] = {0};

	assert_non_null(enc);
	bases[module] = bias;
	segment_encoder_reset(enc, bases, 1ull << module);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(segment_encoder_add(enc, &events[i]), 0);
	const uint8_t *payload = segment_encoder_finish(enc, &header);
	assert_non_null(payload);
	put_segment(f, &header, payload);
	segment_encoder_free(enc);
}

void walk_write_meta(const char *dir, uint32_t n_modules, json_t *more)
{
	json_t *modules = json_array();
	struct recording_folder folder = {.fd = open(dir, O_RDONLY | O_DIRECTORY),
					  .owner = FOLDER_OWN};

	for (uint32_t i = 0; i < n_modules; i++)
		json_array_append_new(modules, json_pack("{s:s,s:s,s:i}", "name", "walk", "path",
							 "/walk", "text_addr", 0));
	json_t *meta = json_pack("{s:i,s:b,s:i,s:o}", "version", SEGMENT_VERSION, "times", 1,
				 "start_monotonic_ns", 1, "modules", modules);
	assert_non_null(meta);
	assert_int_equal(more ? json_object_update(meta, more) : 0, 0);
	assert_int_equal(recording_meta_write(&folder, meta), 0);
	close(folder.fd);
	json_decref(more);
	json_decref(meta);
}

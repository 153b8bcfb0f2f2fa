// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_segment.c: events survive a segment, whatever they hold; what is no segment is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "offline/base/codec.h"
#include "offline/log/segment.h"

static uint64_t seed;
static bool in_columns; /* events are written so: each claim holds both ways */

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* Numbers of all lengths. */
static uint64_t any_number(void)
{
	return next_random() >> (next_random() & 63);
}

static uint64_t bases[SEGMENT_MAX_MODULES] = {0x555555554000, 0, 0x7ffff7dd0000};
static const uint64_t known = 5; /* modules 0 and 2 */
static uint64_t stack[SNAPSHOT_MAX_WORDS];

static struct segment_encoder *new_encoder(uint32_t unit_ns)
{
	struct segment_encoder *enc = segment_encoder_new(unit_ns);

	if (in_columns)
		segment_encoder_columns(enc);
	return enc;
}

/* An event as the recorder could see one; @sane: as it mostly does. */
static struct pugmark_witness_event any_event(bool sane, uint64_t time_ns)
{
	struct pugmark_witness_event e = {.time_ns = time_ns, .kind = PUGMARK_EVENT_WITNESS};

	if (!sane && next_random() % 16 == 0) {
		e.kind = next_random() % 6;
		e.lost = e.kind == PUGMARK_EVENT_LOST ? any_number() : 0;
		e.arm.stop.sp = e.kind == PUGMARK_EVENT_END ? any_number() : 0;
		e.arm.stop.ip = e.kind == PUGMARK_EVENT_END ? any_number() : 0;
	}
	if (e.kind != PUGMARK_EVENT_WITNESS)
		return e;
	e.module = sane ? 0 : next_random() % 3;
	e.site = sane ? next_random() % 100 : any_number() & 0xffffffff;
	e.arm.witness.cfa = sane ? 0x7ffffffde000 + 8 * (next_random() % 64) : any_number();
	e.arm.witness.val = next_random() & 1;
	if (next_random() & 1) {
		e.flags |= PUGMARK_EVENT_HAS_RET;
		e.arm.witness.ret = sane ? bases[0] + next_random() % 1000 : any_number();
	}
	if (!sane && next_random() % 8 == 0) {
		e.flags |= PUGMARK_EVENT_HAS_TARGET;
		e.arm.witness.val = any_number();
	}
	if (next_random() % 8 == 0)
		e.flags |= PUGMARK_EVENT_FROM_SIGNAL;
	if (next_random() % 16 == 0)
		e.flags |= PUGMARK_EVENT_IN_HANDLER;
	if (!sane && next_random() % 32 == 0) {
		for (int i = 0; i < 20; i++)
			stack[next_random() % 64] = any_number();
		e.stack = stack;
		e.stack_addr = 0x7ffffffde000 + 8 * (next_random() % 16);
		e.stack_words = next_random() % 64;
		e.goroutine = next_random() & 1 ? any_number() : 0;
	}
	return e;
}

/* A copy of an event with its stack. */
struct kept {
	struct pugmark_witness_event event;
	uint64_t stack[64];
};

static void assert_same(const struct kept *want, const struct pugmark_witness_event *got,
			uint32_t unit_ns)
{
	const struct pugmark_witness_event *w = &want->event;

	assert_int_equal(got->kind, w->kind);
	int64_t off = (int64_t)(got->time_ns - w->time_ns);
	if (unit_ns)
		assert_in_range(2 * (uint64_t)(off < 0 ? -off : off), 0, unit_ns);
	else
		assert_int_equal(got->time_ns, 0);
	assert_int_equal(got->arm.witness.cfa, w->arm.witness.cfa);
	assert_int_equal(got->arm.witness.ret, w->arm.witness.ret);
	assert_int_equal(got->arm.witness.val, w->arm.witness.val);
	assert_int_equal(got->lost, w->lost);
	assert_int_equal(got->site, w->site);
	assert_int_equal(got->module, w->module);
	assert_int_equal(got->flags, w->flags);
	assert_int_equal(got->goroutine, w->goroutine);
	assert_int_equal(!got->stack, !w->stack);
	if (!w->stack)
		return;
	assert_int_equal(got->stack_addr, w->stack_addr);
	assert_int_equal(got->stack_words, w->stack_words);
	assert_memory_equal(got->stack, want->stack, 8 * w->stack_words);
}

static void round_trip(bool sane, uint32_t n, uint32_t unit_ns)
{
	struct segment_encoder *enc = new_encoder(unit_ns);
	struct segment_decoder *dec = segment_decoder_new();
	struct kept *kept = calloc(n, sizeof(*kept));
	struct segment_header header = {0};
	struct pugmark_witness_event got;
	uint64_t time_ns = 1000000007, base;

	segment_encoder_reset(enc, bases, known);
	for (uint32_t i = 0; i < n; i++) {
		time_ns += sane ? next_random() % 4096 : any_number() >> 16;
		kept[i].event = any_event(sane, time_ns);
		if (kept[i].event.stack)
			memcpy(kept[i].stack, stack, sizeof(kept[i].stack));
		assert_int_equal(segment_encoder_add(enc, &kept[i].event), 0);
	}
	assert_int_equal(segment_encoder_count(enc), n);
	const uint8_t *payload = segment_encoder_finish(enc, &header);
	assert_non_null(payload);
	assert_int_equal(header.n, n);
	assert_int_equal(header.version, in_columns ? SEGMENT_VERSION_COLUMNS : SEGMENT_VERSION);
	assert_int_equal(segment_decoder_open(dec, payload, &header), 0);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(segment_decoder_next(dec, &got), 1);
		assert_same(&kept[i], &got, unit_ns);
	}
	assert_int_equal(segment_decoder_next(dec, &got), 0);
	if (sane && n) {
		assert_true(segment_decoder_base(dec, 0, &base));
		assert_int_equal(base, bases[0]);
	}
	assert_false(segment_decoder_base(dec, 1, &base));
	assert_false(segment_decoder_base(dec, 60000, &base));
	segment_encoder_free(enc);
	segment_decoder_free(dec);
	free(kept);
}

static void events_survive(void **state)
{
	(void)state;
	static const uint32_t units[] = {1, 0, 16, 1000};

	for (uint64_t run = 1; run <= 400; run++) {
		seed = run * 0x9e3779b97f4a7c15;
		round_trip(run & 1, run % 7 ? 1 + next_random() % 300 : 20000, units[run / 2 % 4]);
	}
}

static void no_events_survive(void **state)
{
	(void)state;
	round_trip(true, 0, 1);
}

static void a_full_segment_takes_no_more(void **state)
{
	(void)state;
	struct segment_encoder *enc = new_encoder(1);
	struct pugmark_witness_event e = {.kind = PUGMARK_EVENT_WITNESS};

	segment_encoder_reset(enc, bases, known);
	for (uint32_t i = 0; i < SEGMENT_MAX_EVENTS; i++)
		assert_int_equal(segment_encoder_add(enc, &e), 0);
	assert_int_equal(segment_encoder_add(enc, &e), -ENOSPC);
	segment_encoder_reset(enc, bases, known);
	assert_int_equal(segment_encoder_add(enc, &e), 0);
	e.module = SEGMENT_MAX_MODULES;
	assert_int_equal(segment_encoder_add(enc, &e), -EINVAL);
	segment_encoder_free(enc);
}

/* However little events have in common, a segment of as many as it takes is one that is read: of
 * noise it takes what a quarter of the most bytes is (in columns, by the most that each may take).
 */
static void a_full_segment_fits(void **state)
{
	(void)state;
	struct segment_encoder *enc = new_encoder(1);
	struct segment_decoder *dec = segment_decoder_new();
	struct segment_header header = {0};
	struct pugmark_witness_event got;
	uint64_t cfas = 0, read = 0;
	uint32_t n = 0;

	seed = 7;
	segment_encoder_reset(enc, bases, known);
	for (;; n++) {
		struct pugmark_witness_event e = {
			.arm.witness.cfa = next_random(),
			.arm.witness.ret = next_random(),
			.time_ns = (uint64_t)n << 40,
			.site = next_random() & UINT32_MAX,
			.module = next_random() % SEGMENT_MAX_MODULES,
			.flags = PUGMARK_EVENT_HAS_RET,
		};

		if (segment_encoder_add(enc, &e))
			break;
		cfas += e.arm.witness.cfa;
	}
	assert_true(n < SEGMENT_MAX_EVENTS);
	const uint8_t *payload = segment_encoder_finish(enc, &header);
	assert_non_null(payload);
	assert_true(header.raw_bytes <= SEGMENT_MAX_BYTES);
	assert_true(header.raw_bytes > SEGMENT_MAX_BYTES / (in_columns ? 5 : 4));
	assert_int_equal(segment_decoder_open(dec, payload, &header), 0);
	for (; n && segment_decoder_next(dec, &got) == 1; n--)
		read += got.arm.witness.cfa;
	assert_int_equal(n, 0);
	assert_int_equal(read, cfas);
	segment_encoder_free(enc);
	segment_decoder_free(dec);
}

/* A program that does the same over and over costs a hundredth of a byte an event, its times what
 * they vary by. */
static void what_repeats_costs_next_to_nothing(void **state)
{
	(void)state;
	enum { EVENTS = 100000, LOOP = 500 };
	struct pugmark_witness_event loop[LOOP];

	seed = 11;
	for (int i = 0; i < LOOP; i++)
		loop[i] = any_event(true, 0);
	for (uint32_t unit_ns = 0; unit_ns <= 200; unit_ns += 200) {
		struct segment_encoder *enc = new_encoder(unit_ns);
		struct segment_header header = {0};

		segment_encoder_reset(enc, bases, known);
		for (uint32_t i = 0, time_ns = 0; i < EVENTS; i++) {
			struct pugmark_witness_event e = loop[i % LOOP];

			time_ns += 700 + 50 * (e.site % 8) + next_random() % 64;
			e.time_ns = time_ns;
			assert_int_equal(segment_encoder_add(enc, &e), 0);
		}
		assert_non_null(segment_encoder_finish(enc, &header));
		assert_in_range(header.raw_bytes, 1,
				EVENTS / 100 + LOOP * 12 + (unit_ns ? EVENTS / 8 : 0));
		segment_encoder_free(enc);
	}
}

/* A payload of a few hundred events of all kinds. */
static uint8_t *some_payload(struct segment_header *header)
{
	struct segment_encoder *enc = new_encoder(1);

	segment_encoder_reset(enc, bases, known);
	for (uint32_t i = 0; i < 300; i++) {
		struct pugmark_witness_event e = any_event(false, 1000 * i);

		assert_int_equal(segment_encoder_add(enc, &e), 0);
	}
	const uint8_t *payload = segment_encoder_finish(enc, header);
	uint8_t *copy = malloc(header->raw_bytes);
	memcpy(copy, payload, header->raw_bytes);
	segment_encoder_free(enc);
	return copy;
}

/* In columns the payload's codec finds it: a program that does the same over and over costs less
 * than a tenth of a byte an event, and at most two bits more than its times vary by. */
static void what_repeats_costs_little_in_columns(void **state)
{
	(void)state;
	enum { EVENTS = 100000, LOOP = 500 };
	struct pugmark_witness_event loop[LOOP];
	struct codec *codec = codec_new();

	seed = 11;
	for (int i = 0; i < LOOP; i++)
		loop[i] = any_event(true, 0);
	for (uint32_t unit_ns = 0; unit_ns <= 200; unit_ns += 200) {
		struct segment_encoder *enc = new_encoder(unit_ns);
		struct segment_header header = {0};
		uint8_t kind;

		segment_encoder_reset(enc, bases, known);
		for (uint32_t i = 0, time_ns = 0; i < EVENTS; i++) {
			struct pugmark_witness_event e = loop[i % LOOP];

			time_ns += 700 + 50 * (e.site % 8) + next_random() % 64;
			e.time_ns = time_ns;
			assert_int_equal(segment_encoder_add(enc, &e), 0);
		}
		const uint8_t *payload = segment_encoder_finish(enc, &header);
		assert_non_null(payload);
		uint8_t *packed = malloc(codec_bound(header.raw_bytes));
		size_t n = codec_compress(codec, payload, header.raw_bytes, packed, &kind);
		assert_in_range(n, 1, EVENTS / 10 + (unit_ns ? EVENTS * 3 / 8 : 0));
		free(packed);
		segment_encoder_free(enc);
	}
	codec_free(codec);
}

/* Columns that say other than their header: more symbols than events, a symbol that there is none
 * of, fewer steps or times than events. */
static void columns_that_lie_are_refused(void **state)
{
	(void)state;
	/* unit 1, no bases; one symbol of kind 0, site 0; two events; no values, no snapshots */
	static const uint8_t right[] = {1, 0, 4, 0, 0, 0, 0, 2, 0, 0, 2, 0, 0, 2, 5, 5, 0, 0};
	static const struct {
		uint8_t at, is, then; /* how many events come before it is found */
		bool opens;
	} wrong[] = {
		{8, 1, 0, true},    /* the first event is of symbol 1 */
		{9, 77, 1, true},   /* the second of 77 */
		{5, 64, 0, false},  /* a module that there is none of */
		{7, 200, 0, false}, /* a column that is longer than the payload */
	};
	struct segment_decoder *dec = segment_decoder_new();
	struct segment_header header = {
		.version = SEGMENT_VERSION_COLUMNS, .n = 2, .raw_bytes = sizeof(right)};
	struct pugmark_witness_event e;
	uint8_t copy[sizeof(right)];

	assert_int_equal(segment_decoder_open(dec, right, &header), 0);
	assert_int_equal(segment_decoder_next(dec, &e), 1);
	assert_int_equal(e.time_ns, 5);
	assert_int_equal(segment_decoder_next(dec, &e), 1);
	assert_int_equal(e.time_ns, 10);
	assert_int_equal(segment_decoder_next(dec, &e), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		memcpy(copy, right, sizeof(right));
		copy[wrong[i].at] = wrong[i].is;
		assert_int_equal(segment_decoder_open(dec, copy, &header),
				 wrong[i].opens ? 0 : -EBADMSG);
		for (uint8_t n = 0; wrong[i].opens && n < wrong[i].then; n++)
			assert_int_equal(segment_decoder_next(dec, &e), 1);
		if (wrong[i].opens)
			assert_int_equal(segment_decoder_next(dec, &e), -EBADMSG);
	}
	header.n = 3; /* one more than the columns have */
	assert_int_equal(segment_decoder_open(dec, right, &header), 0);
	assert_int_equal(segment_decoder_next(dec, &e), 1);
	assert_int_equal(segment_decoder_next(dec, &e), 1);
	assert_int_equal(segment_decoder_next(dec, &e), -EBADMSG);
	header.n = 0; /* and a symbol */
	assert_int_equal(segment_decoder_open(dec, right, &header), -EBADMSG);
	segment_decoder_free(dec);
}

/* Whatever is in a payload, reading ends, inside it. (Run with sanitizers to see more.) */
static void damage_is_survived(void **state)
{
	(void)state;
	struct segment_decoder *dec = segment_decoder_new();
	struct segment_header header = {0};
	struct pugmark_witness_event e;

	seed = 12345;
	uint8_t *payload = some_payload(&header), *copy = malloc(header.raw_bytes);
	for (uint32_t at = 0; at < header.raw_bytes; at++) {
		uint32_t n = 0;

		memcpy(copy, payload, header.raw_bytes);
		copy[at] ^= 1u << (at & 7);
		if (!segment_decoder_open(dec, copy, &header))
			while (segment_decoder_next(dec, &e) == 1)
				n++;
		assert_true(n <= header.n);
	}
	for (uint32_t len = 0; len < header.raw_bytes; len++) {
		struct segment_header cut = header;
		uint8_t *exact = malloc(len + !len);

		memcpy(exact, payload, len);
		cut.raw_bytes = len;
		int err = segment_decoder_open(dec, exact, &cut);
		if (!err) /* its last part need not be there, but for events that say it is */
			while ((err = segment_decoder_next(dec, &e)) == 1)
				;
		assert_int_equal(err, -EBADMSG);
		free(exact);
	}
	free(payload);
	free(copy);
	segment_decoder_free(dec);
}

static void headers_survive(void **state)
{
	(void)state;
	const struct segment_header want = {
		.version = SEGMENT_VERSION,
		.kind = SEGMENT_EVENTS,
		.codec = CODEC_ZSTD,
		.task = 0x11223344,
		.first_event = 0x1122334455667788,
		.n = 77,
		.raw_bytes = 1 << 20,
		.stored_bytes = 4321,
		.crc = 0xdeadbeef,
		.first_ns = 0x8877665544332211,
		.last_ns = 0x8877665544332299,
		.number = 42,
	};
	struct segment_header got = {0};
	uint8_t bytes[SEGMENT_HEADER_BYTES];

	segment_header_write(&want, bytes);
	assert_int_equal(segment_header_read(bytes, &got), 0);
	/* what follows its last field is padding */
	assert_memory_equal(&got, &want,
			    offsetof(struct segment_header, number) + sizeof(want.number));
	for (unsigned bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= 1u << bit % 8;
		assert_int_equal(segment_header_read(bytes, &got), -EBADMSG);
		bytes[bit / 8] ^= 1u << bit % 8;
	}
}

static void codecs_give_back_what_they_took(void **state)
{
	(void)state;
	struct codec *codec = codec_new();
	uint8_t in[4096], out[4096];
	uint8_t kind;

	seed = 99;
	for (int run = 0; run < 50; run++) {
		size_t len = run ? next_random() % sizeof(in) : 0;
		uint8_t *packed = malloc(codec_bound(len));

		if (run == 25)
			codec_hurry(codec);
		for (size_t i = 0; i < len; i++)
			in[i] = run & 1 ? next_random() : i / 50;
		size_t n = codec_compress(codec, in, len, packed, &kind);
		assert_true(n <= codec_bound(len));
		assert_int_equal(codec_expand(codec, kind, packed, n, out, len), 0);
		assert_memory_equal(in, out, len);
		assert_int_equal(codec_expand(codec, kind, packed, n, out, len + 1), -EBADMSG);
		assert_int_equal(codec_expand(codec, 77, packed, n, out, len), -ENOTSUP);
		free(packed);
	}
	codec_free(codec);
}

static int coded(void **state)
{
	(void)state;
	in_columns = false;
	return 0;
}

static int columns(void **state)
{
	(void)state;
	in_columns = true;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(events_survive, coded),
		cmocka_unit_test_setup(events_survive, columns),
		cmocka_unit_test_setup(no_events_survive, coded),
		cmocka_unit_test_setup(no_events_survive, columns),
		cmocka_unit_test_setup(a_full_segment_takes_no_more, coded),
		cmocka_unit_test_setup(a_full_segment_takes_no_more, columns),
		cmocka_unit_test_setup(a_full_segment_fits, coded),
		cmocka_unit_test_setup(a_full_segment_fits, columns),
		cmocka_unit_test_setup(what_repeats_costs_next_to_nothing, coded),
		cmocka_unit_test_setup(what_repeats_costs_little_in_columns, columns),
		cmocka_unit_test(columns_that_lie_are_refused),
		cmocka_unit_test_setup(damage_is_survived, coded),
		cmocka_unit_test_setup(damage_is_survived, columns),
		cmocka_unit_test(headers_survive),
		cmocka_unit_test(codecs_give_back_what_they_took),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

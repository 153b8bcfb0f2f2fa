// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_wet_stored.c: streams of every kind as bytes: read again they are the same, in both
 * directions and from any point; bytes that are cut or changed are refused, or give something. */
#include "offline/wet/streams/stored.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 20000, MADE = 8, SHAPES = 11 };

static uint64_t state = 88172645463325252u;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* What nobody made for this: this program's file, from somewhere in it, in numbers of @width bytes.
 */
static void real(unsigned width, uint64_t *v, size_t n)
{
	static struct bytes file; /* for as long as the program */
	uint8_t some[4096];
	if (!file.len) {
		FILE *self = fopen("/proc/self/exe", "rb");
		assert_non_null(self);
		for (size_t got; (got = fread(some, 1, sizeof(some), self)) > 0;)
			bytes_put(&file, some, got);
		fclose(self);
	}
	assert_true(file.len > width * n);
	size_t from = rnd() % (file.len - width * n) / width * width;
	for (size_t i = 0; i < n; i++) {
		v[i] = 0;
		memcpy(&v[i], file.data + from + i * width, width);
	}
}

/* Streams that different stores do best on. */
static void make(int shape, uint64_t *v, size_t n)
{
	static const unsigned widths[] = {1, 4, 8};
	if (shape >= MADE) {
		real(widths[shape - MADE], v, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		switch (shape) {
		case 0: /* a constant stride, and now and then another one */
			v[i] = (i ? v[i - 1] : 0) + (rnd() % 50 ? 3 : rnd() % 100);
			break;
		case 1: /* a cycle of values without an order */
			v[i] = (i % 7) * 0x9e3779b97f4a7c15 >> 7;
			break;
		case 2: /* nothing to be found */
			v[i] = rnd();
			break;
		case 3: /* a few values in turn */
			v[i] = rnd() % 3;
			break;
		case 4: /* small steps */
			v[i] = (i ? v[i - 1] : 1 << 20) + rnd() % 16 - 8;
			break;
		case 5: /* what depends on the two before */
			v[i] = i < 2 ? i : (v[i - 1] * 31 + v[i - 2]) % 61;
			break;
		case 6:
			v[i] = 42;
			break;
		default: /* bytes */
			v[i] = rnd() & 255;
		}
}

static void walk(const struct bytes *b, const uint64_t *v, size_t n)
{
	struct wet_cursor *c;
	uint64_t got;
	assert_int_equal(wet_cursor_open(b->data, b->len, &c), 0);
	assert_int_equal(wet_cursor_length(c), n);
	for (size_t i = 0; i < n; i++) {
		assert_true(wet_cursor_next(c, &got));
		assert_int_equal(got, v[i]);
	}
	assert_false(wet_cursor_next(c, &got));
	for (size_t i = n; i-- > 0;) {
		assert_true(wet_cursor_previous(c, &got));
		assert_int_equal(got, v[i]);
	}
	assert_false(wet_cursor_previous(c, &got));
	for (int k = 0; n && k < 20; k++) {
		uint64_t at = rnd() % n;
		assert_true(wet_cursor_seek(c, at));
		assert_int_equal(wet_cursor_position(c), at);
		assert_true(rnd() % 2 || !at ? wet_cursor_next(c, &got)
					     : wet_cursor_previous(c, &got));
		assert_int_equal(got, wet_cursor_position(c) > at ? v[at] : v[at - 1]);
	}
	assert_false(wet_cursor_seek(c, n + 1));
	wet_cursor_free(c);
}

static void streams_come_back(void **unused)
{
	static uint64_t v[MOST];
	static const size_t lengths[] = {0, 1, 2, 3, 100, 257, 4096, 4097, MOST};
	struct wet_packer *p = wet_packer_new();
	unsigned by[WET_STORES] = {0};
	(void)unused;
	assert_non_null(p);
	for (int shape = 0; shape < SHAPES; shape++)
		for (size_t k = 0; k < sizeof(lengths) / sizeof(*lengths); k++) {
			struct bytes b = {0};
			enum wet_store store;
			make(shape, v, lengths[k]);
			assert_true(wet_packer_put(p, v, lengths[k], &b, &store));
			by[store]++;
			walk(&b, v, lengths[k]);
			bytes_deinit(&b);
		}
	print_message(
		"%u by FCM, %u differential, %u last n, %u stride, %u as they are, %u in blocks\n",
		by[0], by[1], by[2], by[3], by[4], by[5]);
	for (int i = WET_LAST; i < WET_STORES; i++)
		assert_true(by[i]);
	wet_packer_free(p);
}

/* Each predictor, whether it does best or not. */
static void every_predictor_is_saved(void **unused)
{
	static uint64_t v[500];
	(void)unused;
	for (int predictor = 0; predictor < WET_PREDICTORS; predictor++)
		for (int shape = 0; shape < SHAPES; shape++)
			for (unsigned context = 1; context <= 4; context *= 2) {
				struct bytes b = {0};
				uint8_t byte = (uint8_t)predictor;
				size_t n = rnd() % 500;
				make(shape, v, n);
				struct wet_stream *w = wet_stream_new(predictor, context, 6, v, n);
				assert_non_null(w);
				bytes_put(&b, &byte, 1);
				bytes_put_varint(&b, n);
				wet_stream_save(w, &b);
				wet_stream_free(w);
				walk(&b, v, n);
				bytes_deinit(&b);
			}
}

/* As sanitizers see it. */
static void damaged_bytes_do_no_harm(void **unused)
{
	static uint64_t v[3000];
	struct wet_packer *p = wet_packer_new();
	(void)unused;
	assert_non_null(p);
	for (int k = 0; k < 3000; k++) {
		struct bytes b = {0};
		enum wet_store store;
		struct wet_cursor *c;
		uint64_t got;
		size_t n = k % 100 ? rnd() % 300 : rnd() % 3000;
		make(k % SHAPES, v, n);
		assert_true(wet_packer_put(p, v, n, &b, &store));
		size_t len = rnd() % 4 ? b.len : rnd() % (b.len + 1);
		for (uint64_t flips = rnd() % 4; flips && len; flips--)
			b.data[rnd() % len] ^= 1 << rnd() % 8;
		if (!wet_cursor_open(b.data, len, &c)) {
			while (wet_cursor_position(c) < 5000 && wet_cursor_next(c, &got))
				;
			while (wet_cursor_previous(c, &got))
				;
			wet_cursor_free(c);
		}
		bytes_deinit(&b);
	}
	wet_packer_free(p);
}

/* Its blocks are counted without going round: it has none, and cannot have so many values. */
static void a_length_that_nothing_holds_is_refused(void **unused)
{
	static const uint64_t lengths[] = {UINT64_MAX, UINT64_MAX - WET_BLOCK + 2, WET_BLOCK, 1};
	(void)unused;
	for (int store = 0; store < WET_STORES; store++)
		for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
			struct bytes b = {0};
			uint8_t byte = (uint8_t)store;
			struct wet_cursor *c;
			bytes_put(&b, &byte, 1);
			bytes_put_varint(&b, lengths[i]);
			assert_int_equal(wet_cursor_open(b.data, b.len, &c), -EBADMSG);
			bytes_deinit(&b);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_come_back),
		cmocka_unit_test(every_predictor_is_saved),
		cmocka_unit_test(damaged_bytes_do_no_harm),
		cmocka_unit_test(a_length_that_nothing_holds_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_wet_writers.c: who wrote each byte last, against a list of all bytes; and reads that are
 * unforeseen come back as they were put, and no others from bytes that are cut or changed. */
#include "offline/wet/reads/unforeseen.h"
#include "offline/wet/reads/writers.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { START = 0x7ffe0000 - 600, BYTES = 1200 };

static uint32_t random_number(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static uint32_t naive_load(const struct wet_maker *bytes, uint64_t len, struct wet_maker *out)
{
	uint32_t n = 0;
	for (uint64_t i = 0; i < len; i++) {
		uint32_t k = 0;
		while (k < n && !wet_maker_same(&out[k], &bytes[i]))
			k++;
		if (bytes[i].stmt && k == n)
			out[n++] = bytes[i];
	}
	return n;
}

static void last_writers(void **s)
{
	(void)s;
	static struct wet_maker naive[BYTES];
	struct wet_writers w = {0};
	uint64_t seed = 3;
	for (unsigned i = 0; i < 300000; i++) {
		struct wet_maker got[WET_WRITERS_LOAD], expected[WET_WRITERS_LOAD];
		uint64_t lens[] = {1, 2, 4, 8, 8, 16, 32, 1 + random_number(&seed) % 64};
		uint64_t len = lens[random_number(&seed) % 8];
		uint64_t at = random_number(&seed) % (BYTES - len);
		if (random_number(&seed) % 2)
			at &= ~(len < 8 ? len - 1 : (uint64_t)7);
		if (random_number(&seed) % 2) {
			/* Nobody now and then; the same writer more than once in a row. */
			struct wet_maker by = {random_number(&seed) % 5, i / 4};
			by.time = by.stmt ? by.time : 0;
			wet_writers_store(&w, START + at, len, by);
			for (uint64_t k = 0; k < len; k++)
				naive[at + k] = by;
			continue;
		}
		uint32_t n = naive_load(naive + at, len, expected);
		assert_int_equal(wet_writers_load(&w, START + at, len, got), n);
		assert_memory_equal(got, expected, n * sizeof(*got));
		if (random_number(&seed) % 20000 == 0) {
			wet_writers_clear(&w);
			memset(naive, 0, sizeof(naive));
		}
	}
	assert_false(w.no_memory);
	wet_writers_deinit(&w);
}

static void strings(void **s)
{
	(void)s;
	struct wet_writers w = {0};
	const struct wet_access stos = {.string = true, .writes = true, .size = 4};
	const struct wet_access scas = {.string = true, .size = 1};
	const uint64_t at[3] = {START, 0, 10};
	struct wet_maker by = {7, 9}, got[WET_WRITERS_LOAD];
	wet_writers_string(&w, &scas, at, by);
	assert_int_equal(wet_writers_load(&w, START, 1, got), 0);
	wet_writers_string(&w, &stos, at, by);
	assert_int_equal(wet_writers_load(&w, START + 39, 1, got), 1);
	assert_int_equal(wet_writers_load(&w, START + 40, 1, got), 0);
	assert_int_equal(wet_writers_load(&w, START - 1, 1, got), 0);
	wet_writers_clear(&w);
	w.down = true;
	wet_writers_string(&w, &stos, at, by);
	assert_int_equal(wet_writers_load(&w, START + 3, 1, got), 1);
	assert_int_equal(wet_writers_load(&w, START + 4, 1, got), 0);
	assert_int_equal(wet_writers_load(&w, START - 36, 1, got), 1);
	assert_int_equal(wet_writers_load(&w, START - 37, 1, got), 0);
	wet_writers_deinit(&w);
}

enum { STMTS = 40, NODES = 4, READS = 3000 };

struct put {
	struct unforeseen_read read;
	struct wet_maker by[3];
};

static void unforeseen_come_back(void **s)
{
	(void)s;
	static struct put all[READS];
	uint32_t node_of[STMTS], executions[NODES];
	struct unforeseen u = {0};
	struct unforeseen_block b;
	struct unforeseen_reader r;
	struct codec *codec = codec_new();
	uint64_t seed = 5, path = 0;
	for (unsigned i = 0; i < STMTS; i++)
		node_of[i] = i % NODES;
	for (unsigned i = 0; i < NODES; i++)
		executions[i] = 1000 * i;
	for (unsigned i = 0; i < READS; i++) {
		bool memory = random_number(&seed) % 2;
		uint32_t n = memory ? random_number(&seed) % 4 : 1 + random_number(&seed) % 4;
		path += random_number(&seed) % 3;
		all[i].read = (struct unforeseen_read){path, random_number(&seed) % 30,
						       memory ? WET_MEMORY : 3, n};
		unforeseen_put(&u, &all[i].read);
		for (uint32_t k = 0; k < (memory ? n : 1); k++) {
			struct wet_maker by = {random_number(&seed) % (STMTS + 1), 0};
			uint32_t now = by.stmt ? executions[node_of[by.stmt - 1]] : 0;
			by.time = now ? random_number(&seed) % now : 0;
			all[i].by[k] = by;
			unforeseen_put_writer(&u, by, now);
		}
	}
	assert_true(unforeseen_end(&u, &b));
	assert_int_equal(unforeseen_read(codec, b.at, b.len, &r), 0);
	for (unsigned i = 0; i < READS; i++) {
		uint32_t n = all[i].read.operand == WET_MEMORY ? all[i].read.n : 1;
		assert_true(r.is);
		assert_memory_equal(&r.next, &all[i].read, sizeof(r.next));
		for (uint32_t k = 0; k < n; k++) {
			struct wet_maker by;
			assert_true(unforeseen_writer(&r, node_of, STMTS, executions, &by));
			assert_true(wet_maker_same(&by, &all[i].by[k]));
		}
		assert_true(unforeseen_pass(&r));
	}
	assert_false(r.is);
	columns_free(&r.columns);
	for (size_t len = 0; len < b.len; len += b.len / 50 + 1) {
		assert_int_equal(unforeseen_read(codec, b.at, len, &r), -EBADMSG);
		columns_free(&r.columns);
	}
	free(b.at);
	unforeseen_deinit(&u);
	codec_free(codec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(last_writers),
		cmocka_unit_test(strings),
		cmocka_unit_test(unforeseen_come_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

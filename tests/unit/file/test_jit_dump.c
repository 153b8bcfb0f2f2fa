// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_jit_dump.c: the records of a dump as programs write them; a record that is not there whole
 * is waited for, others than the beginning of a piece are passed over, and what is none ends it: a
 * header of another kind, a record without a length, names without an end and numbers out of all
 * bounds. */
#include "user/file/jit_dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static char file[1 << 16];
static size_t len;

static void put(const void *bytes, size_t n)
{
	memcpy(file + len, bytes, n);
	len += n;
}
static void put32(uint32_t v)
{
	put(&v, sizeof(v));
}
static void put64(uint64_t v)
{
	put(&v, sizeof(v));
}
static int begin(void **state)
{
	(void)state;
	len = 0;
	put32(0x4A695444);
	put32(1);
	put32(40);
	put32(62);
	put32(0);
	put32(1);
	put64(1);
	put64(0);
	return 0;
}
static void load(uint64_t addr, uint64_t size, const char *name, uint32_t code_bytes)
{
	put32(0);
	put32(16 + 40 + (uint32_t)strlen(name) + 1 + code_bytes);
	put64(1);
	put32(1);
	put32(1);
	put64(addr);
	put64(addr);
	put64(size);
	put64(1);
	put(name, strlen(name) + 1);
	memset(file + len, 0x90, code_bytes);
	len += code_bytes;
}

/* The names that are told of the first @there bytes, from *@at on. */
static const char *told(struct jit_dump *dump, size_t *at, size_t there)
{
	static char names[1 << 12];
	struct perf_map_line line;
	uint64_t used;
	bool is;

	*names = 0;
	do {
		size_t some = there - *at;
		if (some > JIT_DUMP_HEAD_MAX)
			some = JIT_DUMP_HEAD_MAX;
		used = jit_dump_next(dump, file + *at, some, there - *at, &line, &is);
		*at += used;
		assert_true(*at <= there);
		if (is)
			strncat(strcat(names, "|"), line.name, line.name_len);
	} while (used);
	return names;
}

static void records_of_programs(void **state)
{
	struct jit_dump dump = {0};
	struct perf_map_line line;
	size_t at = 0;
	bool is;

	(void)state;
	load(0x7f0000001000, 0x40, "first", 0x40);
	size_t second = len;
	put32(2); /* debug information */
	put32(32);
	put64(1);
	put64(0);
	put64(0);
	load(0x7f0000002000, 0x1000, "second", 0x1000);
	assert_string_equal(told(&dump, &at, len), "|first|second");
	assert_int_equal(at, len);
	dump = (struct jit_dump){0};
	assert_int_equal(jit_dump_next(&dump, file, 40, len, &line, &is), 40);
	assert_false(is);
	assert_int_equal(jit_dump_next(&dump, file + 40, JIT_DUMP_HEAD_MAX, len - 40, &line, &is),
			 second - 40);
	assert_true(is && line.start == 0x7f0000001000 && line.size == 0x40 && line.name_len == 5);
}

static void a_piece_is_moved(void **state)
{
	struct jit_dump dump = {0};
	struct perf_map_line line;
	size_t at = 40;
	bool is;

	(void)state;
	load(0x1000, 0x40, "first", 0x40);
	size_t second = len;
	put32(1);
	put32(64);
	put64(1);
	put32(5);
	put32(5);
	put64(0x1000);
	put64(0x1000);
	put64(0x3000);
	put64(0x40);
	put64(1);
	assert_int_equal(jit_dump_next(&dump, file, 40, len, &line, &is), 40);
	at += jit_dump_next(&dump, file + at, JIT_DUMP_HEAD_MAX, len - at, &line, &is);
	assert_true(is && !dump.moved && dump.number == 1 && at == second);
	at += jit_dump_next(&dump, file + at, len - at, len - at, &line, &is);
	assert_true(!is && dump.moved && dump.number == 1 && at == len);
	assert_true(line.start == 0x3000 && line.size == 0x40 && !line.name_len);
	assert_true(jit_dump_load(file + 40, second - 40, &line) && line.name_len == 5 &&
		    line.start == 0x1000);
	assert_false(jit_dump_load(file + second, len - second, &line));
	memset(file + second + 40, 0xff, 8); /* to where no code lies */
	assert_int_equal(
		jit_dump_next(&dump, file + second, len - second, len - second, &line, &is), 64);
	assert_true(!is && !dump.moved);
}

static void what_is_not_whole_is_waited_for(void **state)
{
	size_t at = 0;
	struct jit_dump dump = {0};

	(void)state;
	load(0x1000, 16, "one", 16);
	load(0x2000, 16, "two", 16);
	for (size_t there = 0; there < len; there++)
		if (*told(&dump, &at, there))
			assert_string_equal(told(&dump, &at, there), ""); /* once */
	assert_string_equal(told(&dump, &at, len), "|two");
	assert_false(dump.bad);
}

static void what_is_none_ends_it(void **state)
{
	struct jit_dump dump = {0};
	size_t at = 0;

	(void)state;
	load(0x1000, 0, "empty", 0);
	load(0x1000, 1ull << 40, "long", 0);
	load(1ull << 50, 16, "high", 0);
	load(0x1000, 16, "", 0);
	load(0x1000, 16, "two\nlines", 0);
	size_t cut = len; /* a name without an end: its record is shorter */
	load(0x1000, 16, "endless", 0);
	file[cut + 4] = 16 + 40 + 4;
	len = cut + 16 + 40 + 4;
	put32(7);
	put32(0); /* nothing is behind it */
	len += 100;
	assert_string_equal(told(&dump, &at, len), "|two|endl");
	assert_true(dump.bad && at < len);
	assert_string_equal(told(&dump, &at, len), "");
	dump = (struct jit_dump){0};
	file[0] = 0; /* another byte order, or no dump */
	at = 0;
	assert_string_equal(told(&dump, &at, len), "");
	assert_true(dump.bad && !at);
}

static void so_is_a_header(void **state)
{
	struct jit_dump dump = {0};
	size_t at = 0;

	(void)state;
	file[8] = 48; /* its length */
	for (size_t there = 0; there < 48; there++) {
		assert_string_equal(told(&dump, &at, there), "");
		assert_int_equal(at, 0);
	}
	put64(0);
	load(0x1000, 16, "one", 16);
	assert_string_equal(told(&dump, &at, len), "|one");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(records_of_programs, begin),
		cmocka_unit_test_setup(a_piece_is_moved, begin),
		cmocka_unit_test_setup(what_is_not_whole_is_waited_for, begin),
		cmocka_unit_test_setup(so_is_a_header, begin),
		cmocka_unit_test_setup(what_is_none_ends_it, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

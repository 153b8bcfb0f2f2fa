// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_perf_map.c: the lines of a perf map as the programs that write them have them; what is none
 * is passed over; however the text is cut into pieces, the same lines come out. */
#include "user/file/perf_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void lines_of_programs(void **state)
{
	static const struct {
		const char *text;
		uint64_t start, size;
		const char *name; /* NULL: it is no line */
	} rows[] = {
		{"7f1a2b3c4d00 1a LazyCompile:~foo /a b/app.js:12:3\n", 0x7f1a2b3c4d00, 0x1a,
		 "LazyCompile:~foo /a b/app.js:12:3"}, /* V8 */
		{"0x00007f8b1c000000 0x0000000000000540 StubRoutines (1)\n", 0x7f8b1c000000, 0x540,
		 "StubRoutines (1)"}, /* a JVM */
		{"7F00AB 10 A\r\n", 0x7f00ab, 0x10, "A"},
		{"10  20  two blanks \n", 0x10, 0x20, "two blanks"},
		{"\n", 0, 0, NULL},
		{"10 20\n", 0, 0, NULL},
		{"10 20 \n", 0, 0, NULL},
		{"10 0 empty\n", 0, 0, NULL},
		{"g 10 name\n", 0, 0, NULL},
		{"0x 10 name\n", 0, 0, NULL},
		{"-10 10 name\n", 0, 0, NULL},
		{" 10 10 name\n", 0, 0, NULL},
		{"11112222333344445 10 name\n", 0, 0, NULL},
		{"800000000000 10 name\n", 0, 0, NULL},
		{"10 40000001 name\n", 0, 0, NULL},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct perf_map map = {0};
		struct perf_map_line line;
		bool is;
		size_t len = strlen(rows[i].text);
		assert_int_equal(perf_map_next(&map, rows[i].text, len, &line, &is), len);
		assert_int_equal(is, rows[i].name != NULL);
		if (!is)
			continue;
		assert_true(line.start == rows[i].start && line.size == rows[i].size);
		assert_int_equal(line.name_len, strlen(rows[i].name));
		assert_memory_equal(line.name, rows[i].name, line.name_len);
	}
	struct perf_map map = {0};
	struct perf_map_line line;
	bool is;
	const char with_nul[] = "10 10 a\0b\n";
	assert_int_equal(perf_map_next(&map, with_nul, sizeof(with_nul) - 1, &line, &is),
			 sizeof(with_nul) - 1);
	assert_false(is);
}

static void a_name_is_cut_between_characters(void **state)
{
	char text[2 * PERF_MAP_NAME_MAX + 32];
	(void)state;
	for (unsigned before = 0; before < 3; before++) {
		struct perf_map map = {0};
		struct perf_map_line line;
		bool is;
		int n = sprintf(text, "10 20 %.*s", before, "ab");
		while (n < PERF_MAP_NAME_MAX + 20)
			n += sprintf(text + n, "\u20ac"); /* three bytes */
		text[n++] = '\n';
		assert_int_equal(perf_map_next(&map, text, n, &line, &is), n);
		assert_true(is && line.name_len <= PERF_MAP_NAME_MAX &&
			    line.name_len > PERF_MAP_NAME_MAX - 3);
		assert_int_equal((line.name_len - before) % 3, 0);
	}
}

/* All names of @text, read as a file is that comes in pieces of @piece bytes. */
static char *names_of(const char *text, size_t len, size_t piece)
{
	struct perf_map map = {0};
	struct perf_map_line line;
	char *all = calloc(1, len + 1), *kept = malloc(PERF_MAP_LINE_MAX + piece);
	size_t n = 0, at = 0;
	bool is;
	assert_true(all && kept);
	while (at < len) {
		size_t add = len - at < piece ? len - at : piece, taken = 0, used;
		memcpy(kept + n, text + at, add);
		n += add;
		at += add;
		while ((used = perf_map_next(&map, kept + taken, n - taken, &line, &is))) {
			taken += used;
			if (is)
				strncat(strcat(all, "|"), line.name, line.name_len);
		}
		memmove(kept, kept + taken, n -= taken);
		assert_true(n < PERF_MAP_LINE_MAX);
	}
	free(kept);
	return all;
}

static void pieces_make_no_difference(void **state)
{
	static char text[4 * PERF_MAP_LINE_MAX];
	size_t n = 0;
	(void)state;
	n += sprintf(text + n, "10 20 first\n1 2 ");
	memset(text + n, 'x', 2 * PERF_MAP_LINE_MAX);
	n += 2 * PERF_MAP_LINE_MAX;
	n += sprintf(text + n, "\nrubbish\n30 40 second\n50 60 third\n70 80 not whole");
	for (size_t piece = 1; piece < 3 * PERF_MAP_LINE_MAX; piece += 1 + piece / 3) {
		char *names = names_of(text, n, piece);
		assert_string_equal(names, "|first|second|third");
		free(names);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_programs),
		cmocka_unit_test(a_name_is_cut_between_characters),
		cmocka_unit_test(pieces_make_no_difference),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

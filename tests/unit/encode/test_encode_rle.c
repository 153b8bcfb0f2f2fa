// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_encode_rle.c: claims about run-length encoding: the strings of Reiss and Renieris come out
 * as in their paper, what comes out says exactly what went in however it was cut into pieces, and
 * no immediate repetition of one symbol is left. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offline/encode/encode_rle.h"
#include "tests/support/strings.h"

struct result {
	char text[512];
	struct string said;
	uint32_t items, equal_neighbours;
};

static int take(void *ctx, const uint32_t *symbols, size_t n, uint64_t count)
{
	struct result *r = ctx;
	size_t at = strlen(r->text);
	assert_true(count && n);
	assert_true(count == 1 || n <= RLE_MAX_PERIOD);
	r->items += count == 1 ? n : 1;
	for (uint64_t i = 0; i < (count == RLE_MANY ? 1 : count); i++)
		for (size_t k = 0; k < n; k++)
			string_push(&r->said, symbols[k]);
	for (size_t k = 1; count == 1 && k < n; k++)
		r->equal_neighbours += symbols[k] == symbols[k - 1];
	if (sizeof(r->text) - at < n + 32)
		return 0;
	if (count == RLE_MANY)
		at += sprintf(r->text + at, "*");
	else if (count > 1)
		at += sprintf(r->text + at, "%u", (unsigned)count);
	if (count > 1 && n > 1)
		r->text[at++] = '(';
	for (size_t k = 0; k < n; k++)
		r->text[at++] = letter_of(symbols[k]);
	if (count > 1 && n > 1)
		r->text[at++] = ')';
	r->text[at] = 0;
	return 0;
}

static void encode_as(const struct string *s, uint64_t k, bool balanced, size_t piece,
		      struct result *out)
{
	struct rle rle;
	*out = (struct result){0};
	rle_init(&rle, k, balanced, take, out);
	for (size_t i = 0; i < s->n; i += piece)
		assert_int_equal(rle_put(&rle, s->at + i, s->n - i < piece ? s->n - i : piece), 0);
	assert_int_equal(rle_finish(&rle), 0);
}

static void encode(const struct string *s, uint64_t k, size_t piece, struct result *out)
{
	encode_as(s, k, false, piece, out);
}

static void assert_encodes(const char *letters, uint64_t k, const char *want)
{
	struct string string = {0};
	struct result result;
	string_letters(&string, letters);
	encode(&string, k, 1, &result);
	assert_string_equal(result.text, want);
	string_deinit(&string);
	string_deinit(&result.said);
}

static void paper_strings(void **state)
{
	(void)state;
	assert_encodes("abbbbbbbbbcdddbcdc", 0, "a9bc3dbcdc");
	assert_encodes("abbbbbbbbbcdddbcdc", 3, "a*bc3dbcdc");
	assert_encodes("aaaabababc", 0, "4a2(ba)bc");
	assert_encodes("aaaabababc", 1, "*a*(ba)bc");
}

static void small_strings(void **state)
{
	(void)state;
	assert_encodes("", 0, "");
	assert_encodes("a", 3, "a");
	assert_encodes("aa", 1, "*a");
	assert_encodes("abcabcabcab", 0, "3(abc)ab");
	assert_encodes("abcdefghijklmnopabcdefghijklmnop", 0, "2(abcdefghijklmnop)");
	assert_encodes("abcdefghijklmnopqabcdefghijklmnopq", 0,
		       "abcdefghijklmnopqabcdefghijklmnopq");
	assert_encodes("aabaab", 0, "2ab2ab");
	assert_encodes("f)f)f)g)", 2, "*(f))g)");
}

static void says_what_went_in(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 400; seed++)
		for (int kind = 0; kind < N_STRING_KINDS; kind++) {
			struct string string = {0};
			struct result whole, pieces, many;
			string_random(&string, kind, 10 + seed * 17, seed);
			encode(&string, 0, string.n, &whole);
			encode(&string, 0, 1 + seed % 97, &pieces);
			encode(&string, 2, 1 + seed % 97, &many);
			assert_int_equal(whole.said.n, string.n);
			assert_memory_equal(whole.said.at, string.at, 4 * string.n);
			assert_int_equal(pieces.said.n, string.n);
			assert_memory_equal(pieces.said.at, string.at, 4 * string.n);
			assert_int_equal(whole.items, pieces.items);
			assert_int_equal(whole.items, many.items);
			assert_int_equal(whole.equal_neighbours, 0);
			string_deinit(&string);
			string_deinit(&whole.said);
			string_deinit(&pieces.said);
			string_deinit(&many.said);
		}
}

/* A period that fits is found wherever it starts, with anything before and after. */
static void finds_every_period(void **state)
{
	(void)state;
	for (uint32_t period = 1; period <= RLE_MAX_PERIOD; period++)
		for (uint32_t before = 0; before < 40; before++) {
			struct string string = {0};
			struct result result;
			for (uint32_t i = 0; i < before; i++)
				string_push(&string, 1000 + i);
			for (uint32_t i = 0; i < 5 * period; i++)
				string_push(&string, 2000 + i % period);
			string_push(&string, 3000);
			encode(&string, 0, 7, &result);
			assert_int_equal(result.items, before + 2);
			string_deinit(&string);
			string_deinit(&result.said);
		}
}

/* Where symbols are brackets, what repeats is whole. */
static void balanced_units(void **state)
{
	(void)state;
	static const char *const examples[][2] = {
		{"o)r)r)r)c)", "o)3(r))c)"},
		{"uo)r)c))uo)r)c))uo)r)c))", "3(uo)r)c)))"},
		{"ab))ab))ab))", "3(ab)))"},
	};
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		struct string string = {0};
		struct result result;
		string_letters(&string, examples[i][0]);
		encode_as(&string, 0, true, 1, &result);
		assert_string_equal(result.text, examples[i][1]);
		string_deinit(&string);
		string_deinit(&result.said);
	}
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct string string = {0};
		struct result result;
		string_random(&string, STRING_BALANCED, 10 + seed * 17, seed);
		encode_as(&string, 0, true, 1 + seed % 97, &result);
		assert_int_equal(result.said.n, string.n);
		assert_memory_equal(result.said.at, string.at, 4 * string.n);
		string_deinit(&string);
		string_deinit(&result.said);
	}
}

static int refuse(void *ctx, const uint32_t *symbols, size_t n, uint64_t count)
{
	(void)symbols, (void)n, (void)count;
	return ++*(int *)ctx > 2 ? -EIO : 0;
}

static void a_sink_can_stop_it(void **state)
{
	(void)state;
	struct string string = {0};
	struct rle rle;
	int calls = 0;
	string_random(&string, STRING_RUNS, 5000, 1);
	rle_init(&rle, 0, false, refuse, &calls);
	assert_int_equal(rle_put(&rle, string.at, string.n), -EIO);
	assert_int_equal(calls, 3);
	string_deinit(&string);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paper_strings),     cmocka_unit_test(small_strings),
		cmocka_unit_test(says_what_went_in), cmocka_unit_test(finds_every_period),
		cmocka_unit_test(balanced_units),    cmocka_unit_test(a_sink_can_stop_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_arg_types.c: what types of arguments are said in a recording is read or refused, never
 * believed: any bytes, and any values, print in bounds. What a good one prints stands here. */
#include "user/file/arg_types.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char good[] =
	"[{\"function\":\"f\",\"address\":4096,\"arguments\":["
	"{\"name\":\"who\",\"is\":\"text\",\"bytes\":8,\"in\":0},"
	"{\"name\":\"x\",\"is\":\"unread\",\"bytes\":8},"
	"{\"name\":\"c\",\"is\":\"enum\",\"bytes\":4,\"in\":1,\"names\":[[\"RED\",0],[\"A\",1],["
	"\"B\",2]]},"
	"{\"name\":\"r\",\"is\":\"struct\",\"bytes\":8,\"in\":2,\"more\":true,\"fields\":["
	"{\"name\":\"id\",\"is\":\"int\",\"bytes\":2,\"at\":0},"
	"{\"name\":\"name\",\"is\":\"chars\",\"bytes\":12,\"at\":8},"
	"{\"name\":\"w\",\"is\":\"real\",\"bytes\":8,\"at\":24}]}]},"
	"{\"function\":\"g\",\"address\":0,\"arguments\":["
	"{\"name\":\"n\",\"is\":\"char\",\"bytes\":1,\"in\":5}]}]";

static const struct arg_values values = {
	.registers = {0x1000, 3, 0x2000},
	.n_registers = 6,
	.words = {0xf, 0x6867666564636261, 0x6a69, 0xfffffffe, 0x6d6c6b6a69686766, 0x71706f6e,
		  0x3ff8000000000000},
	.n_words = 7,
};

static void print(const struct arg_function *f, const struct arg_values *v, bool json, char *text,
		  size_t len)
{
	FILE *file = fmemopen(text, len, "w");
	struct outbuf *out = calloc(1, sizeof(*out));
	assert_non_null(file);
	assert_non_null(out);
	outbuf_init(out, file);
	arg_function_print(f, v, json, out);
	outbuf_flush(out);
	fclose(file);
	free(out);
}

static void a_good_one_is_printed(void **state)
{
	struct arg_types *types;
	char text[256];
	(void)state;
	assert_int_equal(arg_types_parse(good, strlen(good), &types), 0);
	const struct arg_function *f = arg_types_function(types, 4096);
	assert_non_null(f);
	assert_null(arg_types_function(types, 4097));
	assert_null(arg_types_function(types, 0));
	assert_null(arg_types_import(types, "f"));
	assert_non_null(arg_types_import(types, "g"));
	print(f, &values, false, text, sizeof(text));
	assert_string_equal(text,
			    "who=\"abcdefghij\", x=?, c=A|B, r={id=-2, name=\"fghijklmnopq\", "
			    "w=1.5, …}");
	print(f, &values, true, text, sizeof(text));
	assert_string_equal(text,
			    "{\"who\":\"abcdefghij\",\"x\":null,\"c\":\"A|B\",\"r\":{\"id\":-2,"
			    "\"name\":\"fghijklmnopq\",\"w\":1.5}}");
	struct arg_read reads[ARG_READS_MAX];
	assert_int_equal(arg_function_reads(f, reads), 4);
	assert_true(reads[0].text && !reads[0].through && reads[0].bytes == 32);
	assert_true(reads[2].text && reads[2].in == 2 && reads[2].at == 8 && reads[2].bytes == 12);
	arg_types_free(types);
}

static void what_was_not_read_is_said(void **state)
{
	struct arg_types *types;
	char text[256];
	struct arg_values none = {.registers = {0x1000, 7, 0x2000}, .n_registers = 3};
	(void)state;
	assert_int_equal(arg_types_parse(good, strlen(good), &types), 0);
	const struct arg_function *f = arg_types_function(types, 4096);
	print(f, &none, false, text, sizeof(text));
	assert_string_equal(text, "who=0x1000, x=?, c=7, r={id=?, name=?, w=?, …}");
	none.n_registers = 1;
	none.registers[0] = 0;
	print(f, &none, false, text, sizeof(text));
	assert_string_equal(text, "who=NULL, x=?, c=?, r=?");
	arg_types_free(types);
}

/* Each byte of it changed, each length of it, with values that are anything. */
static void bad_ones_do_no_harm(void **state)
{
	char changed[sizeof(good)], text[8192];
	unsigned kept = 0;
	(void)state;
	for (size_t i = 0; i < sizeof(good) - 1; i++)
		for (unsigned k = 0; k < 12; k++) {
			struct arg_types *types = NULL;
			size_t len = k ? sizeof(good) - 1 : i;
			memcpy(changed, good, sizeof(good));
			changed[i] = "\0"
				     "9-\"{}[],\xff"
				     "a"[k % 11];
			if (arg_types_parse(changed, len, &types))
				continue;
			kept++;
			const struct arg_function *f = arg_types_function(types, 4096);
			struct arg_values any = {.n_registers = k % 7, .n_words = ARG_WORDS_MAX};
			memset(any.words, k & 1 ? 0xff : 0x41, sizeof(any.words));
			memset(any.registers, 0xff, sizeof(any.registers));
			if (f)
				print(f, &any, k & 2, text, sizeof(text));
			arg_types_free(types);
		}
	assert_true(kept > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_one_is_printed),
		cmocka_unit_test(what_was_not_read_is_said),
		cmocka_unit_test(bad_ones_do_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

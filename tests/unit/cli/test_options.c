// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_options.c: claims about options from a table: each goes where its row says, what is wrong is
 * a usage error, and the first word that is no option ends them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <getopt.h>

#include "user/cli/command.h"
#include "user/cli/options.h"

struct args {
	int unused; /* an offset of 0 says that there is none */
	bool flag;
	const char *text, *last;
	struct option_list list;
	double number;
	uint32_t count;
	uint64_t ns;
	double factor;
};

static int take_number(void *args, double value)
{
	((struct args *)args)->number = value;
	return EXIT_OK;
}

static int refuse(void *args, const char *text)
{
	(void)args, (void)text;
	return EXIT_ERROR;
}

static const struct option_row rows[] = {
	{"flag", 'f', .flag = offsetof(struct args, flag), .help = "a flag"},
	{"text", 't', .value = "TEXT", .text = offsetof(struct args, text), .help = "one"},
	{"last", .text = offsetof(struct args, last), .last_counts = true},
	{"list", .list = offsetof(struct args, list)},
	{"number", 'n', .number = take_number, .max = 10, .whole = true},
	{"count", .u32 = offsetof(struct args, count), .max = 10, .whole = true},
	{"seconds", .u64 = offsetof(struct args, ns), .unit = 1e9, .max = 1e9},
	{"factor", .real = offsetof(struct args, factor), .max = 10},
	{"refused", .word = refuse},
};
static const struct option_table table = {"test", "usage: test", "", rows,
					  sizeof(rows) / sizeof(*rows)};

static int parse(struct args *args, const char *const *words)
{
	int n = 1;
	char *argv[16] = {"test"};
	for (; words[n - 1]; n++)
		argv[n] = (char *)words[n - 1];
	*args = (struct args){0};
	optind = 0; /* getopt begins anew */
	return options_parse(&table, args, n, argv);
}
#define PARSE(args, ...) parse(args, (const char *const[]){__VA_ARGS__, NULL})

static void each_goes_where_its_row_says(void **state)
{
	struct args a;
	(void)state;
	assert_int_equal(PARSE(&a, "-f", "--text=x", "--list", "a", "--list", "b", "-n", "7"),
			 EXIT_OK);
	assert_true(a.flag);
	assert_string_equal(a.text, "x");
	assert_int_equal(a.list.n, 2);
	assert_string_equal(a.list.at[1], "b");
	assert_true(a.number == 7);
	assert_int_equal(PARSE(&a, "--last", "x", "--last", "y"), EXIT_OK);
	assert_string_equal(a.last, "y");
}

static void the_first_word_ends_them(void **state)
{
	struct args a;
	(void)state;
	assert_int_equal(PARSE(&a, "-t", "x", "word", "-f"), EXIT_OK);
	assert_false(a.flag);
	assert_int_equal(optind, 3);
}

static void what_is_wrong_is_a_usage_error(void **state)
{
	struct args a;
	(void)state;
	assert_int_equal(PARSE(&a, "--unknown"), EXIT_USAGE);
	assert_int_equal(PARSE(&a, "-t"), EXIT_USAGE);
	assert_int_equal(PARSE(&a, "-t", "x", "-t", "y"), EXIT_USAGE);
	assert_int_equal(PARSE(&a, "--flag=x"), EXIT_USAGE);
	assert_int_equal(PARSE(&a, "-n", "0"), EXIT_USAGE);
	assert_int_equal(PARSE(&a, "-n", "11"), EXIT_USAGE);
	assert_int_equal(PARSE(&a, "-n", "2.5"), EXIT_USAGE);
	assert_int_equal(PARSE(&a, "-n", "7x"), EXIT_USAGE);
	assert_int_equal(PARSE(&a, "--refused", "x", "-f"), EXIT_ERROR);
	assert_false(a.flag);
}

static void a_list_has_an_end(void **state)
{
	struct option_row row = {"list", .list = offsetof(struct args, list)};
	struct option_table one = {"test", "", "", &row, 1};
	char *argv[2 * OPTION_LIST_MAX + 3] = {"test"};
	struct args a = {0};
	(void)state;
	for (int i = 0; i <= OPTION_LIST_MAX; i++) {
		argv[1 + 2 * i] = "--list";
		argv[2 + 2 * i] = "x";
	}
	optind = 0;
	assert_int_equal(options_parse(&one, &a, 2 * OPTION_LIST_MAX + 1, argv), EXIT_OK);
	assert_int_equal(a.list.n, OPTION_LIST_MAX);
	a = (struct args){0};
	optind = 0;
	assert_int_equal(options_parse(&one, &a, 2 * OPTION_LIST_MAX + 3, argv), EXIT_USAGE);
}

static void numbers_go_into_what_their_rows_name(void **state)
{
	struct args a;
	(void)state;
	assert_int_equal(PARSE(&a, "--count", "3", "--seconds", "2.5", "--factor=.5", "word"),
			 EXIT_OK);
	assert_int_equal(a.count, 3);
	assert_true(a.ns == 2500000000);
	assert_true(a.factor > .4 && a.factor < .6);
	assert_int_equal(PARSE(&a, "--count", "2.5"), EXIT_USAGE);
	assert_int_equal(PARSE(&a, "--count", "11"), EXIT_USAGE);
	assert_int_equal(PARSE(&a, "--factor", "x"), EXIT_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_goes_where_its_row_says),
		cmocka_unit_test(numbers_go_into_what_their_rows_name),
		cmocka_unit_test(the_first_word_ends_them),
		cmocka_unit_test(what_is_wrong_is_a_usage_error),
		cmocka_unit_test(a_list_has_an_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

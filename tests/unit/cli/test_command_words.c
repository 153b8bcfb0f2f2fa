// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_command_words.c: what of a command line may name a file: told for every way in which
 * getopt_long() takes a value, against what it hands the command itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "user/cli/command_words.h"
#include "user/cli/options.h"

static const struct option options[] = {
	{"quiet", no_argument, NULL, 'q'},
	{"list", no_argument, NULL, 'l'},
	{"trace", required_argument, NULL, 't'},
	{"output", required_argument, NULL, 'o'},
	{"model", required_argument, NULL, 300},
	{"fsa", optional_argument, NULL, 301},
	{NULL, 0, NULL, 0},
};
static const struct command_words words = {.options = options, .writes = "output"};
static const struct option_row rows[] = {
	{"quiet", 'q', .flag = 1},
	{"trace", 't', .text = 1},
	{"output", 'o', .text = 1},
	{"model", .text = 1},
};
static const struct option_table table = {.rows = rows, .n = 4};
static const struct command_words of_table = {.table = &table, .writes = "output"};
static const struct command_words long_only = {
	.options = options, .letters = ":q", .writes = "output"};

/* The names in the order they are found, each after ">" if it is written. */
static const char *files_of(const struct command_words *w, const char *line)
{
	static char out[512], copy[512];
	struct command_file files[16];
	char *argv[17] = {"command"}, *before[17], *rest = copy, *word;
	int argc = 1, len = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	while ((word = strsep(&rest, " ")))
		argv[argc++] = word;
	memcpy(before, argv, sizeof(argv));
	int n = command_files(w, argc, argv, files);
	assert_in_range(n, 0, argc);
	*out = 0;
	for (int i = 0; i < n; i++)
		len += snprintf(out + len, sizeof(out) - (size_t)len, "%s%s%s", i ? " " : "",
				files[i].written ? ">" : "", *files[i].word + files[i].at);
	assert_memory_equal(argv, before, sizeof(argv));
	return out;
}

static void every_way_of_a_value(void **state)
{
	(void)state;
	assert_string_equal(files_of(&words, "rec"), "rec");
	assert_string_equal(files_of(&words, "-t dir rec"), "dir rec");
	assert_string_equal(files_of(&words, "-tdir rec"), "dir rec");
	assert_string_equal(files_of(&words, "-qt dir rec"), "dir rec");
	assert_string_equal(files_of(&words, "-lqtdir rec"), "dir rec");
	assert_string_equal(files_of(&words, "--trace=dir rec"), "dir rec");
	assert_string_equal(files_of(&words, "--tra dir rec"), "dir rec");
	assert_string_equal(files_of(&words, "--model=a=b rec"), "a=b rec");
	assert_string_equal(files_of(&words, "--fsa=3 rec"), "3 rec");
	assert_string_equal(files_of(&words, "--fsa 3 rec"), "3 rec");
	assert_string_equal(files_of(&words, "-q -l"), "");
	assert_string_equal(files_of(&words, ""), "");
}

static void what_is_written(void **state)
{
	(void)state;
	assert_string_equal(files_of(&words, "-o out rec"), ">out rec");
	assert_string_equal(files_of(&words, "-qoout rec"), ">out rec");
	assert_string_equal(files_of(&words, "-lqo out rec"), ">out rec");
	assert_string_equal(files_of(&words, "--out=out rec"), ">out rec");
	assert_string_equal(files_of(&words, "-t -o rec"), "-o rec");
	assert_string_equal(files_of(&words, "--trace --output rec"), "--output rec");
	assert_string_equal(files_of(&long_only, "--output out rec"), ">out rec");
}

static void operands(void **state)
{
	(void)state;
	assert_string_equal(files_of(&words, "a -q b"), "a b");
	assert_string_equal(files_of(&words, "-- -o x"), "-o x");
	assert_string_equal(files_of(&words, "a -- -tb --model=c"), "a -tb --model=c");
	assert_string_equal(files_of(&words, "- a"), "- a");
	assert_string_equal(files_of(&words, "-t -- -q rec"), "-- rec");
}

static void of_a_table_of_rows(void **state)
{
	(void)state;
	assert_string_equal(files_of(&of_table, "-qtdir -qoout rec"), "dir >out rec");
	assert_string_equal(files_of(&of_table, "--model=a --outp out rec"), "a >out rec");
	assert_string_equal(files_of(&of_table, "rec -oout"), "rec -oout");
	assert_string_equal(files_of(&of_table, "-q -- -oout"), "-oout");
}

/* What the command will refuse does not hide what comes behind. */
static void what_is_wrong(void **state)
{
	(void)state;
	assert_string_equal(files_of(&words, "--none=x -t dir rec"), "dir rec");
	assert_string_equal(files_of(&words, "-zt dir rec"), "dir rec");
	assert_string_equal(files_of(&words, "rec -t"), "rec");
	assert_string_equal(files_of(&words, "rec --model"), "rec");
	assert_string_equal(files_of(&long_only, "-tdir rec"), "rec");
}

/* A command that begins without a word about it begins at the beginning. */
static void the_next_begins_anew(void **state)
{
	char *argv[] = {"command", "-q", "--model", "a", "rec", NULL};
	struct command_file files[5];
	(void)state;
	assert_int_equal(command_files(&words, 5, argv, files), 2);
	assert_int_equal(getopt_long(5, argv, "q", options, NULL), 'q');
	assert_int_equal(getopt_long(5, argv, "q", options, NULL), 300);
	assert_string_equal(optarg, "a");
}

/* The command itself is handed the same, also after all was looked at once. */
static void the_command_gets_the_same(void **state)
{
	char *argv[] = {"command", "rec", "-qodir", "--", "-x", NULL};
	struct command_file files[5];
	(void)state;
	assert_int_equal(command_files(&words, 5, argv, files), 3);
	command_options_begin();
	assert_int_equal(command_option(&words, 5, argv), 'q');
	assert_int_equal(command_option(&words, 5, argv), 'o');
	assert_ptr_equal(optarg, *files[0].word + files[0].at);
	assert_int_equal(command_option(&words, 5, argv), -1);
	assert_string_equal(argv[optind], "rec");
	assert_string_equal(argv[optind + 1], "-x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_of_a_value),
		cmocka_unit_test(what_is_written),
		cmocka_unit_test(operands),
		cmocka_unit_test(of_a_table_of_rows),
		cmocka_unit_test(what_is_wrong),
		cmocka_unit_test(the_command_gets_the_same),
		cmocka_unit_test(the_next_begins_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_printable.c: what is printed of a name shows itself in every form, and what is quoted for a
 * shell is, to bash, the name again. */
#include "user/cli/printable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void is(const char *name, enum printable_form form, const char *expected)
{
	char *got = printable_dup(name, form);
	assert_non_null(got);
	assert_string_equal(got, expected);
	free(got);
}

static void text_shows_itself(void **state)
{
	(void)state;
	is("plain name<&\"\\", PRINT_TEXT, "plain name<&\"\\");
	is("\x1b]0;x\x07\n\t\x7f", PRINT_TEXT, "\\x1b]0;x\\x07\\x0a\\x09\\x7f");
	is("caf\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x90\xbe", PRINT_TEXT,
	   "caf\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x90\xbe");
	is("\xc2\x9b"
	   "31m",
	   PRINT_TEXT, "\\u{9b}31m"); /* CSI of C1 */
	is("a\xe2\x80\xae"
	   "b\xe2\x81\xa6"
	   "c\xe2\x80\x8b",
	   PRINT_TEXT, "a\\u{202e}b\\u{2066}c\\u{200b}");
	is("\xff\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xc3", PRINT_TEXT,
	   "\\xff\\xc0\\xaf\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xc3");
}

static void forms_cannot_be_left(void **state)
{
	(void)state;
	is("\"\\\x1b\xe2\x80\xae\xff\xf3\xa0\x81\x81", PRINT_JSON,
	   "\\\"\\\\\\u001b\\u202e\\ufffd\\udb40\\udc41");
	is("<script>&\"'\x1b", PRINT_XML, "&lt;script&gt;&amp;&quot;&#39;\\x1b");
	is("\"];x[\\\n", PRINT_DOT, "\\\"];x[\\\\\\\\x0a");
	is("a'b", PRINT_SHELL, "'a'\\''b'");
	is("$(id);`id`", PRINT_SHELL, "'$(id);`id`'");
	is("-rf", PRINT_SHELL, "-rf");
	is("", PRINT_SHELL, "''");
	is("a'\xe2\x80\xae\\\n", PRINT_SHELL, "$'a\\'\\xe2\\x80\\xae\\\\\\x0a'");
}

static void a_copy_ends_between_characters(void **state)
{
	(void)state;
	char out[8];
	for (size_t room = 1; room <= sizeof(out); room++) {
		printable_copy(out, room, "a\xc3\xa4\xe2\x82\xac<", PRINT_XML);
		assert_string_equal(out, room < 2   ? ""
					 : room < 4 ? "a"
					 : room < 7 ? "a\xc3\xa4"
						    : "a\xc3\xa4\xe2\x82\xac");
	}
}

/* What bash takes @word for, into @out. */
static void ask_bash(const char *word, char *out, size_t room)
{
	char *command;
	assert_true(asprintf(&command, "printf %%s %s", word) > 0);
	assert_int_equal(setenv("ASKED", command, 1), 0);
	FILE *bash = popen("exec bash -c \"$ASKED\"", "r");
	assert_non_null(bash);
	size_t n = fread(out, 1, room - 1, bash);
	out[n] = 0;
	assert_int_equal(pclose(bash), 0);
	free(command);
}

static void a_shell_reads_the_name(void **state)
{
	(void)state;
	srand(1);
	for (int round = 0; round < 60; round++) {
		char name[24], read[64];
		size_t len = 1 + rand() % 20;
		for (size_t i = 0; i < len; i++)
			name[i] = (char)(1 + rand() % (round % 2 ? 255 : 126));
		name[len] = 0;
		char *word = printable_dup(name, PRINT_SHELL);
		assert_non_null(word);
		ask_bash(*name == '-' ? "x" : word, read, sizeof(read));
		assert_string_equal(read, *name == '-' ? "x" : name);
		free(word);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_shows_itself),
		cmocka_unit_test(forms_cannot_be_left),
		cmocka_unit_test(a_copy_ends_between_characters),
		cmocka_unit_test(a_shell_reads_the_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

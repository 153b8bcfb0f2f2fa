// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_diag.c: the error report of the library, and the one line that the command makes of it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <pugmark/diag.h>

#include "user/cli/command.h"

static void returns_the_error_and_fills(void **state)
{
	(void)state;
	struct pugmark_diag diag;
	int err = pugmark_diag_set(&diag, -EBADMSG, "a.out", 64, "section %d is %s", 7, "cut");
	assert_int_equal(err, -EBADMSG);
	assert_string_equal(diag.file, "a.out");
	assert_int_equal(diag.offset, 64);
	assert_string_equal(diag.text, "section 7 is cut");
}

static void may_have_nowhere_to_write(void **state)
{
	(void)state;
	assert_int_equal(pugmark_diag_set(NULL, -ENOENT, "x", 0, "gone"), -ENOENT);
}

static void without_a_file(void **state)
{
	(void)state;
	struct pugmark_diag diag;
	pugmark_diag_set(&diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "no memory");
	assert_string_equal(diag.file, "");
	assert_true(diag.offset == PUGMARK_NO_OFFSET);
}

/* The end of a path tells more than its beginning; the text is cut at its end. */
static void long_strings_are_cut(void **state)
{
	(void)state;
	struct pugmark_diag diag;
	char path[1000], text[1000];
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = text[i] = (char)('a' + i % 26);
	path[sizeof(path) - 1] = text[sizeof(text) - 1] = 0;
	pugmark_diag_set(&diag, -EINVAL, path, 0, "%s", text);
	assert_int_equal(strlen(diag.file), sizeof(diag.file) - 1);
	assert_string_equal(diag.file, path + strlen(path) - (sizeof(diag.file) - 1));
	assert_int_equal(strlen(diag.text), sizeof(diag.text) - 1);
	assert_memory_equal(diag.text, text, sizeof(diag.text) - 1);
}

/* What @print writes to stderr, in a string the caller frees. */
static char *stderr_of(int (*print)(void), int *status)
{
	FILE *file = tmpfile();
	assert_non_null(file);
	int saved = dup(STDERR_FILENO);
	assert_true(saved >= 0);
	fflush(stderr);
	assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
	*status = print();
	fflush(stderr);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	char *text = calloc(1, 4096);
	assert_non_null(text);
	rewind(file);
	assert_true(fread(text, 1, 4095, file) > 0);
	fclose(file);
	return text;
}

static int fail_at_offset(void)
{
	struct pugmark_diag diag;
	pugmark_diag_set(&diag, -EBADMSG, "lib.so", 4096, "not an ELF file");
	return command_fail(&diag);
}

static int fail_without_place(void)
{
	struct pugmark_diag diag;
	pugmark_diag_set(&diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
	return command_fail(&diag);
}

static int fail_with_hostile_text(void)
{
	struct pugmark_diag diag;
	pugmark_diag_set(&diag, -EBADMSG, "a\nb", PUGMARK_NO_OFFSET, "symbol \033[2Jé\177");
	return command_fail(&diag);
}

static int use_wrongly(void)
{
	return command_usage("cfg", "needs %s", "a binary");
}

static int use_no_command(void)
{
	return command_usage(NULL, "no command '%s'", "x\ty");
}

static void prints_one_line(void **state)
{
	(void)state;
	static const struct {
		int (*print)(void);
		int status;
		const char *line;
	} rows[] = {
		{fail_at_offset, 1, "pugmark: lib.so: not an ELF file (at offset 4096)\n"},
		{fail_without_place, 1, "pugmark: out of memory\n"},
		{fail_with_hostile_text, 1, "pugmark: a\\x0ab: symbol \\x1b[2Jé\\x7f\n"},
		{use_wrongly, 2, "pugmark cfg: needs a binary (see: pugmark cfg --help)\n"},
		{use_no_command, 2, "pugmark: no command 'x\\x09y' (see: pugmark --help)\n"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int status;
		char *text = stderr_of(rows[i].print, &status);
		assert_string_equal(text, rows[i].line);
		assert_int_equal(status, rows[i].status);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(returns_the_error_and_fills),
		cmocka_unit_test(may_have_nowhere_to_write),
		cmocka_unit_test(without_a_file),
		cmocka_unit_test(long_strings_are_cut),
		cmocka_unit_test(prints_one_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

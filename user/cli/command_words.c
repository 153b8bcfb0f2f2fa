// SPDX-License-Identifier: LGPL-2.1-or-later
/* command_words.c: see command_words.h. */
#include "user/cli/command_words.h"

#include "user/cli/options.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The short options of @options, as getopt_long() takes them. */
static void letters_of(const struct option *options, char out[2 * CHAR_MAX + 2])
{
	*out++ = ':'; /* tells a missing value from an unknown option */
	for (; options->name; options++)
		if (options->val > 0 && options->val <= CHAR_MAX) {
			*out++ = (char)options->val;
			if (options->has_arg == required_argument)
				*out++ = ':';
		}
	*out = '\0';
}

void command_options_begin(void)
{
	optind = 0; /* glibc's getopt forgets where it was */
	opterr = 0;
}

/* The long form of a letter; NULL: it has none. */
static const char *name_of(const struct command_words *words, int letter)
{
	const struct option_table *t = words->table;

	for (uint32_t i = 0; t && i < t->n; i++)
		if (t->rows[i].letter == letter)
			return t->rows[i].name;
	for (const struct option *o = words->options; o && o->name; o++)
		if (o->val == letter)
			return o->name;
	return NULL;
}

/* The next option; *@name, which may be NULL, is its long form. */
static int next(const struct command_words *words, int argc, char **argv, const char **name)
{
	char letters[2 * CHAR_MAX + 2];
	struct option own[OPTIONS_MAX + 1];
	const struct option *options = words->options;
	int row = -1;

	if (words->table) {
		options_for_getopt(words->table, own, letters);
		options = own;
	} else if (!words->letters) {
		letters_of(options, letters);
	}
	int option =
		getopt_long(argc, argv, words->letters ? words->letters : letters, options, &row);
	if (name)
		*name = row >= 0 ? options[row].name : name_of(words, option);
	return option;
}

int command_option(const struct command_words *words, int argc, char **argv)
{
	return next(words, argc, argv, NULL);
}

/* Which word @name is in, and where. */
static struct command_file file_at(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++) {
		uintptr_t at = (uintptr_t)name - (uintptr_t)argv[i];

		if (at <= strlen(argv[i]))
			return (struct command_file){&argv[i], at, false};
	}
	abort(); /* getopt_long() hands out what is in argv */
}

int command_files(const struct command_words *words, int argc, char **argv,
		  struct command_file *files)
{
	char **order = calloc((size_t)argc + 1, sizeof(*order)); /* getopt_long() changes it */
	const char *name;
	int option, n = 0;

	if (!order)
		return -1;
	memcpy(order, argv, (size_t)argc * sizeof(*order));
	command_options_begin();
	while ((option = next(words, argc, order, &name)) != -1)
		if (optarg && option != '?' && option != ':') {
			files[n] = file_at(argc, argv, optarg);
			files[n++].written = words->writes && name && !strcmp(name, words->writes);
		}
	for (int i = optind; i < argc; i++)
		files[n++] = file_at(argc, argv, order[i]);
	command_options_begin(); /* for whoever comes next */
	free(order);
	return n;
}

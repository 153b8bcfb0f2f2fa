/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* options.h: a command's options as a table: a row each, with its line of --help, what it takes,
 * and where in the command's own struct that goes. */
#ifndef USER_OPTIONS_H
#define USER_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OPTIONS_MAX = 64,
	OPTIONS_LETTERS_MAX = 2 * OPTIONS_MAX + 2,
	OPTION_LIST_MAX = 64,
	OPTIONS_HELP = -1
};

/* What an option that can be repeated was given; borrowed from argv. */
struct option_list {
	const char *at[OPTION_LIST_MAX];
	uint32_t n;
};

/* @flag, @text and @list are offsets in the command's struct; 0: none. An option that sets no flag
 * takes a value. */
struct option_row {
	const char *name;
	int letter; /* 0: none */
	/* For --help: how the value is called, and the text, a line break where one is wanted;
	 * @help NULL: not shown. */
	const char *value, *help;
	size_t flag; /* the bool that it sets */
	size_t text; /* a string: one of them, or with @last_counts the last */
	size_t list; /* a struct option_list */
	bool last_counts;
	/* What else is to be done with it: an exit status. */
	int (*word)(void *args, const char *text);
	int (*number)(void *args, double value);
	/* Or where the number goes: a uint32_t, a uint64_t, or a double. */
	size_t u32, u64, real;
	double unit; /* it is multiplied with that before; 0: it is not */
	double max;  /* of the number, which is above 0 */
	bool whole;  /* it has no fraction */
};

struct option_table {
	const char *command;
	const char *usage, *after; /* of --help: above and below the options */
	const struct option_row *rows;
	uint32_t n; /* at most OPTIONS_MAX */
};

/* The rows as getopt_long() wants them: an option's value is above all letters. */
void options_for_getopt(const struct option_table *table, struct option rows[OPTIONS_MAX + 1],
			char letters[OPTIONS_LETTERS_MAX]);
/* Takes the options of @argv, up to the first word that is none, which is argv[optind] then, into
 * @args, the command's struct. Returns EXIT_OK; OPTIONS_HELP: help was asked for by --help or -h,
 * and has been printed; or EXIT_USAGE, said what is wrong. */
int options_parse(const struct option_table *table, void *args, int argc, char **argv);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* command_words.h: a command's options as a table that two read: the command itself, and who looks
 * beforehand which files its words name (user/sandbox/as_owner.h). Both by the same getopt_long(),
 * so that they cannot disagree about what is a name. */
#ifndef USER_CLI_COMMAND_WORDS_H
#define USER_CLI_COMMAND_WORDS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

struct option_table;

struct command_words {
	const struct option_table *table; /* of options.h; NULL: the next two */
	const struct option *options;	  /* of getopt_long(); the last is all zeroes */
	/* The short ones. NULL: each option above whose value is a letter. */
	const char *letters;
	const char *writes; /* the option that names a file which is written; NULL: none does */
};

/* Begins with the first word behind argv[0]. */
void command_options_begin(void);
/* The next option, as getopt_long() returns it: ':' where its value is missing. */
int command_option(const struct command_words *words, int argc, char **argv);

/* What may name a file: an operand, or the value of an option, whatever it is for. */
struct command_file {
	char **word; /* of argv */
	size_t at;   /* where in it the name begins */
	bool written;
};

/* All of them, in @files, which has room for @argc. Returns how many; argv stays as it is.
 * -1: out of memory. */
int command_files(const struct command_words *words, int argc, char **argv,
		  struct command_file *files);

#endif

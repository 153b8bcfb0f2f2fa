/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* command.h: what every command of the program shares: its row in the table, and how it says what
 * went wrong. One file a command, user/cmd/cmd_NAME.c; the table is in main.c. */
#ifndef USER_COMMAND_H
#define USER_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "user/cli/command_words.h"

#include <pugmark/diag.h>

enum { EXIT_OK = 0, EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_GAPS = 3, EXIT_DIFFERS = 4 };

enum command_is {
	COMMAND_CONFINED = 1, /* reads files, and gives up all else (user/sandbox/confine.h) */
	COMMAND_FILTERS = 2,  /* but that it may start a program */
	COMMAND_ASKS = 4,     /* has the option --debuginfod (user/file/debuginfod.h) */
	COMMAND_PAGES = 8,    /* prints much: on a terminal through a pager (user/cli/pager.h) */
};

struct command {
	const char *name;
	const char *brief; /* one line for `pugmark --help` */
	int (*run)(int argc,
		   char **argv); /* argv[0] is the command's name; returns the exit status */
	unsigned is;		 /* of enum command_is */
	/* What its words name is read, and no more: root becomes its owner first
	 * (user/sandbox/as_owner.h). NULL: it does more. */
	const struct command_words *words;
};

/* Prints `pugmark: FILE: text (at offset N)` to stderr, once, and returns EXIT_ERROR. */
int command_fail(const struct pugmark_diag *diag);
/* The same of memory that is short. */
int command_no_memory(void);
/* Prints `pugmark NAME: text`, and the hint to --help, to stderr; returns EXIT_USAGE. @name may be
 * NULL: then it is about the program as a whole. */
int command_usage(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints @text, which may come from a file, as PRINT_TEXT of user/cli/printable.h. */
void command_print_safe(FILE *out, const char *text);
/* Prints @before and @after as they are, and @text between them as that does. */
void command_say(FILE *out, const char *before, const char *text, const char *after);

int cmd_cfg(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_encode(int argc, char **argv);
int cmd_distribute(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_gdb(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_raw(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_reduce(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_switch(int argc, char **argv);
int cmd_values(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_match(int argc, char **argv);
int cmd_wet(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_tui(int argc, char **argv);
int cmd_then(int argc, char **argv);
int cmd_verify(int argc, char **argv);

/* The options of those that only read. */
extern const struct command_words cfg_words, check_words, diff_words, dump_words, encode_words,
	export_words, gdb_words, match_words, merge_words, raw_words, replay_words, report_words,
	serve_words, tui_words, values_words, verify_words, wet_words, why_words;

/* The file that execvp() would run for @name: the caller frees; NULL: out of memory. */
char *command_program(const char *name);

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
/* main.c: finds the command in the table and runs it. */
#include "user/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct command commands[] = {
	{"cfg", "the static model of a binary: functions, blocks, call sites", cmd_cfg},
	{"doctor", "what this kernel and this user can do, and what a probe costs", cmd_doctor},
	{"record", "records a program's run", cmd_record},
};

int command_fail(const struct pugmark_diag *diag)
{
	fprintf(stderr, "pugmark: %s%s%s", diag->file, *diag->file ? ": " : "", diag->text);
	if (diag->offset != PUGMARK_NO_OFFSET)
		fprintf(stderr, " (at offset %llu)", (unsigned long long)diag->offset);
	fputc('\n', stderr);
	return EXIT_ERROR;
}

int command_usage(const char *name, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fprintf(stderr, "pugmark %s: ", name);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, " (see: pugmark %s --help)\n", name);
	return EXIT_USAGE;
}

/* Not in the help: for work on Pugmark itself. */
static const struct command hidden[] = {
	{"raw", "", cmd_raw},
};

static void print_help(FILE *out)
{
	fputs("usage: pugmark COMMAND [options] [-- PROGRAM [ARGS]]\n\ncommands:\n", out);
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].brief);
	fputs("\n`pugmark COMMAND --help` has the options of one command.\n", out);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_help(stdout);
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("pugmark %s\n", PUGMARK_VERSION);
		return EXIT_OK;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		if (!strcmp(argv[1], hidden[i].name))
			return hidden[i].run(argc - 1, argv + 1);
	fprintf(stderr, "pugmark: no command '%s' (see: pugmark --help)\n", argv[1]);
	return EXIT_USAGE;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* main.c: finds the command in the table and runs it. */
#include "user/cli/command.h"
#include "user/cli/outbuf.h"
#include "user/proc/inherited_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static const struct command commands[] = {
	{"cfg", "the static model of a binary: functions, blocks, call sites", cmd_cfg},
	{"plan", "which instructions to probe, and what that costs", cmd_plan},
	{"doctor", "what this kernel and this user can do, and what a probe costs", cmd_doctor},
	{"record", "records the run of a program", cmd_record},
	{"verify", "is a recording complete, and if not, where are its gaps", cmd_verify},
	{"replay", "the call tree of a recording", cmd_replay},
	{"values", "what registers, variables and memory were", cmd_values},
	{"report", "functions of a recording: calls, callers, time", cmd_report},
	{"dump", "every event of a recording, one a line", cmd_dump},
	{"encode", "a trace as strings, grammars, graphs and automata", cmd_encode},
	{"export", "a trace in formats that other programs open", cmd_export},
	{"gdb", "debugs a recording of level values, forwards and backwards", cmd_gdb},
	{"check", "does a recording do what a saved model does not", cmd_check},
	{"diff", "what two recordings do differently", cmd_diff},
	/* Without a brief, so not in the help: for work on Pugmark itself. */
	{"raw", NULL, cmd_raw},
	/* Not proved yet: docs/shares.md. */
	{"merge", NULL, cmd_merge},
};

static const struct command *command_named(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	return NULL;
}

static void print_help(FILE *out)
{
	fputs("usage: pugmark COMMAND [options] [-- PROGRAM [ARGS]]\n\ncommands:\n", out);
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (commands[i].brief)
			fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].brief);
	fputs("\n`pugmark COMMAND --help` has the options of one command.\n", out);
}

/* What was printed must have arrived: a full disk behind stdout is an error of the command. */
static int finish(int status)
{
	int err = outbuf_stdout_error(); /* fflush() has nothing left to fail with then */
	errno = 0;
	if (fflush(stdout) || ferror(stdout)) {
		struct pugmark_diag diag;
		err = err ? err : errno ? errno : EIO;
		pugmark_diag_set(&diag, -err, "standard output", PUGMARK_NO_OFFSET,
				 "cannot write: %s", strerror(err));
		return command_fail(&diag);
	}
	return status;
}

/* Where a standard stream is closed, the next file that is opened would be in its place, and what
 * is meant for the one go to the other. What stands there instead cannot be written to (or read, of
 * stdin), so that this is the error that it was, and is closed in a recorded program. */
static void keep_streams_apart(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC) < 0)
			return;
}

int main(int argc, char **argv)
{
	keep_streams_apart();
	inherited_signals_take();
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_help(stdout);
		return finish(EXIT_OK);
	}
	if (!strcmp(argv[1], "--version")) {
		printf("pugmark %s\n", PUGMARK_VERSION);
		return finish(EXIT_OK);
	}
	const struct command *command = command_named(argv[1]);
	if (!command) {
		command_usage(NULL, "no command '%s'", argv[1]);
		return EXIT_USAGE;
	}
	return finish(command->run(argc - 1, argv + 1));
}

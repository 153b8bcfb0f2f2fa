// SPDX-License-Identifier: LGPL-2.1-or-later
/* main.c: finds the command in the table and runs it, with no more privileges than it needs. */
#include "user/cli/command.h"
#include "user/cli/outbuf.h"
#include "user/cli/pager.h"
#include "user/file/debuginfod.h"
#include "user/proc/inherited_signals.h"
#include "user/sandbox/as_owner.h"
#include "user/sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	READER = COMMAND_CONFINED,
	FILTER = COMMAND_CONFINED | COMMAND_FILTERS,
	ASKS = COMMAND_ASKS,
	PAGES = COMMAND_PAGES,
};

static const struct command commands[] = {
	{"cfg", "the static model of a binary: functions, blocks, call sites", cmd_cfg, READER,
	 &cfg_words},
	{"plan", "which instructions to probe, and what that costs", cmd_plan, ASKS, NULL},
	{"doctor", "what this kernel and this user can do, and what a probe costs", cmd_doctor,
	 ASKS, NULL},
	{"record", "records the run of a program", cmd_record, ASKS, NULL},
	{"distribute", "records a command under shares of a plan, and merges", cmd_distribute, 0,
	 NULL},
	{"merge", "one recording out of one under each share of a plan", cmd_merge, READER,
	 &merge_words},
	{"verify", "is a recording complete, and if not, where are its gaps", cmd_verify, READER,
	 &verify_words},
	{"replay", "the call tree of a recording", cmd_replay, READER | ASKS | PAGES,
	 &replay_words},
	{"values", "what registers, variables and memory were", cmd_values, READER, &values_words},
	{"why", "what a value or bytes of output were computed from", cmd_why, READER, &why_words},
	{"then", "what was computed from a value or from bytes of input", cmd_then, READER,
	 &why_words},
	{"match", "what two builds of a program do differently, by values", cmd_match, READER,
	 &match_words},
	{"switch", "which jump, turned, makes a failing run succeed", cmd_switch, 0, NULL},
	{"reduce", "the smallest input with which a program fails", cmd_reduce, 0, NULL},
	{"wet", "the whole execution trace of a recording, and what it takes", cmd_wet, READER,
	 &wet_words},
	{"report", "functions of a recording: calls, callers, time", cmd_report,
	 READER | ASKS | PAGES, &report_words},
	{"tui", "a recording looked at in a terminal", cmd_tui, READER, &tui_words},
	{"serve", "a recording of any size in a browser of this machine", cmd_serve, 0,
	 &serve_words},
	{"top", "what runs now, by calls and by time", cmd_top, 0, NULL},
	{"dump", "every event of a recording, one a line", cmd_dump, READER | PAGES, &dump_words},
	{"encode", "a trace as strings, grammars, graphs and automata", cmd_encode, FILTER,
	 &encode_words},
	{"export", "a trace in formats that other programs open", cmd_export, READER,
	 &export_words},
	{"gdb", "debugs a recording of level values, forwards and backwards", cmd_gdb, 0,
	 &gdb_words},
	{"check", "does a recording do what a saved model does not", cmd_check, READER,
	 &check_words},
	{"diff", "what two recordings do differently", cmd_diff, READER, &diff_words},
	{"raw", "what a recording holds, before anything is recovered from it", cmd_raw, READER,
	 &raw_words},
};

static const struct command *command_named(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	return NULL;
}

/* How many letters have to be put in, taken out, changed, or exchanged with the next one; more than
 * NEAR where these are too many to be a slip. */
enum { NEAR = 2, NAME_MAX_LEN = 16 };
static unsigned slips(const char *typed, const char *name)
{
	size_t n = strlen(typed), m = strlen(name);
	unsigned d[NAME_MAX_LEN + 1][NAME_MAX_LEN + 1];

	if (n > NAME_MAX_LEN || m > NAME_MAX_LEN)
		return NEAR + 1;
	for (size_t i = 0; i <= n; i++)
		for (size_t k = 0; k <= m; k++) {
			bool same = i && k && typed[i - 1] == name[k - 1];
			unsigned least = !i ? k : !k ? i : d[i - 1][k - 1] + !same;

			if (i && k && d[i - 1][k] + 1 < least)
				least = d[i - 1][k] + 1;
			if (i && k && d[i][k - 1] + 1 < least)
				least = d[i][k - 1] + 1;
			if (i > 1 && k > 1 && typed[i - 1] == name[k - 2] &&
			    typed[i - 2] == name[k - 1] && d[i - 2][k - 2] + 1 < least)
				least = d[i - 2][k - 2] + 1;
			d[i][k] = least;
		}
	return d[n][m];
}

/* The command that was meant, perhaps, or NULL: one slip in each two letters is another word. */
static const char *command_near(const char *typed)
{
	unsigned least = strlen(typed) > NEAR ? NEAR : NEAR - 1;
	const char *near = NULL;

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		unsigned n = slips(typed, commands[i].name);

		if (n <= least && (!near || n < least)) {
			least = n;
			near = commands[i].name;
		}
	}
	return near;
}

static void print_help(FILE *out)
{
	fputs("usage: pugmark COMMAND [options] [-- PROGRAM [ARGS]]\n\ncommands:\n", out);
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].brief);
	fputs("\n`pugmark COMMAND --help` has the options of one command.\n", out);
}

/* Checks that what was printed has arrived: a full disk behind stdout is an error of the
 * command. */
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

/* If a standard stream is closed, the next file that is opened would take its number, and what is
 * meant for one would go to the other. So something is opened in its place that cannot be written
 * to (or, for stdin, read): using it fails as before. It is closed in a recorded program. */
static void keep_streams_apart(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC) < 0)
			return;
}

/* Takes --debuginfod out of the words before `--`: it is there before all else. */
static bool takes_debuginfod(int *argc, char **argv)
{
	for (int i = 2; i < *argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--debuginfod")) {
			memmove(argv + i, argv + i + 1, (size_t)(*argc - i) * sizeof(*argv));
			(*argc)--;
			return true;
		}
	return false;
}

/* The first of @files that is there. */
static const char *subject_of(const struct command_file *files, int n, const char *otherwise)
{
	for (int i = 0; i < n; i++)
		if (!files[i].written && !access(*files[i].word + files[i].at, F_OK))
			return *files[i].word + files[i].at;
	return otherwise;
}

static int confine(const struct command *command, const char *subject, struct pugmark_diag *diag)
{
	confine_bound(subject);
	if (confine_refuse(command->is & COMMAND_FILTERS ? CONFINE_PROGRAMS : CONFINE_READ))
		return 0;
	return pugmark_diag_set(diag, -ENOSYS, subject, PUGMARK_NO_OFFSET,
				"is not read: this kernel has no seccomp");
}

/* Gives up what @command does not need. 0, or -errno with @diag filled. */
static int give_up(const struct command *command, int argc, char **argv, struct pugmark_diag *diag)
{
	if (!command->words)
		return 0;
	struct command_file *files = calloc((size_t)argc, sizeof(*files));
	int n = files ? command_files(command->words, argc - 1, argv + 1, files) : -1;
	int err = n < 0 ? pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory")
			: 0;
	const char *subject = n < 0 ? NULL : subject_of(files, n, argv[1]);
	if (!err)
		err = as_owner_of(files, n, diag);
	if (!err && command->is & COMMAND_CONFINED)
		err = confine(command, subject, diag);
	free(files);
	return err;
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
		const char *near = command_near(argv[1]);
		command_usage(NULL, "no command '%s'%s%s%s", argv[1],
			      near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
		return EXIT_USAGE;
	}
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	if (command->is & COMMAND_ASKS && takes_debuginfod(&argc, argv) && debuginfod_begin(&diag))
		return command_fail(&diag);
	if (command->is & COMMAND_PAGES && !pager_is_refused(&argc, argv))
		pager_start();
	int status = give_up(command, argc, argv, &diag) ? command_fail(&diag)
							 : finish(command->run(argc - 1, argv + 1));
	pager_finish();
	return status;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_reduce.c: `pugmark reduce -- CMD`: the smallest input that fails. */
#include "user/again/reduce.h"
#include "user/cli/command.h"

#include "offline/base/open_regular.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"usage: pugmark reduce [options] [--while CONDITION]... -o FILE -- PROGRAM [ARGS]\n"
	"\n"
	"Writes to FILE the smallest part of an input with which PROGRAM still fails as it does "
	"with the\n"
	"whole: without any one byte of it it does not. Every try runs in private copies of the "
	"files that\n"
	"it writes, and without network.\n"
	"\n"
	"      --input FILE     the input is this file, which PROGRAM opens by that name; "
	"otherwise\n"
	"                       it is standard input\n"
	"      --while CONDITION  what failing is (several: all of them): 'crash', 'exit = N', "
	"'exit != N',\n"
	"                       'stdout ~ REGEX', 'stdout != FILE', and of stderr; a signal ends "
	"it, if\n"
	"                       nothing is told\n"
	"  -o, --output FILE    a new file\n"
	"      --tries N        at most so many (5000)\n"
	"      --seconds N      for each (5)\n"
	"      --memory MB      for each (1024)\n"
	"  -j, --jobs N         so many side by side (one a processor)\n"
	"      --format text|json\n"
	"\n"
	"Exit status: 0; 3 stopped at the number of tries; 1 for an error, 2 for wrong usage.\n";

enum { OPT_INPUT = 256, OPT_WHILE, OPT_TRIES, OPT_SECONDS, OPT_MEMORY, OPT_FORMAT };

static const struct option options[] = {{"input", required_argument, NULL, OPT_INPUT},
					{"while", required_argument, NULL, OPT_WHILE},
					{"output", required_argument, NULL, 'o'},
					{"tries", required_argument, NULL, OPT_TRIES},
					{"seconds", required_argument, NULL, OPT_SECONDS},
					{"memory", required_argument, NULL, OPT_MEMORY},
					{"jobs", required_argument, NULL, 'j'},
					{"format", required_argument, NULL, OPT_FORMAT},
					{"help", no_argument, NULL, 'h'},
					{NULL, 0, NULL, 0}};

static int take_number(int opt, struct reduce_options *o)
{
	char *end;
	unsigned long long n = strtoull(optarg, &end, 10);
	unsigned long long most = opt == 'j' ? 64 : opt == OPT_TRIES ? UINT32_MAX : 1 << 20;
	if (end == optarg || *end || !n || n > most)
		return command_usage("reduce", "'%s' is no number that can be", optarg);
	if (opt == OPT_TRIES)
		o->tries = n;
	else if (opt == OPT_SECONDS)
		o->command.seconds = n;
	else if (opt == OPT_MEMORY)
		o->command.memory_bytes = (uint64_t)n << 20;
	else
		o->jobs = n;
	return 0;
}

static int parse(int argc, char **argv, struct reduce_options *o, struct outcome *outcome)
{
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	int opt;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "+hj:o:", options, NULL)) != -1)
		switch (opt) {
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		case 'o':
			o->to = optarg;
			break;
		case OPT_INPUT:
			o->command.input_path = optarg;
			break;
		case OPT_WHILE:
			if (outcome_add(outcome, optarg, &diag))
				return command_fail(&diag);
			break;
		case OPT_TRIES:
		case OPT_SECONDS:
		case OPT_MEMORY:
		case 'j':
			if (take_number(opt, o))
				return EXIT_USAGE;
			break;
		case OPT_FORMAT:
			o->json = !strcmp(optarg, "json");
			if (!o->json && strcmp(optarg, "text") != 0)
				return command_usage("reduce", "no format '%s' (text, json)",
						     optarg);
			break;
		default:
			return command_usage("reduce", "unknown or incomplete option '%s'",
					     argv[optind - 1]);
		}
	if (optind >= argc || strcmp(argv[optind - 1], "--") != 0)
		return command_usage("reduce", "which program? It stands behind --");
	if (!o->to)
		return command_usage("reduce", "where to? -o FILE");
	o->command.argv = argv + optind;
	if (!outcome_any(outcome) && outcome_add(outcome, "crash", &diag))
		return command_fail(&diag);
	return -1;
}

static int open_input(struct reduce_options *o, struct pugmark_diag *diag)
{
	const char *path = o->command.input_path;
	int fd = path ? open_regular(path, NULL) : private_input(diag);
	o->command.input = fd;
	if (path && fd < 0)
		return pugmark_diag_set(diag, fd, path, PUGMARK_NO_OFFSET, "cannot be read: %s",
					open_regular_why(fd));
	return fd < -1 ? fd : 0;
}

int cmd_reduce(int argc, char **argv)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct reduce_options o = {.tries = 5000,
				   .jobs = processors < 1    ? 1
					   : processors > 64 ? 64
							     : processors,
				   .command = {.seconds = 5, .memory_bytes = 1024 << 20}};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	struct outcome *outcome = NULL;
	if (outcome_new(&outcome))
		return EXIT_ERROR;
	o.outcome = outcome;
	int status = parse(argc, argv, &o, outcome);
	if (status < 0) {
		int err = open_input(&o, &diag);
		err = err ? err : reduce_print(&o, &diag);
		status = err < 0 ? command_fail(&diag) : err ? EXIT_GAPS : EXIT_OK;
		if (o.command.input >= 0)
			close(o.command.input);
	}
	outcome_free(outcome);
	return status;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_match.c: `pugmark match A B`: two builds of a program on one input. */
#include "user/cli/command.h"
#include "user/cli/numbers.h"
#include "user/match/match_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void help(void)
{
	puts("usage: pugmark match [options] A B [OTHER-A OTHER-B]\n\n"
	     "Of two recordings of level values, of two programs that should do the same on the "
	     "same input\n(two optimisation levels, two compilers, before and after a change): "
	     "which instructions of B\ndo what which ones of A do, and from when on some do "
	     "not.\n\n"
	     "OTHER-A and OTHER-B are of the same two programs, on an input on which both did the "
	     "same: what\nmatches there comes first, what does not match there either comes "
	     "last.\n\n"
	     "      --intervals N    the run of B in so many parts (20)\n"
	     "      --limit N        at most so many unmatched instructions (15)\n"
	     "      --follow         while both are still recorded: compares what both have come "
	     "to, "
	     "again and\n"
	     "                       again, tells a rise as soon as it is there, and at the end "
	     "all\n"
	     "      --all            every match as well, with its evidence\n"
	     "      --tasks A:B      of these tasks (the first ones; pugmark values lists them)\n"
	     "      --format text|json\n\n"
	     "Exit status: 0; 3 where unmatched instructions rise, or values end in a gap; 1 for "
	     "an error,\n2 for wrong usage.");
}

static bool read_tasks(const char *text, uint32_t tasks[2])
{
	uint64_t a, b;
	const char *end;
	if (!number_begins(text, UINT32_MAX, &end, &a) || !a || *end != ':' ||
	    !number_is(end + 1, UINT32_MAX, &b))
		return false;
	tasks[0] = (uint32_t)a;
	tasks[1] = (uint32_t)b;
	return true;
}

static const struct option options[] = {{"intervals", required_argument, NULL, 'i'},
					{"limit", required_argument, NULL, 'l'},
					{"all", no_argument, NULL, 'a'},
					{"follow", no_argument, NULL, 'F'},
					{"tasks", required_argument, NULL, 't'},
					{"format", required_argument, NULL, 'f'},
					{"help", no_argument, NULL, 'h'},
					{NULL, 0, NULL, 0}};
const struct command_words match_words = {.options = options, .letters = ":h"};

int cmd_match(int argc, char **argv)
{
	struct match_options o = {.intervals = 20, .limit = 15};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	int opt;

	command_options_begin();
	while ((opt = command_option(&match_words, argc, argv)) != -1) {
		switch (opt) {
		case 'i':
			if (!number_is(optarg, 100000, &o.intervals))
				return command_usage(
					"match", "--intervals: '%s' is no number from 1 to 100000",
					optarg);
			break;
		case 'l':
			if (!number_is(optarg, UINT64_MAX, &o.limit))
				return command_usage("match", "--limit: '%s' is no number", optarg);
			break;
		case 'F':
			o.follow = true;
			break;
		case 'a':
			o.all = true;
			break;
		case 't':
			if (!read_tasks(optarg, o.tasks))
				return command_usage("match", "--tasks: '%s' is no A:B", optarg);
			break;
		case 'f':
			o.json = !strcmp(optarg, "json");
			if (!o.json && strcmp(optarg, "text") != 0)
				return command_usage("match", "no format '%s' (text, json)",
						     optarg);
			break;
		case 'h':
			help();
			return EXIT_OK;
		default:
			return command_usage("match", "unknown or incomplete option '%s'",
					     argv[optind - 1]);
		}
	}
	if (argc - optind != 2 && argc - optind != 4)
		return command_usage("match", "two directories are needed, or four");
	for (int i = 0; i < argc - optind; i++)
		o.dirs[i] = argv[optind + i];
	int err = match_print(&o, &diag);
	if (err < 0)
		return command_fail(&diag);
	return err ? EXIT_GAPS : EXIT_OK;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_values.c: `pugmark values DIR`: what registers, variables and memory were. */
#include "user/cli/command.h"
#include "user/cli/numbers.h"
#include "user/values/show/values_print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void help(void)
{
	puts("usage: pugmark values [options] DIR [PLACE]\n\n"
	     "Of a recording of level values: how much is known of each task; or of every time "
	     "that a\n"
	     "function, a FILE:LINE or an address 0x... was reached, arguments and result, or "
	     "variables.\n\n"
	     "      --watch 0xADDRESS[:LENGTH]|VARIABLE|FUNCTION:VARIABLE\n"
	     "                       every write and read of that instead: of a global or "
	     "thread-local\n"
	     "                       variable (v.m, v[3], p->m too), or of one of a function "
	     "while its\n"
	     "                       calls are open, in memory or in a register\n"
	     "      --where 'NAME > NUMBER'\n"
	     "                       only where that holds (==, !=, <, <=, >, >=, several with &&; "
	     "members\n"
	     "                       as p->x, s.list[2]; texts as p->name == \"x\"; enumerators by "
	     "name)\n"
	     "      --misses         what would have missed a simple processor's cache and what it "
	     "would have\n"
	     "                       mispredicted, by instruction, with addresses and strides\n"
	     "      --limit N        at most so many of a task (100)\n"
	     "      --task N         of that task alone\n"
	     "      --format text|json\n\n"
	     "A value with ~ behind it is assumed, ? is one that is not known. Exit status: 0; 3 "
	     "where a\n"
	     "task is not known up to its end, what was recorded is damaged or cut, or nobody "
	     "knows "
	     "whether\n--where holds; 1 for an error, 2 for wrong usage.");
}

static const struct option options[] = {
	{"watch", required_argument, NULL, 'w'}, {"where", required_argument, NULL, 'W'},
	{"misses", no_argument, NULL, 'm'},	 {"limit", required_argument, NULL, 'l'},
	{"task", required_argument, NULL, 't'},	 {"format", required_argument, NULL, 'f'},
	{"help", no_argument, NULL, 'h'},	 {NULL, 0, NULL, 0}};
const struct command_words values_words = {.options = options, .letters = ":h"};

int cmd_values(int argc, char **argv)
{
	struct values_options o = {.limit = 100};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	uint64_t number;
	bool limit = false;
	int opt;

	command_options_begin();
	while ((opt = command_option(&values_words, argc, argv)) != -1) {
		switch (opt) {
		case 'w':
			o.watch = optarg;
			break;
		case 'W':
			o.where = optarg;
			break;
		case 'm':
			o.misses = true;
			break;
		case 'l':
			limit = true;
			if (!number_is(optarg, UINT64_MAX, &o.limit))
				return command_usage("values", "--limit: '%s' is no number",
						     optarg);
			break;
		case 't':
			if (!number_is(optarg, UINT32_MAX, &number) || !number)
				return command_usage("values",
						     "--task: '%s' is no number from 1 on", optarg);
			o.task = (uint32_t)number;
			break;
		case 'f':
			o.json = !strcmp(optarg, "json");
			if (!o.json && strcmp(optarg, "text") != 0)
				return command_usage("values", "no format '%s' (text, json)",
						     optarg);
			break;
		case 'h':
			help();
			return EXIT_OK;
		default:
			return command_usage("values", "unknown or incomplete option '%s'",
					     argv[optind - 1]);
		}
	}
	if (argc - optind < 1 || argc - optind > 2)
		return command_usage("values", "one directory is needed, and at most one place");
	o.dir = argv[optind];
	o.place = argc - optind == 2 ? argv[optind + 1] : NULL;
	if (o.place && o.watch)
		return command_usage("values", "a place or --watch, not both");
	if (o.misses && (o.place || o.watch))
		return command_usage("values", "--misses without a place, and without --watch");
	if (o.where && !o.place)
		return command_usage("values", "--where needs a place");
	if (limit && !o.place && !o.watch && !o.misses)
		return command_usage("values", "--limit goes with a place, --watch or --misses");
	int err = values_print(&o, &diag);
	if (err < 0)
		return command_fail(&diag);
	return err ? EXIT_GAPS : EXIT_OK;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_why.c: `pugmark why DIR` and `pugmark then DIR`: slices of a recording of level values. */
#include "offline/slice/slice.h"
#include "user/cli/command.h"
#include "user/cli/numbers.h"
#include "user/why/why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void help(bool then)
{
	printf("usage: pugmark %s [options] DIR [PLACE [VARIABLE]]\n\n", then ? "then" : "why");
	puts(then ? "Of a recording of level values: all that was computed from a value or from "
		    "bytes "
		    "of input."
		  : "Of a recording of level values: all that a value or bytes of output were "
		    "computed from, the\nlast executed first, down to bytes of input.");
	puts("\nWhat is asked about:\n"
	     "      PLACE            what the instruction there reads (a function, FILE:LINE, "
	     "0xADDRESS)\n"
	     "      PLACE VARIABLE   the variable before that line\n"
	     "      --time N         the Nth time that PLACE was reached (the last)\n"
	     "      --task N         in that task (the first in which it is found)\n"
	     "      --write FD:OFFSET[:LENGTH]\n"
	     "                       bytes that were written to a descriptor\n"
	     "      --output TEXT    the first time that this text was written\n"
	     "      --input FD:OFFSET[:LENGTH]\n"
	     "                       bytes that were read from a descriptor (then)\n"
	     "      --critical 0xADDRESS:N   what is around that execution, in both directions, "
	     "nearest first\n"
	     "                       (of a jump that pugmark switch has found; may be repeated)\n"
	     "      --crash          what the last instruction reads (why)\n"
	     "How far:\n"
	     "      --addresses      what says where memory operands lie is followed as well\n"
	     "      --control        the jumps and calls that decided what was executed as well\n"
	     "      --both           backward and forward together\n"
	     "Which lines are left out:\n"
	     "      --ok FD:OFFSET[:LENGTH]  of which these bytes, written and right, show that "
	     "they "
	     "were right;\n"
	     "                       the others are put in the order of doubt (may be repeated)\n"
	     "      --from FD:OFFSET[:LENGTH]  that do not follow from these bytes of input\n"
	     "      --through 0xADDRESS:N  that are not in the slice, in both directions, of that "
	     "execution\n"
	     "                       (of the jump that pugmark switch has found)\n"
	     "Evidence:\n"
	     "      --passing DIR    a recording of a run that passed: first what fewer of these "
	     "did "
	     "as well\n"
	     "                       (may be repeated; recordings of the same program)\n"
	     "How it is shown:\n"
	     "      --instructions   instructions instead of lines of source\n"
	     "      --ranked         in the order of doubt (so also with the three above)\n"
	     "      --limit N        at most so many lines (50)\n"
	     "      --format text|json|dot|svg|html\n"
	     "                       dot, svg, html: a graph of the lines, by who read what who "
	     "made\n\n"
	     "A line: how often, when for the last time (in instructions from the start), where, "
	     "what, "
	     "and\nwhat it computed then. Exit status: 0; 3 where the slice ends at something "
	     "whose "
	     "inputs are\nnot known; 1 for an error, 2 for wrong usage.");
}

enum {
	OPT_TIME = 256,
	OPT_TASK,
	OPT_WRITE,
	OPT_OUTPUT,
	OPT_INPUT,
	OPT_CRASH,
	OPT_ADDRESSES,
	OPT_CONTROL,
	OPT_BOTH,
	OPT_OK,
	OPT_FROM,
	OPT_THROUGH,
	OPT_INSTRUCTIONS,
	OPT_RANKED,
	OPT_CRITICAL,
	OPT_PASSING,
	OPT_LIMIT,
	OPT_FORMAT
};

/* What else is looked at, to leave lines out. */
static int take_set(int opt, const char *name, struct why_options *o)
{
	struct why_options bytes = {0};
	struct why_set *sets = realloc(o->sets, (o->n_sets + 1) * sizeof(*sets));
	if (!sets)
		return command_no_memory();
	o->sets = sets;
	struct why_set *set = &sets[o->n_sets++];
	*set = (struct why_set){.kind = opt == OPT_OK	     ? WHY_OK
					: opt == OPT_FROM    ? WHY_FROM
					: opt == OPT_THROUGH ? WHY_THROUGH
							     : WHY_ALSO};
	char *colon = strrchr(optarg, ':');
	if (opt == OPT_THROUGH || opt == OPT_CRITICAL) {
		if (!colon || strncmp(optarg, "0x", 2) != 0 ||
		    !number_is(colon + 1, UINT64_MAX, &set->time))
			return command_usage(name, "'%s' is no 0xADDRESS:N", optarg);
		*colon = 0;
		set->place = optarg;
		return 0;
	}
	if (!why_read_bytes(optarg, &bytes))
		return command_usage(name, "'%s' is no FD:OFFSET[:LENGTH]", optarg);
	set->fd = bytes.fd;
	set->offset = bytes.offset;
	set->len = bytes.len;
	return 0;
}

/* The first is what is asked about, the others besides. */
static int take_critical(const char *name, struct why_options *o, int *criteria)
{
	int status = take_set(OPT_CRITICAL, name, o);
	if (status || o->critical)
		return status;
	const struct why_set *set = &o->sets[--o->n_sets];
	o->critical = o->both = true;
	o->what = WHY_PLACE;
	o->critical_place = set->place;
	o->instance = set->time;
	++*criteria;
	return 0;
}

/* 0, or the status to end with. */
static int take_option(int opt, const char *name, struct why_options *o, int *criteria)
{
	static const char *const formats[] = {[WHY_TEXT] = "text",
					      [WHY_JSON] = "json",
					      [WHY_DOT] = "dot",
					      [WHY_SVG] = "svg",
					      [WHY_HTML] = "html"};
	uint64_t task;
	switch (opt) {
	case OPT_TASK:
		if (!number_is(optarg, UINT32_MAX, &task))
			return command_usage(name, "--task: '%s' is no number from 1 on", optarg);
		o->task = (uint32_t)task;
		return 0;
	case OPT_TIME:
		return number_is(optarg, UINT64_MAX, &o->instance)
			       ? 0
			       : command_usage(name, "--time: '%s' is no number from 1 on", optarg);
	case OPT_WRITE:
	case OPT_INPUT:
		o->what = opt == OPT_WRITE ? WHY_WRITE : WHY_INPUT;
		++*criteria;
		return why_read_bytes(optarg, o)
			       ? 0
			       : command_usage(name, "'%s' is no FD:OFFSET[:LENGTH]", optarg);
	case OPT_OUTPUT:
		o->what = WHY_OUTPUT;
		o->text = optarg;
		++*criteria;
		return *optarg ? 0 : command_usage(name, "--output: there is no text");
	case OPT_CRASH:
		o->what = WHY_END;
		++*criteria;
		return 0;
	case OPT_ADDRESSES:
		o->follow |= SLICE_ADDRESSES;
		return 0;
	case OPT_CONTROL:
		o->control = true;
		return 0;
	case OPT_OK:
	case OPT_FROM:
	case OPT_THROUGH:
		return take_set(opt, name, o);
	case OPT_PASSING:
		return why_add_passing(o, optarg) ? command_no_memory() : 0;
	case OPT_CRITICAL:
		return take_critical(name, o, criteria);
	case OPT_BOTH:
		o->both = true;
		return 0;
	case OPT_INSTRUCTIONS:
		o->instructions = true;
		return 0;
	case OPT_RANKED:
		o->ranked = true;
		return 0;
	case OPT_LIMIT:
		return number_is(optarg, UINT64_MAX, &o->limit)
			       ? 0
			       : command_usage(name, "--limit: '%s' is no number", optarg);
	case OPT_FORMAT:
		for (unsigned i = 0; i < sizeof(formats) / sizeof(*formats); i++)
			if (!strcmp(optarg, formats[i])) {
				o->format = (enum why_format)i;
				return 0;
			}
		return command_usage(name, "no format '%s' (text, json, dot, svg, html)", optarg);
	default:
		return -1;
	}
}

static const struct option options[] = {{"time", required_argument, NULL, OPT_TIME},
					{"task", required_argument, NULL, OPT_TASK},
					{"write", required_argument, NULL, OPT_WRITE},
					{"output", required_argument, NULL, OPT_OUTPUT},
					{"input", required_argument, NULL, OPT_INPUT},
					{"crash", no_argument, NULL, OPT_CRASH},
					{"addresses", no_argument, NULL, OPT_ADDRESSES},
					{"control", no_argument, NULL, OPT_CONTROL},
					{"ok", required_argument, NULL, OPT_OK},
					{"from", required_argument, NULL, OPT_FROM},
					{"critical", required_argument, NULL, OPT_CRITICAL},
					{"passing", required_argument, NULL, OPT_PASSING},
					{"through", required_argument, NULL, OPT_THROUGH},
					{"both", no_argument, NULL, OPT_BOTH},
					{"instructions", no_argument, NULL, OPT_INSTRUCTIONS},
					{"ranked", no_argument, NULL, OPT_RANKED},
					{"limit", required_argument, NULL, OPT_LIMIT},
					{"format", required_argument, NULL, OPT_FORMAT},
					{"help", no_argument, NULL, 'h'},
					{NULL, 0, NULL, 0}};
const struct command_words why_words = {.options = options, .letters = ":h"};

static int run(int argc, char **argv, bool then)
{
	struct why_options o = {.limit = 50, .forward = then};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	const char *name = then ? "then" : "why";
	int opt, criteria = 0;

	command_options_begin();
	while ((opt = command_option(&why_words, argc, argv)) != -1) {
		if (opt == 'h') {
			help(then);
			return EXIT_OK;
		}
		int status = take_option(opt, name, &o, &criteria);
		if (status)
			return status < 0 ? command_usage(name, "unknown or incomplete option '%s'",
							  argv[optind - 1])
					  : status;
	}
	if (argc - optind < 1 || argc - optind > 3)
		return command_usage(name, "one directory is needed, and at most a place and a "
					   "variable");
	o.dir = argv[optind];
	o.place = argc - optind > 1 ? argv[optind + 1] : NULL;
	if (!o.place && o.critical)
		o.place = o.critical_place;
	else
		criteria += o.place != NULL;
	o.variable = argc - optind > 2 ? argv[optind + 2] : NULL;
	if (criteria != 1)
		return command_usage(name, "one thing is asked about: a PLACE, --write, --output, "
					   "--input, --crash or --critical");
	if (o.what == WHY_INPUT && !then && !o.both)
		return command_usage(name, "--input is where a forward slice begins: pugmark then");
	if (o.instance && !o.place)
		return command_usage(name, "--time needs a PLACE");
	int err = why_print(&o, &diag);
	free(o.sets);
	free(o.passing);
	if (err < 0)
		return command_fail(&diag);
	return err ? EXIT_GAPS : EXIT_OK;
}

int cmd_why(int argc, char **argv)
{
	return run(argc, argv, false);
}

int cmd_then(int argc, char **argv)
{
	return run(argc, argv, true);
}

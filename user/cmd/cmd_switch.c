// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_switch.c: `pugmark switch DIR -- CMD`: the jump that makes the difference. */
#include "user/cli/command.h"
#include "user/cli/numbers.h"
#include "user/switch/switch.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"usage: pugmark switch [options] DIR [--until CONDITION]... -- PROGRAM [ARGS]\n"
	"       pugmark switch [options] DIR [--until CONDITION]... --replay\n"
	"\n"
	"Runs PROGRAM, of which DIR is a recording of level values that went wrong, again and "
	"again "
	"on the\n"
	"same input, each time with one execution of one conditional jump turned, until the "
	"outcome "
	"is as\n"
	"asked. Every run has private copies of the files that it writes, and no network.\n"
	"\n"
	"The outcome that is asked for, all of it:\n"
	"      --until 'exit = N'          (or !=)\n"
	"      --until 'stdout = FILE'     it prints exactly what FILE has (or stderr; or !=)\n"
	"      --until 'stdout ~ REGEX'    it prints something like that (or stderr; or !~)\n"
	"      --not-crash                 no signal ends it\n"
	"What is wrong, so that jumps that it depends on are tried first:\n"
	"      --crash          the end (if nothing else is told)\n"
	"      --write FD:OFFSET[:LENGTH]  bytes that were written; with 'stdout = FILE' the "
	"first\n"
	"                       that differs, if nothing else is told\n"
	"      --output TEXT    the first time that this text was written\n"
	"      --addresses      what says where memory operands lie is followed as well\n"
	"      --in-slice       no other jumps\n"
	"      --ok FD:OFFSET[:LENGTH]  bytes that were written and right: of the jumps that the "
	"failure\n"
	"                       depends on, those first that these least show to have gone the "
	"right "
	"way\n"
	"      --passing DIR    a recording of a run that passed: every other jump that is tried "
	"is "
	"one that\n"
	"                       went another way than in these (may be repeated)\n"
	"How:\n"
	"      --order last|each  the last executed first (last); or of each jump its last "
	"execution,\n"
	"                       then of each its first, then the last but one, ...\n"
	"      --replay         runs nothing: each jump is turned in the replay of the recording, "
	"which goes\n"
	"                       on as long as what it asks was captured, and says where that ends\n"
	"      --all            goes on behind the first jump that is critical, for others\n"
	"      --tries N        at most so many (1000)\n"
	"      --seconds N      for each (5)\n"
	"      --memory MB      for each (1024)\n"
	"  -j, --jobs N         so many side by side (one a processor; with --engine slurm one a "
	"task)\n"
	"      --engine local|slurm  where the program is run: here, or as tasks of a Slurm job "
	"array\n"
	"      --machines N     slurm: so many tasks (4)\n"
	"      --input FILE     slurm: a file that the program reads, by its path relative to this "
	"folder\n"
	"                       (may be repeated)\n"
	"      --shared DIR     slurm: a folder that all nodes see (this one)\n"
	"      --retries N      slurm: a task that has left nothing is submitted again, up to N "
	"times (1)\n"
	"      --format text|json\n"
	"\n"
	"Exit status: 0 found; 3 none of those tried; 1 for an error, 2 for wrong usage.\n";

enum {
	OPT_UNTIL = 256,
	OPT_NOT_CRASH,
	OPT_CRASH,
	OPT_WRITE,
	OPT_OUTPUT,
	OPT_ADDRESSES,
	OPT_IN_SLICE,
	OPT_PASSING,
	OPT_OK,
	OPT_REPLAY,
	OPT_ENGINE,
	OPT_MACHINES,
	OPT_INPUT,
	OPT_SHARED,
	OPT_RETRIES,
	OPT_TASK,
	OPT_JOB,
	OPT_ALL,
	OPT_ORDER,
	OPT_TRIES,
	OPT_SECONDS,
	OPT_MEMORY,
	OPT_FORMAT
};

static const char *task_folder, *task_sum; /* this is a task of a job */

static const struct option options[] = {{"until", required_argument, NULL, OPT_UNTIL},
					{"not-crash", no_argument, NULL, OPT_NOT_CRASH},
					{"crash", no_argument, NULL, OPT_CRASH},
					{"write", required_argument, NULL, OPT_WRITE},
					{"output", required_argument, NULL, OPT_OUTPUT},
					{"addresses", no_argument, NULL, OPT_ADDRESSES},
					{"in-slice", no_argument, NULL, OPT_IN_SLICE},
					{"passing", required_argument, NULL, OPT_PASSING},
					{"engine", required_argument, NULL, OPT_ENGINE},
					{"machines", required_argument, NULL, OPT_MACHINES},
					{"input", required_argument, NULL, OPT_INPUT},
					{"shared", required_argument, NULL, OPT_SHARED},
					{"retries", required_argument, NULL, OPT_RETRIES},
					{"task", required_argument, NULL, OPT_TASK},
					{"job", required_argument, NULL, OPT_JOB},
					{"ok", required_argument, NULL, OPT_OK},
					{"replay", no_argument, NULL, OPT_REPLAY},
					{"all", no_argument, NULL, OPT_ALL},
					{"order", required_argument, NULL, OPT_ORDER},
					{"tries", required_argument, NULL, OPT_TRIES},
					{"seconds", required_argument, NULL, OPT_SECONDS},
					{"memory", required_argument, NULL, OPT_MEMORY},
					{"jobs", required_argument, NULL, 'j'},
					{"format", required_argument, NULL, OPT_FORMAT},
					{"help", no_argument, NULL, 'h'},
					{NULL, 0, NULL, 0}};

static int take_number(int opt, struct switch_options *o)
{
	uint64_t n;
	uint64_t most = opt == OPT_TRIES		    ? UINT32_MAX
			: opt == 'j' || opt == OPT_MACHINES ? SWITCH_MACHINES_MAX
							    : 1 << 20;
	if (!number_is(optarg, most, &n))
		return command_usage("switch", "'%s' is no number that can be", optarg);
	if (opt == OPT_TRIES)
		o->tries = n;
	else if (opt == OPT_SECONDS)
		o->command.seconds = n;
	else if (opt == OPT_MEMORY)
		o->command.memory_bytes = n << 20;
	else if (opt == OPT_MACHINES)
		o->cluster.machines = n;
	else
		o->jobs = n;
	return 0;
}

/* What is wrong. */
static int take_criterion(int opt, struct switch_options *o)
{
	if (o->asked)
		return command_usage("switch", "one thing can be wrong: --crash, --write or "
					       "--output");
	o->asked = true;
	o->why.what = opt == OPT_CRASH ? WHY_END : opt == OPT_WRITE ? WHY_WRITE : WHY_OUTPUT;
	o->why.text = optarg;
	return opt != OPT_WRITE || why_read_bytes(optarg, &o->why)
		       ? 0
		       : command_usage("switch", "'%s' is no FD:OFFSET[:LENGTH]", optarg);
}

static int take_ok(struct switch_options *o)
{
	struct why_options bytes = {0};
	struct why_set *sets = realloc(o->why.sets, (o->why.n_sets + 1) * sizeof(*sets));
	if (!sets)
		return command_no_memory();
	o->why.sets = sets;
	if (!why_read_bytes(optarg, &bytes))
		return command_usage("switch", "'%s' is no FD:OFFSET[:LENGTH]", optarg);
	sets[o->why.n_sets++] = (struct why_set){
		.kind = WHY_OK, .fd = bytes.fd, .offset = bytes.offset, .len = bytes.len};
	return 0;
}

/* Where the program is run. As take_option(). */
static int take_engine(int opt, struct switch_options *o)
{
	static const char *inputs[256];
	uint64_t n;
	switch (opt) {
	case OPT_ENGINE:
		o->cluster.used = !strcmp(optarg, "slurm");
		return o->cluster.used || !strcmp(optarg, "local")
			       ? 0
			       : command_usage("switch", "no engine '%s' (local, slurm)", optarg);
	case OPT_INPUT:
		o->cluster.inputs = inputs;
		if (o->cluster.n_inputs == sizeof(inputs) / sizeof(*inputs))
			return command_usage("switch", "too many --input");
		inputs[o->cluster.n_inputs++] = optarg;
		return 0;
	case OPT_SHARED:
		o->cluster.shared = optarg;
		return 0;
	case OPT_RETRIES:
		if (strcmp(optarg, "0") != 0 && !number_is(optarg, 100, &n))
			return command_usage("switch", "'%s' is no number that can be", optarg);
		o->cluster.retries = strcmp(optarg, "0") != 0 ? n : 0;
		return 0;
	case OPT_TASK:
		task_folder = optarg;
		return 0;
	case OPT_JOB:
		task_sum = optarg;
		return 0;
	default:
		return -1;
	}
}

/* 0; or the status to end with; -1: no such option. */
static int take_option(int opt, struct switch_options *o, struct outcome *outcome)
{
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	switch (opt) {
	case OPT_UNTIL:
	case OPT_NOT_CRASH:
		return outcome_add(outcome, opt == OPT_UNTIL ? optarg : "not crash", &diag)
			       ? command_fail(&diag)
			       : 0;
	case OPT_CRASH:
	case OPT_WRITE:
	case OPT_OUTPUT:
		return take_criterion(opt, o);
	case OPT_ADDRESSES:
		o->why.follow |= SLICE_ADDRESSES;
		return 0;
	case OPT_IN_SLICE:
		o->beside = false;
		return 0;
	case OPT_PASSING:
		return why_add_passing(&o->why, optarg) ? command_no_memory() : 0;
	case OPT_OK:
		return take_ok(o);
	case OPT_REPLAY:
		o->replay = true;
		return 0;
	case OPT_ALL:
		o->all = true;
		return 0;
	case OPT_ORDER:
		o->order = !strcmp(optarg, "each") ? ORDER_EACH : ORDER_LAST;
		return !strcmp(optarg, "each") || !strcmp(optarg, "last")
			       ? 0
			       : command_usage("switch", "no order '%s' (last, each)", optarg);
	case OPT_TRIES:
	case OPT_SECONDS:
	case OPT_MEMORY:
	case OPT_MACHINES:
	case 'j':
		return take_number(opt, o);
	case OPT_FORMAT:
		o->json = !strcmp(optarg, "json");
		return o->json || !strcmp(optarg, "text")
			       ? 0
			       : command_usage("switch", "no format '%s' (text, json)", optarg);
	default:
		return take_engine(opt, o);
	}
}

/* What a node of the job runs. */
static int run_task(void)
{
	const char *id = getenv("SLURM_ARRAY_TASK_ID");
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	uint64_t number;
	if (!task_folder || !task_sum || !id || !number_is(id, SWITCH_MACHINES_MAX, &number))
		return command_usage("switch", "--task and --job are for tasks of a job that "
					       "--engine slurm has submitted");
	return switch_task(task_folder, task_sum, number, &diag) ? command_fail(&diag) : EXIT_OK;
}

static int parse(int argc, char **argv, struct switch_options *o, struct outcome *outcome)
{
	int opt;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "+hj:", options, NULL)) != -1 ||
	       (!o->why.dir && optind < argc && strcmp(argv[optind - 1], "--") != 0)) {
		if (opt == -1) { /* the recording, between options */
			o->why.dir = argv[optind++];
			continue;
		}
		if (opt == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		int status = take_option(opt, o, outcome);
		if (status)
			return status < 0 ? command_usage("switch",
							  "unknown or incomplete option '%s'",
							  argv[optind - 1])
					  : status;
	}
	if (task_folder || task_sum)
		return run_task();
	if (o->cluster.used && o->replay)
		return command_usage("switch", "--replay runs nothing, so it has no --engine");
	if (!o->cluster.used && (o->cluster.n_inputs || o->cluster.shared))
		return command_usage("switch", "--input and --shared go with --engine slurm: on "
					       "this host files are where they are");
	if (o->replay && (!o->why.dir || optind < argc))
		return command_usage("switch", "with --replay a recording is needed, and no "
					       "program, for none is run");
	if (!o->replay && (!o->why.dir || optind >= argc || strcmp(argv[optind - 1], "--") != 0))
		return command_usage("switch", "a recording is needed, and behind -- the program "
					       "that it is of");
	if (!outcome_any(outcome))
		return command_usage("switch", "which outcome? --until or --not-crash");
	o->command.argv = argv + optind;
	return -1;
}

int cmd_switch(int argc, char **argv)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct switch_options o = {.why = {.what = WHY_END, .control = true},
				   .beside = true,
				   .tries = 1000,
				   .cluster = {.machines = 4, .retries = 1, .shared = NULL},
				   .command = {.seconds = 5, .memory_bytes = 1024 << 20}};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	struct outcome *outcome = NULL;
	int err = 0;
	if (outcome_new(&outcome))
		return command_no_memory();
	o.outcome = outcome;
	int status = parse(argc, argv, &o, outcome);
	if (status < 0) {
		char *binary = o.replay ? NULL : command_program(o.command.argv[0]);
		o.cluster.binary = binary;
		if (!o.cluster.shared)
			o.cluster.shared = ".";
		if (!o.jobs)
			o.jobs = o.cluster.used || processors < 1 ? 1
				 : processors > 64		  ? 64
								  : processors;
		o.command.input = o.replay ? -1 : private_input(&diag);
		err = o.command.input < -1 ? o.command.input : switch_print(&o, &diag);
		status = err < 0 ? command_fail(&diag) : err ? EXIT_GAPS : EXIT_OK;
		if (o.command.input >= 0)
			close(o.command.input);
		free(binary);
	}
	free(o.why.passing);
	free(o.why.sets);
	outcome_free(outcome);
	return status;
}

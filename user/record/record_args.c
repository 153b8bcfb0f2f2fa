// SPDX-License-Identifier: LGPL-2.1-or-later
/* record_args.c: the options of `pugmark record`: a row each, what it takes and where that goes. */
#include "user/record/record_args.h"

#include "user/cli/command.h"

#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void print_help(void)
{
	puts("usage: pugmark record [options] -- PROGRAM [ARGS]\n"
	     "       pugmark record [options] -p PID\n"
	     "       pugmark record [options] -a BINARY\n\n"
	     "  -o, --output DIR     where to (pugmark.data; one that is there becomes DIR.old)\n"
	     "  -p, --pid PID        a running process and what it forks (repeatable)\n"
	     "  -a, --all BINARY     every process that runs the binary, now or later\n"
	     "      --cgroup PATH    of these, only those in that cgroup\n"
	     "      --pid-namespace PID\n"
	     "                       of these, only those in the pid namespace of that process (or "
	     "the path of one)\n"
	     "      --no-follow      leave forked children alone\n"
	     "      --mode full|branch|casper|best\n"
	     "                       how witnesses are chosen (best)\n"
	     "      --level calls|paths|values\n"
	     "                       what to recover: calls, every basic block as well, or calls "
	     "and\n"
	     "                       all values of registers and memory (calls)\n"
	     "      --check-every N  level values: do not witness calls, and check registers "
	     "behind\n"
	     "                       every Nth call out of what is traced\n"
	     "      --imports FILE   level values: what functions outside do, before the table "
	     "that\n"
	     "                       is built in: NAME model|result|output|opaque [OUTPUTS] a "
	     "line\n"
	     "      --placement blocks|targets|edges|nodes|best\n"
	     "                       where the witnesses of paths stand (best)\n"
	     "  -F, --function PAT   trace only functions that match (glob, or /regex/; "
	     "repeatable)\n"
	     "  -N, --no-function PAT  leave out functions that match (repeatable)\n"
	     "      --profile DIR    choose witnesses by the counts of that recording "
	     "(repeatable)\n"
	     "      --plan FILE      take that plan, made by `pugmark plan -o FILE`\n"
	     "      --exports needed|all\n"
	     "                       exported functions that may be called from outside: those "
	     "that\n"
	     "                       linked libraries name (needed), or all\n"
	     "      --plugin FILE    a module that is loaded later and calls exported functions\n"
	     "                       (repeatable)\n"
	     "      --max-overhead PERCENT\n"
	     "                       take the hottest functions out until probes cost no more\n"
	     "      --fresh          plan anew, and begin with what earlier recordings took out\n"
	     "      --module PATTERN trace that shared library as well: a glob of its file name, "
	     "or "
	     "a path\n"
	     "                       (repeatable)\n"
	     "      --no-program     trace only those, not the program itself\n"
	     "      --args N         read the first N arguments (at most 6), integers or pointers, "
	     "of\n"
	     "                       all functions, or:\n"
	     "      --args-of PAT    of those that match, here or imported (repeatable)\n"
	     "      --handle stdio|sockets|sqlite3|FILE\n"
	     "                       read the handles that functions of a C library take and "
	     "return,\n"
	     "                       for encode --handle (repeatable)\n"
	     "      --carrier probe|patch\n"
	     "                       how events come out of the program: by probes of the kernel, "
	     "or\n"
	     "                       by patched instructions, which cost a hundredth (probe)\n"
	     "      --on-full lose|wait\n"
	     "                       where patched instructions find no room: count what is lost, "
	     "or\n"
	     "                       wait for room (lose)\n"
	     "      --lane-memory MIB\n"
	     "                       room for them in each patched process (64)\n"
	     "      --no-times       do not record when\n"
	     "      --time-unit NS   times are told to half of it (200)\n"
	     "      --duration SECS  stop after so long\n"
	     "      --user NAME          run the program as that user\n"
	     "      --ring MIB       size of the event ring (16)\n"
	     "  -q, --quiet          no progress, no summary\n\n"
	     "Exit status: the program's own; 1 for an error, 2 for wrong usage, 3 where events "
	     "were\n"
	     "lost and the program's own is 0. SIGINT stops the recording.");
}

/* A positive number that is all of @text. */
static bool parse_number(const char *text, double max, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && *out > 0 && *out <= max;
}

static int take_pid(struct record_args *a, double value)
{
	if (a->options.n_pids == RECORD_ARGS_MAX)
		return command_usage("record", "more than %d processes", RECORD_ARGS_MAX);
	a->pids[a->options.n_pids++] = value;
	return EXIT_OK;
}

static int take_unit(struct record_args *a, double value)
{
	a->options.time_unit_ns = value < 1 ? 1 : value;
	return EXIT_OK;
}

static int take_duration(struct record_args *a, double value)
{
	a->options.duration_ns = value * 1e9;
	return EXIT_OK;
}

static int take_overhead(struct record_args *a, double value)
{
	a->options.max_overhead = a->planning.max_overhead = value;
	return EXIT_OK;
}

static int take_args(struct record_args *a, double value)
{
	a->n_args = value;
	return EXIT_OK;
}

static int take_ring(struct record_args *a, double value)
{
	a->options.ring_bytes = 4096;
	while (a->options.ring_bytes < value * (1 << 20))
		a->options.ring_bytes *= 2;
	return EXIT_OK;
}

static int take_all(struct record_args *a, const char *text)
{
	if (a->options.all)
		return command_usage("record",
				     "-a twice: a recording is of one binary (two recordings can "
				     "run at a time)");
	a->options.all = true;
	a->modules.binary = text;
	return EXIT_OK;
}

static int take_mode(struct record_args *a, const char *text)
{
	a->calls_only = strcmp(text, "best") != 0;
	if (!planning_mode_named(text, &a->planning.mode))
		return command_usage("record", "no mode '%s' (full, branch, casper, best)", text);
	return EXIT_OK;
}

static int take_check_every(struct record_args *a, double value)
{
	a->check_every = value;
	return EXIT_OK;
}

static int take_level(struct record_args *a, const char *text)
{
	a->paths = !strcmp(text, "paths");
	a->values = !strcmp(text, "values");
	if (a->values)
		return EXIT_OK;
	if (!a->paths && strcmp(text, "calls") != 0)
		return command_usage("record", "no level '%s' (calls, paths, values)", text);
	return EXIT_OK;
}

static int take_placement(struct record_args *a, const char *text)
{
	a->placement_given = true;
	if (!planning_placement_named(text, &a->placement))
		return command_usage(
			"record", "no placement '%s' (blocks, targets, edges, nodes, best)", text);
	return EXIT_OK;
}

static int take_exports(struct record_args *a, const char *text)
{
	a->planning.all_exports = !strcmp(text, "all");
	if (!a->planning.all_exports && strcmp(text, "needed") != 0)
		return command_usage("record", "--exports takes needed or all");
	return EXIT_OK;
}

static int take_carrier(struct record_args *a, const char *text)
{
	static const char *const names[] = {"probe", "patch", "mixed"};

	for (int i = 0; i < 3; i++)
		if (!strcmp(text, names[i])) {
			a->options.carrier = i;
			return EXIT_OK;
		}
	return command_usage("record", "no carrier '%s' (probe, patch)", text);
}

static int take_on_full(struct record_args *a, const char *text)
{
	a->options.on_full_wait = !strcmp(text, "wait");
	if (!a->options.on_full_wait && strcmp(text, "lose") != 0)
		return command_usage("record", "--on-full takes lose or wait");
	return EXIT_OK;
}

static int take_lane_memory(struct record_args *a, double value)
{
	a->options.lane_bytes = value * (1 << 20);
	return EXIT_OK;
}

static int take_twin(struct record_args *a, const char *text)
{
	if (a->modules.n_modes > RECORD_TWINS_MAX ||
	    !planning_mode_named(text, &a->modes[a->modules.n_modes++]))
		return command_usage("record", "--twin: wrong mode, or too many");
	return EXIT_OK;
}

/* What an option takes; the first of these that a row has. */
struct record_option {
	const char *name;
	int letter;  /* 0: none */
	size_t flag; /* a bool that it sets; 0: none, as of the others */
	size_t text; /* a string, of which the last counts */
	size_t list; /* a struct record_list */
	int (*word)(struct record_args *a, const char *text);
	int (*number)(struct record_args *a, double value);
	double max; /* of the number */
	bool whole; /* it has no fraction */
};

#define AT(member) offsetof(struct record_args, member)

static const struct record_option record_options[] = {
	{"output", 'o', .text = AT(options.output)},
	{"pid", 'p', .number = take_pid, .max = 1 << 22, .whole = true},
	{"all", 'a', .word = take_all},
	{"cgroup", .text = AT(options.cgroup)},
	{"pid-namespace", .text = AT(options.pid_namespace)},
	{"no-follow", .flag = AT(options.no_follow)},
	{"mode", .word = take_mode},
	{"level", .word = take_level},
	{"placement", .word = take_placement},
	{"function", 'F', .list = AT(only)},
	{"no-function", 'N', .list = AT(without)},
	{"profile", .list = AT(profiles)},
	{"plan", .text = AT(modules.plan)},
	{"exports", .word = take_exports},
	{"plugin", .list = AT(plugins)},
	{"fresh", .flag = AT(planning.fresh)},
	{"max-overhead", .number = take_overhead, .max = 1e6},
	{"module", .list = AT(patterns)},
	{"no-program", .flag = AT(modules.no_program)},
	{"args", .number = take_args, .max = 6, .whole = true},
	{"args-of", .list = AT(args_of)},
	{"handle", .list = AT(handles)},
	{"carrier", .word = take_carrier},
	{"on-full", .word = take_on_full},
	{"lane-memory", .number = take_lane_memory, .max = 2048},
	{"no-times", .flag = AT(no_times)},
	{"time-unit", .number = take_unit, .max = 1e9},
	{"imports", .text = AT(imports)},
	{"check-every", .number = take_check_every, .max = 1 << 30, .whole = true},
	{"duration", .number = take_duration, .max = 1e9},
	{"user", .text = AT(options.user)},
	{"ring", .number = take_ring, .max = 1024},
	{"quiet", 'q', .flag = AT(options.quiet)},
	{"help", 'h', .flag = AT(help)},
	/* For tests. */
	{"twin", .word = take_twin},
	{"sites", .text = AT(modules.sites)},
	{"binary", .text = AT(modules.binary)},
};

enum { N_OPTIONS = sizeof(record_options) / sizeof(*record_options) };
_Static_assert(N_OPTIONS <= 64, "record_args.given has a bit for each");

static int take(struct record_args *a, const struct record_option *o)
{
	char *base = (char *)a;
	double value;

	if (o->flag)
		*(bool *)(base + o->flag) = true;
	if (o->text && o->letter != 'o' && a->given & 1ull << (o - record_options))
		return command_usage("record", "--%s twice: '%s' and '%s'", o->name,
				     *(const char **)(base + o->text), optarg);
	if (o->text)
		*(const char **)(base + o->text) = optarg;
	a->given |= 1ull << (o - record_options);
	if (o->list) {
		struct record_list *list = (struct record_list *)(base + o->list);

		if (list->n == RECORD_ARGS_MAX)
			return command_usage("record", "more than %d times --%s", RECORD_ARGS_MAX,
					     o->name);
		list->at[list->n++] = optarg;
	}
	if (o->word)
		return o->word(a, optarg);
	if (!o->number)
		return EXIT_OK;
	if (!parse_number(optarg, o->max, &value) || (o->whole && value != floor(value)))
		return command_usage("record",
				     "--%s: '%s' is not a number that fits: %sup to %.0f, above 0",
				     o->name, optarg, o->whole ? "a whole one, " : "", o->max);
	return o->number(a, value);
}

/* The rows as getopt wants them: an option's value is its row's number, from 256 on. */
static void rows_for_getopt(struct option rows[N_OPTIONS + 1], char letters[2 * N_OPTIONS + 2])
{
	*letters++ = '+';
	for (int i = 0; i < N_OPTIONS; i++) {
		const struct record_option *o = &record_options[i];

		rows[i] = (struct option){o->name, o->flag ? no_argument : required_argument, NULL,
					  256 + i};
		if (o->letter)
			*letters++ = o->letter;
		if (o->letter && !o->flag)
			*letters++ = ':';
	}
	rows[N_OPTIONS] = (struct option){0};
	*letters = 0;
}

static const struct record_option *row_of(int opt)
{
	for (int i = 0; i < N_OPTIONS; i++)
		if (opt == 256 + i || opt == record_options[i].letter)
			return &record_options[i];
	return NULL;
}

/* What goes together, and what does not. */
static int check_together(const struct record_args *a)
{
	const struct record_modules_options *m = &a->modules;
	const struct recorder_options *o = &a->options;

	if (m->plan && (m->n_modes > 1 || a->only.n || a->without.n || a->profiles.n || m->sites ||
			a->n_args || a->handles.n))
		return command_usage("record", "--plan is made already: what to trace is in it");
	if ((o->argv != NULL) + (o->n_pids > 0) + o->all != 1)
		return command_usage("record",
				     "a program, -p PID or -a BINARY is needed, one of them");
	if (o->carrier && (o->n_pids || o->all))
		return command_usage("record", "--carrier patch is for a program that is started: "
					       "-- PROGRAM");
	if (o->carrier && o->time_unit_ns)
		return command_usage("record",
				     "--carrier patch does not tell times yet: --no-times");
	if (o->carrier && (o->max_overhead > 0 || m->n_modes > 1 || m->sites || a->values))
		return command_usage("record", "--carrier patch does not go with --max-overhead, "
					       "--level values, --twin or --sites");
	if ((o->cgroup || o->pid_namespace) && !o->all)
		return command_usage("record", "--cgroup and --pid-namespace choose among what -a "
					       "finds");
	if (o->max_overhead > 0 && (m->n_modes > 1 || m->plan || m->sites))
		return command_usage("record", "--max-overhead plans by itself: no --plan with it");
	if (a->args_of.n && !a->n_args)
		return command_usage("record", "--args-of says of which: --args N says how many");
	if (a->paths && a->calls_only)
		return command_usage("record", "--mode is for level calls: paths has --placement");
	if (!a->values && (a->imports || a->check_every))
		return command_usage("record",
				     "--imports and --check-every go with --level values");
	if (a->values && (o->all || o->n_pids > 1 || o->max_overhead > 0 || m->sites))
		return command_usage("record", "--level values is for one program or process, "
					       "without --max-overhead");
	if (a->placement_given && !a->paths)
		return command_usage("record", "--placement goes with --level paths");
	if (o->user && !o->argv)
		return command_usage("record", "--user says whom a program runs as: it goes with "
					       "one after --");
	if (!*a->options.output)
		return command_usage("record", "--output is empty: a folder's name is wanted");
	if (m->no_program && !a->patterns.n)
		return command_usage("record", "--no-program leaves nothing without --module");
	return EXIT_OK;
}

/* No slash at the end, for what is put beside it. Links are recording_folder.h's to follow. */
static void resolve_output(struct record_args *a)
{
	size_t len = strlen(a->options.output);
	while (len > 1 && a->options.output[len - 1] == '/')
		len--;
	if (len >= sizeof(a->output))
		return;
	memcpy(a->output, a->options.output, len);
	a->output[len] = 0;
	a->options.output = a->output;
}

/* Where a list or a number went to a place of its own. */
static void connect(struct record_args *a)
{
	a->options.pids = a->pids;
	a->planning.only = a->only.at;
	a->planning.n_only = a->only.n;
	a->planning.without = a->without.at;
	a->planning.n_without = a->without.n;
	a->planning.plugins = a->plugins.at;
	a->planning.n_plugins = a->plugins.n;
	a->planning.profiles = a->profiles.at;
	a->planning.n_profiles = a->profiles.n;
	a->modules.planning = &a->planning;
	a->modules.modes = a->modes;
	a->modules.modules = a->patterns.at;
	a->modules.n_modules = a->patterns.n;
	if (a->paths)
		a->planning.mode = a->placement;
	a->modes[0] = a->planning.mode;
	if (a->no_times)
		a->options.time_unit_ns = 0;
	const char *ring = getenv("PUGMARK_RING_BYTES"), *stall = getenv("PUGMARK_STALL_MS");
	if (ring)
		a->options.ring_bytes = strtoul(ring, NULL, 0);
	a->options.carrier_poison = getenv("PUGMARK_PATCH_POISON") != NULL;
	if (getenv("PUGMARK_PATCH_SEED"))
		a->options.carrier_seed = strtoul(getenv("PUGMARK_PATCH_SEED"), NULL, 0);
	if (stall)
		a->options.debug_stall_ms = strtoul(stall, NULL, 0);
}

bool record_args_parse(struct record_args *a, int argc, char **argv, int *status)
{
	struct option rows[N_OPTIONS + 1];
	char letters[2 * N_OPTIONS + 2];
	int opt;

	*a = (struct record_args){
		.options = {.output = "pugmark.data", .time_unit_ns = 200},
		.modules = {.n_modes = 1},
		.planning = {.mode = MODE_BEST},
		.placement = MODE_PATHS_BEST,
	};
	opterr = 0;
	rows_for_getopt(rows, letters);
	while ((opt = getopt_long(argc, argv, letters, rows, NULL)) != -1) {
		const struct record_option *o = row_of(opt);

		*status = o ? take(a, o)
			    : command_usage("record", "unknown or incomplete option '%s'",
					    argv[optind - 1]);
		if (*status)
			return false;
		if (a->help) {
			print_help();
			return false;
		}
	}
	if (optind < argc)
		a->options.argv = argv + optind;
	connect(a);
	resolve_output(a);
	*status = check_together(a);
	return *status == EXIT_OK;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* record_args.c: the options of `pugmark record`: a row each, what it takes and where that goes. */
#include "user/record/ask/record_args.h"

#include "user/cli/command.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int take_pid(void *args, double value)
{
	struct record_args *a = args;
	if (a->options.n_pids == RECORD_PIDS_MAX)
		return command_usage("record", "more than %d processes", RECORD_PIDS_MAX);
	a->pids[a->options.n_pids++] = value;
	return EXIT_OK;
}

static int take_unit(void *args, double value)
{
	struct record_args *a = args;
	a->options.time_unit_ns = value < 1 ? 1 : value;
	return EXIT_OK;
}

static int take_overhead(void *args, double value)
{
	struct record_args *a = args;
	a->options.max_overhead = a->planning.max_overhead = value;
	return EXIT_OK;
}

static int take_share(void *args, const char *text)
{
	struct record_args *a = args;
	unsigned share, n;
	int len = 0;

	if (sscanf(text, "%u/%u%n", &share, &n, &len) != 2 || text[len] || !share || share > n ||
	    n > SHARES_MAX)
		return command_usage("record",
				     "--share takes a number of how many, as 2/8 (at most "
				     "%d), not '%s'",
				     SHARES_MAX, text);
	a->options.share = a->planning.share = share;
	a->options.n_shares = a->planning.n_shares = n;
	return EXIT_OK;
}

static int take_refuse(void *args, double value)
{
	struct record_args *a = args;
	if (value < 1)
		return command_usage("record", "--refuse-above: a factor is 1 or more");
	a->options.refuse_above = value;
	return EXIT_OK;
}

static int take_ring(void *args, double value)
{
	struct record_args *a = args;
	a->options.ring_bytes = 4096;
	while (a->options.ring_bytes < value * (1 << 20))
		a->options.ring_bytes *= 2;
	return EXIT_OK;
}

static int take_all(void *args, const char *text)
{
	struct record_args *a = args;
	if (a->options.all)
		return command_usage("record",
				     "-a twice: a recording is of one binary (two recordings can "
				     "run at a time)");
	a->options.all = true;
	a->modules.binary = text;
	return EXIT_OK;
}

static int take_mode(void *args, const char *text)
{
	struct record_args *a = args;
	a->calls_only = strcmp(text, "best") != 0;
	if (!planning_mode_named(text, &a->planning.mode))
		return command_usage("record", "no mode '%s' (full, branch, casper, best)", text);
	return EXIT_OK;
}

static int take_level(void *args, const char *text)
{
	struct record_args *a = args;
	a->paths = !strcmp(text, "paths");
	a->values = !strcmp(text, "values");
	if (a->values)
		return EXIT_OK;
	if (!a->paths && strcmp(text, "calls") != 0)
		return command_usage("record", "no level '%s' (calls, paths, values)", text);
	return EXIT_OK;
}

static int take_placement(void *args, const char *text)
{
	struct record_args *a = args;
	a->placement_given = true;
	if (!planning_placement_named(text, &a->placement))
		return command_usage(
			"record", "no placement '%s' (blocks, targets, edges, nodes, best)", text);
	return EXIT_OK;
}

static int take_exports(void *args, const char *text)
{
	struct record_args *a = args;
	return planning_exports_named(text, &a->planning.exports)
		       ? EXIT_OK
		       : command_usage("record", "--exports takes auto, needed or all, not '%s'",
				       text);
}

static int take_carrier(void *args, const char *text)
{
	struct record_args *a = args;
	static const char *const names[] = {"probe", "patch", "mixed", "auto"};

	for (int i = 0; i < 4; i++)
		if (!strcmp(text, names[i])) {
			a->options.carrier = i;
			return EXIT_OK;
		}
	return command_usage("record", "no carrier '%s' (probe, patch, auto)", text);
}

static int take_on_full(void *args, const char *text)
{
	struct record_args *a = args;
	a->options.on_full_wait = !strcmp(text, "wait");
	if (!a->options.on_full_wait && strcmp(text, "lose") != 0)
		return command_usage("record", "--on-full takes lose or wait");
	return EXIT_OK;
}

static int take_coding(void *args, const char *text)
{
	struct record_args *a = args;
	bool now = !strcmp(text, "now");

	if (!now && strcmp(text, "later") != 0)
		return command_usage("record", "--live-coding takes now or later");
	a->options.coding = now ? CODING_NOW : CODING_LATER;
	return EXIT_OK;
}

static int take_priority(void *args, const char *text)
{
	struct record_args *a = args;

	a->plan_at_once = !strcmp(text, "normal");
	if (!a->plan_at_once && strcmp(text, "idle") != 0)
		return command_usage("record", "--plan-priority takes idle or normal");
	return EXIT_OK;
}

static int take_twin(void *args, const char *text)
{
	struct record_args *a = args;
	if (a->modules.n_modes > RECORD_TWINS_MAX ||
	    !planning_mode_named(text, &a->modes[a->modules.n_modes++]))
		return command_usage("record", "--twin: wrong mode, or too many");
	return EXIT_OK;
}

#define AT(member) offsetof(struct record_args, member)
/* The same of a number, which has that type or does not compile. */
#define IS_A(type, member)                                                                         \
	__builtin_types_compatible_p(type, __typeof__(((struct record_args *)NULL)->member))
#define AT_A(type, member) (AT(member) + 0 * sizeof(char[IS_A(type, member) ? 1 : -1]))

static const struct option_row record_options[] = {
	{"output", 'o', .value = "DIR",
	 .help = "where to (pugmark.data; one that is there becomes DIR.old)",
	 .text = AT(options.output), .last_counts = true},
	{"pid", 'p', .value = "PID", .help = "a running process and what it forks (repeatable)",
	 .number = take_pid, .max = 1 << 22, .whole = true},
	{"all", 'a', .value = "BINARY", .help = "every process that runs the binary, now or later",
	 .word = take_all},
	{"cgroup", .value = "PATH", .help = "of these, only those in that cgroup",
	 .text = AT(options.cgroup)},
	{"pid-namespace", .value = "PID",
	 .help = "of these, only those in the pid namespace of that process (or the path of one)",
	 .text = AT(options.pid_namespace)},
	{"no-follow", .help = "leave forked children alone", .flag = AT(options.no_follow)},
	{"mode", .value = "full|branch|casper|best", .help = "how witnesses are chosen (best)",
	 .word = take_mode},
	{"level", .value = "calls|paths|values",
	 .help = "what to recover: calls, every basic block as well, or calls and\n"
		 "all values of registers and memory (calls)",
	 .word = take_level},
	{"check-every", .value = "N",
	 .help = "level values: do not witness calls, and check registers behind\n"
		 "every Nth call out of what is traced",
	 .u32 = AT_A(uint32_t, check_every), .max = 1 << 30, .whole = true},
	{"one-processor",
	 .help = "level values: all threads share one processor while they are recorded,\n"
		 "so that what they tell each other in memory is known",
	 .flag = AT(one_processor)},
	{"no-memory", .value = "PATTERN",
	 .help = "level values: keep nothing of mappings whose name, as in /proc/PID/maps,\n"
		 "it matches: what is read there is not known",
	 .text = AT(no_memory)},
	{"redact", .value = "FD|PATTERN",
	 .help = "level values: keep nothing of what is read from that descriptor, or from\n"
		 "files whose path matches (socket:*, pipe:), nor of what calls out\n"
		 "bring; it is not known (repeatable)",
	 .list = AT(redact)},
	{"imports", .value = "FILE",
	 .help = "level values: what functions outside do, before the table that\n"
		 "is built in: NAME model|result|output|opaque [OUTPUTS] a line",
	 .text = AT(imports)},
	{"placement", .value = "blocks|targets|edges|nodes|best",
	 .help = "where the witnesses of paths stand (best)", .word = take_placement},
	{"function", 'F', .value = "PAT",
	 .help = "trace only functions that match (glob, or /regex/; repeatable)",
	 .list = AT(only)},
	{"no-function", 'N', .value = "PAT", .help = "leave out functions that match (repeatable)",
	 .list = AT(without)},
	{"profile", .value = "DIR",
	 .help = "choose witnesses by the counts of that recording (repeatable)",
	 .list = AT(profiles)},
	{"plan", .value = "FILE", .help = "take that plan, made by `pugmark plan -o FILE`",
	 .text = AT(modules.plan)},
	{"plan-priority", .value = "idle|normal",
	 .help = "plan while the machine has nothing else to do, or at once (idle\n"
		 "for -p and -a, whose programs that might slow down, else normal)",
	 .word = take_priority},
	{"exports", .value = "auto|needed|all",
	 .help = "exported functions that may be called from outside: those that\n"
		 "linked libraries name (needed), all, or all of a program that\n"
		 "modules on this host are made for (auto)",
	 .word = take_exports},
	{"plugin", .value = "FILE",
	 .help = "a module that is loaded later and calls exported functions\n"
		 "(repeatable)",
	 .list = AT(plugins)},
	{"refuse-above", .value = "FACTOR",
	 .help = "end at once where what is traced takes more than FACTOR times\n"
		 "as long (which is said within the first second of -p and -a)",
	 .number = take_refuse, .max = 1e6},
	{"max-overhead", .value = "PERCENT",
	 .help = "take the hottest functions out until probes cost no more",
	 .number = take_overhead, .max = 1e6},
	{"share", .value = "I/M", .help = "trace the functions of share I of M, and no others",
	 .word = take_share},
	{"rotate", .value = "M",
	 .help = "with -a: M shares, one after the other, each a recording in the folder\n"
		 "of --output; `pugmark report` of that folder weighs them",
	 .u32 = AT_A(uint32_t, rotate), .max = SHARES_MAX, .whole = true},
	{"every", .value = "SECS", .help = "how long each is on (10)",
	 .real = AT_A(double, every_s), .max = 1e6},
	/* Taken by main.c, for every command. */
	{"debuginfod", .help = "ask the servers of $DEBUGINFOD_URLS for names that a file lacks"},
	{"fresh", .help = "plan anew, and begin with what earlier recordings took out",
	 .flag = AT(planning.fresh)},
	{"module", .value = "PATTERN",
	 .help = "trace that shared library as well: a glob of its file name, or a path\n"
		 "(repeatable)",
	 .list = AT(patterns)},
	{"no-program", .help = "trace only those, not the program itself",
	 .flag = AT(modules.no_program)},
	{"args", .value = "N",
	 .help = "read the first N arguments (at most 6), integers or pointers, of\n"
		 "all functions, or:",
	 .u32 = AT_A(uint32_t, n_args), .max = 6, .whole = true},
	{"args-of", .value = "PAT",
	 .help = "of those that match, here or imported (repeatable); replay prints\n"
		 "them by their types, where debug information has these",
	 .list = AT(args_of)},
	{"time-of", .value = "PAT",
	 .help = "probe where functions that match, here or imported, begin and\n"
		 "end, so that how long each call took is known (repeatable)",
	 .list = AT(time_of)},
	{"handle", .value = "stdio|sockets|sqlite3|threads|FILE",
	 .help = "read the handles that functions of a C library take and return,\n"
		 "for encode --handle (repeatable)",
	 .list = AT(handles)},
	{"carrier", .value = "probe|patch|auto",
	 .help = "how events come out of the program: by probes of the kernel, or\n"
		 "by patched instructions, which cost a hundredth; auto: by these\n"
		 "where that goes with all else that is asked for; at level values\n"
		 "patch is for system calls, and auto is probe (probe)",
	 .word = take_carrier},
	{"on-full", .value = "lose|wait",
	 .help = "where patched instructions find no room: count what is lost, or\n"
		 "wait for room (lose)",
	 .word = take_on_full},
	{"live-coding", .value = "now|later",
	 .help = "bring events to the recording's form as they come, or while the\n"
		 "machine has nothing else to do and the rest at the end (now; with\n"
		 "patched instructions later)",
	 .word = take_coding},
	{"lane-memory", .value = "MIB",
	 .help = "room for them in each patched process (64), beside 256 KiB a\n"
		 "thread",
	 .u32 = AT_A(uint32_t, options.lane_bytes), .unit = 1 << 20, .max = 2048},
	{"no-times", .help = "do not record when", .flag = AT(no_times)},
	{"time-unit", .value = "NS", .help = "times are told to half of it (200)",
	 .number = take_unit, .max = 1e9},
	{"duration", .value = "SECS", .help = "stop after so long",
	 .u64 = AT_A(uint64_t, options.duration_ns), .unit = 1e9, .max = 1e9},
	{"user", .value = "NAME", .help = "run the program as that user", .text = AT(options.user)},
	{"ring", .value = "MIB", .help = "size of the event ring (16)", .number = take_ring,
	 .max = 1024},
	{"max-memory", .value = "MIB",
	 .help = "what the recorder may take: first stacks go, and then the recording ends",
	 .u64 = AT_A(uint64_t, options.max_memory_bytes), .unit = 1 << 20, .max = 1 << 24},
	{"quiet", 'q', .help = "no progress, no summary", .flag = AT(options.quiet)},
	/* Not shown: what all commands have, and what is for tests. */
	{"help", .letter = 'h'},
	{"twin", .word = take_twin},
	{"sites", .text = AT(modules.sites)},
	{"binary", .text = AT(modules.binary)},
};

enum { N_OPTIONS = sizeof(record_options) / sizeof(*record_options) };
_Static_assert((int)N_OPTIONS <= (int)OPTIONS_MAX, "options.c has that much room");

static const struct option_table record_table = {
	.command = "record",
	.usage = "usage: pugmark record [options] -- PROGRAM [ARGS]\n"
		 "       pugmark record [options] -p PID\n"
		 "       pugmark record [options] -a BINARY\n",
	.after = "Exit status: the program's own; 1 for an error, 2 for wrong usage, 3 where "
		 "events were\n"
		 "lost and the program's own is 0. SIGINT stops the recording.\n",
	.rows = record_options,
	.n = N_OPTIONS,
};

/* Why what is asked for does not go with patched instructions: ends a sentence; NULL: it
 * does. */
static const char *why_not_patched(const struct record_args *a)
{
	const struct record_modules_options *m = &a->modules;
	const struct recorder_options *o = &a->options;

	if (o->all)
		return "is for a program that is started, or for processes: -- PROGRAM, or -p";
	if (a->time_of.n)
		return "tells times by bounds, of no function when it was called: no --time-of";
	if (o->max_overhead > 0 || o->refuse_above > 0 || m->n_modes > 1 || m->sites)
		return "does not go with --max-overhead, --refuse-above, --twin or --sites";
	if (a->values && (a->redact.n || a->one_processor))
		return "does not go with --redact and --one-processor: the kernel alone knows "
		       "what these ask for";
	return NULL;
}

/* At level values it is the system calls that are patched, if that is asked for by name. */
static void choose_carrier(struct record_args *a)
{
	const char *why = why_not_patched(a);

	if (a->values) {
		if (a->options.carrier == CARRIER_AUTO && !a->options.quiet)
			fprintf(stderr, "pugmark: note: --carrier probe: at level values patch is "
					"asked for by name\n");
		a->options.stubs = a->options.carrier == CARRIER_PATCH;
		a->options.carrier = CARRIER_PROBE;
		return;
	}

	a->planning.patched = a->options.carrier == CARRIER_PATCH ||
			      a->options.carrier == CARRIER_MIXED ||
			      (a->options.carrier == CARRIER_AUTO && !why);
	if (a->options.carrier != CARRIER_AUTO)
		return;
	a->options.carrier = why ? CARRIER_PROBE : CARRIER_PATCH;
	if (!a->options.quiet)
		fprintf(stderr, "pugmark: note: --carrier %s%s%s\n", why ? "probe" : "patch",
			why ? ": patch " : "", why ? why : "");
}

/* What goes together, and what does not. */
static int check_together(const struct record_args *a)
{
	const struct record_modules_options *m = &a->modules;
	const struct recorder_options *o = &a->options;

	if (m->plan && (m->n_modes > 1 || a->only.n || a->without.n || a->profiles.n || m->sites ||
			a->n_args || a->args_of.n || a->time_of.n || a->handles.n))
		return command_usage("record", "--plan is made already: what to trace is in it");
	if ((o->argv != NULL) + (o->n_pids > 0) + o->all != 1)
		return command_usage("record",
				     "a program, -p PID or -a BINARY is needed, one of them");
	if (o->carrier && o->carrier != CARRIER_AUTO && why_not_patched(a))
		return command_usage("record", "--carrier patch %s", why_not_patched(a));
	if ((o->cgroup || o->pid_namespace) && !o->all)
		return command_usage("record", "--cgroup and --pid-namespace choose among what -a "
					       "finds");
	if (o->max_overhead > 0 && o->refuse_above > 0)
		return command_usage("record", "--max-overhead keeps it cheap: no --refuse-above "
					       "with it");
	if (o->refuse_above > 0 && m->sites)
		return command_usage("record", "--refuse-above asks a plan, which --sites has not");
	if (o->max_overhead > 0 && (m->n_modes > 1 || m->plan || m->sites))
		return command_usage("record", "--max-overhead plans by itself: no --plan with it");
	if ((o->n_shares || a->rotate) && (m->plan || m->sites || m->n_modes > 1))
		return command_usage("record", "--share and --rotate plan by themselves: no --plan "
					       "with them");
	if (a->rotate && (!o->all || o->n_shares))
		return command_usage("record", "--rotate goes with -a, and without --share");
	if (a->every_s > 0 && !a->rotate)
		return command_usage("record", "--every says how long a turn of --rotate is");
	if (a->time_of.n && a->no_times)
		return command_usage("record", "--time-of needs times: no --no-times with it");
	if (a->paths && a->calls_only)
		return command_usage("record", "--mode is for level calls: paths has --placement");
	if (!a->values &&
	    (a->imports || a->check_every || a->no_memory || a->redact.n || a->one_processor))
		return command_usage("record", "--imports, --no-memory, --redact, --one-processor "
					       "and --check-every go with --level values");
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

/* Removes slashes at the end: names are made by appending to it. Links are
 * recording_folder.h's to follow. */
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

/* Points to lists and numbers that are kept in places of their own. */
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

/* The words behind the options, and what goes together. */
static bool complete(struct record_args *a, int argc, char **argv, int *status)
{
	if (optind < argc)
		a->options.argv = argv + optind;
	connect(a);
	resolve_output(a);
	*status = check_together(a);
	if (*status == EXIT_OK)
		choose_carrier(a);
	return *status == EXIT_OK;
}

bool record_args_parse(struct record_args *a, int argc, char **argv, int *status)
{
	*a = (struct record_args){
		.options = {.output = "pugmark.data", .time_unit_ns = 200},
		.modules = {.n_modes = 1},
		.planning = {.mode = MODE_BEST},
		.placement = MODE_PATHS_BEST,
	};
	*status = options_parse(&record_table, a, argc, argv);
	if (*status == OPTIONS_HELP)
		*status = EXIT_OK;
	else if (*status == EXIT_OK)
		return complete(a, argc, argv, status);
	return false;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_record.c: `pugmark record`: options, and the sentence at the end. */
#include "user/command.h"
#include "user/measure_costs.h"
#include "user/record_check.h"
#include "user/record_modules.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TWINS = 3 };

struct record_args {
	struct recorder_options options;
	struct record_modules_options modules;
	/* The plan's, and --twin, for tests: the same run is recorded by other plans as well. */
	enum plan_mode modes[1 + MAX_TWINS];
	struct planning_options planning;
	bool paths;
	enum plan_mode placement; /* of level paths */
	const char *only[64], *without[64], *plugins[64], *patterns[64];
	pid_t pids[64];
};

static int print_help(void)
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
	     "      --level calls|paths\n"
	     "                       what to recover: calls, or every basic block as well (calls)\n"
	     "      --placement blocks|targets|edges|nodes|best\n"
	     "                       where the witnesses of paths stand (best)\n"
	     "  -F, --function PAT   trace only functions that match (glob, or /regex/; "
	     "repeatable)\n"
	     "  -N, --no-function PAT  leave out functions that match (repeatable)\n"
	     "      --profile DIR    choose witnesses by the counts of that recording\n"
	     "      --plan FILE      take that plan, made by `pugmark plan -o FILE`\n"
	     "      --exports needed|all\n"
	     "                       exported functions that may be called from outside: those "
	     "that\n"
	     "                       linked libraries name (needed), or all\n"
	     "      --plugin FILE    a module that is loaded later and calls exported functions\n"
	     "                       (repeatable)\n"
	     "      --max-overhead PERCENT\n"
	     "                       take the hottest functions out until probes cost no more\n"
	     "      --module PATTERN trace that shared library as well: a glob of its file name, "
	     "or "
	     "a path\n"
	     "                       (repeatable)\n"
	     "      --no-program     trace only those, not the program itself\n"
	     "      --no-times       do not record when\n"
	     "      --time-unit NS   resolution of times (100)\n"
	     "      --duration SECS  stop after so long\n"
	     "      --ring MIB       size of the event ring (16)\n"
	     "  -q, --quiet          no progress, no summary\n\n"
	     "Exit status: the program's own; 1 for an error, 2 for wrong usage, 3 where events "
	     "were\n"
	     "lost and the program's own is 0. SIGINT stops the recording.");
	return EXIT_OK;
}

enum {
	OPT_NO_FOLLOW = 256,
	OPT_NO_TIMES,
	OPT_UNIT,
	OPT_DURATION,
	OPT_RING,
	OPT_SITES,
	OPT_BINARY,
	OPT_MODE,
	OPT_LEVEL,
	OPT_PLACEMENT,
	OPT_PROFILE,
	OPT_PLAN,
	OPT_TWIN,
	OPT_EXPORTS,
	OPT_PLUGIN,
	OPT_MODULE,
	OPT_NO_PROGRAM,
	OPT_CGROUP,
	OPT_PID_NAMESPACE,
	OPT_MAX_OVERHEAD,
};

static const struct option long_options[] = {
	{"output", required_argument, NULL, 'o'},
	{"pid", required_argument, NULL, 'p'},
	{"all", required_argument, NULL, 'a'},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{"no-follow", no_argument, NULL, OPT_NO_FOLLOW},
	{"no-times", no_argument, NULL, OPT_NO_TIMES},
	{"time-unit", required_argument, NULL, OPT_UNIT},
	{"duration", required_argument, NULL, OPT_DURATION},
	{"ring", required_argument, NULL, OPT_RING},
	{"mode", required_argument, NULL, OPT_MODE},
	{"exports", required_argument, NULL, OPT_EXPORTS},
	{"plugin", required_argument, NULL, OPT_PLUGIN},
	{"cgroup", required_argument, NULL, OPT_CGROUP},
	{"pid-namespace", required_argument, NULL, OPT_PID_NAMESPACE},
	{"max-overhead", required_argument, NULL, OPT_MAX_OVERHEAD},
	{"module", required_argument, NULL, OPT_MODULE},
	{"no-program", no_argument, NULL, OPT_NO_PROGRAM},
	{"level", required_argument, NULL, OPT_LEVEL},
	{"placement", required_argument, NULL, OPT_PLACEMENT},
	{"profile", required_argument, NULL, OPT_PROFILE},
	{"plan", required_argument, NULL, OPT_PLAN},
	{"twin", required_argument, NULL, OPT_TWIN},
	{"function", required_argument, NULL, 'F'},
	{"no-function", required_argument, NULL, 'N'},
	{"sites", required_argument, NULL, OPT_SITES},
	{"binary", required_argument, NULL, OPT_BINARY},
	{NULL, 0, NULL, 0},
};

/* A positive number that is all of @text. */
static bool parse_number(const char *text, double max, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && *out > 0 && *out <= max;
}

static int parse_option(struct record_args *a, int opt)
{
	struct recorder_options *o = &a->options;
	double v = 0;

	if ((opt == 'p' && !parse_number(optarg, 1 << 22, &v)) ||
	    (opt == OPT_UNIT && !parse_number(optarg, 1e9, &v)) ||
	    (opt == OPT_DURATION && !parse_number(optarg, 1e9, &v)) ||
	    (opt == OPT_MAX_OVERHEAD && !parse_number(optarg, 1e6, &v)) ||
	    (opt == OPT_RING && !parse_number(optarg, 1024, &v)))
		return command_usage("record", "'%s' is not a number that fits here", optarg);
	switch (opt) {
	case 'o':
		o->output = optarg;
		return 0;
	case 'p':
		if (o->n_pids == sizeof(a->pids) / sizeof(*a->pids))
			return command_usage("record", "more than 64 processes");
		a->pids[o->n_pids++] = v;
		return 0;
	case 'a':
		o->all = true;
		a->modules.binary = optarg;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case OPT_NO_FOLLOW:
		o->no_follow = true;
		return 0;
	case OPT_NO_TIMES:
		o->time_unit_ns = 0;
		return 0;
	case OPT_UNIT:
		o->time_unit_ns = v < 1 ? 1 : v;
		return 0;
	case OPT_DURATION:
		o->duration_ns = v * 1e9;
		return 0;
	case OPT_RING:
		o->ring_bytes = 4096;
		while (o->ring_bytes < v * (1 << 20))
			o->ring_bytes *= 2;
		return 0;
	case OPT_MODE:
		if (!planning_mode_named(optarg, &a->planning.mode))
			return command_usage("record", "no mode '%s' (full, branch, casper, best)",
					     optarg);
		return 0;
	case OPT_EXPORTS:
		a->planning.all_exports = !strcmp(optarg, "all");
		if (!a->planning.all_exports && strcmp(optarg, "needed"))
			return command_usage("record", "--exports takes needed or all");
		return 0;
	case OPT_PLUGIN:
		if (a->planning.n_plugins == 64)
			return command_usage("record", "more than 64 plugins");
		a->plugins[a->planning.n_plugins++] = optarg;
		return 0;
	case OPT_LEVEL:
		a->paths = !strcmp(optarg, "paths");
		if (!a->paths && strcmp(optarg, "calls") != 0)
			return command_usage("record", "no level '%s' (calls, paths)", optarg);
		return 0;
	case OPT_PLACEMENT:
		if (!planning_placement_named(optarg, &a->placement))
			return command_usage("record",
					     "no placement '%s' (blocks, targets, edges, nodes, "
					     "best)",
					     optarg);
		return 0;
	case OPT_TWIN:
		if (a->modules.n_modes > MAX_TWINS ||
		    !planning_mode_named(optarg, &a->modes[a->modules.n_modes++]))
			return command_usage("record", "--twin: wrong mode, or too many");
		return 0;
	case 'F':
	case 'N': {
		uint32_t *n = opt == 'F' ? &a->planning.n_only : &a->planning.n_without;
		if (*n == 64)
			return command_usage("record", "more than 64 patterns");
		(opt == 'F' ? a->only : a->without)[(*n)++] = optarg;
		return 0;
	}
	case OPT_PROFILE:
		a->planning.profile = optarg;
		return 0;
	case OPT_PLAN:
		a->modules.plan = optarg;
		return 0;
	case OPT_MODULE:
		if (a->modules.n_modules == 64)
			return command_usage("record", "more than 64 patterns of modules");
		a->patterns[a->modules.n_modules++] = optarg;
		return 0;
	case OPT_MAX_OVERHEAD:
		o->max_overhead = v;
		return 0;
	case OPT_CGROUP:
		o->cgroup = optarg;
		return 0;
	case OPT_PID_NAMESPACE:
		o->pid_namespace = optarg;
		return 0;
	case OPT_NO_PROGRAM:
		a->modules.no_program = true;
		return 0;
	case OPT_SITES:
		a->modules.sites = optarg;
		return 0;
	case OPT_BINARY:
		a->modules.binary = optarg;
		return 0;
	}
	return EXIT_OK;
}

struct replanning {
	const struct record_modules_options *options;
	struct record_modules *modules;
};

static int replan(void *ctx, const struct taken_out *out, uint32_t n,
		  struct recorder_options *changed, struct pugmark_diag *diag)
{
	struct replanning *r = ctx;
	uint32_t first;
	int err = record_modules_replan(r->options, r->modules, out, n, &first, &changed->n_modules,
					diag);

	changed->modules = &r->modules->at[first];
	return err;
}

/* The costs by which the overhead is told, where doctor has not left any. */
static void measure_costs(bool quiet)
{
	char *path = costs_path();
	struct measured_costs costs;
	struct progress progress;

	if (path && access(path, R_OK)) {
		progress_start(&progress, "measuring what a probe costs", 0, quiet);
		if (!costs_measure(&costs, NULL))
			costs_save(&costs, NULL);
		progress_end(&progress);
	}
	free(path);
}

static int run(struct record_args *a, struct recorder_result *result, struct pugmark_diag *diag)
{
	struct record_modules_options *m = &a->modules;
	struct record_modules *modules = calloc(1, sizeof(*modules));
	struct replanning replanning = {m, modules};
	int err = modules ? record_check_rights(diag) : -ENOMEM;

	for (uint32_t i = 0; !err && i < a->options.n_pids; i++)
		err = record_check_process(a->pids[i], diag);
	m->argv = a->options.argv;
	m->pids = a->pids;
	m->n_pids = a->options.n_pids;
	m->quiet = a->options.quiet;
	a->modes[0] = a->planning.mode;
	if (!err && a->options.max_overhead > 0)
		measure_costs(a->options.quiet);
	if (!err)
		err = record_modules_open(m, modules, diag);
	if (!err) {
		a->options.modules = modules->at;
		a->options.n_modules = modules->n;
		a->options.pid_programs = m->binary ? NULL : modules->pid_programs;
		a->options.running = modules->running;
		a->options.n_running = modules->n_running;
		a->options.replan = replan;
		a->options.replan_ctx = &replanning;
		err = recorder_run(&a->options, result, diag);
		if (err)
			record_explain_failure(err, diag);
		targets_name(&modules->targets, diag);
	}
	if (modules)
		record_modules_deinit(modules);
	free(modules);
	return err;
}

static void print_summary(const struct recorder_options *o, const struct recorder_result *r)
{
	if (r->why == STOP_DISK)
		fprintf(stderr, "pugmark: %s: the disk is full: recording stopped\n", o->output);
	if (r->why == STOP_OVERHEAD)
		fprintf(stderr,
			"pugmark: %s: no function could be left in within the overhead allowed: "
			"recording stopped\n",
			o->output);
	if (r->lost)
		fprintf(stderr, "pugmark: %s: %llu events were lost%s\n", o->output,
			(unsigned long long)r->lost,
			r->why == STOP_DISK ? "" : " (a larger --ring helps)");
	if (!o->quiet)
		fprintf(stderr, "pugmark: %llu probes: placed in %.0f ms, removed in %.0f ms\n",
			(unsigned long long)r->n_probes, r->attach_ns / 1e6, r->detach_ns / 1e6);
	if (!o->quiet)
		fprintf(stderr, "pugmark: %s: %llu events of %llu tasks, %llu bytes\n", o->output,
			(unsigned long long)r->events, (unsigned long long)r->tasks,
			(unsigned long long)r->bytes);
}

int cmd_record(int argc, char **argv)
{
	struct record_args a = {
		.options = {.output = "pugmark.data", .time_unit_ns = 100},
		.planning = {.mode = MODE_BEST},
		.placement = MODE_PATHS_BEST,
	};
	struct recorder_result result = {0};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	int opt;

	opterr = 0;
	a.options.pids = a.pids;
	a.planning.only = a.only;
	a.planning.without = a.without;
	a.planning.plugins = a.plugins;
	a.modules.planning = &a.planning;
	a.modules.modes = a.modes;
	a.modules.n_modes = 1;
	a.modules.modules = a.patterns;
	while ((opt = getopt_long(argc, argv, "+o:p:a:qhF:N:", long_options, NULL)) != -1) {
		if (opt == 'h')
			return print_help();
		if (opt == '?')
			return command_usage("record", "unknown or incomplete option '%s'",
					     argv[optind - 1]);
		int status = parse_option(&a, opt);
		if (status)
			return status;
	}
	if (a.paths)
		a.planning.mode = a.placement;
	const struct record_modules_options *m = &a.modules;
	if (m->plan && (m->n_modes > 1 || a.planning.n_only || a.planning.n_without ||
			a.planning.profile || m->sites))
		return command_usage("record", "--plan is made already: what to trace is in it");
	if (optind < argc)
		a.options.argv = argv + optind;
	if ((a.options.argv != NULL) + (a.options.n_pids > 0) + a.options.all != 1)
		return command_usage("record",
				     "a program, -p PID or -a BINARY is needed, one of them");
	const char *ring = getenv("PUGMARK_RING_BYTES"), *stall = getenv("PUGMARK_STALL_MS");
	if (ring)
		a.options.ring_bytes = strtoul(ring, NULL, 0);
	if (stall)
		a.options.debug_stall_ms = strtoul(stall, NULL, 0);
	if ((a.options.cgroup || a.options.pid_namespace) && !a.options.all)
		return command_usage("record", "--cgroup and --pid-namespace choose among what -a "
					       "finds");
	if (a.options.max_overhead > 0 && (m->n_modes > 1 || m->plan || m->sites))
		return command_usage("record", "--max-overhead plans by itself: no --plan with it");
	if (m->no_program && !m->n_modules)
		return command_usage("record", "--no-program leaves nothing without --module");
	if (run(&a, &result, &diag))
		return command_fail(&diag);
	print_summary(&a.options, &result);
	if (result.exit_status)
		return result.exit_status;
	return result.why == STOP_DISK || result.why == STOP_OVERHEAD ? EXIT_ERROR
	       : result.lost					      ? EXIT_GAPS
								      : EXIT_OK;
}

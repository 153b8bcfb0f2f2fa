// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_plan.c: `pugmark plan`: plans a binary and shows what was asked for. */
#include "user/cmd/plan_ahead.h"
#include "user/cmd/plan_proof.h"
#include "user/cli/command.h"
#include "user/plan/plan_said.h"
#include "user/plan/plan_show.h"
#include "user/share/plan_shares.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERNS_MAX = 64 };
enum action { ACTION_NONE, ACTION_STATS, ACTION_LIST, ACTION_EXPLAIN, ACTION_CHECK };

struct plan_request {
	struct planning_options options;
	const char *only[PATTERNS_MAX], *without[PATTERNS_MAX], *plugins[PATTERNS_MAX];
	const char *profiles[PATTERNS_MAX];
	const struct plan_format *format;
	enum action action;
	const char *function;  /* to explain */
	const char *plan_file; /* to check */
	const char *shaped_by; /* an option that says how to plan; NULL: none was given */
	bool dot, paths;
	bool calls_only, placement_given; /* a --mode that level paths does not have */
	enum plan_mode placement;	  /* of level paths */
	struct share_options shares;	  /* machines: 0: it is one plan */
	const char *share_option;	  /* one that goes with --shares */
	const char *binary;
};

static const char help[] =
	"usage: pugmark plan [options] BINARY\n"
	"       pugmark plan --warm [PID|UNIT|PROGRAM]... [-- OPTIONS OF RECORD]\n"
	"\n"
	"Chooses the instructions of BINARY to probe, such that what they log can be read in one "
	"way\n"
	"only, at the least expected cost. Plans are kept in the cache, from where recording "
	"takes\n"
	"them. Shows the numbers of the plan, or what is asked for:\n"
	"      --stats              functions, call sites, probes by kind and cost, against mode "
	"full\n"
	"      --list               the probes, one a line\n"
	"      --explain FUNCTION   what can follow what in a function (a name, or 0xADDRESS), "
	"which\n"
	"                           of it is probed and why, and what tells its decisions\n"
	"      --dot                with --explain: as a Graphviz picture\n"
	"      --check              prove from the finished plan alone that its log can be read "
	"in\n"
	"                           one way only\n"
	"      --plan FILE          with --check: that plan file, or the shares in that folder, "
	"not "
	"one\n"
	"                           that is made now\n"
	"      --format text|json   how to print (text)\n"
	"      --warm               make the plans that recording these will need (or what "
	"stands in\n"
	"                           /etc/pugmark/warm), while the machine has nothing else to "
	"do\n"
	"\n"
	"      --mode full|branch|casper|best\n"
	"                           how probes are chosen (best)\n"
	"      --level calls|paths  what is recovered: calls, or every basic block as well "
	"(calls)\n"
	"      --placement blocks|targets|edges|nodes|best\n"
	"                           where the probes of paths stand (best)\n"
	"  -F, --function PATTERN   trace only functions that match (a glob, or /regular "
	"expression/;\n"
	"                           repeatable)\n"
	"  -N, --no-function PATTERN\n"
	"                           leave out functions that match (repeatable)\n"
	"      --exports auto|needed|all\n"
	"                           exported functions that may be called from outside: those "
	"that\n"
	"                           linked libraries name (needed), all, or all of a program that\n"
	"                           modules on this host are made for (auto)\n"
	"      --plugin FILE        a module that is loaded later and calls exported functions\n"
	"                           (repeatable)\n"
	"      --sites              keep every return instruction of a function apart\n"
	"      --carrier probe|patch\n"
	"                           for which events are cheap: those by a probe, or by "
	"patched\n"
	"                           instructions, as in record (probe)\n"
	"      --profile RECORDING  by the counts of an earlier recording, not by estimates "
	"(repeatable)\n"
	"      --shares M           split the plan over M runs, and write the shares and a "
	"manifest "
	"to\n"
	"                           the folder of -o (pugmark merge puts their recordings "
	"together)\n"
	"      --grouping fine|function|optimized|best\n"
	"                           what one share tells together (best: by cost, refined)\n"
	"      --bound K            at most K probes a share; what does not fit makes more of "
	"them\n"
	"      --tellers N          each decision is told by N machines: with 2, a run that was "
	"another\n"
	"                           one than all others is always found out (1)\n"
	"  -o, --output FILE        write the plan there (-: to standard output), not into the "
	"cache\n"
	"      --fresh              plan anew, whatever is in the cache\n"
	"      --debuginfod         ask the servers of $DEBUGINFOD_URLS for names that it lacks\n"
	"  -h, --help               this text\n";

enum {
	OPT_STATS = 256,
	OPT_LIST,
	OPT_EXPLAIN,
	OPT_DOT,
	OPT_CHECK,
	OPT_PLAN,
	OPT_FORMAT,
	OPT_MODE,
	OPT_LEVEL,
	OPT_PLACEMENT,
	OPT_EXPORTS,
	OPT_PLUGIN,
	OPT_SITES,
	OPT_CARRIER,
	OPT_PROFILE,
	OPT_FRESH,
	OPT_SHARES,
	OPT_GROUPING,
	OPT_BOUND,
	OPT_TELLERS,
};

static const struct option long_options[] = {
	{"stats", no_argument, NULL, OPT_STATS},
	{"list", no_argument, NULL, OPT_LIST},
	{"explain", required_argument, NULL, OPT_EXPLAIN},
	{"dot", no_argument, NULL, OPT_DOT},
	{"check", no_argument, NULL, OPT_CHECK},
	{"plan", required_argument, NULL, OPT_PLAN},
	{"format", required_argument, NULL, OPT_FORMAT},
	{"mode", required_argument, NULL, OPT_MODE},
	{"level", required_argument, NULL, OPT_LEVEL},
	{"placement", required_argument, NULL, OPT_PLACEMENT},
	{"function", required_argument, NULL, 'F'},
	{"no-function", required_argument, NULL, 'N'},
	{"exports", required_argument, NULL, OPT_EXPORTS},
	{"plugin", required_argument, NULL, OPT_PLUGIN},
	{"sites", no_argument, NULL, OPT_SITES},
	{"carrier", required_argument, NULL, OPT_CARRIER},
	{"profile", required_argument, NULL, OPT_PROFILE},
	{"output", required_argument, NULL, 'o'},
	{"fresh", no_argument, NULL, OPT_FRESH},
	{"shares", required_argument, NULL, OPT_SHARES},
	{"grouping", required_argument, NULL, OPT_GROUPING},
	{"bound", required_argument, NULL, OPT_BOUND},
	{"tellers", required_argument, NULL, OPT_TELLERS},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int choose_action(struct plan_request *r, enum action action)
{
	if (r->action != ACTION_NONE && r->action != action)
		return command_usage("plan", "more than one thing to show");
	r->action = action;
	return -1;
}

static int add_pattern(const char **patterns, uint32_t *n)
{
	if (*n == PATTERNS_MAX)
		return command_usage("plan", "more than %d of them", PATTERNS_MAX);
	patterns[(*n)++] = optarg;
	return -1;
}

/* A number from 1 to @max, or 0. */
static uint32_t number(const char *text, uint32_t max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && n <= max ? n : 0;
}

static int parse_share_option(struct plan_request *r, int opt)
{
	struct share_options *s = &r->shares;
	switch (opt) {
	case OPT_SHARES:
		s->machines = number(optarg, SHARES_MAX);
		if (s->machines)
			return -1;
		return command_usage("plan", "--shares takes a number from 1 to %d, not '%s'",
				     SHARES_MAX, optarg);
	case OPT_BOUND:
		r->share_option = "bound";
		s->bound = number(optarg, 1u << 20);
		return s->bound
			       ? -1
			       : command_usage("plan", "--bound takes a number of probes, not '%s'",
					       optarg);
	case OPT_TELLERS:
		r->share_option = "tellers";
		s->tellers = number(optarg, SHARES_MAX);
		return s->tellers
			       ? -1
			       : command_usage("plan", "--tellers takes 1 to 64, not '%s'", optarg);
	default:
		r->share_option = "grouping";
		if (plan_shares_grouping(optarg, &s->grouping))
			return -1;
		return command_usage("plan", "no grouping '%s' (fine, function, optimized, best)",
				     optarg);
	}
}

static int parse_option(struct plan_request *r, int opt)
{
	struct planning_options *o = &r->options;
	switch (opt) {
	case OPT_STATS:
		return choose_action(r, ACTION_STATS);
	case OPT_LIST:
		return choose_action(r, ACTION_LIST);
	case OPT_EXPLAIN:
		r->function = optarg;
		return choose_action(r, ACTION_EXPLAIN);
	case OPT_DOT:
		r->dot = true;
		return -1;
	case OPT_CHECK:
		return choose_action(r, ACTION_CHECK);
	case OPT_PLAN:
		r->plan_file = optarg;
		return -1;
	case OPT_FORMAT:
		r->format = !strcmp(optarg, "text")   ? &plan_text
			    : !strcmp(optarg, "json") ? &plan_json
						      : NULL;
		return r->format ? -1
				 : command_usage("plan", "no format '%s' (text, json)", optarg);
	case OPT_MODE:
		r->calls_only = strcmp(optarg, "best") != 0;
		if (planning_mode_named(optarg, &o->mode))
			return -1;
		return command_usage("plan", "no mode '%s' (full, branch, casper, best)", optarg);
	case OPT_LEVEL:
		r->paths = !strcmp(optarg, "paths");
		if (r->paths || !strcmp(optarg, "calls"))
			return -1;
		return command_usage("plan", "no level '%s' (calls, paths)", optarg);
	case OPT_PLACEMENT:
		r->placement_given = true;
		if (planning_placement_named(optarg, &r->placement))
			return -1;
		return command_usage(
			"plan", "no placement '%s' (blocks, targets, edges, nodes, best)", optarg);
	case 'F':
		return add_pattern(r->only, &o->n_only);
	case 'N':
		return add_pattern(r->without, &o->n_without);
	case OPT_EXPORTS:
		if (planning_exports_named(optarg, &o->exports))
			return -1;
		return command_usage("plan", "--exports takes auto, needed or all, not '%s'",
				     optarg);
	case OPT_PLUGIN:
		return add_pattern(r->plugins, &o->n_plugins);
	case OPT_SITES:
		o->returns_apart = true;
		return -1;
	case OPT_CARRIER:
		o->patched = !strcmp(optarg, "patch");
		if (o->patched || !strcmp(optarg, "probe"))
			return -1;
		return command_usage("plan", "no carrier '%s' (probe, patch)", optarg);
	case OPT_PROFILE:
		return add_pattern(r->profiles, &o->n_profiles);
	case 'o':
		o->output = optarg;
		return -1;
	case OPT_SHARES:
	case OPT_GROUPING:
	case OPT_BOUND:
	case OPT_TELLERS:
		return parse_share_option(r, opt);
	default:
		o->fresh = true;
		return -1;
	}
}

static const char *option_name(int opt)
{
	const struct option *o = long_options;
	while (o->name && o->val != opt)
		o++;
	return o->name;
}

/* Whether the plan itself is what is printed. */
static bool to_stdout(const struct plan_request *r)
{
	return r->options.output && !strcmp(r->options.output, "-");
}

/* Returns an exit status, or -1 if there is something to do. */
static int parse(struct plan_request *r, int argc, char **argv)
{
	int opt;
	optind = 1;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":F:N:o:h", long_options, NULL)) >= 0) {
		if (opt == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		if (opt == '?' && !strcmp(argv[optind - 1], "--warm"))
			return command_usage("plan",
					     "--warm comes first: plan --warm nginx.service");
		if (opt == '?' || opt == ':')
			return command_usage("plan",
					     opt == ':' ? "'%s' needs a value" : "no option '%s'",
					     argv[optind - 1]);
		if (opt < OPT_STATS || opt >= OPT_MODE)
			r->shaped_by = option_name(opt);
		int status = parse_option(r, opt);
		if (status >= 0)
			return status;
	}
	if (optind + 1 != argc)
		return command_usage("plan", optind == argc ? "which binary?" : "one binary only");
	if (r->dot && (r->action != ACTION_EXPLAIN || r->format == &plan_json))
		return command_usage("plan",
				     "--dot goes with --explain, and is a format of its own");
	if (r->plan_file && r->action != ACTION_CHECK)
		return command_usage("plan", "--plan goes with --check");
	if (r->plan_file && r->shaped_by)
		return command_usage("plan",
				     "--%s is for a plan that is made now, not for that of --plan",
				     r->shaped_by);
	if (to_stdout(r) && r->action != ACTION_NONE)
		return command_usage("plan", "-o - leaves nothing to show on standard output");
	if (r->paths && r->calls_only)
		return command_usage("plan", "--mode is for level calls: paths has --placement");
	if (r->placement_given && !r->paths)
		return command_usage("plan", "--placement goes with --level paths");
	if (r->share_option && !r->shares.machines)
		return command_usage("plan", "--%s goes with --shares", r->share_option);
	if (r->shares.tellers > r->shares.machines)
		return command_usage("plan", "--tellers %u: there are only %u machines (--shares)",
				     r->shares.tellers, r->shares.machines);
	if (r->shares.machines && (r->action != ACTION_NONE || to_stdout(r)))
		return command_usage("plan", "--shares shows a table of its own, and writes to a "
					     "folder");
	if (r->shares.machines && (r->placement_given || r->calls_only))
		return command_usage("plan", "--shares has a placement of its own (--grouping)");
	if (r->paths)
		r->options.mode = r->placement;
	r->shares.paths = r->paths;
	r->binary = argv[optind];
	r->options.only = r->only;
	r->options.without = r->without;
	r->options.plugins = r->plugins;
	r->options.profiles = r->profiles;
	return -1;
}

/* The function of the plan that the user named, by name or by an address in it. */
static uint32_t find_function(const struct planning_result *result, const char *name)
{
	const struct pugmark_model *model = result->model;
	uint32_t func = pugmark_model_func_named(model, name);
	char *end;
	errno = 0;
	if (func == PUGMARK_NONE && !strncmp(name, "0x", 2)) {
		uint64_t addr = strtoull(name, &end, 16);
		if (!*end && !errno && end != name + 2)
			func = pugmark_model_func_at(model, addr);
	}
	for (uint32_t i = 0; func != PUGMARK_NONE && i < result->plan->n_funcs; i++)
		if (result->plan->funcs[i].addr == model->funcs[func].addr)
			return i;
	return PUGMARK_NONE;
}

static int explain(const struct plan_request *r, const struct plan_shown *shown,
		   struct pugmark_diag *diag)
{
	uint32_t func = find_function(shown->result, r->function);
	if (func == PUGMARK_NONE)
		return pugmark_diag_set(diag, -ENOENT, r->binary, PUGMARK_NO_OFFSET,
					"no function '%s' (see: pugmark cfg --list)", r->function);
	int err = r->dot ? plan_explain_dot(shown, func) : r->format->explain(shown, func);
	return err ? pugmark_diag_set(diag, err, r->binary, PUGMARK_NO_OFFSET, "%s", strerror(-err))
		   : 0;
}

static int show(const struct plan_request *r, const struct planning_result *result,
		struct pugmark_diag *diag)
{
	struct plan_shown shown = {r->binary, &r->options, result, malloc(sizeof(struct outbuf))};
	int err = 0;
	if (!shown.out)
		return pugmark_diag_set(diag, -ENOMEM, r->binary, PUGMARK_NO_OFFSET,
					"out of memory");
	outbuf_init(shown.out, stdout);
	if (r->action == ACTION_LIST)
		r->format->list(&shown);
	else if (r->action == ACTION_EXPLAIN)
		err = explain(r, &shown, diag);
	else
		r->format->stats(&shown);
	outbuf_flush(shown.out);
	free(shown.out);
	return err;
}

/* In a sandbox (plan_said.h). */
static int say(void *ctx, const struct planning_inside *inside, struct planning_result *result,
	       struct pugmark_diag *diag)
{
	const struct plan_request *r = ctx;
	if (r->plan_file)
		return plan_proof_of_file(r->format == &plan_json, r->binary, r->plan_file, diag);
	int err =
		planning_make_here(inside->binary, inside->options, inside->modules, result, diag);
	if (!err && r->action == ACTION_CHECK)
		return plan_proof(r->format == &plan_json, result->plan,
				  result->path ? result->path : r->binary, result->model, diag);
	return err || to_stdout(r) ? err : show(r, result, diag);
}

int cmd_plan(int argc, char **argv)
{
	struct plan_request r = {
		.options = {.mode = MODE_BEST, .compare = true},
		.format = &plan_text,
		.placement = MODE_PATHS_BEST,
		.shares = {.grouping = SHARE_BEST},
	};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	if (argc > 1 && !strcmp(argv[1], "--warm"))
		return plan_ahead(argc - 2, argv + 2);
	int status = parse(&r, argc, argv);
	if (status >= 0)
		return status;
	if (r.shares.machines && !r.plan_file) {
		int err =
			plan_shares(r.binary, &r.options, &r.shares, r.format == &plan_json, &diag);
		return err ? command_fail(&diag) : EXIT_OK;
	}
	int err = plan_said(r.binary, &r.options, r.plan_file, say, &r, &diag);
	if (err == -EILSEQ)
		return EXIT_ERROR; /* what is wrong has been said */
	return err ? command_fail(&diag) : EXIT_OK;
}

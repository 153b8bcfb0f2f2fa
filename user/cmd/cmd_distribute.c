// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_distribute.c: `pugmark distribute`: a command recorded under shares, one run each, and
 * merged.
 */
#include "user/cli/command.h"
#include "user/share/distribute.h"
#include "user/share/plan_shares.h"
#include "user/share/share_task.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
	"usage: pugmark distribute [options] --machines M -- PROGRAM [ARGS]\n"
	"\n"
	"Splits the witnesses of PROGRAM over M shares, records it once under each, and merges "
	"what\n"
	"was recorded. All runs must do the same.\n"
	"      --machines M         how many: 1 to 64\n"
	"      --engine local|slurm where the runs are made: on this host, one after the other; "
	"or\n"
	"                           on nodes of a Slurm cluster, a task a machine (local)\n"
	"      --input FILE         slurm: a file that PROGRAM reads, by its path relative to "
	"this\n"
	"                           folder; also more than once\n"
	"      --shared DIR         slurm: a folder that all nodes see (DIR.shares of --output)\n"
	"      --level calls|paths  what is traced: calls and returns, or every block (calls)\n"
	"      --grouping fine|function|optimized|best\n"
	"                           what one share tells together (best)\n"
	"      --bound K            at most K probes a share; what does not fit makes more of "
	"them\n"
	"      --tellers N          each decision is told by N machines. With 2, the default where "
	"there\n"
	"                           are as many, a run that was another one than all others is "
	"always\n"
	"                           found out; 1 costs half, and trusts the runs\n"
	"      --retries N          make a run that was not recorded whole again, up to N times "
	"(1)\n"
	"  -o, --output DIR         the merged recording (pugmark.data); shares and parts are kept "
	"in\n"
	"                           DIR.shares\n"
	"  -h, --help               this text\n"
	"Exit status: that of PROGRAM in the first run; 3 if runs differ; 1 for an error; 2 for "
	"wrong\n"
	"usage.\n";

enum {
	OPT_MACHINES = 256,
	OPT_ENGINE,
	OPT_LEVEL,
	OPT_GROUPING,
	OPT_BOUND,
	OPT_TELLERS,
	OPT_RETRIES,
	OPT_INPUT,
	OPT_SHARED,
	OPT_TASK,
	OPT_JOB
};

static const struct option long_options[] = {
	{"machines", required_argument, NULL, OPT_MACHINES},
	{"engine", required_argument, NULL, OPT_ENGINE},
	{"level", required_argument, NULL, OPT_LEVEL},
	{"grouping", required_argument, NULL, OPT_GROUPING},
	{"bound", required_argument, NULL, OPT_BOUND},
	{"tellers", required_argument, NULL, OPT_TELLERS},
	{"retries", required_argument, NULL, OPT_RETRIES},
	{"input", required_argument, NULL, OPT_INPUT},
	{"shared", required_argument, NULL, OPT_SHARED},
	{"task", required_argument, NULL, OPT_TASK},
	{"job", required_argument, NULL, OPT_JOB},
	{"output", required_argument, NULL, 'o'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* A number from @min to @max, in *@out. */
static bool number(const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || n < min || n > max)
		return false;
	*out = n;
	return true;
}

static int wrong(const char *option, const char *what)
{
	return command_usage("distribute", "%s takes %s, not '%s'", option, what, optarg);
}

/* What the command line asks for. */
struct distribute_args {
	struct distribute_request request;
	const char *inputs[256];
	const char *task, *job; /* this is a task of a job */
};

/* Returns an exit status, or -1. */
static int take(struct distribute_args *a, int opt, char **argv)
{
	static const char *const engines[] = {
		[DISTRIBUTE_LOCAL] = "local", [DISTRIBUTE_SLURM] = "slurm"};
	struct distribute_request *r = &a->request;
	struct share_options *s = &r->shares;
	switch (opt) {
	case OPT_MACHINES:
		return number(optarg, 1, SHARES_MAX, &s->machines)
			       ? -1
			       : wrong("--machines", "a number from 1 to 64");
	case OPT_ENGINE:
		for (r->engine = 0; r->engine < 2; r->engine++)
			if (!strcmp(optarg, engines[r->engine]))
				return -1;
		return wrong("--engine", "local or slurm");
	case OPT_LEVEL:
		s->paths = !strcmp(optarg, "paths");
		return s->paths || !strcmp(optarg, "calls") ? -1
							    : wrong("--level", "calls or paths");
	case OPT_GROUPING:
		return plan_shares_grouping(optarg, &s->grouping)
			       ? -1
			       : wrong("--grouping", "fine, function, optimized or best");
	case OPT_BOUND:
		return number(optarg, 1, 1u << 30, &s->bound) ? -1
							      : wrong("--bound", "a number from 1");
	case OPT_TELLERS:
		return number(optarg, 1, SHARES_MAX, &s->tellers)
			       ? -1
			       : wrong("--tellers", "a number from 1 to 64");
	case OPT_RETRIES:
		return number(optarg, 0, 100, &r->retries)
			       ? -1
			       : wrong("--retries", "a number from 0 to 100");
	case OPT_INPUT:
		if (r->n_inputs == sizeof(a->inputs) / sizeof(*a->inputs))
			return command_usage("distribute", "--input: at most 256 of them");
		a->inputs[r->n_inputs++] = optarg;
		return -1;
	case OPT_SHARED:
		r->shared = optarg;
		return -1;
	case OPT_TASK:
		a->task = optarg;
		return -1;
	case OPT_JOB:
		a->job = optarg;
		return -1;
	case 'o':
		r->output = optarg;
		return -1;
	case 'h':
		fputs(help, stdout);
		return EXIT_OK;
	case ':':
		return command_usage("distribute", "%s takes an argument", argv[optind - 1]);
	default:
		return command_usage("distribute", "no option '%s'", argv[optind - 1]);
	}
}

static void print_table(const struct distribute_request *r, const struct distribute_result *d)
{
	double most = 0;
	uint64_t most_events = 0, all = 0;
	fprintf(stderr, "share  machine  expected      run     events%s\n",
		r->engine == DISTRIBUTE_SLURM ? "  node" : "");
	for (uint32_t k = 0; k < d->n; k++)
		fprintf(stderr, "%5u  %7u  %6.3f ms  %5.2f s  %9llu%s%s%s\n", k + 1,
			d->runs[k].machine + 1, d->runs[k].expected_ns / 1e6, d->runs[k].seconds,
			(unsigned long long)d->runs[k].events, *d->runs[k].node ? "  " : "",
			d->runs[k].node, d->runs[k].tries > 1 ? "  (not at the first try)" : "");
	for (uint32_t m = 0; m < r->shares.machines; m++) {
		double ns = 0;
		uint64_t events = 0;
		for (uint32_t k = 0; k < d->n; k++) {
			ns += d->runs[k].machine == m ? d->runs[k].expected_ns : 0;
			events += d->runs[k].machine == m ? d->runs[k].events : 0;
		}
		most = ns > most ? ns : most;
		most_events = events > most_events ? events : most_events;
		all += events;
	}
	fprintf(stderr,
		"the costliest machine: expected %.1f %% of the undistributed; %llu events of "
		"%llu; "
		"merged: %llu events of %u thread%s in %.2f s\n",
		d->whole_ns > 0 ? 100 * most / d->whole_ns : 0, (unsigned long long)most_events,
		(unsigned long long)all, (unsigned long long)d->merge.events, d->merge.threads,
		d->merge.threads == 1 ? "" : "s", d->merge.seconds);
	if (d->merge.alone)
		fprintf(stderr,
			"exact if the runs agree in %llu decisions that one of them alone tells "
			"(--tellers 2)\n",
			(unsigned long long)d->merge.alone);
	if (d->merge.first_divergence)
		command_say(stderr, "the runs differ: ", d->merge.first_divergence, "\n");
}

static int run(struct distribute_request *r)
{
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	struct distribute_result *d = calloc(1, sizeof(*d));
	char *work = NULL, *binary = command_program(r->command[0]);
	int err = d && binary && asprintf(&work, "%s.shares", r->output) >= 0 ? 0 : -ENOMEM;
	if (err)
		pugmark_diag_set(&diag, err, r->output, PUGMARK_NO_OFFSET, "out of memory");
	r->binary = binary;
	r->work = work;
	if (!err)
		err = distribute(r, d, &diag);
	if (!err)
		print_table(r, d);
	int status = err ? command_fail(&diag) : d->merge.diverged ? EXIT_GAPS : d->exit_status;
	if (d)
		free(d->merge.first_divergence);
	free(d);
	free(work);
	free(binary);
	return status;
}

/* What a node of the job runs. */
static int run_task(const struct distribute_args *a)
{
	const char *id = getenv("SLURM_ARRAY_TASK_ID");
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	uint32_t machine;
	if (!a->task || !a->job || !id || !number(id, 1, SHARES_MAX, &machine))
		return command_usage("distribute", "--task and --job are for tasks of a job that "
						   "--engine slurm has submitted");
	return share_task(a->task, a->job, machine, &diag) ? command_fail(&diag) : EXIT_OK;
}

int cmd_distribute(int argc, char **argv)
{
	struct distribute_args a = {.request = {
					    .shares = {.grouping = SHARE_BEST},
					    .output = "pugmark.data",
					    .retries = 1,
				    }};
	struct distribute_request *r = &a.request;
	int opt;
	optind = 1;
	opterr = 0;
	r->inputs = a.inputs;
	while ((opt = getopt_long(argc, argv, "+:o:h", long_options, NULL)) >= 0) {
		int status = take(&a, opt, argv);
		if (status >= 0)
			return status;
	}
	if (a.task || a.job)
		return run_task(&a);
	if (!r->shares.machines)
		return command_usage("distribute", "over how many? (--machines M)");
	if (r->shares.tellers > r->shares.machines)
		return command_usage("distribute", "--tellers %u: there are only %u machines",
				     r->shares.tellers, r->shares.machines);
	if (!r->shares.tellers)
		r->shares.tellers = r->shares.machines > 1 ? 2 : 1;
	if (optind == argc)
		return command_usage("distribute", "which program? (-- PROGRAM ARGS)");
	if (r->engine == DISTRIBUTE_LOCAL && (r->n_inputs || r->shared))
		return command_usage("distribute",
				     "--input and --shared go with --engine slurm: on "
				     "this host files are where they are");
	r->command = argv + optind;
	return run(r);
}

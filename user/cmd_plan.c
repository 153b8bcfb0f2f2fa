// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_plan.c: `pugmark plan`: chooses the witnesses of a binary and says what was chosen. */
#include "user/command.h"
#include "user/planning.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATTERNS_MAX 64

struct plan_args {
	struct planning_options planning;
	const char *only[PATTERNS_MAX], *without[PATTERNS_MAX];
	const char *output, *explain;
	bool list, json;
};

struct counts {
	uint32_t by_class[4], by_kind[4];
	uint32_t full_sites; /* what mode full would probe */
};

static const char *const class_names[] = {
	[PROBE_EMULATED] = "emulated",
	[PROBE_NOP5] = "nop5",
	[PROBE_STEPPED] = "stepped",
	[PROBE_REFUSED] = "refused",
};
static const char *const kind_names[] = {
	[WITNESS_BLOCK] = "block",
	[WITNESS_BRANCH] = "branch",
	[WITNESS_TARGET] = "target",
	[WITNESS_RETURN] = "return",
};

static int print_help(void)
{
	puts("usage: pugmark plan [options] BINARY\n\n"
	     "Chooses the instructions of BINARY to probe. The plan is kept in the cache, where "
	     "record\n"
	     "finds it.\n\n"
	     "      --mode MODE      full, branch, casper or best (best)\n"
	     "  -F, --function PATTERN\n"
	     "                       trace only functions that match (a glob, or /regular\n"
	     "                       expression/; repeatable)\n"
	     "  -N, --no-function PATTERN\n"
	     "                       leave out functions that match (repeatable)\n"
	     "      --stats          what was chosen, in numbers (the default)\n"
	     "      --list           every site: address, class, kind, what it reads, function\n"
	     "      --explain FUNC   the decisions of one function and what tells them apart\n"
	     "      --format text|json\n"
	     "                       how to print (text)\n"
	     "  -o, --output FILE    write the plan to FILE as well\n"
	     "      --fresh          plan anew, whatever the cache has\n"
	     "  -h, --help           this text\n\n"
	     "Exit status: 0; 1 for an error, 2 for wrong usage.");
	return EXIT_OK;
}

static int count_full(const char *binary, struct plan_args *args, struct counts *counts,
		      struct pugmark_diag *diag)
{
	struct planning_options options = args->planning;
	struct planning_result full;
	options.mode = MODE_FULL;
	int err = planning_make(binary, &options, &full, diag);
	if (err)
		return err;
	counts->full_sites = full.plan->n_sites;
	planning_deinit(&full);
	return 0;
}

static void count_sites(const struct pugmark_plan *plan, struct counts *counts)
{
	for (uint32_t i = 0; i < plan->n_sites; i++) {
		counts->by_class[plan->sites[i].probe & 3]++;
		counts->by_kind[plan->sites[i].kind & 3]++;
	}
}

static double reduction(const struct pugmark_plan *plan, const struct counts *counts)
{
	return counts->full_sites ? 1.0 - (double)plan->n_sites / counts->full_sites : 0;
}

static void print_stats(const char *binary, const struct plan_args *args,
			const struct planning_result *r, const struct counts *c)
{
	const struct pugmark_plan *plan = r->plan;
	printf("%s, mode %s\n", binary, planning_mode_name(args->planning.mode));
	printf("functions      %9u\n", r->n_functions);
	printf("call sites     %9u\n", r->n_call_sites);
	printf("sites          %9u  (%.1f %% fewer than mode full)\n", plan->n_sites,
	       100 * reduction(plan, c));
	for (int i = 0; i < 4; i++)
		if (c->by_class[i])
			printf("  %-12s %9u\n", class_names[i], c->by_class[i]);
	for (int i = 0; i < 4; i++)
		if (c->by_kind[i])
			printf("  %-12s %9u\n", kind_names[i], c->by_kind[i]);
	printf("expected cost  %12.3f ms, by static estimates: for comparing plans\n",
	       plan->expected_cost_ns / 1e6);
	if (r->unresolved)
		printf("unresolved     %9u  places that nothing can witness: gaps are possible "
		       "there\n",
		       r->unresolved);
	printf("seconds        %12.3f\n", r->seconds);
	printf("plan           %s\n", r->path);
}

static void list_sites(const struct pugmark_plan *plan)
{
	for (uint32_t i = 0; i < plan->n_sites; i++) {
		const struct plan_site *s = &plan->sites[i];
		printf("%8llx %-8s %-6s %s%s%s%s ", (unsigned long long)s->addr,
		       class_names[s->probe & 3], kind_names[s->kind & 3],
		       s->capture & CAPTURE_RET ? "ret," : "",
		       s->capture & CAPTURE_FLAGS ? "flags," : "",
		       s->capture & CAPTURE_TARGET ? "target," : "",
		       s->cfa_reg == CFA_UNKNOWN ? "sp" : "cfa");
		command_print_safe(stdout, plan->strings + plan->funcs[s->func].name);
		putchar('\n');
	}
}

static json_t *json_counts(const uint32_t *counts, const char *const *names)
{
	json_t *object = json_object();
	for (int i = 0; i < 4; i++)
		json_object_set_new(object, names[i], json_integer(counts[i]));
	return object;
}

static json_t *json_sites(const struct pugmark_plan *plan)
{
	json_t *list = json_array();
	for (uint32_t i = 0; i < plan->n_sites; i++) {
		const struct plan_site *s = &plan->sites[i];
		char addr[24];
		snprintf(addr, sizeof(addr), "%llx", (unsigned long long)s->addr);
		json_t *site = json_object();
		json_object_set_new(site, "address", json_string(addr));
		json_object_set_new(site, "class", json_string(class_names[s->probe & 3]));
		json_object_set_new(site, "kind", json_string(kind_names[s->kind & 3]));
		json_object_set_new(site, "capture", json_integer(s->capture));
		json_object_set_new(site, "function",
				    json_string(plan->strings + plan->funcs[s->func].name));
		json_array_append_new(list, site);
	}
	return list;
}

static int print_json(const char *binary, const struct plan_args *args,
		      const struct planning_result *r, const struct counts *c)
{
	json_t *o = json_object();
	json_object_set_new(o, "binary", json_string(binary));
	json_object_set_new(o, "mode", json_string(planning_mode_name(args->planning.mode)));
	json_object_set_new(o, "functions", json_integer(r->n_functions));
	json_object_set_new(o, "call_sites", json_integer(r->n_call_sites));
	json_object_set_new(o, "sites", json_integer(r->plan->n_sites));
	json_object_set_new(o, "sites_by_class", json_counts(c->by_class, class_names));
	json_object_set_new(o, "sites_by_kind", json_counts(c->by_kind, kind_names));
	json_object_set_new(o, "reduction", json_real(reduction(r->plan, c)));
	json_object_set_new(o, "expected_cost", json_real(r->plan->expected_cost_ns));
	json_object_set_new(o, "unresolved", json_integer(r->unresolved));
	json_object_set_new(o, "seconds", json_real(r->seconds));
	json_object_set_new(o, "plan", json_string(r->path));
	if (args->list)
		json_object_set_new(o, "site_list", json_sites(r->plan));
	int err = json_dumpf(o, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(o);
	return err ? EXIT_ERROR : EXIT_OK;
}

static void explain_node(const struct pugmark_plan *plan, uint32_t node)
{
	const struct plan_node *n = &plan->nodes[node];
	static const char *const kinds[] = {"exit",  "call",   "call", "call",
					    "block", "branch", "ret",  "jump"};
	if (!node) {
		printf("return (silent)");
		return;
	}
	printf("%s %llx", n->kind < 8 ? kinds[n->kind] : "block", (unsigned long long)n->addr);
	if (n->callee != PUGMARK_NONE) {
		printf(" of ");
		command_print_safe(stdout, plan->strings + plan->funcs[n->callee].name);
	} else if (n->import) {
		printf(" of ");
		command_print_safe(stdout, plan->strings + n->import);
	}
	if (n->site == PUGMARK_NONE)
		printf(" (silent)");
	else
		printf(" (witness at %llx, %s)", (unsigned long long)plan->sites[n->site].addr,
		       class_names[plan->sites[n->site].probe & 3]);
}

static void explain_decision(const struct pugmark_plan *plan, const char *after, uint32_t decision)
{
	if (decision == PUGMARK_NONE)
		return;
	const struct plan_decision *d = &plan->decisions[decision];
	printf("  %s:\n", after);
	for (uint32_t i = 0; i < d->n; i++) {
		printf("    ");
		explain_node(plan, plan->alternatives[d->first + i]);
		putchar('\n');
	}
}

static int explain(const char *binary, const struct pugmark_plan *plan, const char *name)
{
	for (uint32_t f = 0; f < plan->n_funcs; f++) {
		const struct plan_func *func = &plan->funcs[f];
		if (strcmp(plan->strings + func->name, name) != 0)
			continue;
		printf("%s at %llx\n", name, (unsigned long long)func->addr);
		explain_decision(plan, "at the entry", func->entry);
		for (uint32_t i = func->node; i < func->node + func->n_nodes; i++) {
			const struct plan_node *n = &plan->nodes[i];
			char after[64];
			if (n->kind == NODE_KIND_TARGET)
				continue;
			snprintf(after, sizeof(after), "after %llx%s", (unsigned long long)n->addr,
				 n->kind == NODE_KIND_BRANCH ? ", not taken" : "");
			explain_decision(plan, after, n->next);
			snprintf(after, sizeof(after), "after %llx, taken",
				 (unsigned long long)n->addr);
			if (n->kind == NODE_KIND_BRANCH)
				explain_decision(plan, after, n->next_taken);
		}
		return EXIT_OK;
	}
	struct pugmark_diag diag;
	pugmark_diag_set(&diag, -ENOENT, binary, PUGMARK_NO_OFFSET,
			 "no function '%s' (see: pugmark cfg --list)", name);
	return command_fail(&diag);
}

enum { OPT_MODE = 256, OPT_STATS, OPT_LIST, OPT_EXPLAIN, OPT_FORMAT, OPT_FRESH };

static const struct option long_options[] = {
	{"mode", required_argument, NULL, OPT_MODE},
	{"function", required_argument, NULL, 'F'},
	{"no-function", required_argument, NULL, 'N'},
	{"stats", no_argument, NULL, OPT_STATS},
	{"list", no_argument, NULL, OPT_LIST},
	{"explain", required_argument, NULL, OPT_EXPLAIN},
	{"format", required_argument, NULL, OPT_FORMAT},
	{"output", required_argument, NULL, 'o'},
	{"fresh", no_argument, NULL, OPT_FRESH},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* Takes one option; returns an exit status, or -1 to go on. */
static int parse_option(struct plan_args *a, int opt)
{
	struct planning_options *p = &a->planning;
	switch (opt) {
	case OPT_MODE:
		if (!planning_mode_named(optarg, &p->mode))
			return command_usage("plan", "no mode '%s' (full, branch, casper, best)",
					     optarg);
		return -1;
	case 'F':
	case 'N':
		if ((opt == 'F' ? p->n_only : p->n_without) == PATTERNS_MAX)
			return command_usage("plan", "more than %d patterns", PATTERNS_MAX);
		if (opt == 'F')
			a->only[p->n_only++] = optarg;
		else
			a->without[p->n_without++] = optarg;
		return -1;
	case OPT_STATS:
		return -1;
	case OPT_LIST:
		a->list = true;
		return -1;
	case OPT_EXPLAIN:
		a->explain = optarg;
		return -1;
	case OPT_FORMAT:
		a->json = !strcmp(optarg, "json");
		if (!a->json && strcmp(optarg, "text") != 0)
			return command_usage("plan", "no format '%s' (text, json)", optarg);
		return -1;
	case OPT_FRESH:
		p->fresh = true;
		return -1;
	case 'o':
		a->output = optarg;
		return -1;
	case 'h':
		return print_help();
	}
	return command_usage("plan", "wrong option");
}

static int show(const char *binary, struct plan_args *args, const struct planning_result *r,
		struct pugmark_diag *diag)
{
	struct counts counts = {0};
	if (args->output && pugmark_plan_write(r->plan, args->output, diag))
		return command_fail(diag);
	if (args->explain)
		return explain(binary, r->plan, args->explain);
	if (args->list && !args->json) {
		list_sites(r->plan);
		return EXIT_OK;
	}
	if (count_full(binary, args, &counts, diag))
		return command_fail(diag);
	count_sites(r->plan, &counts);
	if (args->json)
		return print_json(binary, args, r, &counts);
	print_stats(binary, args, r, &counts);
	return EXIT_OK;
}

int cmd_plan(int argc, char **argv)
{
	struct plan_args args = {.planning = {.mode = MODE_BEST}};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	int opt;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "F:N:o:h", long_options, NULL)) != -1) {
		if (opt == '?')
			return command_usage("plan", "no option '%s', or it lacks its value",
					     argv[optind - 1]);
		int status = parse_option(&args, opt);
		if (status >= 0)
			return status;
	}
	if (optind + 1 != argc)
		return command_usage("plan", "one binary is needed");
	args.planning.only = args.only;
	args.planning.without = args.without;
	struct planning_result result;
	if (planning_make(argv[optind], &args.planning, &result, &diag))
		return command_fail(&diag);
	int status = show(argv[optind], &args, &result, &diag);
	planning_deinit(&result);
	if (!status && (fflush(stdout) || ferror(stdout))) {
		pugmark_diag_set(&diag, -EIO, "standard output", PUGMARK_NO_OFFSET,
				 "cannot write: %s", strerror(errno));
		return command_fail(&diag);
	}
	return status;
}

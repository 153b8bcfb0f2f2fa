// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_shares.c: see plan_shares.h. */
#include "user/share/plan_shares.h"

#include "user/cli/command.h"
#include "user/record/write/recording_meta.h"
#include "user/share/share_files.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const groupings[] = {
	[SHARE_FINE] = "fine",
	[SHARE_FUNCTION] = "function",
	[SHARE_OPTIMIZED] = "optimized",
	[SHARE_BEST] = "best",
};

bool plan_shares_grouping(const char *name, enum share_grouping *out)
{
	for (unsigned i = 0; i < sizeof(groupings) / sizeof(*groupings); i++)
		if (!strcmp(name, groupings[i])) {
			*out = i;
			return true;
		}
	return false;
}

static double machine_ns(const struct share_set *set, uint32_t machine)
{
	double sum = 0;
	for (uint32_t k = 0; k < set->n; k++)
		sum += set->machine[k] == machine ? set->load_ns[k] : 0;
	return sum;
}

/* A site that all shares have: the merge compares the runs there. */
struct landmark {
	uint32_t site;
	bool entry; /* of its function */
	float ns;   /* what it is expected to cost */
};

static int dearest_first(const void *a, const void *b)
{
	const struct landmark *x = a, *y = b;
	if (x->entry != y->entry)
		return x->entry ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->site < y->site ? -1 : x->site > y->site;
}

/* Whether a site is on the only way into its function. */
static bool is_entry(const struct pugmark_plan *p, uint32_t site)
{
	uint32_t entry = p->funcs[p->sites[site].func].entry;
	if (entry == PUGMARK_NONE || p->decisions[entry].n != 1)
		return false;
	uint32_t node = p->alternatives[p->decisions[entry].first];
	return node && p->nodes[node].site == site;
}

/* The landmarks of a set, entries first, those that run most before; the caller frees. */
static struct landmark *landmarks_of(const struct share_set *set, uint32_t *n)
{
	uint64_t all = set->n == 64 ? UINT64_MAX : (1ull << set->n) - 1;
	const struct pugmark_plan *p = set->plan;
	struct landmark *list = calloc(p->n_sites + 1, sizeof(*list));
	*n = 0;
	for (uint32_t i = 0; list && set->n > 1 && i < p->n_sites; i++)
		if (set->members[i] == all)
			list[(*n)++] = (struct landmark){i, is_entry(p, i), set->site_ns[i]};
	if (list)
		qsort(list, *n, sizeof(*list), dearest_first);
	return list;
}

static void print_landmarks(const struct share_set *set)
{
	enum { NAMED = 24 };
	uint32_t n, entries = 0;
	struct landmark *list = landmarks_of(set, &n);
	while (list && entries < n && list[entries].entry)
		entries++;
	if (list && n)
		printf("landmarks, which all shares have: %u site%s, %u of them entries%s", n,
		       n == 1 ? "" : "s", entries, entries ? ":" : "");
	for (uint32_t i = 0; i < entries && i < NAMED; i++) {
		fputs(i ? ", " : " ", stdout);
		command_print_safe(
			stdout, set->plan->strings +
					set->plan->funcs[set->plan->sites[list[i].site].func].name);
	}
	if (list && n)
		puts(entries > NAMED ? ", ..." : "");
	free(list);
}

static json_t *json_landmarks(const struct share_set *set)
{
	uint32_t n;
	struct landmark *list = landmarks_of(set, &n);
	json_t *j = json_array();
	for (uint32_t i = 0; list && i < n; i++) {
		const struct pugmark_plan_site *s = &set->plan->sites[list[i].site];
		char addr[17];
		snprintf(addr, sizeof(addr), "%llx", (unsigned long long)s->addr);
		json_t *one =
			json_pack("{s:i, s:s, s:b, s:f}", "site", list[i].site, "address", addr,
				  "entry", list[i].entry, "cost_ns", (double)list[i].ns);
		json_object_set_new(
			one, "function",
			recording_json_text(set->plan->strings + set->plan->funcs[s->func].name));
		json_array_append_new(j, one);
	}
	free(list);
	return j;
}

static void print_text(const struct share_set *set, const struct share_options *o, double whole_ns)
{
	double most = 0;
	printf("%u share%s, grouping %s: probes, expected cost\n", set->n, set->n == 1 ? "" : "s",
	       groupings[o->grouping]);
	for (uint32_t k = 0; k < set->n; k++)
		printf("  share %2u  machine %2u  %7u probes  %12.3f ms\n", k + 1,
		       set->machine[k] + 1, share_files_sites(set, k), set->load_ns[k] / 1e6);
	for (uint32_t m = 0; m < o->machines; m++)
		if (machine_ns(set, m) > most)
			most = machine_ns(set, m);
	printf("the costliest machine: %.3f ms, %.1f %% of the undistributed %.3f ms; the largest "
	       "job: %.3f ms; in any split some machine pays %.3f ms or more\n",
	       most / 1e6, whole_ns > 0 ? 100 * most / whole_ns : 0, whole_ns / 1e6,
	       set->largest_job_ns / 1e6, set->least_ns / 1e6);
	print_landmarks(set);
	if (set->untold)
		printf("%u fork%s nothing can tell: there the merged trace may have a gap\n",
		       set->untold, set->untold == 1 ? "" : "s");
}

static void print_json(const struct share_set *set, const struct share_options *o, double whole_ns)
{
	json_t *list = json_array();
	for (uint32_t k = 0; k < set->n; k++)
		json_array_append_new(list, json_pack("{s:i, s:i, s:i, s:f}", "share", k + 1,
						      "machine", set->machine[k] + 1, "probes",
						      share_files_sites(set, k), "cost_ns",
						      set->load_ns[k]));
	json_t *j = json_pack("{s:s, s:i, s:o, s:f, s:f, s:f, s:f, s:i}", "grouping",
			      groupings[o->grouping], "machines", o->machines, "shares", list,
			      "undistributed_ns", whole_ns, "largest_job_ns", set->largest_job_ns,
			      "two_jobs_ns", set->two_jobs_ns, "least_ns", set->least_ns, "untold",
			      set->untold);
	json_object_set_new(j, "landmarks", json_landmarks(set));
	json_dumpf(j, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(j);
}

int plan_shares(const char *binary, const struct planning_options *options,
		const struct share_options *o, bool json, struct pugmark_diag *diag)
{
	struct share_set set;
	double whole_ns;
	int err = planning_shares(binary, options, o, &set, &whole_ns, diag);
	if (err)
		return err;
	struct share_files_options files = {
		.binary = binary,
		.grouping = groupings[o->grouping],
		.paths = o->paths,
		.machines = o->machines,
		.bound = o->bound,
		.tellers = o->tellers ? o->tellers : 1,
	};
	err = options->output ? share_files_write(&set, &files, options->output, diag) : 0;
	if (!err)
		(json ? print_json : print_text)(&set, o, whole_ns);
	share_set_deinit(&set);
	return err;
}

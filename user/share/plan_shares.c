// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_shares.c: see plan_shares.h. */
#include "user/share/plan_shares.h"

#include "user/share/share_files.h"

#include <jansson.h>
#include <stdio.h>
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
	       "job: %.3f ms\n",
	       most / 1e6, whole_ns > 0 ? 100 * most / whole_ns : 0, whole_ns / 1e6,
	       set->largest_job_ns / 1e6);
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
	json_t *j = json_pack("{s:s, s:i, s:o, s:f, s:f, s:i}", "grouping", groupings[o->grouping],
			      "machines", o->machines, "shares", list, "undistributed_ns", whole_ns,
			      "largest_job_ns", set->largest_job_ns, "untold", set->untold);
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

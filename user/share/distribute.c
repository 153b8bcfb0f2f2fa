// SPDX-License-Identifier: LGPL-2.1-or-later
/* distribute.c: see distribute.h. */
#include "user/share/distribute.h"

#include "user/plan/planning.h"
#include "user/share/share_files.h"
#include "user/share/share_run.h"
#include "user/share/slurm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run_share(const struct distribute_request *r, uint32_t k, const char *part,
		     struct distribute_result *out, struct pugmark_diag *diag)
{
	struct distribute_run *run = &out->runs[k];
	char *plan;
	struct share_run made = {0};
	int err = 0;
	if (asprintf(&plan, "%s/share-%u.pmp", r->work, k + 1) < 0)
		return pugmark_diag_set(diag, -ENOMEM, r->work, PUGMARK_NO_OFFSET, "out of memory");
	while (!err && run->tries <= r->retries) {
		struct share_run_request request = {
			.plan = plan,
			.part = part,
			.command = r->command,
			.output = !k && !run->tries ? NULL : "/dev/null",
		};
		run->tries++;
		err = share_run(&request, &made);
		if (!err && made.whole)
			break;
		if (!err && run->tries > r->retries)
			err = pugmark_diag_set(
				diag, -EIO, part, PUGMARK_NO_OFFSET,
				"the run under share %u was not recorded whole in %u "
				"tr%s (--retries; what the recorder said is above)",
				k + 1, run->tries, run->tries == 1 ? "y" : "ies");
		else if (err)
			pugmark_diag_set(diag, err, part, PUGMARK_NO_OFFSET, "cannot run: %s",
					 strerror(-err));
	}
	run->seconds = made.seconds;
	run->events = made.events;
	if (!k)
		out->exit_status = made.exit_status;
	free(plan);
	return err;
}

static int make_shares(const struct distribute_request *r, struct distribute_result *out,
		       struct pugmark_diag *diag)
{
	static const char *const groupings[] = {"fine", "function", "optimized", "best"};
	struct planning_options options = {.mode = r->shares.paths ? MODE_PATHS_BEST : MODE_BEST,
					   .output = r->work};
	struct share_files_options files = {
		.binary = r->binary,
		.grouping = groupings[r->shares.grouping],
		.paths = r->shares.paths,
		.machines = r->shares.machines,
		.bound = r->shares.bound,
		.tellers = r->shares.tellers,
	};
	struct share_set set;
	int err = planning_shares(r->binary, &options, &r->shares, &set, &out->whole_ns, diag);
	if (err)
		return err;
	err = share_files_write(&set, &files, r->work, diag);
	out->n = set.n;
	for (uint32_t k = 0; k < set.n; k++) {
		out->runs[k].machine = set.machine[k];
		out->runs[k].expected_ns = set.load_ns[k];
	}
	share_set_deinit(&set);
	return err;
}

/* One run after the other, here. */
static int run_local(const struct distribute_request *r, struct distribute_result *out,
		     char **parts, struct pugmark_diag *diag)
{
	int err = 0;
	for (uint32_t k = 0; k < out->n && !err; k++) {
		if (asprintf(&parts[k], "%s/part-%u", r->work, k + 1) < 0) {
			parts[k] = NULL;
			err = pugmark_diag_set(diag, -ENOMEM, r->work, PUGMARK_NO_OFFSET,
					       "out of memory");
		}
		if (!err)
			err = run_share(r, k, parts[k], out, diag);
	}
	return err;
}

int distribute(const struct distribute_request *r, struct distribute_result *out,
	       struct pugmark_diag *diag)
{
	char *parts[SHARES_MAX] = {0}, *folder = NULL;
	*out = (struct distribute_result){0};
	int err = make_shares(r, out, diag);
	if (!err)
		err = r->engine == DISTRIBUTE_SLURM ? slurm_run(r, out, parts, &folder, diag)
						    : run_local(r, out, parts, diag);
	if (!err)
		err = merge_recordings((const char *const *)parts, out->n, r->output, &out->merge,
				       diag);
	slurm_clean_up(folder);
	for (uint32_t k = 0; k < out->n; k++)
		free(parts[k]);
	return err;
}

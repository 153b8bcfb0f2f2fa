// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_task.c: see share_task.h. The node's folder (user/cluster/node.h) has plan-K as well. */
#include "user/share/share_task.h"

#include "user/cluster/node.h"
#include "user/share/share_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Slurm takes the job back: the runs end, and what was taken here is removed. */
static volatile int stopped;

static void stop(int signal)
{
	stopped = signal;
}

static int no_memory(struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
}

static int leave_status(const struct cluster_node *t, uint32_t k, const struct share_run *run,
			struct pugmark_diag *diag)
{
	char *path, host[65] = "";
	const char *node = getenv("SLURMD_NODENAME");
	gethostname(host, sizeof(host) - 1);
	if (asprintf(&path, "%s/status-%u", t->folder, k) < 0)
		return no_memory(diag);
	FILE *f = fopen(path, "we");
	int err = f ? 0 : -errno;
	if (f)
		fprintf(f, "%d %.6f %llu %.64s\n", run->exit_status, run->seconds,
			(unsigned long long)run->events, node ? node : host);
	if (f && fclose(f))
		err = -errno;
	if (err)
		pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "cannot write it: %s",
				 strerror(-err));
	free(path);
	return err;
}

/* What the command printed in the first run is what the submitter prints. */
static int leave_output(const struct cluster_node *t, const char *output, struct pugmark_diag *diag)
{
	char sum[STAGED_SUM], *to;
	if (asprintf(&to, "%s/output-1", t->folder) < 0)
		return no_memory(diag);
	int err = staged_put(t->folder, output, sum, diag);
	char *from;
	if (!err && asprintf(&from, "%s/%s", t->folder, sum) >= 0) {
		if (rename(from, to))
			err = pugmark_diag_set(diag, -errno, to, PUGMARK_NO_OFFSET,
					       "cannot make it: %s", strerror(errno));
		free(from);
	}
	free(to);
	return err;
}

/* One run. @value: the share's sum, number and machine. */
static int run_share(const struct cluster_node *t, const char *value, uint32_t k,
		     struct pugmark_diag *diag)
{
	struct share_run run;
	char *plan = NULL, *part = NULL, *input = NULL, *output = NULL, *left = NULL;
	uint64_t bytes;
	int err = asprintf(&plan, "%s/plan-%u", t->own, k) < 0 ||
				  asprintf(&part, "%s/part-%u", t->own, k) < 0 ||
				  asprintf(&input, "%s/stdin", t->own) < 0 ||
				  asprintf(&output, "%s/output-%u", t->own, k) < 0 ||
				  asprintf(&left, "%s/part-%u", t->folder, k) < 0
			  ? no_memory(diag)
			  : 0;
	if (!err && !access(left, F_OK))
		goto done;
	if (!err)
		err = cluster_node_take(t, value, ".", strrchr(plan, '/') + 1, 0600, diag);
	struct share_run_request request = {.plan = plan,
					    .part = part,
					    .command = t->command,
					    .environ = t->environ,
					    .input = t->has_input ? input : "/dev/null",
					    .output = output,
					    .stop = &stopped};
	if (!err) {
		err = share_run(&request, &run);
		if (err)
			pugmark_diag_set(diag, err, part, PUGMARK_NO_OFFSET, "cannot run: %s",
					 strerror(-err));
		else if (stopped || !run.whole)
			err = pugmark_diag_set(diag, -EIO, part, PUGMARK_NO_OFFSET,
					       "the run was not recorded whole");
	}
	if (!err && k == 1)
		err = leave_output(t, output, diag);
	if (!err)
		err = leave_status(t, k, &run, diag);
	if (!err)
		err = staged_copy(part, left, &bytes, diag);
done:
	free(plan);
	free(part);
	free(input);
	free(output);
	free(left);
	return err;
}

int share_task(const char *folder, const char *sum, uint32_t machine, struct pugmark_diag *diag)
{
	struct cluster_node t;
	struct sigaction catching = {.sa_handler = stop};
	sigaction(SIGTERM, &catching, NULL);
	int err = cluster_node_open(folder, sum, &t, diag);
	for (const char *key = NULL; !err && (key = staged_next(&t.list, key));) {
		unsigned k, of;
		if (!strcmp(key, "share") && sscanf(staged_value(key), "%*s %u %u", &k, &of) == 2 &&
		    of == machine)
			err = run_share(&t, staged_value(key), k, diag);
	}
	int left = cluster_node_close(&t);
	return err ? err : left;
}

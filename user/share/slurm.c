// SPDX-License-Identifier: LGPL-2.1-or-later
/* slurm.c: see slurm.h. What has left no part is submitted again, whatever the reason, so that
 * --retries counts all of them. */
#include "user/share/slurm.h"

#include "offline/base/open_regular.h"
#include "offline/base/write_all.h"
#include "user/cluster/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct slurm_job {
	const struct distribute_request *request;
	struct distribute_result *out;
	struct cluster_job cluster;
};

static int no_memory(struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
}

static int stage_shares(struct slurm_job *job, struct pugmark_diag *diag)
{
	int err = 0;
	for (uint32_t k = 0; k < job->out->n && !err; k++) {
		char *plan, rest[32];
		snprintf(rest, sizeof(rest), "%u %u", k + 1, job->out->runs[k].machine + 1);
		if (asprintf(&plan, "%s/share-%u.pmp", job->request->work, k + 1) < 0)
			return no_memory(diag);
		err = cluster_job_file(&job->cluster, "share", plan, rest, diag);
		free(plan);
	}
	return err;
}

static int stage(struct slurm_job *job, struct pugmark_diag *diag)
{
	const struct distribute_request *r = job->request;
	int err = stage_shares(job, diag);
	err = err ? err : cluster_job_inputs(&job->cluster, r->inputs, r->n_inputs, diag);
	err = err ? err : cluster_job_stdin(&job->cluster, STDIN_FILENO, diag);
	err = err ? err : cluster_job_command(&job->cluster, r->binary, r->command, diag);
	return err ? err : cluster_job_seal(&job->cluster, "distribute", diag);
}

/* Whether share @k, from 0, has left its part; then what its run was. */
static bool is_there(const struct slurm_job *job, uint32_t k)
{
	struct distribute_run *run = &job->out->runs[k];
	char *path;
	unsigned long long events;
	int exit_status;
	if (asprintf(&path, "%s/part-%u", job->cluster.folder, k + 1) < 0)
		return false;
	bool there = !access(path, F_OK);
	free(path);
	if (!there || asprintf(&path, "%s/status-%u", job->cluster.folder, k + 1) < 0)
		return false;
	FILE *f = open_regular_stream(path);
	free(path);
	there = f &&
		fscanf(f, "%d %lf %llu %64s", &exit_status, &run->seconds, &events, run->node) == 4;
	if (f)
		fclose(f);
	if (!there)
		return false;
	run->events = events;
	if (!k)
		job->out->exit_status = exit_status;
	return true;
}

/* The machines that still have to run, as sbatch takes them; "": none. */
static void list_missing(const struct slurm_job *job, char *text, size_t room)
{
	bool runs[SHARES_MAX] = {0};
	size_t len = 0;
	for (uint32_t k = 0; k < job->out->n; k++)
		if (!is_there(job, k)) {
			runs[job->out->runs[k].machine] = true;
			job->out->runs[k].tries++;
		}
	*text = 0;
	for (uint32_t m = 0; m < SHARES_MAX; m++)
		if (runs[m] && len < room)
			len += snprintf(text + len, room - len, "%s%u", len ? "," : "", m + 1);
}

/* Runs until all parts are there. */
static int run_all(struct slurm_job *job, struct pugmark_diag *diag)
{
	char machines[SHARES_MAX * 4], words[300];
	int err = 0;
	for (uint32_t tries = 0;; tries++) {
		list_missing(job, machines, sizeof(machines));
		if (err || !*machines)
			return err;
		if (tries > job->request->retries)
			break;
		err = cluster_job_submit(&job->cluster, machines, diag);
	}
	for (uint32_t k = 0; k < job->out->n; k++) {
		if (is_there(job, k))
			continue;
		cluster_job_last_words(&job->cluster, job->out->runs[k].machine + 1, words,
				       sizeof(words));
		return pugmark_diag_set(diag, -EIO, NULL, PUGMARK_NO_OFFSET,
					"the run under share %u was not recorded whole in %u "
					"tr%s (--retries; %s)",
					k + 1, job->request->retries + 1,
					job->request->retries ? "ies" : "y", words);
	}
	return 0;
}

static int print_output(const struct slurm_job *job, struct pugmark_diag *diag)
{
	char *path, buffer[4096];
	ssize_t n;
	if (asprintf(&path, "%s/output-1", job->cluster.folder) < 0)
		return no_memory(diag);
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = fd < 0 ? -errno : 0;
	while (!err && (n = read(fd, buffer, sizeof(buffer))) > 0)
		err = write_all(STDOUT_FILENO, buffer, n);
	if (fd >= 0)
		close(fd);
	if (err)
		pugmark_diag_set(diag, err, "standard output", PUGMARK_NO_OFFSET,
				 "cannot write: %s", strerror(-err));
	free(path);
	return err;
}

int slurm_run(const struct distribute_request *request, struct distribute_result *out, char **parts,
	      char **folder, struct pugmark_diag *diag)
{
	struct slurm_job job = {.request = request, .out = out};
	int err = cluster_job_open(request->shared ? request->shared : request->work, &job.cluster,
				   diag);
	if (err)
		return err;
	err = stage(&job, diag);
	if (!err)
		err = run_all(&job, diag);
	if (!err)
		err = print_output(&job, diag);
	for (uint32_t k = 0; k < out->n && !err; k++)
		if (asprintf(&parts[k], "%s/part-%u", job.cluster.folder, k + 1) < 0) {
			parts[k] = NULL;
			err = no_memory(diag);
		}
	cluster_job_let_go(&job.cluster);
	*folder = job.cluster.folder;
	job.cluster.folder = NULL;
	cluster_job_close(&job.cluster);
	return err;
}

void slurm_clean_up(char *folder)
{
	if (folder)
		staged_remove(folder);
	free(folder);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* spread.c: tries as tasks of a Slurm cluster, from where they are submitted. See spread.h. */
#include "user/switch/spread.h"

#include "offline/base/open_regular.h"
#include "user/cluster/job.h"
#include "user/switch/tries.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int no_memory(struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
}

static int stage_numbers(const struct tries *t, struct cluster_job *job, struct pugmark_diag *diag)
{
	const struct switch_options *o = t->o;
	const uint64_t numbers[SPREAD_NUMBERS] = {
		[SPREAD_SECONDS] = o->command.seconds,
		[SPREAD_MEMORY] = o->command.memory_bytes,
		[SPREAD_JOBS] = o->jobs,
		[SPREAD_ALL] = o->all,
		[SPREAD_MACHINES] = o->cluster.machines,
		[SPREAD_RIGHT] = o->right,
	};
	int err = 0;
	for (int i = 0; i < SPREAD_NUMBERS && !err; i++) {
		char text[64];
		snprintf(text, sizeof(text), "%s %" PRIu64, spread_names[i], numbers[i]);
		err = cluster_job_text(job, "number", text, diag);
	}
	return err;
}

static int stage_outcome(const struct outcome *outcome, struct cluster_job *job,
			 struct pugmark_diag *diag)
{
	int err = 0;
	for (size_t i = 0; i < outcome_count(outcome) && !err; i++) {
		const char *file, *text = outcome_text(outcome, i, &file);
		if (!file) {
			err = cluster_job_text(job, "condition", text, diag);
			continue;
		}
		char *before = strndup(text, file - text);
		err = before ? cluster_job_file(job, "condition-file", file, before, diag)
			     : no_memory(diag);
		free(before);
	}
	return err;
}

static int stage_tries(const struct tries *t, size_t n, struct cluster_job *job,
		       struct pugmark_diag *diag)
{
	int err = 0;
	for (size_t i = 0; i < n && !err; i++) {
		const struct turned_jump *j = &t->c->at[i].jump;
		char text[4096];
		snprintf(text, sizeof(text), "%zu %" PRIu64 " %" PRIu64 " %" PRIu64 " %s", i,
			 j->elf, j->time, j->entry, j->library ? j->library : "");
		err = cluster_job_text(job, "try", text, diag);
	}
	return err;
}

static int stage(const struct tries *t, size_t n, struct cluster_job *job,
		 struct pugmark_diag *diag)
{
	const struct switch_options *o = t->o;
	int err = stage_numbers(t, job, diag);
	err = err ? err : stage_outcome(o->outcome, job, diag);
	err = err ? err : stage_tries(t, n, job, diag);
	err = err ? err : cluster_job_inputs(job, o->cluster.inputs, o->cluster.n_inputs, diag);
	err = err ? err : cluster_job_stdin(job, o->command.input, diag);
	err = err ? err : cluster_job_command(job, o->cluster.binary, o->command.argv, diag);
	return err ? err : cluster_job_seal(job, "switch", diag);
}

/* --- what comes back ------------------------------------------------------------------------- */

static FILE *result_of(const struct cluster_job *job, uint32_t task)
{
	char *path;
	if (asprintf(&path, "%s/result-%u", job->folder, task) < 0)
		return NULL;
	FILE *f = open_regular_stream(path);
	free(path);
	return f;
}

/* The tasks that have left nothing, as sbatch takes them; "": none. */
static void list_missing(const struct cluster_job *job, uint32_t machines, char *text, size_t room)
{
	size_t len = 0;
	*text = 0;
	for (uint32_t k = 1; k <= machines; k++) {
		FILE *f = result_of(job, k);
		if (f)
			fclose(f);
		else if (len < room)
			len += snprintf(text + len, room - len, "%s%u", len ? "," : "", k);
	}
}

static int submit_all(const struct tries *t, const struct cluster_job *job, uint32_t machines,
		      struct pugmark_diag *diag)
{
	char missing[4 * SWITCH_MACHINES_MAX], words[300];
	int err = 0;
	for (uint32_t round = 0;; round++) {
		list_missing(job, machines, missing, sizeof(missing));
		if (err || !*missing)
			return err;
		if (round > t->o->cluster.retries)
			break;
		err = cluster_job_submit(job, missing, diag);
	}
	uint32_t task = strtoul(missing, NULL, 10);
	cluster_job_last_words(job, task, words, sizeof(words));
	return pugmark_diag_set(diag, -EIO, NULL, PUGMARK_NO_OFFSET,
				"task %u has left no result in %u tr%s (--retries; %s)", task,
				t->o->cluster.retries + 1, t->o->cluster.retries ? "ies" : "y",
				words);
}

static int take_result(struct tries *t, FILE *f)
{
	uint64_t done, too_long, unturned;
	struct critical k = {0};
	unsigned taken, holds;
	int n;
	if (fscanf(f, "%" SCNu64 " %" SCNu64 " %" SCNu64, &done, &too_long, &unturned) != 3)
		return -EBADMSG;
	t->done += done;
	t->too_long += too_long;
	t->unturned += unturned;
	while ((n = fscanf(f, "%zu %" SCNu64 " %u %u", &k.candidate, &k.right, &taken, &holds)) ==
	       4) {
		if (k.candidate >= t->c->n)
			return -EBADMSG;
		k.was_taken = taken;
		k.same_ways = t->c->at[k.candidate].same_ways;
		if (holds ? !VEC_PUSH(&t->found, k) : !VEC_PUSH(&t->closer, k))
			return -ENOMEM;
	}
	return n == EOF ? 0 : -EBADMSG;
}

static int take_results(struct tries *t, const struct cluster_job *job, uint32_t machines,
			struct pugmark_diag *diag)
{
	int err = 0;
	for (uint32_t k = 1; k <= machines && !err; k++) {
		FILE *f = result_of(job, k);
		err = f ? take_result(t, f) : -EBADMSG;
		if (f)
			fclose(f);
		if (err)
			pugmark_diag_set(diag, err, job->folder, PUGMARK_NO_OFFSET,
					 "what task %u has left cannot be read", k);
	}
	return err;
}

int tries_on_cluster(struct tries *t, struct pugmark_diag *diag)
{
	struct cluster_job job;
	size_t n = t->c->n < t->o->tries ? t->c->n : t->o->tries;
	uint32_t machines = n < t->o->cluster.machines ? n : t->o->cluster.machines;
	if (!n)
		return 0;
	int err = cluster_job_open(t->o->cluster.shared, &job, diag);
	if (err)
		return err;
	err = stage(t, n, &job, diag);
	err = err ? err : submit_all(t, &job, machines, diag);
	err = err ? err : take_results(t, &job, machines, diag);
	cluster_job_let_go(&job);
	cluster_job_close(&job);
	return err;
}

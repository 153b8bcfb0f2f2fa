/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* job.h: a job array of Slurm, whose tasks are this program again, on nodes that see one folder:
 * what they need is put there (staged.h), and there they leave what came of it. A task is not
 * requeued by Slurm: who submits sees what is missing, and submits that again. */
#ifndef USER_CLUSTER_JOB_H
#define USER_CLUSTER_JOB_H

#include "user/cluster/staged.h"

#include <signal.h>

struct cluster_job {
	char *folder; /* that all nodes see; heap */
	char sum[STAGED_SUM];
	char pugmark[4096]; /* this program, as the nodes see it */
	struct staged_list list;
	struct sigaction old[2];
};

/* Makes the job's folder in @shared. From now on signals that ask to stop cancel what was
 * submitted. Returns 0, or -errno with @diag filled (so do all below): -ENOENT, Slurm is not
 * installed. */
int cluster_job_open(const char *shared, struct cluster_job *out, struct pugmark_diag *diag);
/* Signals end this process again. */
void cluster_job_let_go(struct cluster_job *job);
/* Removes the folder, if it is still the job's. */
void cluster_job_close(struct cluster_job *job);

/* Puts a file there and lists it as @key, with @rest behind its sum; and a text. */
int cluster_job_file(struct cluster_job *job, const char *key, const char *path, const char *rest,
		     struct pugmark_diag *diag);
int cluster_job_text(struct cluster_job *job, const char *key, const char *text,
		     struct pugmark_diag *diag);
/* Files that the command reads by paths below the folder it runs in; and what descriptor @fd has,
 * if that is a regular file, for its standard input. */
int cluster_job_inputs(struct cluster_job *job, const char *const *paths, uint32_t n,
		       struct pugmark_diag *diag);
int cluster_job_stdin(struct cluster_job *job, int fd, struct pugmark_diag *diag);
/* The program @binary, the arguments of @command, and this environment. */
int cluster_job_command(struct cluster_job *job, const char *binary, char *const *command,
			struct pugmark_diag *diag);
/* All is there that a task needs, which is `pugmark SUBCOMMAND --task FOLDER --job SUM`. */
int cluster_job_seal(struct cluster_job *job, const char *subcommand, struct pugmark_diag *diag);

/* Submits the tasks of these numbers, as sbatch takes them, and waits for their end. Returns 0,
 * however they ended; -EINTR: it was asked to stop, and the job is cancelled. */
int cluster_job_submit(const struct cluster_job *job, const char *tasks, struct pugmark_diag *diag);
/* What the last try of task @task has said last. */
void cluster_job_last_words(const struct cluster_job *job, uint32_t task, char *words, size_t room);

#endif

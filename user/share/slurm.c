// SPDX-License-Identifier: LGPL-2.1-or-later
/* slurm.c: see slurm.h. A task is not requeued by Slurm: what has left no part is submitted again
 * here, whatever the reason, so that --retries counts all of them. */
#include "user/share/slurm.h"

#include "offline/base/open_regular.h"
#include "offline/base/whole_file.h"
#include "offline/base/write_all.h"
#include "user/share/share_run.h"
#include "user/share/staged.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct slurm_job {
	const struct distribute_request *request;
	struct distribute_result *out;
	char *folder, sum[STAGED_SUM];
	char pugmark[4096]; /* this program, as the nodes see it */
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	stopped = signal;
}

static int no_memory(struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
}

static bool is_on_path(const char *name)
{
	const char *path = getenv("PATH");
	for (const char *at = path ? path : ""; *at;) {
		size_t len = strcspn(at, ":");
		char *file;
		if (asprintf(&file, "%.*s/%s", (int)len, at, name) < 0)
			return false;
		bool found = !access(file, X_OK);
		free(file);
		if (found)
			return true;
		at += len + (at[len] == ':');
	}
	return false;
}

/* Puts a file there and lists it, with @rest behind its sum. */
static int stage_file(struct slurm_job *job, struct staged_list *list, const char *key,
		      const char *path, const char *rest, struct pugmark_diag *diag)
{
	char sum[STAGED_SUM], *value;
	int err = staged_put(job->folder, path, sum, diag);
	if (err)
		return err;
	if (asprintf(&value, "%s%s%s", sum, *rest ? " " : "", rest) < 0)
		return no_memory(diag);
	err = staged_add(list, key, value) ? no_memory(diag) : 0;
	free(value);
	return err;
}

static int stage_shares(struct slurm_job *job, struct staged_list *list, struct pugmark_diag *diag)
{
	int err = 0;
	for (uint32_t k = 0; k < job->out->n && !err; k++) {
		char *plan, rest[32];
		snprintf(rest, sizeof(rest), "%u %u", k + 1, job->out->runs[k].machine + 1);
		if (asprintf(&plan, "%s/share-%u.pmp", job->request->work, k + 1) < 0)
			return no_memory(diag);
		err = stage_file(job, list, "share", plan, rest, diag);
		free(plan);
	}
	return err;
}

/* A path that is below the folder of the run wherever that is. */
static bool is_below(const char *path)
{
	char *text = strdup(path), *save = NULL;
	bool below = text && *path && *path != '/';
	for (char *name = text ? strtok_r(text, "/", &save) : NULL; name && below;
	     name = strtok_r(NULL, "/", &save))
		below = strcmp(name, "..") != 0;
	free(text);
	return below;
}

static int stage_inputs(struct slurm_job *job, struct staged_list *list, struct pugmark_diag *diag)
{
	const struct distribute_request *r = job->request;
	struct stat st;
	int err = 0;
	for (uint32_t i = 0; i < r->n_inputs && !err; i++)
		err = is_below(r->inputs[i])
			      ? stage_file(job, list, "input", r->inputs[i], r->inputs[i], diag)
			      : pugmark_diag_set(diag, -EINVAL, r->inputs[i], PUGMARK_NO_OFFSET,
						 "--input takes a path that is relative to this "
						 "folder, and in it: it is the same on each node");
	if (!err && !fstat(STDIN_FILENO, &st) && S_ISREG(st.st_mode))
		err = stage_file(job, list, "stdin", "/proc/self/fd/0", "", diag);
	return err;
}

/* The command and what it runs in: the same in each run, whatever Slurm adds for a task. */
static int stage_command(struct slurm_job *job, struct staged_list *list, struct pugmark_diag *diag)
{
	const struct distribute_request *r = job->request;
	const char *slash = strrchr(r->binary, '/');
	int err = stage_file(job, list, "program", r->binary, slash ? slash + 1 : r->binary, diag);
	for (uint32_t i = 1; !err && r->command[i]; i++)
		err = staged_add(list, "argument", r->command[i]) ? no_memory(diag) : 0;
	for (char **v = environ; !err && *v; v++)
		err = staged_add(list, "variable", *v) ? no_memory(diag) : 0;
	return err;
}

static int stage(struct slurm_job *job, struct pugmark_diag *diag)
{
	static const char script[] =
		"#!/bin/sh\nexec \"$1\" distribute --task \"$2\" --job \"$3\"\n";
	struct staged_list list = {0};
	char *path = NULL;
	int err = stage_shares(job, &list, diag);
	if (!err)
		err = stage_inputs(job, &list, diag);
	if (!err)
		err = stage_command(job, &list, diag);
	if (!err)
		err = staged_put_list(job->folder, &list, job->sum, diag);
	if (!err && asprintf(&path, "%s/task.sh", job->folder) < 0)
		err = no_memory(diag);
	if (!err && (err = whole_file_write(path, script, sizeof(script) - 1)))
		pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "cannot write it: %s",
				 strerror(-err));
	free(path);
	free(list.text);
	return err;
}

/* Whether share @k, from 0, has left its part; then what its run was. */
static bool is_there(const struct slurm_job *job, uint32_t k)
{
	struct distribute_run *run = &job->out->runs[k];
	char *path;
	unsigned long long events;
	int exit_status;
	if (asprintf(&path, "%s/part-%u", job->folder, k + 1) < 0)
		return false;
	bool there = !access(path, F_OK);
	free(path);
	if (!there || asprintf(&path, "%s/status-%u", job->folder, k + 1) < 0)
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

static pid_t start(char *const *argv, int out)
{
	fflush(NULL);
	pid_t pid = fork();
	if (pid)
		return pid;
	setpgid(0, 0); /* a SIGINT of the terminal is for us: the job is cancelled, then it ends */
	if (out >= 0)
		dup2(out, STDOUT_FILENO);
	dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
	execvp(argv[0], argv);
	_exit(127);
}

static void cancel(const struct slurm_job *job)
{
	char *name;
	if (asprintf(&name, "--name=%s", strrchr(job->folder, '/') + 1) < 0)
		return;
	char *argv[] = {"scancel", name, NULL};
	pid_t pid = start(argv, -1);
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	free(name);
}

/* Submits the tasks of these machines and waits for their end. Returns 0, however they ended. */
static int submit(const struct slurm_job *job, const char *machines, struct pugmark_diag *diag)
{
	char *name = NULL, *array = NULL, *script = NULL, *log = NULL;
	int into[2], status = 0;
	if (asprintf(&name, "--job-name=%s", strrchr(job->folder, '/') + 1) < 0 ||
	    asprintf(&array, "--array=%s", machines) < 0 ||
	    asprintf(&script, "%s/task.sh", job->folder) < 0 ||
	    asprintf(&log, "--output=%s/log-%%a", job->folder) < 0 || pipe2(into, O_CLOEXEC))
		return no_memory(diag);
	char *argv[] = {"sbatch",     "--wait",
			"--parsable", "--no-requeue",
			"--nodes=1",  "--ntasks=1",
			"--chdir=/",  name,
			array,	      log,
			script,	      (char *)job->pugmark,
			job->folder,  (char *)job->sum,
			NULL};
	pid_t pid = start(argv, into[1]);
	int err = pid < 0 ? -errno : 0;
	while (!err && waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			err = -errno;
		else if (stopped)
			cancel(job);
	}
	close(into[1]);
	char id;
	bool taken = read(into[0], &id, 1) == 1; /* it prints the job's number */
	close(into[0]);
	if (!err && stopped)
		err = pugmark_diag_set(diag, -EINTR, NULL, PUGMARK_NO_OFFSET,
				       "stopped by a signal: the job is cancelled, nothing is "
				       "merged");
	else if (!err && !taken)
		err = pugmark_diag_set(diag, -EIO, NULL, PUGMARK_NO_OFFSET,
				       "sbatch took no job (what it said is above)");
	else if (err)
		pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET, "cannot run sbatch: %s",
				 strerror(-err));
	free(name);
	free(array);
	free(script);
	free(log);
	return err;
}

/* What the last try of machine @machine, from 0, said last. */
static void last_words(const struct slurm_job *job, uint32_t machine, char *words, size_t room)
{
	char *path;
	snprintf(words, room, "its task said nothing");
	if (asprintf(&path, "%s/log-%u", job->folder, machine + 1) < 0)
		return;
	FILE *f = open_regular_stream(path);
	for (char line[300]; f && fgets(line, sizeof(line), f);) {
		line[strcspn(line, "\n")] = 0;
		if (*line)
			snprintf(words, room, "%.*s", (int)room - 1, line);
	}
	if (f)
		fclose(f);
	free(path);
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
		err = submit(job, machines, diag);
	}
	for (uint32_t k = 0; k < job->out->n; k++) {
		if (is_there(job, k))
			continue;
		last_words(job, job->out->runs[k].machine, words, sizeof(words));
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
	if (asprintf(&path, "%s/output-1", job->folder) < 0)
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

static int make_folder(struct slurm_job *job, struct pugmark_diag *diag)
{
	char *base =
		realpath(job->request->shared ? job->request->shared : job->request->work, NULL);
	if (!base || asprintf(&job->folder, "%s/pugmark-XXXXXX", base) < 0)
		job->folder = NULL;
	free(base);
	if (job->folder && mkdtemp(job->folder))
		return 0;
	int err = pugmark_diag_set(diag, -errno, job->request->shared, PUGMARK_NO_OFFSET,
				   "cannot make a folder in it: %s", strerror(errno));
	free(job->folder);
	job->folder = NULL;
	return err;
}

int slurm_run(const struct distribute_request *request, struct distribute_result *out, char **parts,
	      char **folder, struct pugmark_diag *diag)
{
	struct slurm_job job = {.request = request, .out = out};
	struct sigaction old[2], catching = {.sa_handler = stop};
	if (!is_on_path("sbatch") || !is_on_path("scancel"))
		return pugmark_diag_set(diag, -ENOENT, NULL, PUGMARK_NO_OFFSET,
					"Slurm's sbatch is not installed here (Debian: apt-get "
					"install slurm-client; on the nodes slurmd and pugmark)");
	if (readlink("/proc/self/exe", job.pugmark, sizeof(job.pugmark) - 1) < 0)
		return pugmark_diag_set(diag, -errno, "/proc/self/exe", PUGMARK_NO_OFFSET,
					"cannot read it");
	int err = make_folder(&job, diag);
	if (err)
		return err;
	stopped = 0;
	sigaction(SIGINT, &catching, &old[0]);
	sigaction(SIGTERM, &catching, &old[1]);
	err = stage(&job, diag);
	if (!err)
		err = run_all(&job, diag);
	if (!err)
		err = print_output(&job, diag);
	for (uint32_t k = 0; k < out->n && !err; k++)
		if (asprintf(&parts[k], "%s/part-%u", job.folder, k + 1) < 0) {
			parts[k] = NULL;
			err = no_memory(diag);
		}
	sigaction(SIGINT, &old[0], NULL);
	sigaction(SIGTERM, &old[1], NULL);
	*folder = job.folder;
	return err;
}

void slurm_clean_up(char *folder)
{
	if (folder)
		staged_remove(folder);
	free(folder);
}

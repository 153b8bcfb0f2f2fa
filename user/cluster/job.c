// SPDX-License-Identifier: LGPL-2.1-or-later
/* job.c: see job.h. */
#include "user/cluster/job.h"

#include "offline/base/open_regular.h"
#include "offline/base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

static int make_folder(const char *shared, struct cluster_job *job, struct pugmark_diag *diag)
{
	char *base = realpath(shared, NULL);
	if (!base || asprintf(&job->folder, "%s/pugmark-XXXXXX", base) < 0)
		job->folder = NULL;
	free(base);
	if (job->folder && mkdtemp(job->folder))
		return 0;
	int err = pugmark_diag_set(diag, -errno, shared, PUGMARK_NO_OFFSET,
				   "cannot make a folder in it: %s", strerror(errno));
	free(job->folder);
	job->folder = NULL;
	return err;
}

int cluster_job_open(const char *shared, struct cluster_job *job, struct pugmark_diag *diag)
{
	struct sigaction catching = {.sa_handler = stop};
	*job = (struct cluster_job){0};
	if (!is_on_path("sbatch") || !is_on_path("scancel"))
		return pugmark_diag_set(diag, -ENOENT, NULL, PUGMARK_NO_OFFSET,
					"Slurm's sbatch is not installed here (Debian: apt-get "
					"install slurm-client; on the nodes slurmd and pugmark)");
	if (readlink("/proc/self/exe", job->pugmark, sizeof(job->pugmark) - 1) < 0)
		return pugmark_diag_set(diag, -errno, "/proc/self/exe", PUGMARK_NO_OFFSET,
					"cannot read it");
	int err = make_folder(shared, job, diag);
	if (err)
		return err;
	stopped = 0;
	sigaction(SIGINT, &catching, &job->old[0]);
	sigaction(SIGTERM, &catching, &job->old[1]);
	return 0;
}

void cluster_job_let_go(struct cluster_job *job)
{
	sigaction(SIGINT, &job->old[0], NULL);
	sigaction(SIGTERM, &job->old[1], NULL);
}

void cluster_job_close(struct cluster_job *job)
{
	if (job->folder)
		staged_remove(job->folder);
	free(job->folder);
	free(job->list.text);
	*job = (struct cluster_job){0};
}

/* --- what the tasks need --------------------------------------------------------------------- */

int cluster_job_text(struct cluster_job *job, const char *key, const char *text,
		     struct pugmark_diag *diag)
{
	return staged_add(&job->list, key, text) ? no_memory(diag) : 0;
}

int cluster_job_file(struct cluster_job *job, const char *key, const char *path, const char *rest,
		     struct pugmark_diag *diag)
{
	char sum[STAGED_SUM], *value;
	int err = staged_put(job->folder, path, sum, diag);
	if (err)
		return err;
	if (asprintf(&value, "%s%s%s", sum, *rest ? " " : "", rest) < 0)
		return no_memory(diag);
	err = cluster_job_text(job, key, value, diag);
	free(value);
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

int cluster_job_inputs(struct cluster_job *job, const char *const *paths, uint32_t n,
		       struct pugmark_diag *diag)
{
	int err = 0;
	for (uint32_t i = 0; i < n && !err; i++)
		err = is_below(paths[i])
			      ? cluster_job_file(job, "input", paths[i], paths[i], diag)
			      : pugmark_diag_set(diag, -EINVAL, paths[i], PUGMARK_NO_OFFSET,
						 "--input takes a path that is relative to this "
						 "folder, and in it: it is the same on each node");
	return err;
}

int cluster_job_stdin(struct cluster_job *job, int fd, struct pugmark_diag *diag)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode)
		       ? cluster_job_file(job, "stdin", path, "", diag)
		       : 0;
}

/* The same in each run, whatever Slurm adds for a task. */
int cluster_job_command(struct cluster_job *job, const char *binary, char *const *command,
			struct pugmark_diag *diag)
{
	const char *slash = strrchr(binary, '/');
	int err = cluster_job_file(job, "program", binary, slash ? slash + 1 : binary, diag);
	for (uint32_t i = 1; !err && command[i]; i++)
		err = cluster_job_text(job, "argument", command[i], diag);
	for (char **v = environ; !err && *v; v++)
		err = cluster_job_text(job, "variable", *v, diag);
	return err;
}

int cluster_job_seal(struct cluster_job *job, const char *subcommand, struct pugmark_diag *diag)
{
	char *path = NULL, *script = NULL;
	int err = staged_put_list(job->folder, &job->list, job->sum, diag);
	if (!err && (asprintf(&path, "%s/task.sh", job->folder) < 0 ||
		     asprintf(&script, "#!/bin/sh\nexec \"$1\" %s --task \"$2\" --job \"$3\"\n",
			      subcommand) < 0))
		err = no_memory(diag);
	if (!err && (err = whole_file_write(path, script, strlen(script))))
		pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "cannot write it: %s",
				 strerror(-err));
	free(path);
	free(script);
	return err;
}

/* --- its tasks ------------------------------------------------------------------------------- */

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

static void cancel(const struct cluster_job *job)
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

int cluster_job_submit(const struct cluster_job *job, const char *tasks, struct pugmark_diag *diag)
{
	char *name = NULL, *array = NULL, *script = NULL, *log = NULL;
	int into[2], status = 0;
	if (asprintf(&name, "--job-name=%s", strrchr(job->folder, '/') + 1) < 0 ||
	    asprintf(&array, "--array=%s", tasks) < 0 ||
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
				       "stopped by a signal: the job is cancelled");
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

void cluster_job_last_words(const struct cluster_job *job, uint32_t task, char *words, size_t room)
{
	char *path;
	snprintf(words, room, "its task said nothing");
	if (asprintf(&path, "%s/log-%u", job->folder, task) < 0)
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

// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_task.c: see share_task.h. The node's folder has program/NAME, plan-K, stdin, and `run`,
 * where the command runs among its inputs. The program is a copy, so that a probe on it is on no
 * other run's, also where nodes share a host. */
#include "user/share/share_task.h"

#include "user/share/share_run.h"
#include "user/share/staged.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Slurm takes the job back: the runs end, and what was taken here is removed. */
static volatile int stopped;

static void stop(int signal)
{
	stopped = signal;
}

struct task {
	const char *folder; /* that all nodes see */
	struct staged_list list;
	char *own; /* the node's */
	char **command, **environ;
	bool has_input;
};

static int no_memory(struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
}

/* Makes the folders that the relative path @path leads through, from @base. */
static int make_folders(const char *base, const char *path, struct pugmark_diag *diag)
{
	int err = 0;
	for (const char *end = path; !err && (end = strchr(end, '/')); end++) {
		char *made;
		if (asprintf(&made, "%s/%.*s", base, (int)(end - path), path) < 0)
			return no_memory(diag);
		if (mkdir(made, 0700) && errno != EEXIST)
			err = pugmark_diag_set(diag, -errno, made, PUGMARK_NO_OFFSET,
					       "cannot make this folder: %s", strerror(errno));
		free(made);
	}
	return err;
}

/* Takes a file: @value is its sum, a space, and its path below @base of the node's folder, or all
 * of @fixed. */
static int take(const struct task *t, const char *value, const char *base, const char *fixed,
		mode_t mode, struct pugmark_diag *diag)
{
	char *sum = strndup(value, STAGED_SUM - 1), *below = NULL, *to = NULL;
	const char *path = fixed ? fixed : value + STAGED_SUM;
	int err = sum && asprintf(&below, "%s/%s", t->own, base) >= 0 ? 0 : no_memory(diag);
	if (!err && asprintf(&to, "%s/%s", below, path) < 0)
		err = no_memory(diag);
	if (!err)
		err = make_folders(below, path, diag);
	if (!err)
		err = staged_take(t->folder, sum, to, mode, diag);
	free(to);
	free(below);
	free(sum);
	return err;
}

static int make_own(struct task *t, struct pugmark_diag *diag)
{
	static const char *const inside[] = {"program", "run"};
	const char *tmp = getenv("TMPDIR");
	if (asprintf(&t->own, "%s/pugmark-XXXXXX", tmp ? tmp : "/tmp") < 0)
		return no_memory(diag);
	if (!mkdtemp(t->own)) {
		int err =
			pugmark_diag_set(diag, -errno, t->own, PUGMARK_NO_OFFSET,
					 "cannot make a folder of this name: %s", strerror(errno));
		free(t->own);
		t->own = NULL;
		return err;
	}
	for (int i = 0; i < 2; i++) {
		char *path;
		if (asprintf(&path, "%s/%s", t->own, inside[i]) < 0)
			return no_memory(diag);
		int err = mkdir(path, 0700) ? -errno : 0;
		free(path);
		if (err)
			return pugmark_diag_set(diag, err, t->own, PUGMARK_NO_OFFSET,
						"cannot make a folder in it: %s", strerror(-err));
	}
	return 0;
}

/* Takes the program and its inputs; lists command and environment. */
static int prepare(struct task *t, struct pugmark_diag *diag)
{
	uint32_t n_args = 1, n_vars = 0;
	int err = make_own(t, diag);
	t->command = calloc(staged_count(&t->list, "argument") + 2, sizeof(*t->command));
	t->environ = calloc(staged_count(&t->list, "variable") + 1, sizeof(*t->environ));
	if (!err && (!t->command || !t->environ))
		err = no_memory(diag);
	for (const char *key = NULL; !err && (key = staged_next(&t->list, key));) {
		const char *value = staged_value(key);
		if (!strcmp(key, "program")) {
			err = take(t, value, "program", NULL, 0700, diag);
			if (asprintf(&t->command[0], "../program/%s", value + STAGED_SUM) < 0)
				return no_memory(diag);
		} else if (!strcmp(key, "stdin")) {
			t->has_input = true;
			err = take(t, value, ".", "stdin", 0400, diag);
		} else if (!strcmp(key, "input")) {
			err = take(t, value, "run", NULL, 0600, diag);
		} else if (!strcmp(key, "argument")) {
			t->command[n_args++] = (char *)value;
		} else if (!strcmp(key, "variable")) {
			t->environ[n_vars++] = (char *)value;
		}
	}
	return err;
}

static int leave_status(const struct task *t, uint32_t k, const struct share_run *run,
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
static int leave_output(const struct task *t, const char *output, struct pugmark_diag *diag)
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
static int run_share(const struct task *t, const char *value, uint32_t k, struct pugmark_diag *diag)
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
		err = take(t, value, ".", strrchr(plan, '/') + 1, 0600, diag);
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
	struct task t = {.folder = folder};
	struct sigaction catching = {.sa_handler = stop};
	sigaction(SIGTERM, &catching, NULL);
	int err = staged_take_list(folder, sum, &t.list, diag);
	if (!err)
		err = prepare(&t, diag);
	char *run = NULL;
	if (!err && (asprintf(&run, "%s/run", t.own) < 0 || chdir(run)))
		err = pugmark_diag_set(diag, -errno, t.own, PUGMARK_NO_OFFSET, "cannot enter it");
	free(run);
	for (const char *key = NULL; !err && (key = staged_next(&t.list, key));) {
		unsigned k, of;
		if (!strcmp(key, "share") && sscanf(staged_value(key), "%*s %u %u", &k, &of) == 2 &&
		    of == machine)
			err = run_share(&t, staged_value(key), k, diag);
	}
	if (t.own) {
		if (chdir("/"))
			err = err ? err : -errno;
		staged_remove(t.own);
	}
	if (t.command)
		free(t.command[0]);
	free(t.command);
	free(t.environ);
	free(t.own);
	free(t.list.text);
	return err;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_ahead.c: see plan_ahead.h. What a plan is for has to be the same in every detail when it is
 * recorded. So a target becomes the command line of record that would record it, and a child of
 * this process does with that what record does up to the first probe. It gives way to all else. */
#include "user/cmd/plan_ahead.h"

#include "offline/base/open_regular.h"
#include "user/cli/command.h"
#include "user/file/text_span.h"
#include "user/patch/carrier.h"
#include "user/proc/launch.h"
#include "user/record/ask/record_args.h"
#include "user/record/ask/record_modules.h"
#include "user/sandbox/sandbox.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIST "/etc/pugmark/warm"
#define CGROUPS "/sys/fs/cgroup"

enum { LIST_MAX = 1 << 20, WORDS_MAX = 256, DEPTH_MAX = 8, PIDS_MAX = 4096 };

/* A command line of record in the making. */
struct words {
	char *at[WORDS_MAX + 1];
	int n;
};

/* One too many is counted and not kept. */
static void add(struct words *w, char *word)
{
	if (w->n < WORDS_MAX)
		w->at[w->n] = word;
	if (w->n <= WORDS_MAX)
		w->n++;
}

/* ---- in the child ---- */

static const char *said_when(const struct planning_result *planned, char text[32])
{
	if (planned->cached)
		return "was planned before";
	snprintf(text, 32, "planned in %.1f s", planned->seconds);
	return text;
}

/* Where patches go is found as well, if that is how it will be recorded. */
static int place(const struct record_args *a, struct record_modules *modules,
		 struct pugmark_diag *diag)
{
	struct recorder_options o = a->options;
	struct text_span *spans = calloc(RECORD_MODULES_MAX, sizeof(*spans));
	struct carrier *carrier = NULL;
	int err = spans ? 0 : -ENOMEM;

	o.modules = modules->at;
	o.n_modules = modules->n;
	for (uint32_t m = 0; !err && m < modules->n; m++)
		err = text_span_read(modules->at[m].path, &spans[m], diag);
	if (!err)
		err = carrier_new(&o, spans, &carrier, diag);
	if (!err)
		carrier_free(carrier);
	free(spans);
	return err;
}

/* One line: what the plan of module @m is for, and that it is there. */
static void tell(const struct record_modules *modules, uint32_t m, const char *target,
		 const char *how)
{
	char text[32];

	command_say(stdout, "", target, how);
	command_say(stdout, ": ", modules->at[m].name ? modules->at[m].name : "?", ": ");
	printf("%s%s\n", said_when(&modules->planned[m], text),
	       modules->planned[m].not_kept ? ", and not kept" : "");
}

/* Plans what that command line would record; an exit status. @how: what is said behind the target;
 * not "": it was planned another way as well, and only plans that are of this way alone are told.
 */
static int plan_as_record(struct words *w, const char *target, const char *how)
{
	struct record_args *a = calloc(1, sizeof(*a));
	struct record_modules *modules = calloc(1, sizeof(*modules));
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	int status = EXIT_ERROR;

	if (!a || !modules)
		return command_no_memory();
	if (w->n > WORDS_MAX)
		return command_usage("plan", "--warm: more than %d words", WORDS_MAX);
	w->at[w->n] = NULL;
	if (!record_args_parse(a, w->n, w->at, &status))
		return status;
	if (a->options.argv && strcmp(*a->options.argv, target) != 0)
		return command_usage("plan", "--warm: '%s' is no option of record",
				     *a->options.argv);
	struct record_modules_options *m = &a->modules;
	m->argv = a->options.argv;
	m->pids = a->pids;
	m->n_pids = a->options.n_pids;
	m->quiet = a->options.quiet;
	modules->targets.guarded = true;
	sandbox_give_way();
	int err = record_modules_open(m, modules, &diag);
	if (!err && a->planning.patched)
		err = place(a, modules, &diag);
	for (uint32_t i = 0; !err && i < modules->n && !a->options.quiet; i++) {
		if (!*how || !modules->planned[i].cached)
			tell(modules, i, target, how);
		if (modules->planned[i].not_kept)
			status = EXIT_ERROR;
	}
	return err ? command_fail(&diag) : status;
}

/* The same in a child, as what options are read into lives as long as a process. */
static int plan_in_child(const struct words *as, const char *target, const char *how)
{
	struct words w = *as;
	int status = 0;

	fflush(NULL);
	pid_t pid = fork();
	if (!pid) {
		status = plan_as_record(&w, target, how);
		fflush(NULL);
		_exit(status);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_ERROR;
}

/* ---- what a target is ---- */

struct found {
	pid_t at[PIDS_MAX];
	uint32_t n;
	bool unit; /* there is one of that name */
};

static void add_processes(struct found *f, int dir_fd)
{
	int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC), pid;
	FILE *procs = fd < 0 ? NULL : fdopen(fd, "r");

	while (procs && f->n < PIDS_MAX && fscanf(procs, "%d", &pid) == 1) {
		uint32_t i = 0;
		while (i < f->n && f->at[i] != pid) /* groups of both versions may have it */
			i++;
		if (i == f->n)
			f->at[f->n++] = pid;
	}
	if (procs)
		fclose(procs);
}

/* Adds the processes of the control groups called @name, and of what is below them; @below: this
 * one is. */
static void find_unit(struct found *f, int dir_fd, const char *name, bool below, int depth)
{
	DIR *dir = depth < DEPTH_MAX ? fdopendir(dir_fd) : NULL;

	if (!dir) {
		close(dir_fd);
		return;
	}
	if (below)
		add_processes(f, dir_fd);
	for (struct dirent *e; (e = readdir(dir));) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		bool is = !strcmp(e->d_name, name);
		int fd = openat(dir_fd, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		f->unit |= is;
		if (fd >= 0)
			find_unit(f, fd, name, below || is, depth + 1);
	}
	closedir(dir);
}

static bool runs(pid_t pid, struct stat *program)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return !stat(path, program);
}

/* Each program that the processes run is planned once, for all that run it. */
static int plan_processes(struct found *f, const struct words *options, const char *target)
{
	int status = EXIT_OK;
	bool any = false;

	for (uint32_t i = 0; i < f->n; i++) {
		struct words w = *options;
		struct stat first, other;
		char texts[RECORD_PIDS_MAX][16];
		uint32_t n = 0;

		if (!f->at[i] || !runs(f->at[i], &first))
			continue;
		for (uint32_t k = i; k < f->n && n < RECORD_PIDS_MAX; k++) {
			if (!f->at[k] || !runs(f->at[k], &other) || other.st_dev != first.st_dev ||
			    other.st_ino != first.st_ino)
				continue;
			snprintf(texts[n], sizeof(texts[n]), "%d", f->at[k]);
			add(&w, "-p");
			add(&w, texts[n++]);
			f->at[k] = 0;
		}
		any = true;
		int its = plan_in_child(&w, target, "");
		status = its ? its : status;
	}
	if (any)
		return status;
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	pugmark_diag_set(&diag, -ESRCH, target, PUGMARK_NO_OFFSET,
			 "no process of it runs (name its program instead)");
	return command_fail(&diag);
}

/* Whether the options ask for patches, which do not go with -a. */
static bool asks_for_patches(const struct words *options)
{
	for (int i = 1; i < options->n && i < WORDS_MAX; i++)
		if (!strcmp(options->at[i], "--carrier=patch") ||
		    (!strcmp(options->at[i - 1], "--carrier") && !strcmp(options->at[i], "patch")))
			return true;
	return false;
}

/* A program is planned as one that is started, and as one that -a finds: mostly that is one plan.
 */
static int plan_program(char *path, const struct words *options)
{
	struct words started = *options, all = *options;

	add(&started, "--");
	add(&started, path);
	add(&all, "-a");
	add(&all, path);
	int status = plan_in_child(&started, path, "");
	return status || asks_for_patches(options) ? status : plan_in_child(&all, path, " (-a)");
}

static bool is_number(const char *text)
{
	const char *at = text;

	while (isdigit((unsigned char)*at))
		at++;
	return at != text && !*at;
}

/* @name, or with .service behind it. */
static struct found *unit_named(const char *name)
{
	struct found *f = calloc(1, sizeof(*f));
	char *service = NULL;
	int fd = open(CGROUPS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (f && fd >= 0)
		find_unit(f, fd, name, false, 0);
	fd = f && !f->unit ? open(CGROUPS, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0 && asprintf(&service, "%s.service", name) >= 0)
		find_unit(f, fd, service, false, 0);
	else if (fd >= 0)
		close(fd);
	free(service);
	return f;
}

/* A program by its name alone, in PATH. */
static int plan_named(const char *name, const struct words *options)
{
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	char *path = launch_resolve(name, &diag);

	if (!path) {
		pugmark_diag_set(&diag, -ENOENT, name, PUGMARK_NO_OFFSET,
				 "no such program in PATH, and no control group of that name or "
				 "with .service behind it");
		return command_fail(&diag);
	}
	int status = plan_program(path, options);
	free(path);
	return status;
}

static int plan_target(char *target, const struct words *options)
{
	struct found *f = NULL;
	int status;

	if (is_number(target)) {
		f = calloc(1, sizeof(*f));
		if (f)
			f->at[f->n++] = atoi(target);
	} else if (!strchr(target, '/')) {
		f = unit_named(target);
	}
	if (f && (f->n || f->unit))
		status = plan_processes(f, options, target);
	else if (strchr(target, '/'))
		status = plan_program(target, options);
	else
		status = plan_named(target, options);
	free(f);
	return status;
}

/* ---- the list ---- */

static bool is_trusted(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && (!st.st_uid || st.st_uid == geteuid()) &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* A line: a target, and options of record behind it. */
static int plan_line(char *line)
{
	struct words options = {.at = {"record"}, .n = 1};
	char *rest, *target = strtok_r(line, " \t\n", &rest);

	if (!target || *target == '#')
		return EXIT_OK;
	for (char *word; (word = strtok_r(NULL, " \t\n", &rest));)
		add(&options, word);
	return plan_target(target, &options);
}

static int plan_list(const char *path)
{
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	struct stat st;
	int fd = open_regular(path, &st), status = EXIT_OK;
	FILE *list = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;

	if (fd < 0 || !list)
		pugmark_diag_set(&diag, fd < 0 ? fd : -errno, path, PUGMARK_NO_OFFSET,
				 "plan --warm without a target takes those of this list: %s",
				 open_regular_why(fd < 0 ? fd : -errno));
	else if (!is_trusted(fd) || st.st_size > LIST_MAX)
		pugmark_diag_set(&diag, -EPERM, path, PUGMARK_NO_OFFSET,
				 "others may write to it, or it is too large: it is not read");
	if (*diag.text) {
		if (list)
			fclose(list);
		return command_fail(&diag);
	}
	while (getline(&line, &room, list) > 0) {
		int its = plan_line(line);
		status = its ? its : status;
	}
	free(line);
	fclose(list);
	return status;
}

int plan_ahead(int argc, char **argv)
{
	struct words options = {.at = {"record"}, .n = 1};
	int n = 0, status = EXIT_OK;

	while (n < argc && strcmp(argv[n], "--") != 0) {
		if (*argv[n] == '-')
			return command_usage("plan",
					     "--warm takes processes, units and programs, and "
					     "options of record behind a --: not '%s'",
					     argv[n]);
		n++;
	}
	for (int i = n + 1; i < argc; i++)
		add(&options, argv[i]);
	if (!n && n < argc)
		return command_usage("plan", "--warm: options, and nothing to plan");
	if (!n) {
		const char *list = getenv("PUGMARK_WARM_LIST");
		return plan_list(list ? list : LIST);
	}
	for (int i = 0; i < n; i++) {
		int its = plan_target(argv[i], &options);
		status = its ? its : status;
	}
	return status;
}

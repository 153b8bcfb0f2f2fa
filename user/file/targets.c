// SPDX-License-Identifier: LGPL-2.1-or-later
/* targets.c: see targets.h. Files of processes are opened by way of /proc, which leads to the file
 * itself also where it was deleted or replaced, or lies in another mount namespace. */
#include "user/file/targets.h"

#include "offline/base/open_regular.h"
#include "offline/link/callers_by_name.h"
#include "user/file/maps_lines.h"
#include "user/sandbox/sandbox.h"

#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char deleted[] = " (deleted)";

static int fail(struct pugmark_diag *diag, int err, const char *name)
{
	return pugmark_diag_set(diag, err, name, PUGMARK_NO_OFFSET, "%s", strerror(-err));
}

int targets_add(struct targets *t, const char *path, const char *name, uint32_t *index,
		struct pugmark_diag *diag)
{
	struct stat st;
	name = name ? name : path;
	int fd = open_regular(path, &st);
	if (fd < 0)
		return pugmark_diag_set(diag, fd, name, PUGMARK_NO_OFFSET, "%s",
					open_regular_why(fd));
	for (uint32_t i = 0; i < t->n; i++)
		if (t->at[i].dev == st.st_dev && t->at[i].ino == st.st_ino) {
			close(fd);
			if (index)
				*index = i;
			return 0;
		}
	if (t->max && t->n >= t->max) {
		close(fd);
		return pugmark_diag_set(diag, -E2BIG, name, PUGMARK_NO_OFFSET, "too many files");
	}
	struct target *at = realloc(t->at, (t->n + 1) * sizeof(*at));
	if (at)
		t->at = at;
	struct target target = {.name = strdup(name),
				.fd = fd,
				.dev = st.st_dev,
				.ino = st.st_ino,
				.guard = FILE_GUARD_NONE};
	if (asprintf(&target.path, "/proc/self/fd/%d", fd) < 0)
		target.path = NULL;
	if (!at || !target.name || !target.path) {
		free(target.name);
		free(target.path);
		close(fd);
		return fail(diag, -ENOMEM, name);
	}
	if (index)
		*index = t->n;
	if (t->guarded)
		file_guard_take(&target.guard, fd);
	t->at[t->n++] = target;
	return 0;
}

/* Where the link @path leads; a deleted file keeps its name (without the mark for deleted). */
static bool read_name(const char *path, char name[PATH_MAX])
{
	ssize_t len = readlink(path, name, PATH_MAX - 1);
	if (len < 0)
		return false;
	name[len] = 0;
	size_t tail = strlen(deleted);
	if ((size_t)len > tail && !strcmp(name + len - tail, deleted))
		name[len - tail] = 0;
	return true;
}

int targets_add_process(struct targets *t, pid_t pid, uint32_t *index, struct pugmark_diag *diag)
{
	char path[64], name[PATH_MAX];
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (!read_name(path, name))
		return pugmark_diag_set(diag, -ESRCH, NULL, PUGMARK_NO_OFFSET,
					"process %d has ended", pid);
	return targets_add(t, path, name, index, diag);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Whether @pattern names the file at @path, or the file that it is a link to. */
static bool is_called(const char *path, const char *pattern)
{
	char real[PATH_MAX];
	return !fnmatch(pattern, base_name(path), 0) ||
	       (realpath(path, real) && !fnmatch(pattern, base_name(real), 0));
}

bool targets_is_named(const char *name, const char *pattern)
{
	return strchr(pattern, '/') ? !fnmatch(pattern, name, FNM_PATHNAME)
				    : !fnmatch(pattern, base_name(name), 0);
}

int targets_add_mapped(struct targets *t, const char *pattern, pid_t pid, uint32_t *found,
		       struct pugmark_diag *diag)
{
	char path[64], name[PATH_MAX];
	struct maps_lines lines;
	struct maps_line line;
	int err = maps_lines_open(&lines, pid);
	if (err)
		return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
					"process %d: its mappings cannot be seen: %s", pid,
					strerror(-err));
	while (!err && maps_lines_next(&lines, &line)) {
		if (!(line.prot & PROT_EXEC))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid,
			 line.start, line.end);
		if (!read_name(path, name) || !targets_is_named(name, pattern))
			continue;
		err = targets_add(t, path, name, NULL, diag);
		*found += !err;
		if (err == -ENOENT) /* it has just been unmapped */
			err = 0;
	}
	maps_lines_close(&lines);
	return err;
}

/* What a program needs: found in a sandbox, which hands back the files' names. */
struct needed {
	const char *path;
	struct library_options options;
};

static int find_needed(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	const struct needed *needed = ctx;
	char **files;
	uint32_t n;
	int err = library_files(needed->path, &needed->options, &files, &n, diag);
	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++) {
		fwrite(files[i], strlen(files[i]) + 1, 1, out);
		free(files[i]);
	}
	free(files);
	return 0;
}

static int add_needed(struct targets *t, const char *pattern, uint32_t program, uint32_t *found,
		      struct pugmark_diag *diag)
{
	struct needed needed = {
		.path = t->at[program].path,
		.options = {.library_path = getenv("LD_LIBRARY_PATH"),
			    .origin = t->at[program].name},
	};
	const char *grants[] = {needed.path};
	const struct sandbox sandbox = {
		.subject = t->at[program].name, .grants = grants, .n_grants = 1};
	void *names = NULL;
	size_t len = 0;
	int err = sandbox_or_here(&sandbox, find_needed, &needed, &names, &len, diag);
	const char *at = names, *end = err ? at : at + len;
	while (!err && at < end && memchr(at, 0, (size_t)(end - at))) {
		if (is_called(at, pattern)) {
			err = targets_add(t, at, NULL, NULL, diag);
			*found += !err;
		}
		at += strlen(at) + 1;
	}
	free(names);
	return err;
}

static int add_globbed(struct targets *t, const char *pattern, uint32_t *found,
		       struct pugmark_diag *diag)
{
	glob_t g;
	int err = 0;
	if (glob(pattern, 0, NULL, &g))
		return 0;
	for (size_t i = 0; !err && i < g.gl_pathc; i++) {
		err = targets_add(t, g.gl_pathv[i], NULL, NULL, diag);
		*found += !err;
	}
	globfree(&g);
	return err;
}

/* Adds from the first folder that has a match, as the dynamic linker would. */
static int add_in_folders(struct targets *t, const char *folders, const char *pattern,
			  uint32_t *found, struct pugmark_diag *diag)
{
	char path[2 * PATH_MAX];
	int err = 0;
	while (!err && !*found && folders && *folders) {
		int len = strcspn(folders, ":");
		snprintf(path, sizeof(path), "%.*s/%s", len, folders, pattern);
		if (len)
			err = add_globbed(t, path, found, diag);
		folders += len + (folders[len] == ':');
	}
	return err;
}

int targets_add_modules(struct targets *t, const char *pattern, uint32_t program, const pid_t *pids,
			uint32_t n_pids, bool *later, struct pugmark_diag *diag)
{
	uint32_t found = 0;
	int err = 0;
	if (strchr(pattern, '/')) {
		err = add_globbed(t, pattern, &found, diag);
	} else {
		for (uint32_t i = 0; !err && i < n_pids; i++)
			err = targets_add_mapped(t, pattern, pids[i], &found, diag);
		if (!err && !n_pids)
			err = add_needed(t, pattern, program, &found, diag);
		if (!err)
			err = add_in_folders(t, getenv("LD_LIBRARY_PATH"), pattern, &found, diag);
		if (!err)
			err = add_in_folders(t,
					     "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:"
					     "/lib64:/usr/lib64:/usr/local/lib:/lib:/usr/lib",
					     pattern, &found, diag);
	}
	*later = !err && !found;
	if (!*later || !strchr(pattern, '/'))
		return err;
	return pugmark_diag_set(diag, -ENOENT, t->at[program].name, PUGMARK_NO_OFFSET,
				"no module '%s'", pattern);
}

/* In the text of @diag, the descriptor @path by its @name. */
static void name_in_text(struct pugmark_diag *diag, const char *path, const char *name)
{
	size_t len = strlen(path);
	char *at = strstr(diag->text, path), rest[sizeof(diag->text)];

	if (!at || (at[len] >= '0' && at[len] <= '9'))
		return;
	snprintf(rest, sizeof(rest), "%s", at + len);
	snprintf(at, (size_t)(diag->text + sizeof(diag->text) - at), "%s%s", name, rest);
}

void targets_name(const struct targets *t, struct pugmark_diag *diag)
{
	for (uint32_t i = 0; diag && i < t->n; i++) {
		name_in_text(diag, t->at[i].path, t->at[i].name);
		if (!strcmp(diag->file, t->at[i].path)) {
			size_t len = strlen(t->at[i].name), room = sizeof(diag->file) - 1;
			const char *name = t->at[i].name + (len > room ? len - room : 0);
			memcpy(diag->file, name, strlen(name) + 1);
			return;
		}
	}
}

const char *targets_changed(struct targets *t, bool at_end)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (at_end ? file_guard_changed_at_end(&t->at[i].guard)
			   : file_guard_changed(&t->at[i].guard))
			return t->at[i].name;
	return NULL;
}

void targets_release(struct targets *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		file_guard_release(&t->at[i].guard);
}

static void target_deinit(struct target *target)
{
	close(target->fd);
	free(target->name);
	free(target->path);
}

void targets_drop(struct targets *t, uint32_t n)
{
	while (t->n > n)
		target_deinit(&t->at[--t->n]);
}

void targets_deinit(struct targets *t)
{
	targets_drop(t, 0);
	free(t->at);
	*t = (struct targets){0};
}

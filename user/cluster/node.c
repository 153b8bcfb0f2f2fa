// SPDX-License-Identifier: LGPL-2.1-or-later
/* node.c: see node.h. */
#include "user/cluster/node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

int cluster_node_take(const struct cluster_node *t, const char *value, const char *base,
		      const char *fixed, mode_t mode, struct pugmark_diag *diag)
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

static int make_own(struct cluster_node *t, struct pugmark_diag *diag)
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
static int prepare(struct cluster_node *t, struct pugmark_diag *diag)
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
			err = cluster_node_take(t, value, "program", NULL, 0700, diag);
			if (asprintf(&t->command[0], "../program/%s", value + STAGED_SUM) < 0)
				return no_memory(diag);
		} else if (!strcmp(key, "stdin")) {
			t->has_input = true;
			err = cluster_node_take(t, value, ".", "stdin", 0400, diag);
		} else if (!strcmp(key, "input")) {
			err = cluster_node_take(t, value, "run", NULL, 0600, diag);
		} else if (!strcmp(key, "argument")) {
			t->command[n_args++] = (char *)value;
		} else if (!strcmp(key, "variable")) {
			t->environ[n_vars++] = (char *)value;
		}
	}
	return err;
}

int cluster_node_open(const char *folder, const char *sum, struct cluster_node *t,
		      struct pugmark_diag *diag)
{
	*t = (struct cluster_node){.folder = folder};
	int err = staged_take_list(folder, sum, &t->list, diag);
	if (!err)
		err = prepare(t, diag);
	char *run = NULL;
	if (!err && (asprintf(&run, "%s/run", t->own) < 0 || chdir(run)))
		err = pugmark_diag_set(diag, -errno, t->own, PUGMARK_NO_OFFSET, "cannot enter it");
	free(run);
	return err;
}

int cluster_node_close(struct cluster_node *t)
{
	int err = 0;
	if (t->own) {
		err = chdir("/") ? -errno : 0;
		staged_remove(t->own);
	}
	if (t->command)
		free(t->command[0]);
	free(t->command);
	free(t->environ);
	free(t->own);
	free(t->list.text);
	return err;
}

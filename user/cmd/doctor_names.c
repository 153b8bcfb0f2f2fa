// SPDX-License-Identifier: LGPL-2.1-or-later
/* doctor_names.c: see doctor_names.h. The package that has the file is asked of dpkg, where there
 * is one; by Debian's convention its names are in PACKAGE-dbgsym. */
#include "user/cmd/doctor_names.h"

#include "user/cli/command.h"
#include "user/file/debuginfod.h"
#include "user/file/packed.h"
#include "user/sandbox/as_owner.h"
#include "user/sandbox/confine.h"

#include <pugmark/model.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PACKAGE_BYTES = 256, BUILD_ID_CHARS = 129 };

struct names {
	uint32_t functions, nameless;
	char package[PACKAGE_BYTES]; /* "": not known */
	char build_id[BUILD_ID_CHARS];
	bool packed;
};

/* Runs dpkg-query -S @path; what it says goes to @out, cut. Returns whether it found any. */
static bool ask_dpkg(const char *path, char *out, size_t room)
{
	char *argv[] = {"dpkg-query", "-S", "--", (char *)path, NULL};
	char *environment[] = {"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
	posix_spawn_file_actions_t actions;
	int pipes[2], status = -1;
	pid_t pid;
	if (pipe2(pipes, O_CLOEXEC))
		return false;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	bool began = !posix_spawn(&pid, "/usr/bin/dpkg-query", &actions, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	close(pipes[1]);
	size_t len = 0;
	ssize_t n;
	while (began && len + 1 < room && (n = read(pipes[0], out + len, room - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = 0;
	close(pipes[0]);
	return began && waitpid(pid, &status, 0) == pid && !status && len;
}

/* "PACKAGE[:ARCH][, OTHERS]: PATH". Before /usr was merged, the same file had a path without it. */
static void find_package(const char *path, char out[PACKAGE_BYTES])
{
	char real[PATH_MAX], said[PATH_MAX + PACKAGE_BYTES];
	*out = 0;
	if (!realpath(path, real))
		return;
	bool found = ask_dpkg(real, said, sizeof(said));
	if (!found && !strncmp(real, "/usr/", 5))
		found = ask_dpkg(real + 4, said, sizeof(said));
	if (found)
		snprintf(out, PACKAGE_BYTES, "%.*s", (int)strcspn(said, ":, \n"), said);
}

static void count(const struct pugmark_model *model, struct names *out)
{
	for (uint32_t i = 0; i < model->n_funcs; i++) {
		char own[32];
		snprintf(own, sizeof(own), "sub_%llx", (unsigned long long)model->funcs[i].addr);
		out->functions++;
		out->nameless += !strcmp(model->funcs[i].name, own);
	}
	for (uint32_t i = 0; i < model->build_id_len && 2 * i + 2 < BUILD_ID_CHARS; i++)
		snprintf(out->build_id + 2 * (size_t)i, 3, "%02x", model->build_id[i]);
}

static void print_text(const char *path, const struct names *n)
{
	command_say(stdout, "", path, "");
	printf(": %u functions, %u with a name\n", n->functions, n->functions - n->nameless);
	if (n->packed)
		puts("it " PACKED_WORDS);
	if (!n->nameless)
		return;
	if (*n->package) {
		command_say(stdout, "the others' would come with the package ", n->package,
			    "-dbgsym, from the distribution's archive of debug symbols\n");
	} else {
		puts("no package of this machine has this file: names come with a build that is "
		     "not stripped");
	}
	if (*n->build_id)
		printf("or with its debug file as /usr/lib/debug/.build-id/%.2s/%s.debug, or as "
		       "its .gnu_debuglink says\n",
		       n->build_id, n->build_id + 2);
}

static void print_json(const struct names *n)
{
	json_t *root = json_pack("{s:i,s:i,s:s,s:b}", "functions", (int)n->functions, "named",
				 (int)(n->functions - n->nameless), "build_id", n->build_id,
				 "packed", n->packed);
	if (n->nameless && *n->package)
		json_object_set_new(root, "package", json_sprintf("%s-dbgsym", n->package));
	json_dumpf(root, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(root);
}

int doctor_names(const char *path, bool json)
{
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	struct pugmark_model *model;
	struct names names = {0};
	char *subject = (char *)path;
	if (as_owner_of(&(struct command_file){.word = &subject}, 1, &diag))
		return command_fail(&diag);
	find_package(path, names.package); /* while it may start a program */
	confine_bound(path);
	if (!confine_refuse(CONFINE_READ)) {
		pugmark_diag_set(&diag, -ENOSYS, path, PUGMARK_NO_OFFSET,
				 "is not read: this kernel has no seccomp");
		return command_fail(&diag);
	}
	debuginfod_fetch(subject);
	if (pugmark_model_open(subject, &model, &diag))
		return command_fail(&diag);
	count(model, &names);
	pugmark_model_free(model);
	names.packed = file_is_packed(subject);
	if (json)
		print_json(&names);
	else
		print_text(path, &names);
	return EXIT_OK;
}

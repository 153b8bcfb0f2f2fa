// SPDX-License-Identifier: LGPL-2.1-or-later
/* top_recorder.c: see top_recorder.h. The recorder is in this process group, so that Ctrl-C reaches
 * it and what it has started, and it ends when this process does. */
#include "user/cmd/top_recorder.h"

#include "user/record/write/recording_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 20000000

static void pause_a_tick(void)
{
	nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
}

/* Makes the folder. The recording in it may be another user's (under sudo), the folder stays ours:
 * he may go through it, and put nothing in its place. */
static int make_folder(struct top_recorder *r, char *output, struct pugmark_diag *diag)
{
	const char *tmp = getenv("TMPDIR");
	struct folder_owner owner = recording_owner();
	if (asprintf(&r->folder, "%s/pugmark-top-XXXXXX", tmp && *tmp ? tmp : "/tmp") < 0)
		r->folder = NULL;
	if (!r->folder || !mkdtemp(r->folder)) {
		int err = r->folder ? -errno : -ENOMEM;
		pugmark_diag_set(diag, err, r->folder, PUGMARK_NO_OFFSET,
				 "cannot make a folder there: %s", strerror(-err));
		free(r->folder);
		r->folder = NULL;
		return err;
	}
	if (owner.uid != geteuid() && owner.uid != (uid_t)-1 && chmod(r->folder, 0711))
		return pugmark_diag_set(diag, -errno, r->folder, PUGMARK_NO_OFFSET,
					"cannot be opened to user %u: %s", owner.uid,
					strerror(errno));
	r->kept = output != NULL;
	if (asprintf(&r->said, "%s/said", r->folder) < 0)
		r->said = NULL;
	r->dir = output ? strdup(output) : NULL;
	if (!output && asprintf(&r->dir, "%s/rec", r->folder) < 0)
		r->dir = NULL;
	return r->said && r->dir
		       ? 0
		       : pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
}

/* In the recorder's process: does not return. */
static void become_recorder(const struct top_recorder *r, char **words, int n, bool screen)
{
	char **argv = calloc((size_t)n + 5, sizeof(*argv));
	int said = open(r->said, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (!argv || said < 0 || null < 0)
		_exit(EXIT_FAILURE);
	char *first[] = {"pugmark", "record", "-o", r->dir};
	memcpy(argv, first, sizeof(first));
	memcpy(argv + 4, words, (size_t)n * sizeof(*words));
	if (screen && (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0))
		_exit(EXIT_FAILURE);
	if (dup2(said, STDERR_FILENO) < 0)
		_exit(EXIT_FAILURE);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	execv("/proc/self/exe", argv);
	_exit(EXIT_FAILURE);
}

bool top_recorder_ended(struct top_recorder *r)
{
	if (r->pid && waitpid(r->pid, &r->status, WNOHANG) == r->pid)
		r->pid = 0;
	return !r->pid;
}

/* The recording gets its name when it is complete but for events. One of that name that was there
 * before is another folder. */
static bool is_there(const struct top_recorder *r, const struct stat *before)
{
	char path[4096];
	struct stat st;
	snprintf(path, sizeof(path), "%s/meta.json", r->dir);
	return !stat(path, &st) && !stat(r->dir, &st) &&
	       (st.st_ino != before->st_ino || st.st_dev != before->st_dev);
}

int top_recorder_start(struct top_recorder *r, char **words, int n, char *output, bool screen,
		       struct pugmark_diag *diag)
{
	struct stat before = {0};
	*r = (struct top_recorder){0};
	int err = make_folder(r, output, diag);
	if (err)
		return err;
	if (stat(r->dir, &before))
		before = (struct stat){0};
	fflush(NULL);
	r->pid = fork();
	if (!r->pid)
		become_recorder(r, words, n, screen);
	if (r->pid < 0) {
		r->pid = 0;
		return pugmark_diag_set(diag, -errno, NULL, PUGMARK_NO_OFFSET, "%s",
					strerror(errno));
	}
	while (!is_there(r, &before)) {
		if (top_recorder_ended(r))
			return is_there(r, &before) ? 0 : -ECANCELED;
		pause_a_tick();
	}
	return 0;
}

void top_recorder_stop(struct top_recorder *r)
{
	if (!top_recorder_ended(r))
		kill(r->pid, SIGINT);
	while (!top_recorder_ended(r))
		pause_a_tick();
}

uint64_t top_recorder_bytes(const struct top_recorder *r)
{
	char path[4096];
	struct stat st;
	snprintf(path, sizeof(path), "%s/events", r->dir);
	return stat(path, &st) ? 0 : (uint64_t)st.st_blocks * 512;
}

void top_recorder_tell(const struct top_recorder *r)
{
	char text[4096];
	FILE *f = r->said ? fopen(r->said, "re") : NULL;
	size_t n;
	while (f && (n = fread(text, 1, sizeof(text), f)) > 0)
		fwrite(text, 1, n, stderr);
	if (f)
		fclose(f);
}

/* Only what the recorder has made: a folder with anything else in it stays. */
static void remove_recording(const struct top_recorder *r)
{
	char path[4096];
	static const char *const names[] = {"events", "captures", "meta.json"};
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", r->dir, names[i]);
		unlink(path);
	}
	for (unsigned i = 0;; i++) {
		snprintf(path, sizeof(path), "%s/plan-%u.pmp", r->dir, i);
		if (unlink(path))
			break;
	}
	rmdir(r->dir);
}

void top_recorder_free(struct top_recorder *r)
{
	if (r->pid)
		top_recorder_stop(r);
	if (r->dir && !r->kept)
		remove_recording(r);
	if (r->said)
		unlink(r->said);
	if (r->folder)
		rmdir(r->folder);
	free(r->folder);
	free(r->dir);
	free(r->said);
	*r = (struct top_recorder){0};
}

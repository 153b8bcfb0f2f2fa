// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_run.c: see share_run.h. */
#include "user/share/share_run.h"

#include <pugmark/recording.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* In the child: what each run has alike. Our own standard input is opened anew, so that each run
 * reads all of it. */
static bool prepare_child(const struct share_run_request *r)
{
	struct stat st;
	bool file = !fstat(STDIN_FILENO, &st) && S_ISREG(st.st_mode);
	const char *input = r->input ? r->input : file ? "/proc/self/fd/0" : "/dev/null";
	int in = open(input, O_RDONLY | O_CLOEXEC);
	int out = r->output ? open(r->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	bool done = in >= 0 && dup2(in, STDIN_FILENO) >= 0 &&
		    (!r->output || (out >= 0 && dup2(out, STDOUT_FILENO) >= 0));
	personality(ADDR_NO_RANDOMIZE);
	return done;
}

/* Runs the recorder. Returns 0 and what waitpid() says of it, or -errno. */
static int record(const struct share_run_request *r, int *status)
{
	const char *const head[] = {"pugmark", "record", "-q",	  "--plan",
				    r->plan,   "-o",	 r->part, "--"};
	enum { HEAD = sizeof(head) / sizeof(*head) };
	uint32_t n = 0;
	while (r->command[n])
		n++;
	const char **argv = calloc(n + HEAD + 1, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	memcpy(argv, head, sizeof(head));
	memcpy(argv + HEAD, r->command, n * sizeof(*argv));
	fflush(NULL);
	pid_t pid = fork();
	if (!pid) {
		if (prepare_child(r))
			execve("/proc/self/exe", (char *const *)argv,
			       r->environ ? r->environ : environ);
		_exit(127);
	}
	free(argv);
	if (pid < 0)
		return -errno;
	while (waitpid(pid, status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
		if (r->stop && *r->stop)
			kill(pid, SIGTERM);
	}
	return 0;
}

static bool is_whole(const char *part, uint64_t *events)
{
	struct pugmark_recording *rec;
	struct pugmark_diag diag;
	if (pugmark_recording_open(part, &rec, &diag))
		return false;
	const struct pugmark_recording_info *info = pugmark_recording_info(rec);
	bool whole = info->closed && !info->lost;
	*events = info->events;
	pugmark_recording_free(rec);
	return whole;
}

int share_run(const struct share_run_request *r, struct share_run *out)
{
	struct share_run run = {0};
	int status = 0;
	double start = now_s();
	int err = record(r, &status);
	if (err)
		return err;
	run.seconds = now_s() - start;
	run.whole = is_whole(r->part, &run.events);
	run.exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	*out = run;
	return 0;
}

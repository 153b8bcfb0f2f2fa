// SPDX-License-Identifier: LGPL-2.1-or-later
/* pager.c: one child, that reads what standard output gets. */
#include "user/cli/pager.h"

#include "user/cli/tty.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* One screen is printed and left (-F), colours are colours (-R), the screen stays as it is (-X). */
static const char default_options[] = "FRX";

static pid_t pager; /* 0: there is none */

bool pager_is_refused(int *argc, char **argv)
{
	bool refused = false;
	for (int i = 2; i < *argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			refused = true;
		if (strcmp(argv[i], "--no-pager"))
			continue;
		memmove(argv + i, argv + i + 1, (size_t)(*argc - i) * sizeof(*argv));
		(*argc)--;
		i--;
		refused = true;
	}
	return refused;
}

/* Whether PATH has a program of that name. */
static bool is_installed(const char *name)
{
	const char *path = getenv("PATH");
	for (const char *at = path; at && *at; at += strcspn(at, ":"), at += *at == ':') {
		char file[4096];
		snprintf(file, sizeof(file), "%.*s/%s", (int)strcspn(at, ":"), at, name);
		if (!access(file, X_OK))
			return true;
	}
	return false;
}

/* What the shell is to run; NULL: no pager. */
static const char *wanted(void)
{
	const char *said = getenv("PAGER");
	if (!said)
		return is_installed("less") ? "less" : NULL;
	return *said && strcmp(said, "cat") ? said : NULL;
}

static void become(const char *command, int from)
{
	if (dup2(from, STDIN_FILENO) < 0)
		_exit(127);
	close(from);
	setenv("LESS", default_options, false);
	if (!geteuid()) /* no shell of root's out of a recording that somebody else made */
		setenv("LESSSECURE", "1", false);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

void pager_start(void)
{
	struct tty term = tty_of(STDOUT_FILENO);
	const char *command = term.is_tty ? wanted() : NULL;
	int pipe_fds[2];
	if (!command || pipe(pipe_fds))
		return;
	pager = fork();
	if (!pager) {
		close(pipe_fds[1]);
		become(command, pipe_fds[0]);
	}
	if (pager > 0 && dup2(pipe_fds[1], STDOUT_FILENO) >= 0) {
		tty_leads_to(&term);
		/* Keys for the pager: who leaves it ends this process by SIGPIPE. */
		signal(SIGINT, SIG_IGN);
		signal(SIGQUIT, SIG_IGN);
	}
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

void pager_finish(void)
{
	if (pager <= 0)
		return;
	close(STDOUT_FILENO);
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
}

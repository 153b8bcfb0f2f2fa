// SPDX-License-Identifier: LGPL-2.1-or-later
/* launch.c: a child that waits on a pipe between fork and exec. */
#include "user/proc/launch.h"

#include "user/proc/inherited_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

char *launch_resolve(const char *name, struct pugmark_diag *diag)
{
	const char *dirs = getenv("PATH");
	char *path = NULL;

	if (strchr(name, '/')) {
		if (is_program(name))
			return strdup(name);
		pugmark_diag_set(diag, -ENOENT, name, PUGMARK_NO_OFFSET,
				 access(name, F_OK) ? "no such program" : "not an executable file");
		return NULL;
	}
	if (!dirs)
		dirs = "/usr/local/bin:/usr/bin:/bin";
	while (*name && dirs) {
		int len = strcspn(dirs, ":");

		if (asprintf(&path, "%.*s%s%s", len, dirs, len ? "/" : "", name) < 0)
			return NULL;
		if (is_program(path))
			return path;
		free(path);
		dirs = dirs[len] ? dirs + len + 1 : NULL;
	}
	pugmark_diag_set(diag, -ENOENT, name, PUGMARK_NO_OFFSET, "no such program in PATH");
	return NULL;
}

static void child_main(int go, int error, const char *path, char *const *argv)
{
	char word;

	inherited_signals_restore();
	if (read(go, &word, 1) != 1)
		_exit(127);
	execv(path, argv);
	int err = errno;
	if (write(error, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

int launch_prepare(struct launch *launch, const char *path, char *const *argv,
		   struct pugmark_diag *diag)
{
	int go[2], error[2];

	if (pipe2(go, O_CLOEXEC))
		return pugmark_diag_set(diag, -errno, path, PUGMARK_NO_OFFSET, "%s",
					strerror(errno));
	if (pipe2(error, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return pugmark_diag_set(diag, -errno, path, PUGMARK_NO_OFFSET, "%s",
					strerror(errno));
	}
	pid_t pid = fork();
	if (!pid) {
		close(go[1]);
		close(error[0]);
		child_main(go[0], error[1], path, argv);
	}
	int err = pid < 0 ? -errno : 0;
	close(go[0]);
	close(error[1]);
	*launch = (struct launch){pid, go[1], error[0]};
	if (!err)
		return 0;
	close(go[1]);
	close(error[0]);
	launch->pid = 0;
	return pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "fork: %s", strerror(-err));
}

int launch_go(struct launch *launch, const char *path, struct pugmark_diag *diag)
{
	int err = 0;

	if (write(launch->go_fd, "", 1) != 1)
		err = errno;
	close(launch->go_fd);
	launch->go_fd = -1;
	/* The pipe closes at exec. */
	int told = 0;
	ssize_t n;
	do
		n = read(launch->error_fd, &told, sizeof(told));
	while (n < 0 && errno == EINTR);
	close(launch->error_fd);
	launch->error_fd = -1;
	if (n == sizeof(told))
		err = told;
	if (!err)
		return 0;
	waitpid(launch->pid, NULL, 0);
	launch->pid = 0;
	return pugmark_diag_set(diag, -err, path, PUGMARK_NO_OFFSET, "cannot run it: %s",
				strerror(err));
}

void launch_cancel(struct launch *launch)
{
	if (launch->pid <= 0 || launch->go_fd < 0)
		return;
	close(launch->go_fd);
	close(launch->error_fd);
	waitpid(launch->pid, NULL, 0);
	launch->pid = 0;
}

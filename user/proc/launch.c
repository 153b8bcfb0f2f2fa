// SPDX-License-Identifier: LGPL-2.1-or-later
/* launch.c: a child that waits on a pipe between fork and exec. */
#include "user/proc/launch.h"

#include "user/proc/inherited_signals.h"
#include "user/proc/own_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

static void out_of_memory(struct pugmark_diag *diag)
{
	pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
}

char *launch_resolve(const char *name, struct pugmark_diag *diag)
{
	const char *dirs = getenv("PATH");
	char *path = NULL;

	if (strchr(name, '/')) {
		if (is_program(name)) {
			path = strdup(name);
			if (!path)
				out_of_memory(diag);
			return path;
		}
		pugmark_diag_set(diag, -ENOENT, name, PUGMARK_NO_OFFSET,
				 access(name, F_OK) ? "no such program" : "not an executable file");
		return NULL;
	}
	if (!dirs)
		dirs = "/usr/local/bin:/usr/bin:/bin";
	while (*name && dirs) {
		int len = strcspn(dirs, ":");

		if (asprintf(&path, "%.*s%s%s", len, dirs, len ? "/" : "", name) < 0) {
			out_of_memory(diag);
			return NULL;
		}
		if (is_program(path))
			return path;
		free(path);
		dirs = dirs[len] ? dirs + len + 1 : NULL;
	}
	pugmark_diag_set(diag, -ENOENT, name, PUGMARK_NO_OFFSET, "no such program in PATH");
	return NULL;
}

/* Drops rights: the command has none but those that its user and its file give it. */
static int become(const struct launch_user *user)
{
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) && errno != EINVAL)
		return -1;
	if (!user)
		return 0;
	if (user->uid != geteuid()) {
		int err = own_terminal_keep();
		if (err) {
			errno = -err;
			return -1;
		}
	}
	if (setgroups(user->n_groups, user->groups) || setresgid(user->gid, user->gid, user->gid) ||
	    setresuid(user->uid, user->uid, user->uid))
		return -1;
	if (*user->name && (setenv("USER", user->name, 1) || setenv("LOGNAME", user->name, 1) ||
			    setenv("HOME", user->home, 1)))
		return -1;
	return 0;
}

static void child_main(int go, int error, const char *path, char *const *argv,
		       const struct launch_user *user)
{
	char word;

	inherited_signals_restore();
	if (read(go, &word, 1) != 1)
		_exit(127);
	if (!become(user))
		execv(path, argv);
	int err = errno;
	if (write(error, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

static int take_entry(const struct passwd *entry, struct launch_user *out)
{
	snprintf(out->name, sizeof(out->name), "%s", entry->pw_name);
	snprintf(out->home, sizeof(out->home), "%s", entry->pw_dir);
	out->uid = entry->pw_uid;
	out->gid = entry->pw_gid;
	int n = LAUNCH_GROUPS_MAX;
	if (getgrouplist(entry->pw_name, entry->pw_gid, out->groups, &n) < 0)
		return -E2BIG;
	out->n_groups = n;
	return 0;
}

int launch_user_find(const char *name, struct launch_user *out, struct pugmark_diag *diag)
{
	char *end;
	struct launch_user user = {.n_groups = 0};
	unsigned long number = strtoul(name, &end, 10);
	bool is_number = end != name && !*end && *name != '-' && number < UINT32_MAX;
	const struct passwd *entry = getpwnam(name);
	if (!entry && is_number)
		entry = getpwuid((uid_t)number);
	int err = 0;
	if (entry)
		err = take_entry(entry, &user);
	else if (is_number) /* of no account: a container's, say */
		user.uid = user.gid = (uid_t)number;
	else
		err = -ENOENT;
	if (err)
		return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
					err == -E2BIG ? "user '%s' is in more groups than fit"
						      : "no user '%s'",
					name);
	if (geteuid() && user.uid != geteuid())
		return pugmark_diag_set(diag, -EPERM, NULL, PUGMARK_NO_OFFSET,
					"only root may run a command as user '%s'", name);
	*out = user;
	return 0;
}

int launch_prepare(struct launch *launch, const char *path, char *const *argv,
		   const struct launch_user *user, struct pugmark_diag *diag)
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
		child_main(go[0], error[1], path, argv, user);
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

/* Until it tells something at @error_fd, or nothing will come there any more. Whoever has seized it
 * waits in this thread for its exec, and not for what stops it before: it goes on with that, be it
 * a signal that it ignores. */
static void await_exec(pid_t pid, int error_fd)
{
	enum { LOOK_MS = 5 };
	struct pollfd fd = {error_fd, POLLIN, 0};

	while (!poll(&fd, 1, LOOK_MS)) {
		siginfo_t stop = {0};
		int status;

		if (waitid(P_PID, pid, &stop, WSTOPPED | WNOHANG | WNOWAIT | __WALL) ||
		    stop.si_code != CLD_TRAPPED || stop.si_status >> 8 == PTRACE_EVENT_EXEC ||
		    waitpid(pid, &status, WNOHANG | __WALL) != pid)
			continue;
		ptrace(PTRACE_CONT, pid, NULL, (long)(status >> 16 ? 0 : WSTOPSIG(status)));
	}
}

int launch_go(struct launch *launch, const char *path, struct pugmark_diag *diag)
{
	int err = 0;

	if (write(launch->go_fd, "", 1) != 1)
		err = errno;
	close(launch->go_fd);
	launch->go_fd = -1;
	await_exec(launch->pid, launch->error_fd);
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

bool launch_end(struct launch *launch)
{
	/* Who has been waited for already has no number any more. One that is traced may have
	 * stopped. */
	int status = 0;
	pid_t got = launch->pid > 0 ? waitpid(launch->pid, &status, WNOHANG | __WALL) : -1;
	bool runs = !got || (got > 0 && WIFSTOPPED(status));

	if (runs) {
		kill(launch->pid, SIGKILL);
		while (waitpid(launch->pid, NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	launch->pid = 0;
	return runs;
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

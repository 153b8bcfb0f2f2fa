// SPDX-License-Identifier: LGPL-2.1-or-later
/* entry_stop.c: from the program's exec to its entry point (entry_trap.h). */
#include "user/values/stop/entry_stop.h"

#include "user/values/stop/entry_trap.h"
#include "user/values/stop/hidden_vdso.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static int failed(int err, const char *what, struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
				"stopping the program where it begins: %s: %s", what,
				strerror(-err));
}

int entry_stop_begin(pid_t pid, struct pugmark_diag *diag)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXEC))
		return failed(-errno, "ptrace", diag);
	return 0;
}

/* Lets it go on until its next stop. Returns 0 with the status in *@status, or -ESRCH. */
static int go_on(pid_t pid, int signal, int *status)
{
	if (ptrace(PTRACE_CONT, pid, NULL, (long)signal))
		return -errno;
	while (waitpid(pid, status, __WALL) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFSTOPPED(*status) ? 0 : -ESRCH;
}

int entry_stop_wait(pid_t pid, struct pugmark_diag *diag)
{
	struct entry_trap trap;
	int status, err = 0, signal = 0;

	if (waitpid(pid, &status, __WALL) < 0)
		return failed(-errno, "waiting", diag);
	while (!err && WIFSTOPPED(status) && status >> 8 != (SIGTRAP | PTRACE_EVENT_EXEC << 8))
		err = go_on(pid, status >> 16 ? 0 : WSTOPSIG(status), &status);
	if (err || !WIFSTOPPED(status))
		return failed(-ESRCH, "it ended", diag);
	err = hide_vdso(pid);
	if (err)
		return failed(err, "its auxiliary vector cannot be changed", diag);
	err = entry_trap_set(pid, &trap);
	if (err)
		return failed(err, "its entry point is not known", diag);
	while (!err && !entry_trap_hit(pid, &trap)) {
		err = go_on(pid, signal, &status);
		signal = !err && !(status >> 16) && WSTOPSIG(status) != SIGTRAP ? WSTOPSIG(status)
										: 0;
	}
	return err ? failed(err, "it ended before", diag) : 0;
}

void entry_stop_end(pid_t pid)
{
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

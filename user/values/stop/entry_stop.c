// SPDX-License-Identifier: LGPL-2.1-or-later
/* entry_stop.c: from the program's exec to its entry point (entry_trap.h). */
#include "user/values/stop/entry_stop.h"

#include "user/values/stop/entry_trap.h"
#include "user/values/stop/hidden_vdso.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum { LOOK_MS = 20 };

static int failed(int err, const char *what, struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
				"stopping the program where it begins: %s: %s", what,
				strerror(-err));
}

int entry_stop_begin(pid_t pid, struct pugmark_diag *diag)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD))
		return failed(-errno, "ptrace", diag);
	return 0;
}

/* Waits for its next stop. Returns 0 with the status in *@status, -ESRCH, or -EINTR. */
static int next_stop(pid_t pid, const struct entry_patience *p, int *status)
{
	pid_t got;

	while (!(got = waitpid(pid, status, __WALL | WNOHANG)) || (got < 0 && errno == EINTR)) {
		struct pollfd fd = {p->fd, POLLIN, 0};

		poll(&fd, 1, LOOK_MS);
		if (p->ends(p->ctx)) /* this takes SIGCHLD from @fd, so it comes before the look */
			return -EINTR;
	}
	return got < 0 ? -errno : WIFSTOPPED(*status) ? 0 : -ESRCH;
}

/* The signal that the program is to get as it goes on: not what ptrace alone has it stop by, for an
 * event, all of its group's threads, or a system call. */
static int signal_of(int status)
{
	bool is_event = status >> 16, is_call = WSTOPSIG(status) == (SIGTRAP | 0x80);

	return is_event || is_call ? 0 : WSTOPSIG(status);
}

static bool is_exec(int status)
{
	return status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8);
}

static int wait_for_exec(pid_t pid, const struct entry_patience *patience)
{
	int status, err = next_stop(pid, patience, &status);

	while (!err && !is_exec(status)) {
		if (ptrace(PTRACE_CONT, pid, NULL, (long)signal_of(status)))
			return -errno;
		err = next_stop(pid, patience, &status);
	}
	return err;
}

/* Before the first instruction of what it has become. */
static int prepare(pid_t pid, struct entry_trap *trap, struct pugmark_diag *diag)
{
	int err = entry_trap_set(pid, trap);

	if (err == -ENOENT)
		return pugmark_diag_set(
			diag, err, NULL, PUGMARK_NO_OFFSET,
			"this kernel gives programs no vDSO (vdso=0), without which "
			"they are not stopped where they begin");
	if (err)
		return failed(err, "setting a trap at its entry point", diag);
	err = hide_vdso(pid);
	return err ? failed(err, "its auxiliary vector cannot be changed", diag) : 0;
}

static int wait_failed(int err, const char *ended, struct pugmark_diag *diag)
{
	bool has_ended = err == -ESRCH || err == -ECHILD;

	return err == -EINTR ? pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
						"the recording was to end before the program had "
						"come to its entry point")
			     : failed(err, has_ended ? ended : "ptrace", diag);
}

/* A constructor of a library may have it become another program, or the same once more. */
static int wait_for_entry(pid_t pid, struct entry_trap *trap, const struct entry_patience *patience,
			  struct pugmark_diag *diag)
{
	int status, err = 0, signal = 0;

	while (!err && !entry_trap_hit(pid, trap)) {
		err = ptrace(PTRACE_SYSCALL, pid, NULL, (long)signal) ? -errno : 0;
		err = err ? err : next_stop(pid, patience, &status);
		if (err)
			return wait_failed(err, "it ended before", diag);
		signal = signal_of(status);
		if (is_exec(status))
			err = prepare(pid, trap, diag);
	}
	return err;
}

int entry_stop_wait(pid_t pid, const struct entry_patience *patience, struct pugmark_diag *diag)
{
	struct entry_trap trap;
	int err = wait_for_exec(pid, patience);

	if (err)
		return wait_failed(err, "it ended", diag);
	err = prepare(pid, &trap, diag);
	return err ? err : wait_for_entry(pid, &trap, patience, diag);
}

void entry_stop_end(pid_t pid)
{
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

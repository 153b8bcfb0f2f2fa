// SPDX-License-Identifier: LGPL-2.1-or-later
/* entry_stop.c: a breakpoint in a debug register, which changes no instruction, and where there is
 * none single steps. */
#include "user/values/write/entry_stop.h"

#include "user/values/write/hidden_vdso.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* The run-time address of the entry point, from what the kernel gave the program; 0: not known. */
static uint64_t entry_of(pid_t pid)
{
	uint64_t entry = 0;
	Elf64_auxv_t aux;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && read(fd, &aux, sizeof(aux)) == sizeof(aux) && aux.a_type != AT_NULL)
		if (aux.a_type == AT_ENTRY)
			entry = aux.a_un.a_val;
	if (fd >= 0)
		close(fd);
	return entry;
}

/* Address 0 takes it away. */
static int set_breakpoint(pid_t pid, uint64_t addr)
{
	/* Of four, the first: enabled for this task, on execution, which is length 0. */
	uint64_t control = addr ? 1 : 0;

	if (ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[7]), 0) ||
	    ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[0]), addr) ||
	    ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[7]), control))
		return -errno;
	return 0;
}

static uint64_t ip_of(pid_t pid)
{
	struct user_regs_struct regs;

	return ptrace(PTRACE_GETREGS, pid, NULL, &regs) ? 0 : regs.rip;
}

/* Lets it go on until its next stop. Returns 0 with the status in *@status, or -ESRCH. */
static int go_on(pid_t pid, bool step, int signal, int *status)
{
	if (ptrace(step ? PTRACE_SINGLESTEP : PTRACE_CONT, pid, NULL, (long)signal))
		return -errno;
	while (waitpid(pid, status, __WALL) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFSTOPPED(*status) ? 0 : -ESRCH;
}

int entry_stop_wait(pid_t pid, struct pugmark_diag *diag)
{
	int status, err = 0, signal = 0;

	if (waitpid(pid, &status, __WALL) < 0)
		return failed(-errno, "waiting", diag);
	while (!err && WIFSTOPPED(status) && status >> 8 != (SIGTRAP | PTRACE_EVENT_EXEC << 8))
		err = go_on(pid, false, status >> 16 ? 0 : WSTOPSIG(status), &status);
	if (err || !WIFSTOPPED(status))
		return failed(-ESRCH, "it ended", diag);
	err = hide_vdso(pid);
	if (err)
		return failed(err, "its auxiliary vector cannot be changed", diag);
	uint64_t entry = entry_of(pid);
	if (!entry)
		return failed(-ENOENT, "its entry point is not known", diag);
	bool step = set_breakpoint(pid, entry) != 0;
	while (!err && ip_of(pid) != entry) {
		err = go_on(pid, step, signal, &status);
		signal = !err && !(status >> 16) && WSTOPSIG(status) != SIGTRAP ? WSTOPSIG(status)
										: 0;
	}
	if (!step)
		set_breakpoint(pid, 0);
	return err ? failed(err, "it ended before", diag) : 0;
}

void entry_stop_end(pid_t pid)
{
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

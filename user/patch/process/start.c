// SPDX-License-Identifier: LGPL-2.1-or-later
/* start.c: see start.h. */
#include "user/patch/process/start.h"

#include "user/patch/process/traps.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

static const uint8_t breakpoint = 0xcc;

/* Past the breakpoint at @at, whose place has @code, with that taken out for the moment. *@signal:
 * what came before the step instead, to be taken as it goes on; 0: nothing. */
static int step_over(struct tracee *t, uint64_t at, uint8_t code, int *signal)
{
	bool own = false;
	int status, err = tracee_write(t, at, &code, 1);

	if (!err)
		err = traps_step(t, &status, &own);
	if (!err && own && !(status >> 16))
		*signal = WSTOPSIG(status);
	return err ? err : tracee_write(t, at, &breakpoint, 1);
}

/* Goes on until the breakpoint at @at where the word at @state is 0. */
static int run_to(struct tracee *t, uint64_t at, uint64_t state)
{
	struct user_regs_struct regs;
	uint8_t code;
	uint32_t changing = 0;
	int status, signal = 0;
	int err = tracee_read(t, at, &code, 1);

	if (!err)
		err = tracee_write(t, at, &breakpoint, 1);
	while (!err) {
		if (ptrace(PTRACE_CONT, t->pid, NULL, (void *)(long)signal))
			return -errno;
		err = tracee_wait(t->pid, &status);
		if (err)
			break;
		signal = WSTOPSIG(status);
		if (status >> 16) /* an event, or a stop of the whole group: it goes on */
			signal = 0;
		if (signal != SIGTRAP || ptrace(PTRACE_GETREGS, t->pid, NULL, &regs))
			continue;
		if (regs.rip != at + 1)
			continue;
		regs.rip = at;
		signal = 0;
		if (ptrace(PTRACE_SETREGS, t->pid, NULL, &regs))
			err = -errno;
		if (!err)
			err = tracee_read(t, state, &changing, sizeof(changing));
		if (!err && !changing)
			return tracee_write(t, at, &code, 1);
		if (!err)
			err = step_over(t, at, code, &signal);
	}
	return err;
}

int start_reach(struct tracee *t)
{
	int status;
	struct traps was;
	int err = tracee_wait(t->pid, &status); /* at its exec */

	if (err)
		return err;
	err = tracee_open(t, t->pid); /* of the new program */
	uint64_t state = 0, at = err ? 0 : tracee_linker_tells(t->pid, &state);
	if (err)
		return err;
	if (!at)
		return -ENOENT;
	err = traps_allow(t, &was);
	if (err)
		return err;
	err = run_to(t, at, state);
	int back = traps_restore(t, &was);
	return err ? err : back;
}

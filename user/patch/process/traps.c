// SPDX-License-Identifier: LGPL-2.1-or-later
/* traps.c: see traps.h. */
#include "user/patch/process/traps.h"

#include "user/patch/process/signals.h"
#include "user/patch/process/tracee_call.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { RED_ZONE = 128, PUSHF = 0x9c, POPF = 0x9d, TRAPS_FLAG = 0x100 /* of eflags */ };
static const uint64_t the_trap = 1ull << (SIGTRAP - 1);

/* As the kernel has it. */
struct action {
	uint64_t handler, flags, restorer, mask;
};

int traps_allow(const struct tracee *t, struct traps *was)
{
	uint64_t mask, ignored;
	int err = signals_of(t->pid, "SigIgn", &ignored);

	if (err)
		return err;
	if (ptrace(PTRACE_GETSIGMASK, t->pid, sizeof(mask), &mask))
		return -errno;
	was->ignored = ignored & the_trap;
	was->blocked = mask & the_trap;
	mask &= ~the_trap;
	if (was->blocked && ptrace(PTRACE_SETSIGMASK, t->pid, sizeof(mask), &mask))
		return -errno;
	return 0;
}

static int act(const struct tracee *t, uint64_t new, uint64_t old)
{
	int64_t result;
	uint64_t args[6] = {SIGTRAP, new, old, sizeof(uint64_t)};
	int err = tracee_syscall(t, SYS_rt_sigaction, args, &result);

	return err ? err : (int)result;
}

/* Ignores SIGTRAP again: of the action the kernel has changed the handler alone. The action is
 * passed in memory below the thread's red zone, which nobody uses while all threads are stopped;
 * that memory is put back. */
static int ignore(const struct tracee *t)
{
	struct user_regs_struct regs;
	struct action action, there;

	if (ptrace(PTRACE_GETREGS, t->pid, NULL, &regs))
		return -errno;
	uint64_t at = (regs.rsp - RED_ZONE - sizeof(action)) & ~15ull;
	int err = tracee_read(t, at, &there, sizeof(there));
	if (err)
		return err;
	err = act(t, 0, at);
	if (!err)
		err = tracee_read(t, at, &action, sizeof(action));
	action.handler = 1; /* SIG_IGN */
	if (!err)
		err = tracee_write(t, at, &action, sizeof(action));
	if (!err)
		err = act(t, at, 0);
	int back = tracee_write(t, at, &there, sizeof(there));
	return err ? err : back;
}

int traps_restore(const struct tracee *t, const struct traps *was)
{
	uint64_t mask;
	int err = was->ignored ? ignore(t) : 0;

	if (was->blocked) {
		if (ptrace(PTRACE_GETSIGMASK, t->pid, sizeof(mask), &mask))
			return -errno;
		mask |= the_trap;
		if (ptrace(PTRACE_SETSIGMASK, t->pid, sizeof(mask), &mask))
			return -errno;
	}
	return err;
}

static int go(const struct tracee *t, int request, int *status)
{
	return ptrace(request, t->pid, NULL, NULL) ? -errno : tracee_wait(t->pid, status);
}

static bool has_trapped(const struct tracee *t, int status)
{
	siginfo_t info = {0};

	return status >> 8 == SIGTRAP && !ptrace(PTRACE_GETSIGINFO, t->pid, NULL, &info) &&
	       info.si_code > 0;
}

/* A system call may change what the thread blocks. So it is not stepped: the thread stops where the
 * call begins and where it is over, and the kernel forces the signal of neither stop. */
static int step_call(const struct tracee *t, int *status, bool *own)
{
	int err = go(t, PTRACE_SYSCALL, status);

	*own = err || !has_trapped(t, *status);
	if (*own)
		return err;
	err = go(t, PTRACE_SYSCALL, status);
	*own = err || !has_trapped(t, *status);
	return err;
}

static int step(const struct tracee *t, int *status, bool *own)
{
	struct traps was;
	int err = traps_allow(t, &was);

	if (!err)
		err = go(t, PTRACE_SINGLESTEP, status);
	if (err)
		return err;
	*own = !has_trapped(t, *status);
	was.ignored &= !*own;	/* else nothing was forced */
	traps_restore(t, &was); /* where it has died meanwhile that is seen when it goes on */
	return 0;
}

/* Behind a step of a thread that does not step itself the trap flag is the step's: in what it has
 * pushed, and in its flags once popf has been stepped over (user_enable_single_step() in
 * arch/x86/kernel/step.c takes it for the program's then). */
static void clear_flag(const struct tracee *t, uint8_t code)
{
	struct user_regs_struct regs;
	uint64_t flags;

	if (ptrace(PTRACE_GETREGS, t->pid, NULL, &regs))
		return;
	if (code == PUSHF && !tracee_read(t, regs.rsp, &flags, sizeof(flags))) {
		flags &= ~(uint64_t)TRAPS_FLAG;
		tracee_write(t, regs.rsp, &flags, sizeof(flags));
	}
	if (code == POPF || !(regs.eflags & TRAPS_FLAG))
		return;
	regs.eflags &= ~(uint64_t)TRAPS_FLAG;
	ptrace(PTRACE_SETREGS, t->pid, NULL, &regs);
}

int traps_step(const struct tracee *t, int *status, bool *own)
{
	struct user_regs_struct regs;
	uint8_t code[2] = {0};

	if (ptrace(PTRACE_GETREGS, t->pid, NULL, &regs))
		return -errno;
	bool itself = regs.eflags & TRAPS_FLAG;
	tracee_read(t, regs.rip, code, sizeof(code)); /* where it cannot it faults */
	if (code[0] == 0x0f && code[1] == 0x05)
		return step_call(t, status, own);
	int err = step(t, status, own);
	if (!err && !*own && !itself)
		clear_flag(t, code[0]);
	*own |= itself;
	return err;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* tracee_call.c: see tracee_call.h. */
#include "user/patch/process/tracee_call.h"

#include "user/patch/process/signals.h"
#include "user/patch/process/way_back.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIES = 16, NICE_AHEAD = -20, TRAPS_FLAG = 0x100 /* of eflags */ };

/* What a thread meets that makes a call. */
struct met {
	uint64_t signals; /* that it is to be sent again, bit number less 1 */
	bool refused;	  /* the call, by a SIGSYS: of a filter that traps it */
};

static void meet(pid_t pid, int signal, struct met *met)
{
	siginfo_t info = {0};

	ptrace(PTRACE_GETSIGINFO, pid, NULL, &info);
	if (signal == SIGSYS && info.si_code > 0)
		met->refused = true;
	else
		met->signals |= 1ull << (signal - 1);
}

/* Stops of a thread as waitpid() tells of them, without what is below bit 8. */
enum { OF_SIGNAL = 0xff, OF_EVENT = PTRACE_EVENT_STOP << 8 };

static bool is_at(int stop, int until)
{
	enum { OF_CALL = 0x80 }; /* with PTRACE_O_TRACESYSGOOD */

	return until == OF_EVENT ? stop >> 8 == until >> 8 : (stop & ~OF_CALL) == until;
}

/* Resumes the thread by @request, and the signal @sent, until it stands for @until behind the
 * instruction that makes the call. What stops it before it has is met. */
static int resume(const struct tracee *t, int request, int sent, int until,
		  struct user_regs_struct *regs, struct met *met)
{
	int status;

	for (int i = 0; i < TRIES; i++) {
		if (ptrace(request, t->pid, NULL, (void *)(long)sent))
			return -errno;
		int err = tracee_wait(t->pid, &status);
		if (err)
			return err;
		sent = 0;
		if (ptrace(PTRACE_GETREGS, t->pid, NULL, regs))
			return -errno;
		if (is_at(status >> 8, until) && regs->rip == t->room + WAY_BACK_CALL_BYTES) {
			/* Taken note of, it leaves no SIGTRAP. */
			if (request == PTRACE_SYSCALL)
				waitpid(t->pid, &status, __WALL | WNOHANG);
			return 0;
		}
		if (!(status >> 16))
			meet(t->pid, WSTOPSIG(status), met);
	}
	return -EIO;
}

/* What the thread stands for. */
struct own {
	int signal; /* that it is about to take; 0: none */
	bool waits; /* meanwhile, being blocked */
};

/* A signal cannot wait where another one of its number does so, nor one that the call may be about:
 * a filter sends SIGSYS, and behind a step or breakpoint what becomes of SIGTRAP is set. One that
 * stops the process does not, as SIGSTOP cannot be blocked, and SIGCONT takes those that wait, as
 * they do it. @waiting: what does so, bit number less 1. */
static struct own own_of(pid_t pid, uint64_t waiting)
{
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, pid, NULL, &info))
		return (struct own){0};
	bool event = info.si_code > OF_SIGNAL;
	bool call = info.si_signo == SIGTRAP && (info.si_code & ~0x80) == SIGTRAP;
	if (event || call)
		return (struct own){0};
	bool may_wait = info.si_signo != SIGSYS && !signals_stops(info.si_signo) &&
			(info.si_signo != SIGTRAP || info.si_code <= 0);
	return (struct own){info.si_signo, may_wait && !(waiting >> (info.si_signo - 1) & 1)};
}

/* A signal that does not wait for the thread, so that one that is sent is told from what waits; if
 * possible one that does nothing by itself. */
static int choose_mark(pid_t pid)
{
	static const int harmless[] = {SIGURG, SIGWINCH, SIGCHLD};
	uint64_t waits = 0;
	int signal = 1;

	signals_of(pid, "SigPnd", &waits);
	waits |= 1ull << (SIGKILL - 1);
	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		if (!(waits >> (harmless[i] - 1) & 1))
			return harmless[i];
	while (signal < SIGTERM && waits >> (signal - 1) & 1)
		signal++;
	return signal;
}

/* The thread stands for @signal, which is @sent or waits. */
static int take(const struct tracee *t, int signal, int sent, struct met *met)
{
	uint64_t all_but = ~(1ull << (signal - 1) | 1ull << (SIGSYS - 1));
	struct user_regs_struct regs;

	if (ptrace(PTRACE_SETSIGMASK, t->pid, sizeof(all_but), &all_but))
		return -errno;
	return resume(t, PTRACE_CONT, sent, signal, &regs, met);
}

/* The thread stands as it did. At the end of the call it stands for that, where it makes no
 * interrupted call of its own again, and takes no signal. */
static int stand_again(const struct tracee *t, const struct own *own, struct met *met)
{
	struct user_regs_struct regs;

	if (own->waits)
		return take(t, own->signal, 0, met);
	if (!own->signal && !ptrace(PTRACE_INTERRUPT, t->pid, NULL, NULL))
		return resume(t, PTRACE_CONT, 0, OF_EVENT, &regs, met);
	int mark = choose_mark(t->pid); /* or as if it did, so that it can be given its own */
	return take(t, mark, mark, met);
}

/* Has the thread, which is before the instruction and blocks all signals but SIGSYS, make the call
 * and no more. A step would do so, but its SIGTRAP is forced (traps.h). So the thread stands as the
 * call begins, and as it is over. The call is none that a signal interrupts. */
static int execute(const struct tracee *t, const struct own *own, struct user_regs_struct *regs,
		   struct met *met)
{
	int err = resume(t, PTRACE_SYSCALL, own->waits ? own->signal : 0, SIGTRAP, regs, met);

	if (!err)
		err = resume(t, PTRACE_SYSCALL, 0, SIGTRAP, regs, met);
	if (!err)
		err = stand_again(t, own, met);
	return !err && met->refused ? -EPERM : err;
}

static void send_again(pid_t pid, uint64_t signals)
{
	bool continued = signals && signals_continued(pid);

	for (int signal = 1; signals; signal++, signals >>= 1)
		if ((signals & 1) && !(continued && signals_stops(signal)))
			syscall(SYS_tkill, pid, signal);
}

static struct user_regs_struct call_of(const struct tracee *t, const struct user_regs_struct *old,
				       long number, const uint64_t args[6])
{
	struct user_regs_struct regs = *old;

	regs.rip = t->room;
	regs.rax = number;
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.r10 = args[3];
	regs.r8 = args[4];
	regs.r9 = args[5];
	regs.orig_rax = -1;
	regs.eflags &= ~(uint64_t)TRAPS_FLAG; /* of a thread that steps itself */
	return regs;
}

/* At each moment the thread, were it let go then, would come to where it was: as long as signals
 * are not blocked as they were it is on the way that leads back. */
int tracee_syscall(const struct tracee *t, long number, const uint64_t args[6], int64_t *result)
{
	struct user_regs_struct old, regs;
	uint64_t mask, waiting, but_sys = ~(1ull << (SIGSYS - 1));
	struct met met = {0};
	int err = t->room ? signals_waiting(t->pid, &waiting) : -ENOSYS;

	if (err)
		return err;
	const struct own own = own_of(t->pid, waiting);
	if (ptrace(PTRACE_GETREGS, t->pid, NULL, &old) ||
	    ptrace(PTRACE_GETSIGMASK, t->pid, sizeof(mask), &mask))
		return -errno;
	regs = call_of(t, &old, number, args);
	bool trap_waits = (own.waits && own.signal == SIGTRAP) || waiting >> (SIGTRAP - 1) & 1;
	int nice = getpriority(PRIO_PROCESS, t->pid);
	err = way_back_lay(t, &old, mask, trap_waits, nice);
	if (!err && (ptrace(PTRACE_SETREGS, t->pid, NULL, &regs) ||
		     ptrace(PTRACE_SETSIGMASK, t->pid, sizeof(but_sys), &but_sys)))
		err = -errno;
	if (!err) {
		setpriority(PRIO_PROCESS, t->pid, NICE_AHEAD); /* the others wait for it */
		err = execute(t, &own, &regs, &met);
		setpriority(PRIO_PROCESS, t->pid, nice);
	}
	if (err == -ESRCH)
		return err;
	send_again(t->pid, met.signals);
	if (ptrace(PTRACE_SETSIGMASK, t->pid, sizeof(mask), &mask) ||
	    ptrace(PTRACE_SETREGS, t->pid, NULL, &old) || way_back_clear(t))
		return -EIO;
	if (!err)
		*result = regs.rax;
	return err;
}

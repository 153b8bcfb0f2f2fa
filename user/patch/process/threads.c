// SPDX-License-Identifier: LGPL-2.1-or-later
/* threads.c: see threads.h. */
#include "user/patch/process/threads.h"

#include "offline/base/clock.h"
#include "user/patch/process/frames.h"
#include "user/patch/process/signals.h"
#include "user/patch/process/tracee.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long the others are stopped to wait for one that has not. */
#define STOP_NS 200000000ull
/* Two seconds: a fork on a busy machine is done by then. */
enum { LOOKS = 400, LOOK_NS = 5000000 };
enum { ROUNDS_MAX = 64, NICE_AHEAD = -20 };
enum { MOMENTS = 32, MOMENT_NS = 50000, MOMENTS_MORE = 100 };

static bool is_known(const struct threads *all, pid_t tid)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (all->at[i].tid == tid)
			return true;
	return false;
}

/* A thread that was started by one that came before others (ask()) has taken that on, and is nice
 * as others are; unless there are those that were so before. @known: how many had been stopped. */
static int nice_of(const struct threads *all, uint32_t known, pid_t tid)
{
	int nice = getpriority(PRIO_PROCESS, tid);

	for (uint32_t i = 0; nice == NICE_AHEAD && i < known; i++)
		if (all->at[i].nice == NICE_AHEAD)
			return nice;
	return nice == NICE_AHEAD && known ? all->at[0].nice : nice;
}

static int add(struct threads *all, uint32_t known, pid_t tid)
{
	if (all->n == all->cap) {
		uint32_t cap = all->cap ? 2 * all->cap : 64;
		struct thread *grown = realloc(all->at, cap * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		all->at = grown;
		all->cap = cap;
	}
	all->at[all->n++] =
		(struct thread){.tid = tid, .nice = nice_of(all, known, tid), .runs = true};
	return 0;
}

static void drop(struct threads *all, uint32_t i)
{
	all->at[i] = all->at[--all->n];
}

/* Takes in how it has stopped. */
static void has_stopped(struct thread *t, int status)
{
	t->runs = false;
	setpriority(PRIO_PROCESS, t->tid, t->nice);
	if (status >> 16)
		return;
	t->signal = WSTOPSIG(status); /* it is kept for when the thread goes on */
	ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &t->info);
}

/* It is asked, and comes before others until it has stopped: one that sleeps has to come to a
 * processor for that. */
static void ask(const struct thread *t)
{
	ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL); /* first: what it forks would take that on */
	setpriority(PRIO_PROCESS, t->tid, NICE_AHEAD);
}

/* Waits for those from number @first on that have been asked. */
static int wait_for(struct threads *all, uint32_t first)
{
	uint64_t until_ns = clock_now_ns() + STOP_NS;

	for (uint32_t i = first; i < all->n;) {
		int status;
		bool runs = all->at[i].runs;
		int got = runs ? tracee_look(all->at[i].tid, WNOHANG, &status) : 0;

		if (!runs || got > 0) {
			if (runs)
				has_stopped(&all->at[i], status);
			i++;
		} else if (got < 0) {
			waitpid(all->at[i].tid, &status, __WALL | WNOHANG);
			drop(all, i);
		} else if (clock_now_ns() > until_ns) {
			for (uint32_t k = i; k < all->n; k++) /* let go when this process ends */
				setpriority(PRIO_PROCESS, all->at[k].tid, all->at[k].nice);
			all->n = i;
			return -ETIMEDOUT;
		} else {
			nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
		}
	}
	return 0;
}

/* The letter of proc_pid_stat(5) for the state of @tid; 0: it is no more; '?': nobody can tell. */
static char state_of(pid_t pid, pid_t tid)
{
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	FILE *f = fopen(path, "re");
	if (!f)
		return errno == ENOENT || errno == ESRCH ? 0 : '?';
	bool read = fgets(line, sizeof(line), f);
	fclose(f);
	const char *end = read ? strrchr(line, ')') : NULL;
	return end && end[1] == ' ' ? end[2] : 0;
}

/* Asks the threads that are there and not yet known. Returns how many, or -errno. */
static int ask_new(struct threads *all, pid_t pid)
{
	uint32_t first = all->n;
	char path[32];
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	for (struct dirent *e; !err && (e = readdir(dir));) {
		pid_t tid = atoi(e->d_name);

		if (tid <= 0 || is_known(all, tid))
			continue;
		if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
			/* A thread that has ended, as the first may, is refused as well. */
			bool ended = errno != EPERM || !state_of(pid, tid) ||
				     strchr("ZX", state_of(pid, tid));
			err = ended ? 0 : -EBUSY;
			continue;
		}
		err = add(all, first, tid);
	}
	closedir(dir);
	if (first == 0 && all->n)
		all->since_ns = clock_now_ns();
	for (uint32_t i = first; i < all->n; i++)
		ask(&all->at[i]);
	uint32_t asked = all->n - first;
	int waited = wait_for(all, first);
	return err ? err : waited ? waited : (int)asked;
}

bool threads_stuck(pid_t pid)
{
	pid_t asleep[64];
	uint32_t n = 0;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && n < 64 && (e = readdir(dir));)
		if (atoi(e->d_name) > 0 && state_of(pid, atoi(e->d_name)) == 'D')
			asleep[n++] = atoi(e->d_name);
	if (dir)
		closedir(dir);
	for (int look = 0; n && look < LOOKS; look++) {
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
		for (uint32_t i = n; i-- > 0;)
			if (state_of(pid, asleep[i]) != 'D')
				asleep[i] = asleep[--n];
	}
	return n != 0;
}

int threads_stop(struct threads *all, pid_t pid)
{
	for (int round = 0; round < ROUNDS_MAX; round++) {
		int n = ask_new(all, pid);

		if (n < 0)
			return n;
		if (!n)
			return all->n ? 0 : -ESRCH;
	}
	return -ETIMEDOUT;
}

/* Whether signals wait for the thread that are not blocked and have a handler. */
static bool has_signal(pid_t tid)
{
	uint64_t waiting, blocked, caught;

	return signals_waiting(tid, &waiting) || signals_of(tid, "SigBlk", &blocked) ||
	       signals_of(tid, "SigCgt", &caught) || (waiting & ~blocked & caught);
}

/* These end with EINTR where a thread is stopped in them (signal(7)); all others go on. What reads
 * and writes does so of a socket with a timeout. */
static bool ends_by_stop(uint64_t number)
{
	static const uint16_t calls[] = {
		SYS_epoll_wait,	  SYS_epoll_pwait,     SYS_epoll_pwait2, SYS_semop,
		SYS_semtimedop,	  SYS_rt_sigtimedwait, SYS_recvfrom,	 SYS_recvmsg,
		SYS_recvmmsg,	  SYS_accept,	       SYS_accept4,	 SYS_connect,
		SYS_sendto,	  SYS_sendmsg,	       SYS_sendmmsg,	 SYS_sendfile,
		SYS_read,	  SYS_readv,	       SYS_write,	 SYS_writev,
		SYS_io_getevents, SYS_io_uring_enter};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i] == number)
			return true;
	return false;
}

/* Whether the thread waits in a system call: that it makes again once it goes on. */
static bool waits(const struct user_regs_struct *regs)
{
	enum { RESTART_SYS = -512, RESTART = -516 };
	int64_t result = (int64_t)regs->rax;

	return (int64_t)regs->orig_rax >= 0 && ((result <= RESTART_SYS && result >= RESTART) ||
						(result == -EINTR && ends_by_stop(regs->orig_rax)));
}

/* Where threads are not to be. */
struct place {
	const struct tracee *t;
	bool (*in)(void *ctx, uint64_t ip);
	void *ctx;
	bool leads_back; /* found by frames_each() */
};

static void look_back(void *ctx, uint64_t ip)
{
	struct place *p = ctx;

	p->leads_back |= p->in(p->ctx, ip);
}

/* Whether it is to go on for a moment, and may: it would never come to the end of a call that it
 * waits in. Where it has taken a signal since, the frame may lead back. */
static bool may_run(const struct thread *t, struct place *p)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &regs) || waits(&regs))
		return false;
	p->leads_back = p->in(p->ctx, regs.rip);
	if (t->took)
		frames_each(p->t, NULL, 0, regs.rsp, look_back, p);
	return p->leads_back;
}

/* How often the thread has come to a processor; 0: that is not known. */
static uint64_t arrivals_of(pid_t tid)
{
	unsigned long long n = 0;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/schedstat", tid);
	FILE *f = fopen(path, "re");
	if (f && fscanf(f, "%*u %*u %llu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

/* What stops the process is no more, where SIGCONT came behind that. The kernel sees to it, but not
 * of a thread that has stood for another signal meanwhile, as behind a call (tracee_call.h). Is
 * called before any goes on, as that would take SIGCONT. */
static void drop_stops(struct threads *all)
{
	bool held = false, continued = false;

	for (uint32_t i = 0; i < all->n; i++)
		held |= signals_stops(all->at[i].signal);
	for (uint32_t i = 0; held && !continued && i < all->n; i++)
		continued = signals_continued(all->at[i].tid);
	for (uint32_t i = 0; continued && i < all->n; i++)
		if (signals_stops(all->at[i].signal))
			all->at[i].signal = 0;
}

/* Has those go on that may, with what signals they are about to take: one would come to the first
 * that runs. Returns how many. */
static uint32_t let_run(struct threads *all, struct place *p)
{
	uint32_t n = 0;

	drop_stops(all);
	for (uint32_t i = 0; i < all->n; i++) {
		struct thread *t = &all->at[i];

		if (!may_run(t, p))
			continue;
		setpriority(PRIO_PROCESS, t->tid, NICE_AHEAD);
		t->arrivals = arrivals_of(t->tid);
		t->runs = !ptrace(PTRACE_CONT, t->tid, NULL, (void *)(long)t->signal);
		t->took |= t->signal;
		t->signal = 0;
		n += t->runs;
	}
	return n;
}

/* A moment, from when all those that go on have come to a processor; but not for ever. From then on
 * they come before nobody, nor does what they fork. */
static void wait_a_moment(const struct threads *all)
{
	const struct timespec moment = {.tv_nsec = MOMENT_NS};

	for (uint32_t i = 0, k = 0; i < all->n && k < MOMENTS_MORE;) {
		const struct thread *t = &all->at[i];

		if (!t->runs || !t->arrivals || arrivals_of(t->tid) != t->arrivals) {
			if (t->runs)
				setpriority(PRIO_PROCESS, t->tid, t->nice);
			i++;
		} else {
			nanosleep(&moment, NULL);
			k++;
		}
	}
	nanosleep(&moment, NULL);
}

/* Asks those that still run: one that has stopped, for a signal, would stop once more. */
static void stop_again(struct threads *all)
{
	int status;

	for (uint32_t i = 0; i < all->n; i++) {
		struct thread *t = &all->at[i];

		if (t->runs && tracee_look(t->tid, WNOHANG, &status) > 0)
			has_stopped(t, status);
		else if (t->runs)
			ask(t);
	}
}

/* A step would be shorter. But where its tracer is killed amid steps a thread is left with the trap
 * flag, and dies of it. */
int threads_come_out(struct threads *all, const struct tracee *t, pid_t pid,
		     bool (*in)(void *ctx, uint64_t ip), void *ctx)
{
	struct place place = {.t = t, .in = in, .ctx = ctx};

	for (int k = 0; k < MOMENTS && let_run(all, &place); k++) {
		wait_a_moment(all);
		stop_again(all);
		int err = wait_for(all, 0);
		if (!err)
			err = threads_stop(all, pid); /* what they have started meanwhile */
		if (err)
			return err;
	}
	return 0;
}

/* The thread makes the system call again that the stop has ended, as if it had not been stopped. A
 * signal of its own that waits has ended it as well: then it is as it should be. */
static void call_again(const struct thread *t)
{
	struct user_regs_struct regs;

	if (t->signal || ptrace(PTRACE_GETREGS, t->tid, NULL, &regs) ||
	    (int64_t)regs.rax != -EINTR || !ends_by_stop(regs.orig_rax) || has_signal(t->tid))
		return;
	regs.rax = regs.orig_rax;
	regs.rip -= 2;
	regs.orig_rax = -1;
	ptrace(PTRACE_SETREGS, t->tid, NULL, &regs);
}

static void let_go(const struct thread *t)
{
	call_again(t);
	if (t->signal)
		ptrace(PTRACE_SETSIGINFO, t->tid, NULL, &t->info);
	ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(long)t->signal);
}

void threads_release_others(struct threads *all)
{
	drop_stops(all);
	for (uint32_t i = 1; i < all->n; i++)
		let_go(&all->at[i]);
	all->n = all->n ? 1 : 0;
}

void threads_release(struct threads *all)
{
	drop_stops(all);
	for (uint32_t i = 0; i < all->n; i++)
		let_go(&all->at[i]);
	free(all->at);
	*all = (struct threads){0};
}

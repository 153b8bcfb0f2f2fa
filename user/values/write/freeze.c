// SPDX-License-Identifier: LGPL-2.1-or-later
/* freeze.c: see freeze.h. PTRACE_INTERRUPT stops a thread without a signal that it could see;
 * system calls that are interrupted go on by themselves. All are asked before one is waited for, so
 * that many take no longer than a few. Threads that are born meanwhile are found by looking again.
 */
#include "user/values/write/freeze.h"

#include "user/proc/living_thread.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

enum { WAIT_MS = 1000, POLL_NS = 200000, LATER_MAX = 64 };

static bool is_known(const struct frozen *f, pid_t tid)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (f->tids[i] == tid)
			return true;
	return false;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

/* Waits until thread @tid of @pid, which was asked, stands. -ESRCH: it has ended. -EBUSY: by
 * @until_ms it does not stand, as it is in a call that nothing interrupts. */
static int await_stop(pid_t pid, pid_t tid, uint64_t until_ms)
{
	int status;

	for (;;) {
		pid_t got = waitpid(tid, &status, __WALL | WNOHANG);

		if (got < 0)
			return -errno;
		if (!got) {
			/* A first thread that ends before the others is not waited for. */
			if (thread_has_ended(pid, tid))
				return -ESRCH;
			if (now_ms() >= until_ms)
				return -EBUSY;
			nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
			continue;
		}
		if (!WIFSTOPPED(status))
			return -ESRCH;
		if (status >> 16 == PTRACE_EVENT_STOP)
			return 0;
		/* A signal was on its way: it gets it, and stops at the next. */
		ptrace(PTRACE_CONT, tid, NULL, (long)WSTOPSIG(status));
	}
}

/* Seizes thread @tid of @pid and asks it to stop. -ESRCH: it has ended. */
static int ask(struct frozen *f, pid_t pid, pid_t tid)
{
	if (f->n == f->cap) {
		uint32_t cap = f->cap ? 2 * f->cap : 16;
		pid_t *tids = realloc(f->tids, cap * sizeof(*tids));

		if (!tids)
			return -ENOMEM;
		f->tids = tids;
		f->cap = cap;
	}
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return errno == EPERM && thread_has_ended(pid, tid) ? -ESRCH : -errno;
	f->tids[f->n++] = tid;
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL); /* else it has ended, which is seen below */
	return 0;
}

/* Asks those that are not yet known. */
static int ask_new(struct frozen *f, pid_t pid)
{
	char path[32];
	struct dirent *e;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	if (!dir)
		return -errno;
	while (!err && (e = readdir(dir))) {
		pid_t tid = atoi(e->d_name);

		if (tid > 0 && !is_known(f, tid))
			err = ask(f, pid, tid);
		if (err == -ESRCH)
			err = 0;
	}
	closedir(dir);
	return err;
}

/* Waits for those behind the first *@stood, which grows by those that stand. Each has a second from
 * when the one before stood. */
static int wait_for(struct frozen *f, pid_t pid, uint32_t *stood)
{
	int err = 0;

	while (!err && *stood < f->n) {
		err = await_stop(pid, f->tids[*stood], now_ms() + WAIT_MS);
		if (!err)
			++*stood;
		if (err == -ESRCH) {
			f->tids[*stood] = f->tids[--f->n];
			err = 0;
		}
	}
	return err;
}

/* A thread that was seized can be let go only where it stands: that is done by the next call that
 * finds it so. If none does, the kernel lets it go when this process ends. */
static pid_t later[LATER_MAX];

static void let_go_later(pid_t tid)
{
	for (int i = 0; i < LATER_MAX; i++)
		if (!later[i]) {
			later[i] = tid;
			return;
		}
}

static void let_go_those(void)
{
	for (int i = 0; i < LATER_MAX; i++) {
		int status;

		if (!later[i])
			continue;
		pid_t got = waitpid(later[i], &status, __WALL | WNOHANG);
		if (got > 0 && WIFSTOPPED(status))
			ptrace(PTRACE_DETACH, later[i], NULL,
			       status >> 16 == PTRACE_EVENT_STOP ? 0L : (long)WSTOPSIG(status));
		if (got)
			later[i] = 0;
	}
}

/* Lets go those that were asked, of which the first @stood stand, and others by @until_ms. */
static void let_go(struct frozen *f, pid_t pid, uint32_t stood, uint64_t until_ms)
{
	uint32_t n = stood;

	for (uint32_t i = stood; i < f->n; i++) {
		int err = await_stop(pid, f->tids[i], until_ms);

		if (!err)
			f->tids[n++] = f->tids[i];
		else if (err == -EBUSY)
			let_go_later(f->tids[i]);
	}
	f->n = n;
	thaw(f);
}

int freeze(pid_t pid, struct frozen *out, struct pugmark_diag *diag)
{
	struct frozen f = {0};
	uint32_t stood = 0, before;
	int err;

	let_go_those();
	do {
		before = stood;
		err = ask_new(&f, pid);
		err = err ? err : wait_for(&f, pid, &stood);
	} while (!err && stood > before);
	if (!err && !stood)
		err = -ESRCH;
	if (err == -EBUSY) {
		pid_t busy = f.tids[stood];

		let_go(&f, pid, stood, 0);
		return pugmark_diag_set(
			diag, err, NULL, PUGMARK_NO_OFFSET,
			"process %d was not stopped for a moment: for a second thread %d has been "
			"in a call that nothing interrupts (try again later)",
			pid, busy);
	}
	if (err) {
		let_go(&f, pid, stood, now_ms() + WAIT_MS);
		return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
					"stopping process %d for a moment: %s%s", pid,
					strerror(-err),
					err == -EPERM ? " (a debugger or strace may have it)" : "");
	}
	*out = f;
	return 0;
}

void thaw(struct frozen *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		ptrace(PTRACE_DETACH, f->tids[i], NULL, NULL);
	free(f->tids);
	*f = (struct frozen){0};
}

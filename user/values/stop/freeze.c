// SPDX-License-Identifier: LGPL-2.1-or-later
/* freeze.c: see freeze.h. PTRACE_INTERRUPT stops a thread without a signal that it could see;
 * system calls that are interrupted go on by themselves. All are asked before one is waited for, so
 * that many take no longer than a few. Threads that are born meanwhile are found by looking again.
 *
 * PTRACE_DETACH needs a thread that stands. One that is in a call that nothing interrupts does not,
 * and would stop as soon as the call ends. The kernel lets go all that a tracer has seized when the
 * tracer ends, and what they were asked is forgotten (Linux: exit_ptrace(), __ptrace_unlink()). So
 * each time has a tracer of its own. */
#include "user/values/stop/freeze.h"

#include "user/proc/living_thread.h"
#include "user/proc/status_number.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

enum { WAIT_MS = 1000, POLL_NS = 200000 };

struct freezing {
	pid_t pid, but; /* @but: a thread of it that is left alone, or 0 */
	frozen_fn *fn;
	void *ctx;
	struct pugmark_diag *diag;
	int err;
};

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

/* Asks those that are not yet known, but thread @but. */
static int ask_new(struct frozen *f, pid_t pid, pid_t but)
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

		if (tid > 0 && tid != but && !is_known(f, tid))
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

static int stop_all(struct frozen *f, pid_t pid, pid_t but, struct pugmark_diag *diag)
{
	uint32_t stood = 0, before;
	int err;

	do {
		before = stood;
		err = ask_new(f, pid, but);
		err = err ? err : wait_for(f, pid, &stood);
	} while (!err && stood > before);
	if (!err && !stood && !but) /* another tracer has them, or they have ended */
		err = status_number(pid, "TracerPid") > 0 ? -EPERM : -ESRCH;
	if (err == -EBUSY)
		pugmark_diag_set(
			diag, err, NULL, PUGMARK_NO_OFFSET,
			"process %d was not stopped for a moment: for a second thread %d has been "
			"in a call that nothing interrupts (try again later)",
			pid, f->tids[stood]);
	else if (err)
		pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
				 "stopping process %d for a moment: %s%s", pid, strerror(-err),
				 err == -EPERM ? " (a debugger or strace may have it)" : "");
	f->n = stood;
	return err;
}

static void *freeze_main(void *arg)
{
	struct freezing *a = arg;
	struct frozen f = {0};

	a->err = stop_all(&f, a->pid, a->but, a->diag);
	if (!a->err)
		a->err = a->fn(a->ctx, &f);
	for (uint32_t i = 0; i < f.n; i++)
		ptrace(PTRACE_DETACH, f.tids[i], NULL, NULL);
	free(f.tids);
	return NULL;
}

static int freeze_but(pid_t pid, pid_t but, frozen_fn *fn, void *ctx, struct pugmark_diag *diag)
{
	struct freezing a = {pid, but, fn, ctx, diag, 0};
	pthread_t tracer;
	int err = pthread_create(&tracer, NULL, freeze_main, &a);

	if (err)
		return pugmark_diag_set(diag, -err, NULL, PUGMARK_NO_OFFSET,
					"stopping process %d for a moment: %s", pid, strerror(err));
	pthread_join(tracer, NULL);
	return a.err;
}

int freeze(pid_t pid, frozen_fn *fn, void *ctx, struct pugmark_diag *diag)
{
	return freeze_but(pid, 0, fn, ctx, diag);
}

int freeze_others(pid_t pid, frozen_fn *fn, void *ctx, struct pugmark_diag *diag)
{
	return freeze_but(pid, pid, fn, ctx, diag);
}

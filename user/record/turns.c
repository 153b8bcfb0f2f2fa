// SPDX-License-Identifier: LGPL-2.1-or-later
/* turns.c: see turns.h. At most five processes: this one, the turn that is on, the one before,
 * which writes what is left, and the next two, which plan: on a busy machine planning may take
 * longer than a turn. */
#include "user/record/turns.h"

#include "offline/base/clock.h"
#include "offline/base/folder.h"
#include "user/proc/caught_signals.h"
#include "user/record/write/recording_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AHEAD_MAX = 2 };

struct turn {
	pid_t pid; /* 0: there is none */
	int go_fd, begun_fd;
};

struct turning {
	const struct turns *turns;
	struct caught_signals signals;
	struct turn before, on;
	struct turn next[AHEAD_MAX]; /* the first n_next, in order */
	uint32_t n_next;
	uint64_t end_ns;
	uint32_t n, n_planned, lossy;
	uint32_t empty;	  /* turns in a row */
	uint32_t n_empty; /* all of them */
	bool asked;	  /* to end */
};

static int make_folder(const char *output, struct pugmark_diag *diag)
{
	char name[FOLDER_NAME_MAX];
	struct folder_owner owner = recording_owner(); /* as the turns in it do */
	int parent = folder_parent(output, owner, name);
	int fd = parent < 0 ? parent : folder_make(parent, name, owner);
	if (parent >= 0)
		close(parent);
	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0
		       : pugmark_diag_set(diag, fd, output, PUGMARK_NO_OFFSET,
					  "cannot make this folder: %s%s", strerror(-fd),
					  fd == -EEXIST ? " (name another with --output)" : "");
}

/* Waits for the end of a turn, if there is one. Returns 0, or -EIO: it failed. */
static int finish(struct turning *t, struct turn *turn, struct pugmark_diag *diag)
{
	int status = 0;
	pid_t pid = turn->pid;
	if (!pid)
		return 0;
	*turn = (struct turn){0};
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	t->lossy += code == TURN_LOSSY;
	t->n_empty += code == TURN_EMPTY;
	t->empty = code == TURN_EMPTY ? t->empty + 1 : 0;
	if (!code || code == TURN_LOSSY || code == TURN_EMPTY)
		return 0;
	return pugmark_diag_set(diag, -EIO, NULL, PUGMARK_NO_OFFSET,
				"a turn ended with status %d (what it said is above)", code);
}

char *turn_folder(const char *output, uint32_t number)
{
	char *path;
	return asprintf(&path, "%s/turn-%06u", output, number) < 0 ? NULL : path;
}

/* By which turns the next one is planned: when a round is planned the last turns of the one before
 * are still to come or written, so it is an earlier one; and it is another one in round 3, 4, 6, 10
 * and so on, since a plan that is there already costs nothing. */
static void find_counted(const struct turning *t, struct turn_begin *begin)
{
	uint32_t round = t->n_planned / t->turns->shares + 1, counted = 1;
	if (round < 3)
		return;
	while (2 * counted <= round - 2)
		counted *= 2;
	begin->counted = (counted - 1) * t->turns->shares + 1;
	begin->n_counted = t->turns->shares;
}

/* In the process of the next turn. */
static int record(struct turning *t, int go_fd, int begun_fd)
{
	const struct turns *turns = t->turns;
	char *output = turn_folder(turns->output, t->n_planned + 1);
	struct turn_begin begin = {
		.share = t->n_planned % turns->shares + 1,
		.output = output,
		.go_fd = go_fd,
		.begun_fd = begun_fd,
	};
	setpgid(0, 0); /* the terminal's SIGINT is for the process that waits */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	caught_signals_deinit(&t->signals);
	find_counted(t, &begin);
	return output ? turns->record(turns->ctx, &begin) : 1;
}

static void close_next(const struct turning *t)
{
	for (uint32_t i = 0; i < t->n_next; i++) {
		close(t->next[i].go_fd);
		close(t->next[i].begun_fd);
	}
}

/* Lets another turn be planned. */
static int plan_one(struct turning *t, struct pugmark_diag *diag)
{
	int go[2] = {-1, -1}, begun[2] = {-1, -1};
	fflush(NULL);
	int err = pipe2(go, O_CLOEXEC) || pipe2(begun, O_CLOEXEC) ? -errno : 0;
	pid_t pid = err ? 0 : fork();
	if (!err && !pid) {
		close(go[1]);
		close(begun[0]);
		close_next(t);
		int status = record(t, go[0], begun[1]);
		fflush(NULL);
		_exit(status);
	}
	err = pid < 0 ? -errno : err;
	close(go[0]);
	close(begun[1]);
	if (err) {
		close(go[1]);
		close(begun[0]);
		return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
					"cannot begin a turn: %s", strerror(-err));
	}
	t->next[t->n_next++] = (struct turn){pid, go[1], begun[0]};
	t->n_planned++;
	return 0;
}

/* Lets the next turns be planned: the first one alone, so that it is soon on. Then so many that a
 * round by whose counts one is planned has been written: of fewer shares than AHEAD_MAX + 1 its
 * last turn would not be. */
static int plan(struct turning *t, struct pugmark_diag *diag)
{
	uint32_t others = t->turns->shares - 1, ahead = others < AHEAD_MAX ? others : AHEAD_MAX;
	int err = 0;
	if (!t->on.pid || !ahead)
		ahead = 1;
	while (!err && t->n_next < ahead)
		err = plan_one(t, diag);
	return err;
}

/* Takes the next turns back. */
static void cancel(struct turning *t)
{
	close_next(t);
	while (t->n_next)
		finish(t, &t->next[--t->n_next], NULL);
}

static struct turn take_next(struct turning *t)
{
	struct turn next = t->next[0];
	memmove(t->next, t->next + 1, --t->n_next * sizeof(*t->next));
	return next;
}

/* Begins the turn that is planned, ends the one that is on when its probes are in place, and plans
 * another. */
static int turn_over(struct turning *t, struct pugmark_diag *diag)
{
	struct turn next = take_next(t);
	char byte = 0;
	ssize_t n = write(next.go_fd, &byte, 1);
	while (n == 1 && (n = read(next.begun_fd, &byte, 1)) < 0 && errno == EINTR)
		n = 1;
	close(next.go_fd);
	close(next.begun_fd);
	int err = finish(t, &t->before, diag); /* it has had the time of a turn to write */
	if (n != 1) {
		err = finish(t, &next, err ? NULL : diag) ? -EIO : err;
		if (!err && (!t->empty || t->empty == t->turns->shares))
			err = pugmark_diag_set(diag, -EIO, NULL, PUGMARK_NO_OFFSET,
					       "a turn ended before it began");
		return err ? err : plan(t, diag);
	}
	t->before = t->on;
	t->on = next;
	t->n++;
	t->empty = 0;
	if (t->before.pid)
		kill(t->before.pid, SIGTERM);
	return err ? err : plan(t, diag);
}

static bool is_over(pid_t pid)
{
	siginfo_t info = {0};
	return !waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == pid;
}

/* Lets the turn that is on go on for its time, or until there is a reason to end. */
static void pass_time(struct turning *t)
{
	uint64_t until_ns = clock_now_ns() + t->turns->every_ns, time_ns;
	if (until_ns > t->end_ns)
		until_ns = t->end_ns;
	while (!t->asked && (time_ns = clock_now_ns()) < until_ns) {
		struct pollfd fd = {.fd = t->signals.fd, .events = POLLIN};
		uint64_t ms = (until_ns - time_ns + 999999) / 1000000;
		poll(&fd, 1, ms > 1000 ? 1000 : (int)ms);
		t->asked = caught_signals_read(&t->signals);
		if (is_over(t->on.pid))
			return; /* it ended by itself: finish() says how */
	}
}

int turns_run(const struct turns *turns, struct turns_result *out, struct pugmark_diag *diag)
{
	struct turning t = {
		.turns = turns,
		.end_ns = turns->duration_ns ? clock_now_ns() + turns->duration_ns : UINT64_MAX,
	};
	int err = make_folder(turns->output, diag);
	if (err)
		return err;
	err = caught_signals_init(&t.signals);
	if (err)
		return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET, "%s", strerror(-err));
	err = plan(&t, diag);
	while (!err && !t.asked && clock_now_ns() < t.end_ns) {
		err = turn_over(&t, diag);
		if (!err && t.n == 1 && turns->duration_ns)
			t.end_ns =
				clock_now_ns() + turns->duration_ns; /* planning does not count */
		if (!err && !t.empty)
			pass_time(&t);
	}
	if (t.on.pid)
		kill(t.on.pid, SIGTERM);
	int last = finish(&t, &t.before, err ? NULL : diag);
	last = finish(&t, &t.on, err || last ? NULL : diag) ? -EIO : last;
	cancel(&t);
	caught_signals_deinit(&t.signals);
	err = err ? err : last;
	*out = (struct turns_result){.n = t.n, .lossy = t.lossy};
	if (t.n + t.n_empty < turns->shares)
		out->missed = turns->shares - t.n - t.n_empty;
	return err;
}

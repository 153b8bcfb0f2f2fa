// SPDX-License-Identifier: LGPL-2.1-or-later
/* top_table.c: `pugmark top` as a table that is printed once, and what this and the screen share:
 * signals, and room on the disk. */
#include "user/tui/top.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 100000000ull
/* How long the first event may be on its way: a busy recorder writes late. */
#define FIRST_NS 2000000000ull

static volatile sig_atomic_t asked;

static void on_signal(int signal_nr)
{
	(void)signal_nr;
	asked = 1;
}

void top_catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

bool top_is_asked(void)
{
	return asked;
}

void top_deinit(struct top *t)
{
	if (t->release_fd >= 0)
		close(t->release_fd);
	live_deinit(&t->live);
	free(t->rows);
	*t = (struct top){.release_fd = -1};
}

/* Threads that wait for their parents have events there that are not read yet. */
void top_release(struct top *t)
{
	uint64_t to = pugmark_trace_taken_bytes(t->view->trace) & ~4095ull;
	char path[4096];
	if (!t->release || t->live.waiting || to <= t->released)
		return;
	if (t->release_fd < 0) {
		snprintf(path, sizeof(path), "%s/events", t->view->dir);
		t->release_fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (t->release_fd < 0 ||
	    fallocate(t->release_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)t->released,
		      (off_t)(to - t->released)))
		return; /* who made the recording sees to it that it does not grow for ever */
	t->released = to;
}

static void put_line(struct outbuf *out, const char *text)
{
	outbuf_text(out, text);
	outbuf_char(out, '\n');
}

int top_table(struct top *t, struct outbuf *out)
{
	char text[TOP_LINE];
	live_whole(&t->live);
	if (top_rows_make(t))
		return -ENOMEM;
	top_title(t, text);
	put_line(out, text);
	top_cost(t, text);
	put_line(out, text);
	top_heading(t, 0, text);
	put_line(out, text);
	for (uint32_t i = 0; i < t->n_rows && (!t->most || i < t->most); i++) {
		top_row_text(t, i, 0, text);
		put_line(out, text);
	}
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

int top_print(struct top *t, struct outbuf *out, struct pugmark_diag *diag)
{
	bool last = false;
	while (!last) {
		uint64_t late_ns = t->live.witnesses ? 0 : FIRST_NS;
		last = (t->until_ns != UINT64_MAX && now_ns() >= t->until_ns + late_ns) ||
		       top_is_asked();
		int err = live_more(&t->live, diag);
		last |= !t->live.more;
		if (!err)
			err = live_read(&t->live, UINT64_MAX, diag);
		if (err < 0)
			return err;
		top_release(t);
		if (!last)
			nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
	}
	return top_table(t, out) ? trace_view_no_memory(t->view, diag) : 0;
}

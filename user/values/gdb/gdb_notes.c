// SPDX-License-Identifier: LGPL-2.1-or-later
/* gdb_notes.c: see gdb_notes.h. */
#include "user/values/gdb/gdb_notes.h"

#include "user/values/gdb/gdb_monitor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PROGRESS = 3 /* seconds */ };

/* True: a piece that is noted for the first time since the last move. */
static bool is_news(struct gdb_notes *n, uint64_t addr, uint64_t len)
{
	for (size_t i = 0; i < n->n_noted && i < GDB_NOTED; i++)
		if (n->noted[i].addr == addr && n->noted[i].len == len)
			return false;
	n->noted[n->n_noted++ % GDB_NOTED] = (struct gdb_piece){addr, len};
	return true;
}

void gdb_notes_unknown(struct gdb_notes *n, uint64_t addr, uint64_t len, uint8_t *bytes,
		       const uint8_t *quality)
{
	for (uint64_t i = 0, k; i < len; i = k) {
		for (k = i + 1; k < len; k++)
			if ((quality[k] == VALUE_UNKNOWN) != (quality[i] == VALUE_UNKNOWN))
				break;
		if (quality[i] != VALUE_UNKNOWN)
			continue;
		memset(bytes + i, 0, k - i);
		if (is_news(n, addr + i, k - i))
			dprintf(n->out,
				"pugmark: not known, zeros stand for it: 0x%" PRIx64 ", %" PRIu64
				" bytes\n",
				addr + i, k - i);
	}
}

void gdb_notes_assumed(struct gdb_notes *n, uint64_t addr, uint64_t len, const uint8_t *quality)
{
	const uint8_t *first = memchr(quality, VALUE_ASSUMED, len);

	if (!first || n->told_assumed)
		return;
	dprintf(n->out,
		"pugmark: assumed, not exact: memory at 0x%" PRIx64
		" (and maybe more: monitor exactness ADDRESS LENGTH)\n",
		addr + (first - quality));
	n->told_assumed = true;
}

void gdb_notes_unchanged(const struct gdb_notes *n)
{
	dprintf(n->out, "pugmark: this is a recording: memory and registers cannot be changed, "
			"and no function be called\n");
}

void gdb_notes_registers(struct gdb_notes *n, struct value_run *run)
{
	char now[sizeof(n->assumed)];

	if (!run)
		return;
	/* gdb steps many times for one "next": what is assumed still is not said again. */
	if (gdb_monitor_assumed(value_run_machine(run), now, sizeof(now)) &&
	    strcmp(now, n->assumed) != 0)
		dprintf(n->out, "pugmark: assumed, not exact: %s\n", now);
	memcpy(n->assumed, now, sizeof(now));
}

void gdb_notes_moved(struct gdb_notes *n, bool by_a_step)
{
	n->n_noted = 0;
	n->told_assumed &= by_a_step;
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A line every three seconds, so that nobody thinks that it hangs. */
static void tell_progress(void *ctx, uint64_t instructions)
{
	struct gdb_notes *n = ctx;
	double now = seconds();
	if (now < n->tell_at)
		return;
	dprintf(n->out, "pugmark: looking: %" PRIu64 " million instructions in %.0f s\n",
		instructions / 1000000, now - n->began);
	n->tell_at = now + PROGRESS;
}

void gdb_notes_progress(struct gdb_notes *n, struct gdb_history *h)
{
	n->began = seconds();
	n->tell_at = n->began + PROGRESS;
	h->progress = tell_progress;
	h->progress_ctx = n;
	h->executed = 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* progress.c: see progress.h. */
#include "user/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_NS = 500000000, EVERY_NS = 100000000 };

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

void progress_start(struct progress *p, const char *what, uint64_t total, bool quiet)
{
	*p = (struct progress){
		.what = what,
		.total = total,
		.start_ns = now_ns(),
		.on = !quiet && isatty(STDERR_FILENO),
	};
	p->next_ns = p->start_ns + FIRST_NS;
}

void progress_step(struct progress *p, uint64_t n)
{
	uint64_t done = (p->done += n);
	if (!p->on)
		return;
	uint64_t now = now_ns(), next = p->next_ns;
	/* Of the threads that come at the same time, one prints. */
	if (now < next || !atomic_compare_exchange_strong(&p->next_ns, &next, now + EVERY_NS))
		return;
	p->shown = true;
	if (p->total)
		fprintf(stderr, "\r%s  %.0f %%  %.1f s\033[K", p->what,
			100.0 * (done < p->total ? done : p->total) / p->total,
			(now - p->start_ns) / 1e9);
	else
		fprintf(stderr, "\r%s  %.1f s\033[K", p->what, (now - p->start_ns) / 1e9);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->on = p->shown = false;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* later.c: see later.h. Where the kernel does not tell of mappings, the processes are looked at
 * once a second. */
#include "user/later.h"

#include "user/mappings.h"
#include "user/running.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { PIDS_MAX = 1024, LOOK_NS = 1000000000 };

struct later {
	const struct recorder_options *options;
	struct probes *probes;
	struct collector *collector;
	struct mappings *mappings; /* NULL: the kernel does not tell */
	struct mapping next;
	uint64_t looked_ns;
	uint32_t n;
	pid_t pids[PIDS_MAX];
};

static void add(struct later *l, pid_t pid)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->pids[i] == pid)
			return;
	if (l->n < PIDS_MAX)
		l->pids[l->n++] = pid;
}

int later_new(const struct recorder_options *options, struct probes *probes,
	      struct collector *collector, struct later **out)
{
	struct later *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->options = options;
	l->probes = probes;
	l->collector = collector;
	if (mappings_open(&l->mappings))
		l->mappings = NULL;
	for (uint32_t i = 0; i < options->n_running; i++)
		add(l, options->running[i]);
	*out = l;
	return 0;
}

void later_free(struct later *l)
{
	if (!l)
		return;
	mappings_free(l->mappings);
	free(l);
}

int later_fd(const struct later *l)
{
	return l->mappings ? mappings_fd(l->mappings) : -1;
}

static bool is_traced(const struct later *l, pid_t pid)
{
	return l->options->all ? running_runs(pid, l->options->program)
			       : probes_tracks(l->probes, pid);
}

static void add_all(struct later *l)
{
	int32_t pids[PIDS_MAX];
	uint32_t n = collector_processes(l->collector, pids, PIDS_MAX);
	for (uint32_t i = 0; i < n; i++)
		add(l, pids[i]);
}

uint32_t later_processes(struct later *l, uint64_t time_ns, const pid_t **pids)
{
	while (l->mappings && mappings_next(l->mappings, &l->next)) {
		if (!l->next.pid)
			add_all(l);
		else if (l->options->wants(l->options->replan_ctx, l->next.file) &&
			 is_traced(l, l->next.pid))
			add(l, l->next.pid);
	}
	if (!l->mappings && time_ns - l->looked_ns >= LOOK_NS) {
		l->looked_ns = time_ns;
		add_all(l);
	}
	*pids = l->pids;
	return l->n;
}

void later_done(struct later *l)
{
	l->n = 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* late_modules.c: see late_modules.h. Where the kernel does not tell of mappings, the processes are
 * checked once a second. */
#include "user/record/probed/late_modules.h"

#include "user/kernel/mappings.h"
#include "user/proc/running.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { PIDS_MAX = 1024, LOOK_NS = 1000000000 };

struct late_modules {
	const struct recorder_options *options;
	struct probes *probes;
	struct collector *collector;
	struct mappings *mappings; /* NULL: the kernel does not tell */
	struct mapping next;
	uint64_t looked_ns;
	uint32_t n;
	pid_t pids[PIDS_MAX];
};

static void add(struct late_modules *l, pid_t pid)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->pids[i] == pid)
			return;
	if (l->n < PIDS_MAX)
		l->pids[l->n++] = pid;
}

int late_modules_new(const struct recorder_options *options, struct probes *probes,
		     struct collector *collector, struct late_modules **out)
{
	struct late_modules *l = calloc(1, sizeof(*l));
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

void late_modules_free(struct late_modules *l)
{
	if (!l)
		return;
	mappings_free(l->mappings);
	free(l);
}

int late_modules_fd(const struct late_modules *l)
{
	return l->mappings ? mappings_fd(l->mappings) : -1;
}

static bool is_traced(const struct late_modules *l, pid_t pid)
{
	return l->options->all ? running_runs(pid, l->options->program)
			       : probes_tracks(l->probes, pid);
}

static void add_all(struct late_modules *l)
{
	int32_t pids[PIDS_MAX];
	uint32_t n = collector_processes(l->collector, pids, PIDS_MAX);
	for (uint32_t i = 0; i < n; i++)
		add(l, pids[i]);
}

uint32_t late_modules_processes(struct late_modules *l, uint64_t time_ns, const pid_t **pids)
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

void late_modules_done(struct late_modules *l)
{
	l->n = 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* overhead.c: see overhead.h. Cost is hits, which the collector counts, times what a probe of that
 * class costs on this machine (measured by doctor) and what the program at it takes (measured by
 * the kernel). It is set against the processes' own CPU time without it. */
#include "user/overhead.h"

#include "user/probe_costs.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIDS_MAX = 1024, NAMES_MAX = 3000 };
#define CPU_ENOUGH_NS 100000000.0 /* below that clock ticks tell too little */
#define AIM 0.5			  /* of the bound: what is planned anew has other witnesses */

struct process_time {
	int32_t pid;
	uint64_t ticks;
};

struct overhead {
	double max_percent;
	struct probes *probes;
	struct collector *collector;
	struct probe_costs costs;
	int stats_fd;
	struct process_time times[PIDS_MAX];
	uint32_t n_times;
	double cpu_ns; /* since the hits were last cleared */
	struct taken_out *taken;
	uint32_t n_taken;
	char words[NAMES_MAX + 512];
};

/* A function and what its probes cost. */
struct func_cost {
	double cost_ns;
	uint32_t module, func;
};

int overhead_new(double max_percent, struct probes *probes, struct collector *collector,
		 struct overhead **out)
{
	struct overhead *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->max_percent = max_percent;
	o->probes = probes;
	o->collector = collector;
	o->costs = probe_costs_of_machine();
	o->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	*out = o;
	return 0;
}

void overhead_free(struct overhead *o)
{
	if (!o)
		return;
	if (o->stats_fd >= 0)
		close(o->stats_fd);
	free(o->taken);
	free(o);
}

/* User and system time of process @pid in ticks: fields 14 and 15, counted behind its name. */
static bool read_ticks(int32_t pid, uint64_t *ticks)
{
	char path[32], line[1024];
	unsigned long user, system;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *f = fopen(path, "re");
	const char *end = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	bool ok = end && sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
				&user, &system) == 2;
	if (f)
		fclose(f);
	if (ok)
		*ticks = user + system;
	return ok;
}

/* Adds what the processes have used since the last time. One that is new counts from now on. */
static void add_cpu_time(struct overhead *o)
{
	int32_t pids[PIDS_MAX];
	uint32_t n = collector_processes(o->collector, pids, PIDS_MAX);
	double tick_ns = 1e9 / sysconf(_SC_CLK_TCK);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t ticks;
		uint32_t k = 0;
		while (k < o->n_times && o->times[k].pid != pids[i])
			k++;
		if (!read_ticks(pids[i], &ticks))
			continue;
		if (k < o->n_times && ticks >= o->times[k].ticks)
			o->cpu_ns += (ticks - o->times[k].ticks) * tick_ns;
		if (k == o->n_times && k < PIDS_MAX)
			o->n_times++;
		if (k < o->n_times)
			o->times[k] = (struct process_time){pids[i], ticks};
	}
}

static int by_falling_cost(const void *a, const void *b)
{
	const struct func_cost *x = a, *y = b;
	return x->cost_ns < y->cost_ns ? 1 : x->cost_ns > y->cost_ns ? -1 : 0;
}

/* Takes the hits, function by function: @costs has room for each function of each module. */
static uint32_t sum_up(struct overhead *o, const struct recorder_options *now,
		       struct func_cost *costs, double *total_ns)
{
	_Atomic uint64_t *hits = collector_hits(o->collector);
	double program_ns = probes_program_ns(o->probes);
	uint32_t n = 0;
	*total_ns = 0;
	for (uint32_t m = 0; m < now->n_modules; m++) {
		const struct recorder_module *mod = &now->modules[m];
		uint32_t first = n;
		for (uint32_t f = 0; mod->plan && f < mod->plan->n_funcs; f++)
			costs[n++] = (struct func_cost){0, m, f};
		for (uint32_t i = 0; i < mod->n_sites; i++) {
			const struct plan_site *s = &mod->sites[i];
			double each_ns = (s->probe == PROBE_EMULATED ? o->costs.emulated_ns
								     : o->costs.stepped_ns) +
					 program_ns;
			double cost_ns = each_ns * atomic_exchange(&hits[i], 0);
			costs[first + s->func].cost_ns += cost_ns;
			*total_ns += cost_ns;
		}
		hits += mod->n_sites;
	}
	return n;
}

static int take_out(struct overhead *o, const struct recorder_options *now,
		    const struct func_cost *costs, uint32_t n, double excess_ns)
{
	struct taken_out *taken = realloc(o->taken, (o->n_taken + n + 1) * sizeof(*taken));
	size_t len = strlen(o->words);
	uint32_t more = 0;
	if (!taken)
		return -ENOMEM;
	o->taken = taken;
	for (; more < n && excess_ns > 0 && costs[more].cost_ns > 0; more++) {
		const struct recorder_module *mod = &now->modules[costs[more].module];
		const struct plan_func *f = &mod->plan->funcs[costs[more].func];
		const char *name = mod->plan->strings + f->name;
		taken[o->n_taken++] = (struct taken_out){mod->path, mod->name, f->addr};
		excess_ns -= costs[more].cost_ns;
		if (len < NAMES_MAX)
			len += snprintf(o->words + len, sizeof(o->words) - len, "%s %.200s",
					more ? "," : "", name);
	}
	return more;
}

int overhead_check(struct overhead *o, const struct recorder_options *now)
{
	uint32_t n_funcs = 0;
	add_cpu_time(o);
	if (o->cpu_ns < CPU_ENOUGH_NS)
		return 0;
	for (uint32_t m = 0; m < now->n_modules; m++)
		n_funcs += now->modules[m].plan ? now->modules[m].plan->n_funcs : 0;
	struct func_cost *costs = calloc(n_funcs + 1, sizeof(*costs));
	if (!costs)
		return -ENOMEM;
	double cost_ns, cpu_ns = o->cpu_ns;
	uint32_t n = sum_up(o, now, costs, &cost_ns);
	o->cpu_ns = 0;
	/* Ticks are coarse, and costs an average: the program's own part is never nothing. */
	double own_ns = cpu_ns - cost_ns > cpu_ns / 50 ? cpu_ns - cost_ns : cpu_ns / 50;
	double percent = 100 * cost_ns / own_ns;
	int more = 0;
	if (percent > o->max_percent) {
		qsort(costs, n, sizeof(*costs), by_falling_cost);
		snprintf(o->words, sizeof(o->words),
			 "taken out, since probes cost %.1f %% of the time of what is traced, more "
			 "than %.1f %%:",
			 percent, o->max_percent);
		more = take_out(o, now, costs, n, cost_ns - AIM * o->max_percent / 100 * own_ns);
	}
	free(costs);
	return more;
}

const struct taken_out *overhead_taken(const struct overhead *o, uint32_t *n)
{
	*n = o->n_taken;
	return o->taken;
}

const char *overhead_words(const struct overhead *o)
{
	return o->words;
}

void overhead_restart(struct overhead *o)
{
	_Atomic uint64_t *hits = collector_hits(o->collector);
	add_cpu_time(o);
	o->cpu_ns = 0;
	for (uint32_t i = 0; i < BATCH_MAX_SITES; i++)
		if (atomic_load_explicit(&hits[i], memory_order_relaxed))
			atomic_store(&hits[i], 0);
}

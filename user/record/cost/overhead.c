// SPDX-License-Identifier: LGPL-2.1-or-later
/* overhead.c: see overhead.h. The cost of probes is the number of hits, which the collector counts,
 * times two things: what a probe of that class costs on this machine (measured by doctor), and what
 * the BPF program at it takes (measured by the kernel, and by the program itself where it sends the
 * stack). It is compared with the CPU time that the processes took without it. */
#include "user/record/cost/overhead.h"

#include "user/plan/probe_costs.h"
#include "user/record/cost/overhead_choice.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PIDS_MAX = 1024 };
#define CPU_ENOUGH_NS 40000000.0 /* below that too few calls tell too little */
/* What the program takes to send a stack, in hits, until that is measured. */
#define STACK_HITS 10
#define AIM 0.5 /* of the bound: each change costs a gap, so it shall do for long */
/* A lower aim where everything is many times slower than it will be: requests have queued up, and
 * work that is done once for all that wait will then be done once for a few. */
#define AIM_FAR 0.2
#define FAR 4 /* times the bound */
/* Probes must have cost this much more processor time than they may (less what was left over since)
 * before anything is done: a burst, as when all clients connect again, is over before any plan is
 * made for it. */
#define EXCESS_NS 10000000.0

struct process_time {
	int32_t pid;
	uint64_t time_ns;
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
	/* What the last check found: whether it is far more than is allowed; what probes cost, and
	 * what they may; what is left to do about it. */
	bool far;
	double percent, bound_ns;
	double excess_ns; /* what they cost too much of late: a leaky bucket */
	double sum_ns;	  /* what probes have cost since what is probed was last changed */
	struct overhead_choice choice;
	struct taken_out *taken;
	uint32_t n_taken;
	char *words; /* heap */
};

int overhead_new(double max_percent, struct probes *probes, struct collector *collector,
		 struct overhead **out)
{
	struct overhead *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->max_percent = max_percent;
	o->percent = -1;
	o->probes = probes;
	o->collector = collector;
	probe_costs_of_machine(&o->costs);
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
	overhead_choice_deinit(&o->choice);
	free(o->taken);
	free(o->words);
	free(o);
}

/* User and system time of process @pid. */
static bool read_cpu_time(int32_t pid, uint64_t *time_ns)
{
	struct timespec ts;
	clockid_t clock;
	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		return false;
	*time_ns = ts.tv_sec * 1000000000ull + ts.tv_nsec;
	return true;
}

static const struct process_time *last_time(const struct overhead *o, int32_t pid)
{
	for (uint32_t i = 0; i < o->n_times; i++)
		if (o->times[i].pid == pid)
			return &o->times[i];
	return NULL;
}

/* Adds the CPU time of the processes since the last time. A new process counts from now on; one
 * that has ended is forgotten. */
static void add_cpu_time(struct overhead *o)
{
	int32_t pids[PIDS_MAX];
	struct process_time now[PIDS_MAX];
	uint32_t n = collector_processes(o->collector, pids, PIDS_MAX), n_now = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t time_ns;
		if (!read_cpu_time(pids[i], &time_ns))
			continue;
		const struct process_time *last = last_time(o, pids[i]);
		if (last && time_ns >= last->time_ns)
			o->cpu_ns += time_ns - last->time_ns;
		now[n_now++] = (struct process_time){pids[i], time_ns};
	}
	memcpy(o->times, now, n_now * sizeof(*now));
	o->n_times = n_now;
}

/* Takes the hits; returns what they cost in all. */
static double sum_up(struct overhead *o, const struct recorder_options *now)
{
	struct site_hits *hits = collector_hits(o->collector);
	struct program_ns program_ns = probes_program_ns(o->probes);
	double total_ns = 0;
	struct overhead_choice *c = &o->choice;
	float *site_ns = c->site_ns[0];
	c->each_ns = o->costs.emulated_ns + program_ns.hit;
	if (!program_ns.stack)
		program_ns.stack = STACK_HITS * program_ns.hit;
	c->stack_ns = program_ns.stack;
	for (uint32_t m = 0; m < now->n_modules; m++) {
		const struct recorder_module *mod = &now->modules[m];
		for (uint32_t i = 0; i < mod->n_sites; i++) {
			const struct pugmark_plan_site *s = &mod->sites[i];
			double each_ns =
				(s->probe == PUGMARK_PROBE_EMULATED ? o->costs.emulated_ns
								    : o->costs.stepped_ns) +
				program_ns.hit;
			double cost_ns = each_ns * atomic_exchange(&hits[i].all, 0) +
					 program_ns.stack * atomic_exchange(&hits[i].stacks, 0);
			*site_ns++ = cost_ns;
			c->costs[c->first[m] + s->func].cost_ns += cost_ns;
			total_ns += cost_ns;
		}
		hits += mod->n_sites;
	}
	return total_ns;
}

int overhead_check(struct overhead *o, const struct recorder_options *now)
{
	add_cpu_time(o);
	if (o->cpu_ns < CPU_ENOUGH_NS)
		return 0;
	int err = overhead_choice_init(&o->choice, now);
	if (err)
		return err;
	double cost_ns = sum_up(o, now), cpu_ns = o->cpu_ns;
	o->cpu_ns = 0;
	/* Ticks are coarse and costs are averages: the program's own part is taken to be at least a
	 * fiftieth. */
	double own_ns = cpu_ns - cost_ns > cpu_ns / 50 ? cpu_ns - cost_ns : cpu_ns / 50;
	o->percent = 100 * cost_ns / own_ns;
	o->far = o->percent > FAR * o->max_percent;
	o->bound_ns = (o->far ? AIM_FAR : AIM) * o->max_percent / 100 * own_ns;
	o->sum_ns += cost_ns;
	o->choice.share = o->sum_ns > 0 ? cost_ns / o->sum_ns : 1;
	o->excess_ns += cost_ns - o->max_percent / 100 * own_ns;
	if (o->excess_ns < 0)
		o->excess_ns = 0;
	return o->excess_ns > EXCESS_NS;
}

int overhead_choose(struct overhead *o)
{
	char *names = NULL;
	struct taken_out *taken =
		realloc(o->taken, (o->n_taken + o->choice.n + 1) * sizeof(*taken));
	if (!taken)
		return -ENOMEM;
	o->taken = taken;
	collector_flush(o->collector);
	int more = overhead_choice_make(&o->choice, o->bound_ns, taken + o->n_taken, &names);
	free(o->words);
	if (more < 0 || asprintf(&o->words,
				 "taken out, since probes cost %.1f %% of the time of what is "
				 "traced, more than %.1f %%:%s",
				 o->percent, o->max_percent, names) < 0)
		o->words = NULL;
	free(names);
	o->n_taken += more > 0 ? more : 0;
	return more;
}

double overhead_percent(const struct overhead *o)
{
	return o->percent;
}

bool overhead_is_far(const struct overhead *o)
{
	return o->far;
}

const struct taken_out *overhead_taken(const struct overhead *o, uint32_t *n)
{
	*n = o->n_taken;
	return o->taken;
}

const char *overhead_words(const struct overhead *o)
{
	return o->words ? o->words : "functions were taken out";
}

void overhead_restart(struct overhead *o)
{
	add_cpu_time(o);
	o->cpu_ns = o->sum_ns = o->excess_ns = 0;
	collector_count_anew(o->collector);
}

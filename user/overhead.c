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
#define FAR 4			  /* times the bound */

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
	bool far;      /* the last check found much more than is allowed */
	struct taken_out *taken;
	uint32_t n_taken;
	char words[NAMES_MAX + 512];
};

/* A function and what its probes cost. */
struct func_cost {
	double cost_ns;
	double entry_ns; /* what a probe at its entry will cost as well */
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

/* Takes the hits: @costs has room for each function of each module, @site_ns for each site. */
static void sum_up(struct overhead *o, const struct recorder_options *now, struct func_cost *costs,
		   float *site_ns, double *total_ns)
{
	_Atomic uint64_t *hits = collector_hits(o->collector);
	double program_ns = probes_program_ns(o->probes);
	uint32_t n = 0;
	*total_ns = 0;
	for (uint32_t m = 0; m < now->n_modules; m++) {
		const struct recorder_module *mod = &now->modules[m];
		uint32_t first = n;
		for (uint32_t f = 0; mod->plan && f < mod->plan->n_funcs; f++)
			costs[n++] = (struct func_cost){0, 0, m, f};
		for (uint32_t i = 0; i < mod->n_sites; i++) {
			const struct plan_site *s = &mod->sites[i];
			double each_ns = (s->probe == PROBE_EMULATED ? o->costs.emulated_ns
								     : o->costs.stepped_ns) +
					 program_ns;
			double cost_ns = each_ns * atomic_exchange(&hits[i], 0);
			*site_ns++ = cost_ns;
			costs[first + s->func].cost_ns += cost_ns;
			*total_ns += cost_ns;
		}
		hits += mod->n_sites;
	}
}

/* Functions to be taken out. */
struct taking {
	const struct recorder_options *now;
	struct func_cost *costs; /* of all functions, module by module */
	uint32_t n_costs;
	uint32_t first[BATCH_MODULES]; /* of each module's in there */
	const float *site_ns[BATCH_MODULES];
	struct taken_out *taken; /* room for all */
	uint32_t n;
	bool *out; /* per function, as in costs */
};

static bool take(struct taking *t, uint32_t module, uint32_t func)
{
	const struct recorder_module *mod = &t->now->modules[module];
	const struct plan_func *f = &mod->plan->funcs[func];
	bool *out = &t->out[t->first[module] + func];
	if (*out || f->flags & PLAN_FUNC_OPAQUE)
		return false;
	*out = true;
	t->taken[t->n++] = (struct taken_out){mod->path, mod->name, f->addr};
	return true;
}

/* No probe of @func could show that it is called. */
static bool is_silent(const struct pugmark_plan *plan, uint32_t func)
{
	const struct plan_func *f = &plan->funcs[func];
	for (uint32_t i = 0; i < f->n_nodes; i++)
		if (plan->nodes[f->node + i].site != PUGMARK_NONE)
			return false;
	return true;
}

/* What a function that is not traced calls may be entered from anywhere, so it will have a probe at
 * its entry. What had no probe at all would only be slowed down by that: it goes, too. */
static void take_callees(struct taking *t, uint32_t module, uint32_t func)
{
	const struct pugmark_plan *plan = t->now->modules[module].plan;
	const struct plan_func *f = &plan->funcs[func];
	for (uint32_t i = 0; i < f->n_nodes; i++) {
		const struct plan_node *n = &plan->nodes[f->node + i];
		if (n->kind != NODE_KIND_CALL || plan->funcs[n->callee].flags & PLAN_FUNC_ENTERED)
			continue;
		if (is_silent(plan, n->callee)) {
			if (take(t, module, n->callee))
				take_callees(t, module, n->callee);
			continue;
		}
		struct func_cost *c = &t->costs[t->first[module] + n->callee];
		if (n->site != PUGMARK_NONE)
			c->entry_ns += t->site_ns[module][n->site];
		else if (c->entry_ns < c->cost_ns) /* how often is not known */
			c->entry_ns = c->cost_ns;
	}
}

/* The function that will cost most of those that stay; in *@all_ns what all of these will. */
static uint32_t hottest(const struct taking *t, double *all_ns)
{
	uint32_t found = PUGMARK_NONE;
	double most_ns = 0;
	*all_ns = 0;
	for (uint32_t i = 0; i < t->n_costs; i++) {
		double cost_ns = t->costs[i].cost_ns + t->costs[i].entry_ns;
		if (t->out[i])
			continue;
		*all_ns += cost_ns;
		if (cost_ns > most_ns) {
			most_ns = cost_ns;
			found = i;
		}
	}
	return found;
}

/* Takes out the hottest functions until the rest costs no more than @bound_ns. Returns how many go,
 * with those that go along. */
static int take_out(struct overhead *o, struct taking *t, double bound_ns)
{
	size_t len = strlen(o->words);
	uint32_t hot = 0, begun = t->n, i;
	double all_ns;
	while ((i = hottest(t, &all_ns)) != PUGMARK_NONE && all_ns > bound_ns) {
		const struct func_cost *c = &t->costs[i];
		const struct pugmark_plan *plan = t->now->modules[c->module].plan;
		if (!take(t, c->module, c->func)) {
			t->out[i] = true;
			continue;
		}
		if (len < NAMES_MAX)
			len += snprintf(o->words + len, sizeof(o->words) - len, "%s %.200s",
					hot ? "," : "", plan->strings + plan->funcs[c->func].name);
		hot++;
		take_callees(t, c->module, c->func);
	}
	if (t->n - begun > hot)
		snprintf(o->words + len, sizeof(o->words) - len,
			 ", and %u that these call and that had no probe", t->n - begun - hot);
	return t->n - begun;
}

/* Measures, and takes out what is too much. */
static int check(struct overhead *o, struct taking *t, float *site_ns)
{
	double cost_ns, cpu_ns = o->cpu_ns;
	sum_up(o, t->now, t->costs, site_ns, &cost_ns);
	o->cpu_ns = 0;
	/* Ticks are coarse, and costs an average: the program's own part is never nothing. */
	double own_ns = cpu_ns - cost_ns > cpu_ns / 50 ? cpu_ns - cost_ns : cpu_ns / 50;
	double percent = 100 * cost_ns / own_ns;
	o->far = percent > FAR * o->max_percent;
	if (percent <= o->max_percent)
		return 0;
	snprintf(o->words, sizeof(o->words),
		 "taken out, since probes cost %.1f %% of the time of what is traced, more than "
		 "%.1f %%:",
		 percent, o->max_percent);
	return take_out(o, t, AIM * o->max_percent / 100 * own_ns);
}

int overhead_check(struct overhead *o, const struct recorder_options *now)
{
	struct taking t = {.now = now, .n = o->n_taken};
	uint32_t n_sites = 0;
	add_cpu_time(o);
	if (o->cpu_ns < CPU_ENOUGH_NS)
		return 0;
	for (uint32_t m = 0; m < now->n_modules; m++) {
		t.first[m] = t.n_costs;
		t.n_costs += now->modules[m].plan ? now->modules[m].plan->n_funcs : 0;
		n_sites += now->modules[m].n_sites;
	}
	t.costs = calloc(t.n_costs + 1, sizeof(*t.costs));
	t.out = calloc(t.n_costs + 1, sizeof(*t.out));
	float *site_ns = calloc(n_sites + 1, sizeof(*site_ns));
	t.taken = realloc(o->taken, (o->n_taken + t.n_costs + 1) * sizeof(*t.taken));
	if (t.taken)
		o->taken = t.taken;
	int more = -ENOMEM;
	if (t.costs && t.out && site_ns && t.taken) {
		for (uint32_t m = 0, k = 0; m < now->n_modules; k += now->modules[m++].n_sites)
			t.site_ns[m] = site_ns + k;
		more = check(o, &t, site_ns);
		o->n_taken = t.n;
	}
	free(t.costs);
	free(t.out);
	free(site_ns);
	return more;
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
	return o->words;
}

void overhead_restart(struct overhead *o)
{
	add_cpu_time(o);
	o->cpu_ns = 0;
	collector_count_anew(o->collector);
}

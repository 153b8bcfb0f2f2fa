// SPDX-License-Identifier: LGPL-2.1-or-later
/* overhead_choice.c: see overhead_choice.h. Where the recording so far can be read, what a function
 * will cost follows from how often it was called, and by which: about one witness a call, whatever
 * the plan has now, and the stack with it where the caller is not traced any more. Otherwise what
 * its probes have cost is taken. */
#include "user/record/cost/overhead_choice.h"

#include "user/record/cost/call_counts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 3000, FEW = 4 };

int overhead_choice_init(struct overhead_choice *c, const struct recorder_options *now)
{
	uint32_t n_sites = 0;
	overhead_choice_deinit(c);
	c->now = now;
	for (uint32_t m = 0; m < now->n_modules; m++) {
		c->first[m] = c->n;
		c->n += now->modules[m].plan->n_funcs;
		n_sites += now->modules[m].n_sites;
	}
	c->costs = calloc(c->n + 1, sizeof(*c->costs));
	c->site_ns[0] = calloc(n_sites + 1, sizeof(*c->site_ns[0]));
	if (!c->costs || !c->site_ns[0])
		return -ENOMEM;
	for (uint32_t m = 0; m < now->n_modules; m++) {
		if (m)
			c->site_ns[m] = c->site_ns[m - 1] + now->modules[m - 1].n_sites;
		for (uint32_t f = 0; f < now->modules[m].plan->n_funcs; f++)
			c->costs[c->first[m] + f] = (struct func_cost){.module = m, .func = f};
	}
	return 0;
}

void overhead_choice_deinit(struct overhead_choice *c)
{
	free(c->costs);
	free(c->site_ns[0]);
	*c = (struct overhead_choice){0};
}

/* What is taken out, as it grows. */
struct taking {
	struct overhead_choice *c;
	struct taken_out *taken;
	uint32_t n, hot;
	bool counted; /* the costs are of calls */
	struct call_counts calls;
};

static const struct pugmark_plan *plan_of(const struct taking *t, uint32_t module)
{
	return t->c->now->modules[module].plan;
}

static bool take(struct taking *t, uint32_t module, uint32_t func)
{
	const struct recorder_module *mod = &t->c->now->modules[module];
	const struct pugmark_plan_func *f = &mod->plan->funcs[func];
	bool *out = &t->c->costs[t->c->first[module] + func].out;
	if (*out || f->flags & PUGMARK_PLAN_FUNC_OPAQUE)
		return false;
	*out = true;
	t->taken[t->n++] = (struct taken_out){mod->path, mod->name, f->addr};
	return true;
}

/* Whether no probe of @func could show that it is called. */
static bool is_silent(const struct pugmark_plan *plan, uint32_t func)
{
	const struct pugmark_plan_func *f = &plan->funcs[func];
	for (uint32_t i = 0; i < f->n_nodes; i++)
		if (plan->nodes[f->node + i].site != PUGMARK_NONE)
			return false;
	return true;
}

/* Takes callees of a function that is not traced. They may be entered from anywhere then, and get a
 * probe at their entry. A callee without any probe would only become slower by that: it goes,
 * too. */
static void take_callees(struct taking *t, uint32_t module, uint32_t func)
{
	const struct pugmark_plan *plan = plan_of(t, module);
	const struct pugmark_plan_func *f = &plan->funcs[func];
	for (uint32_t i = 0; i < f->n_nodes; i++) {
		const struct pugmark_plan_node *n = &plan->nodes[f->node + i];
		if (n->kind != PUGMARK_NODE_KIND_CALL ||
		    plan->funcs[n->callee].flags & PUGMARK_PLAN_FUNC_ENTERED)
			continue;
		if (is_silent(plan, n->callee)) {
			if (take(t, module, n->callee))
				take_callees(t, module, n->callee);
			continue;
		}
		struct func_cost *c = &t->c->costs[t->c->first[module] + n->callee];
		if (n->site != PUGMARK_NONE)
			c->entry_ns += t->c->site_ns[module][n->site];
		else if (c->entry_ns < c->cost_ns) /* how often is not known */
			c->entry_ns = c->cost_ns;
	}
}

/* Counts calls by a function that is not traced: each enters its callee from outside, and brings
 * the stack along. */
static void enter_callees(struct taking *t, uint32_t caller)
{
	const struct overhead_choice *c = t->c;
	for (uint32_t i = 0; i < t->calls.cap; i++) {
		const struct call_count *call = &t->calls.at[i];
		if (call->n && call->caller == caller)
			c->costs[call->callee].entry_ns += call->n * c->stack_ns * c->share;
	}
}

/* The function that will cost most of those that stay; *@all_ns: what all of these will cost. */
static struct func_cost *hottest(const struct overhead_choice *c, double *all_ns)
{
	struct func_cost *found = NULL;
	double most_ns = 0;
	*all_ns = 0;
	for (uint32_t i = 0; i < c->n; i++) {
		double cost_ns = c->costs[i].cost_ns + c->costs[i].entry_ns;
		if (c->costs[i].out)
			continue;
		*all_ns += cost_ns;
		if (cost_ns > most_ns) {
			most_ns = cost_ns;
			found = &c->costs[i];
		}
	}
	return found;
}

/* Takes the most expensive functions until the rest costs no more than @bound_ns, and lists their
 * names and costs. */
static void take_hottest(struct taking *t, double bound_ns, char names[NAMES_MAX + 256])
{
	struct func_cost *f;
	double all_ns;
	size_t len = 0;
	while ((f = hottest(t->c, &all_ns)) && all_ns > bound_ns) {
		const struct pugmark_plan *plan = plan_of(t, f->module);
		if (!take(t, f->module, f->func)) {
			f->out = true;
			continue;
		}
		if (len < NAMES_MAX)
			len += snprintf(names + len, 256, "%s %.200s", t->hot ? "," : "",
					plan->strings + plan->funcs[f->func].name);
		t->hot++;
		if (t->counted)
			enter_callees(t, f - t->c->costs);
		else
			take_callees(t, f->module, f->func);
	}
}

/* Sets what functions will cost by their calls so far, a witness each, where that is more than
 * their probes have cost. (A loop within one call costs what it did.) A few calls say nothing: what
 * a clock starts is frequent only while everything else is slow. */
static void reckon_calls(struct taking *t)
{
	struct overhead_choice *c = t->c;
	for (uint32_t i = 0; i < c->n; i++)
		c->costs[i].calls = 0;
	for (uint32_t i = 0; i < t->calls.cap; i++)
		if (t->calls.at[i].n)
			c->costs[t->calls.at[i].callee].calls += t->calls.at[i].n;
	for (uint32_t i = 0; i < c->n; i++) {
		struct func_cost *f = &c->costs[i];
		double cost_ns = f->calls * c->each_ns * c->share;
		if (f->calls <= FEW && f->cost_ns <= FEW * FEW * c->each_ns)
			f->cost_ns = 0;
		else if (f->cost_ns < cost_ns)
			f->cost_ns = cost_ns;
	}
}

int overhead_choice_make(struct overhead_choice *c, double bound_ns, struct taken_out *taken,
			 char **names)
{
	char text[NAMES_MAX + 256] = "";
	struct taking t = {.c = c, .taken = taken};
	t.counted = !call_counts_read(c->now, c->first, &t.calls);
	if (t.counted)
		reckon_calls(&t);
	take_hottest(&t, bound_ns, text);
	call_counts_deinit(&t.calls);
	int n = t.n > t.hot ? asprintf(names, "%s, and %u that these call and that had no probe",
				       text, t.n - t.hot)
			    : asprintf(names, "%s", text);
	return n < 0 ? -ENOMEM : (int)t.n;
}

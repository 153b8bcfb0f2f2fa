// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_check_tables.c: what a plan's tables must say for the rest of the check to mean anything:
 * that each probe reads what its node is decided by; that what cannot be derived has a witness
 * (entries from outside, landing pads, jumps that nothing announces); and R3 of docs/theory.md,
 * that no silence is endless. */
#include "offline/prove/plan_check_impl.h"

#include <stdlib.h>
#include <string.h>

static void table_fault(struct checker *ck, uint32_t func, uint32_t node, uint32_t site,
			const char *text)
{
	check_fault(ck, (struct plan_fault){
				.kind = FAULT_TABLES,
				.func = func,
				.node = node,
				.other = PUGMARK_NONE,
				.site = site,
				.text = text,
			});
}

/* ---- sites ---- */

static const char *site_fault(const struct checker *ck, uint32_t site)
{
	const struct pugmark_plan *plan = ck->plan;
	const struct pugmark_plan_site *s = &plan->sites[site];
	bool frame = s->cfa_reg != PUGMARK_CFA_UNKNOWN;
	if (s->addr < plan->text_addr || s->addr >= plan->text_end)
		return "a probe outside of the text";
	if (s->probe == PUGMARK_PROBE_REFUSED)
		return "a probe on an instruction that must not be probed";
	if (s->kind == PUGMARK_WITNESS_BRANCH &&
	    (!(s->capture & PUGMARK_CAPTURE_FLAGS) || s->cond > 15))
		return "the probe of a conditional jump does not read its condition";
	if (s->kind == PUGMARK_WITNESS_TARGET && !(s->capture & PUGMARK_CAPTURE_TARGET))
		return "the probe of an indirect jump or call does not read its target";
	if (s->capture & (PUGMARK_CAPTURE_RET | PUGMARK_CAPTURE_SNAPSHOT) && !frame &&
	    site != ck->start)
		return "a probe reads a return address, and does not know where";
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static bool any_twice(uint64_t *values, uint32_t n)
{
	if (n)
		qsort(values, n, sizeof(*values), by_value);
	for (uint32_t i = 1; i < n; i++)
		if (values[i] == values[i - 1])
			return true;
	return false;
}

static void check_sites(struct checker *ck)
{
	const struct pugmark_plan *plan = ck->plan;
	uint32_t *users = calloc(plan->n_sites + 1, sizeof(*users));
	uint64_t *values = calloc((size_t)plan->n_sites + plan->n_nodes + 1, sizeof(*values));
	if (!users || !values) {
		ck->failed = true;
		free(users);
		free(values);
		return;
	}
	uint32_t n = 0;
	for (uint32_t i = 1; i < plan->n_nodes; i++) {
		const struct pugmark_plan_node *node = check_node(ck, i);
		if (node->site != PUGMARK_NONE && plan->sites[node->site].func == node->func)
			users[node->site]++;
		if (check_is_call(node) && !(node->flags & PUGMARK_NODE_TAIL))
			values[n++] = node->addr + node->call_len;
	}
	if (any_twice(values, n))
		table_fault(ck, PUGMARK_NONE, PUGMARK_NONE, PUGMARK_NONE,
			    "two calls return to one address");
	for (uint32_t i = 0; i < plan->n_sites; i++) {
		const struct pugmark_plan_site *s = &plan->sites[i];
		const char *text =
			users[i] == 1 ? site_fault(ck, i) : "a probe that is not of one node";
		if (text)
			table_fault(ck, s->func, PUGMARK_NONE, i, text);
		values[i] = s->addr;
	}
	if (any_twice(values, plan->n_sites))
		table_fault(ck, PUGMARK_NONE, PUGMARK_NONE, PUGMARK_NONE,
			    "two probes at one address");
	free(users);
	free(values);
}

/* ---- nodes ---- */

/* What is wrong with the probe of @n, beyond its being there; NULL: nothing. */
static const char *witness_fault(const struct checker *ck, const struct pugmark_plan_node *n)
{
	if (n->site == PUGMARK_NONE)
		return n->flags & PUGMARK_NODE_ROOT ? "a landing pad without a probe" : NULL;
	const struct pugmark_plan_site *s = &ck->plan->sites[n->site];
	if (n->kind == PUGMARK_NODE_KIND_BRANCH && s->kind != PUGMARK_WITNESS_BRANCH)
		return "a conditional jump whose probe does not say its way";
	if (n->kind == PUGMARK_NODE_KIND_TARGET && s->kind != PUGMARK_WITNESS_TARGET)
		return "an indirect jump whose probe does not say its target";
	if (n->flags & PUGMARK_NODE_ROOT &&
	    (!ck->reads_ret[n->site] || !(s->capture & PUGMARK_CAPTURE_STACK)))
		return "a landing pad whose probe does not say in which frame";
	return NULL;
}

/* Whether neither the call's height nor an event tells where the callee's frame lies. */
static bool hides_frame(const struct checker *ck, const struct pugmark_plan_node *n)
{
	if (n->kind != PUGMARK_NODE_KIND_CALL && n->kind != PUGMARK_NODE_KIND_UNKNOWN)
		return false;
	if (n->flags & PUGMARK_NODE_TAIL || n->height != PUGMARK_HEIGHT_UNKNOWN)
		return false;
	return !check_tells_callee(ck, n) &&
	       !(n->site != PUGMARK_NONE &&
		 ck->plan->sites[n->site].kind == PUGMARK_WITNESS_TARGET);
}

/* All nodes of a decision are of function @func; and a node that the unwinder enters as well comes
 * right after a probe or not at all. */
static const char *decision_fault(const struct checker *ck, uint32_t decision, uint32_t func,
				  bool after_probe)
{
	if (decision == PUGMARK_NONE)
		return NULL;
	const struct pugmark_plan_decision *d = &ck->plan->decisions[decision];
	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t alt = ck->plan->alternatives[d->first + i];
		if (alt && check_node(ck, alt)->func != func)
			return "a decision between nodes of two functions";
		if (i && alt <= ck->plan->alternatives[d->first + i - 1])
			return "a decision that is out of order";
		if (check_node(ck, alt)->flags & PUGMARK_NODE_ROOT && !after_probe)
			return "a landing pad may be reached in silence";
	}
	return NULL;
}

static const char *node_fault(const struct checker *ck, const struct pugmark_plan_node *n)
{
	const struct pugmark_plan *plan = ck->plan;
	const char *text = witness_fault(ck, n);
	bool shown = n->site != PUGMARK_NONE;
	if (text)
		return text;
	if (hides_frame(ck, n))
		return "a call whose frame is at an unknown height, and no probe says where";
	if (n->kind == PUGMARK_NODE_KIND_TARGET) {
		for (uint32_t i = 0; i < pugmark_node_n_targets(n) && !text; i++)
			text = decision_fault(ck, pugmark_node_targets(plan, n)[i].decision,
					      n->func, shown);
		return text;
	}
	if (n->kind == PUGMARK_NODE_KIND_BRANCH)
		text = decision_fault(ck, pugmark_node_taken(n), n->func, shown);
	if (!text && !check_leaves(n))
		text = decision_fault(ck, pugmark_node_next(n), n->func, shown);
	bool goes_on = !check_leaves(n) && !(n->flags & PUGMARK_NODE_NORETURN);
	if (!text && goes_on &&
	    (pugmark_node_next(n) == PUGMARK_NONE ||
	     (n->kind == PUGMARK_NODE_KIND_BRANCH && pugmark_node_taken(n) == PUGMARK_NONE)))
		text = "a node that nothing follows";
	return text;
}

/* Whether it shows that a thread went into @n and never came back, though @n has no probe. It does
 * if @n enters a function with nodes: each of those comes back, shows, or is checked in its turn,
 * and no function calls itself in silence (R3). */
static bool stop_shows(const struct checker *ck, const struct pugmark_plan_node *n)
{
	if (n->kind != PUGMARK_NODE_KIND_CALL || ck->plan->funcs[n->callee].entry == PUGMARK_NONE)
		return false;
	return ck->plan->decisions[ck->plan->funcs[n->callee].entry].n > 0;
}

/* What leads to a decision or node: an event after which it alone can be next, or silence. */
enum lead { BY_TARGET = 1, BY_BRANCH = 2, IN_SILENCE = 4 };

static void lead_to(uint8_t *after, uint32_t decision, enum lead lead)
{
	if (decision != PUGMARK_NONE)
		after[decision] |= lead;
}

/* In @leads, per node, what leads to it; @after: the same per decision. */
static void find_leads(const struct checker *ck, uint8_t *after, uint8_t *leads)
{
	const struct pugmark_plan *plan = ck->plan;
	for (uint32_t f = 0; f < plan->n_funcs; f++)
		lead_to(after, plan->funcs[f].entry, IN_SILENCE);
	for (uint32_t i = 1; i < plan->n_nodes; i++) {
		const struct pugmark_plan_node *n = check_node(ck, i);
		enum lead lead = n->kind == PUGMARK_NODE_KIND_BRANCH ? BY_BRANCH : IN_SILENCE;
		for (uint32_t k = 0;
		     n->kind == PUGMARK_NODE_KIND_TARGET && k < pugmark_node_n_targets(n); k++)
			lead_to(after, pugmark_node_targets(plan, n)[k].decision, BY_TARGET);
		if (n->kind != PUGMARK_NODE_KIND_TARGET)
			lead_to(after, pugmark_node_next(n), lead);
		if (n->kind == PUGMARK_NODE_KIND_BRANCH)
			lead_to(after, pugmark_node_taken(n), lead);
	}
	for (uint32_t d = 0; d < plan->n_decisions; d++)
		for (uint32_t i = 0; i < plan->decisions[d].n; i++)
			leads[plan->alternatives[plan->decisions[d].first + i]] |=
				plan->decisions[d].n > 1 ? IN_SILENCE : after[d];
}

static void check_nodes(struct checker *ck, const uint8_t *leads)
{
	for (uint32_t i = 1; i < ck->plan->n_nodes; i++) {
		const struct pugmark_plan_node *n = check_node(ck, i);
		if (n->kind == PUGMARK_NODE_KIND_OPAQUE) /* nothing leads to it */
			continue;
		const char *text = node_fault(ck, n);
		if (text)
			table_fault(ck, n->func, i, n->site, text);
		if (n->flags & PUGMARK_NODE_NORETURN && n->site == PUGMARK_NONE &&
		    leads[i] & IN_SILENCE && !stop_shows(ck, n))
			check_fault(ck, (struct plan_fault){
						.kind = FAULT_STOP,
						.func = n->func,
						.node = i,
						.other = PUGMARK_NONE,
						.site = PUGMARK_NONE,
					});
	}
}

/* ---- functions ---- */

static const char *entry_fault(const struct checker *ck, const struct pugmark_plan_func *f,
			       uint32_t func)
{
	if (f->entry == PUGMARK_NONE)
		return NULL;
	const struct pugmark_plan_decision *d = &ck->plan->decisions[f->entry];
	if (!(f->flags & PUGMARK_PLAN_FUNC_ENTERED))
		return decision_fault(ck, f->entry, func, false);
	uint32_t node = d->n == 1 ? ck->plan->alternatives[d->first] : 0;
	uint32_t site = check_node(ck, node)->site;
	if (!node || site == PUGMARK_NONE)
		return "may be entered from anywhere, and no probe says so";
	if (site == ck->start)
		return NULL;
	if (!ck->reads_ret[site] || !(ck->plan->sites[site].capture & PUGMARK_CAPTURE_SNAPSHOT))
		return "may be entered from anywhere, and its probe does not say from where";
	return NULL;
}

/* Finds the functions whose frame may be one that unknown code made: those that it enters, and
 * those that they jump to. */
static void find_entered(struct checker *ck, bool *entered)
{
	uint32_t f;
	for (f = 0; f < ck->plan->n_funcs; f++)
		if (ck->plan->funcs[f].flags & PUGMARK_PLAN_FUNC_ENTERED) {
			entered[f] = true;
			check_again(ck, f);
		}
	while (check_next(ck, &f)) {
		const struct pugmark_plan_func *func = &ck->plan->funcs[f];
		for (uint32_t i = func->node; i < func->node + func->n_nodes; i++) {
			const struct pugmark_plan_node *n = check_node(ck, i);
			if (n->kind != PUGMARK_NODE_KIND_CALL || !(n->flags & PUGMARK_NODE_TAIL) ||
			    entered[n->callee])
				continue;
			entered[n->callee] = true;
			check_again(ck, n->callee);
		}
	}
}

/* An indirect jump from a frame that unknown code made has to read its target: where it goes cannot
 * be told from what that code does next. */
static void check_jumps(struct checker *ck, const uint8_t *leads)
{
	bool *entered = calloc(ck->plan->n_funcs + 1, sizeof(bool));
	if (!entered) {
		ck->failed = true;
		return;
	}
	find_entered(ck, entered);
	for (uint32_t i = 1; i < ck->plan->n_nodes; i++) {
		const struct pugmark_plan_node *n = check_node(ck, i);
		bool jumps = n->kind == PUGMARK_NODE_KIND_UNKNOWN && n->flags & PUGMARK_NODE_TAIL &&
			     !n->import && n->callee == PUGMARK_NONE;
		bool told = leads[i] == BY_TARGET ||
			    (n->site != PUGMARK_NONE &&
			     ck->plan->sites[n->site].kind == PUGMARK_WITNESS_TARGET);
		if (jumps && !told && entered[n->func])
			table_fault(ck, n->func, i, n->site,
				    "a jump to anywhere, and no probe says where");
	}
	free(entered);
}

static void check_funcs(struct checker *ck)
{
	for (uint32_t f = 0; f < ck->plan->n_funcs; f++) {
		const struct pugmark_plan_func *func = &ck->plan->funcs[f];
		const char *text = entry_fault(ck, func, f);
		for (uint32_t i = func->node; i < func->node + func->n_nodes && !text; i++)
			if (check_node(ck, i)->func != f)
				text = "a node of another function";
		if (text)
			table_fault(ck, f, PUGMARK_NONE, PUGMARK_NONE, text);
	}
}

void check_tables(struct checker *ck)
{
	uint8_t *after = calloc(ck->plan->n_decisions + 1, 1);
	uint8_t *leads = calloc(ck->plan->n_nodes + 1, 1);
	if (after && leads) {
		find_leads(ck, after, leads);
		check_sites(ck);
		check_nodes(ck, leads);
		check_funcs(ck);
		check_jumps(ck, leads);
	} else {
		ck->failed = true;
	}
	free(after);
	free(leads);
}

/* ---- silence comes to an end ---- */

/* A depth-first walk through what can be passed in silence. A node that is met while it is on the
 * path closes a circle. */
enum color { UNSEEN, ON_PATH, DONE };
struct step {
	uint32_t node, next; /* alternatives of what follows that were looked at */
};

static const struct pugmark_plan_decision *silently_on(const struct checker *ck, uint32_t node)
{
	const struct pugmark_plan_node *n = check_node(ck, node);
	if (!check_passes(ck, n) || check_leaves(n) || pugmark_node_next(n) == PUGMARK_NONE)
		return NULL;
	return &ck->plan->decisions[pugmark_node_next(n)];
}

static void find_circles(struct checker *ck, uint32_t from, uint8_t *color, struct step *path)
{
	uint32_t n = 0;
	path[n++] = (struct step){from, 0};
	color[from] = ON_PATH;
	while (n) {
		struct step *s = &path[n - 1];
		const struct pugmark_plan_decision *d = silently_on(ck, s->node);
		if (!d || s->next == d->n) {
			color[s->node] = DONE;
			n--;
			continue;
		}
		uint32_t to = ck->plan->alternatives[d->first + s->next++];
		if (color[to] == ON_PATH)
			check_fault(ck, (struct plan_fault){
						.kind = FAULT_LOOP,
						.func = check_node(ck, to)->func,
						.node = to,
						.other = PUGMARK_NONE,
						.site = PUGMARK_NONE,
					});
		if (color[to] != UNSEEN)
			continue;
		color[to] = ON_PATH;
		path[n++] = (struct step){to, 0};
	}
}

/* Whether @func can only begin, in silence, with calls of functions that @well has. */
static bool begins_well(struct checker *ck, uint32_t func, const bool *well)
{
	ck->stamp++;
	ck->n_stack = 0;
	check_visit(ck, ck->plan->funcs[func].entry);
	while (ck->n_stack) {
		const struct pugmark_plan_node *n = check_node(ck, ck->stack[--ck->n_stack]);
		if (n->site != PUGMARK_NONE)
			continue;
		if (n->kind == PUGMARK_NODE_KIND_CALL && !well[n->callee])
			return false;
		if (check_passes(ck, n) && !check_leaves(n))
			check_visit(ck, pugmark_node_next(n));
	}
	return true;
}

/* No function may call itself, or others that come back to it, before anything shows: the paper's
 * Definition 6 (1), no left recursion. */
static void find_left_recursion(struct checker *ck, bool *well)
{
	const struct pugmark_plan *plan = ck->plan;
	for (bool grew = true; grew;) {
		grew = false;
		for (uint32_t f = plan->n_funcs; f-- > 0;)
			if (!well[f] && begins_well(ck, f, well))
				grew = well[f] = true;
	}
	for (uint32_t f = 0; f < plan->n_funcs; f++)
		if (!well[f])
			check_fault(ck, (struct plan_fault){
						.kind = FAULT_RECURSION,
						.func = f,
						.node = PUGMARK_NONE,
						.other = PUGMARK_NONE,
						.site = PUGMARK_NONE,
					});
}

void check_loops(struct checker *ck)
{
	uint8_t *color = calloc(ck->plan->n_nodes + 1, 1);
	struct step *path = calloc(ck->plan->n_nodes + 1, sizeof(*path));
	bool *well = calloc(ck->plan->n_funcs + 1, sizeof(bool));
	if (color && path && well) {
		for (uint32_t i = 1; i < ck->plan->n_nodes; i++)
			if (color[i] == UNSEEN)
				find_circles(ck, i, color, path);
		find_left_recursion(ck, well);
	} else {
		ck->failed = true;
	}
	free(color);
	free(path);
	free(well);
}

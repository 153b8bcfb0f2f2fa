// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_check.c: see share_check.h. For each share it solves, function by function,
 *
 *     first(node)     = {its site}                       if the share probes it
 *                     = after(node), and LEFT if it calls  else
 *     after(node)     = union of first(decision) over the decisions that follow it
 *     first(decision) = union of first(alternative)
 *     first(exit)     = LEFT, first(entry's decision)
 *
 * as the least sets of bits (the function's sites, and one bit for LEFT: an event that is not of
 * this activation). In a function that can come back into itself, and whose events do not all tell
 * their frame, a call may lead to the entry and the exit to behind such a call. Two alternatives of
 * a decision are told apart if in some share their sets have nothing in common; and a jump that is
 * read, by whoever reads it and by each share in which the same holds of what its ways lead to. */
#include "offline/prove/share_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct check {
	const struct pugmark_plan *plan;
	const uint64_t *members;
	uint32_t n_shares;
	share_fault_sink *sink;
	void *ctx;
	struct share_check_counts *counts;
	uint8_t *leads;	 /* per function: it may come to call the one that is looked at */
	bool any_leads;	 /* so may one that is entered from anywhere */
	uint32_t *index; /* per decision of the plan: where it is in `decisions`, or PUGMARK_NONE */
	/* Of one function: */
	const struct pugmark_plan_func *f;
	uint32_t func, words, n_decisions;
	uint32_t *decisions; /* of the plan; the first is the entry's */
	uint32_t *bit;	     /* per site of the plan: its bit, where it is of the function */
	uint64_t *sets;	     /* nodes, then decisions, then the exit: `words` each */
	uint64_t share;	     /* its bit */
	bool joined;	     /* activations are not told apart */
};

#define LEFT 0 /* the bit */

static bool is_call(const struct pugmark_plan_node *n)
{
	return n->kind == PUGMARK_NODE_KIND_CALL || n->kind == PUGMARK_NODE_KIND_UNKNOWN;
}

static void report(struct check *c, struct share_fault fault)
{
	c->counts->faults++;
	if (c->sink)
		c->sink(c->ctx, &fault);
}

/* Whether the call may lead to a function of c->leads. */
static bool leads_back(const struct check *c, const struct pugmark_plan_node *n)
{
	if (n->kind == PUGMARK_NODE_KIND_CALL)
		return c->leads[n->callee];
	return (n->kind == PUGMARK_NODE_KIND_UNKNOWN || n->kind == PUGMARK_NODE_KIND_OPAQUE) &&
	       c->any_leads;
}

/* Finds the functions that may come to call @func, itself among them. Calls that nobody knows lead
 * to all functions that may be entered. */
static void find_leads(struct check *c, uint32_t func)
{
	const struct pugmark_plan *p = c->plan;
	memset(c->leads, 0, p->n_funcs);
	c->leads[func] = 1;
	c->any_leads = p->funcs[func].flags & PUGMARK_PLAN_FUNC_ENTERED;
	for (bool grew = true; grew;) {
		grew = false;
		for (uint32_t f = 0; f < p->n_funcs; f++) {
			const struct pugmark_plan_func *g = &p->funcs[f];
			for (uint32_t i = g->node; i < g->node + g->n_nodes && !c->leads[f]; i++)
				if (leads_back(c, &p->nodes[i]))
					c->leads[f] = grew = true;
			c->any_leads |= c->leads[f] && g->flags & PUGMARK_PLAN_FUNC_ENTERED;
		}
	}
}

/* Whether some share reads which way the node goes. */
static bool is_read(const struct check *c, uint32_t node)
{
	const struct pugmark_plan_node *n = &c->plan->nodes[node];
	return n->site != PUGMARK_NONE &&
	       (n->kind == PUGMARK_NODE_KIND_BRANCH || n->kind == PUGMARK_NODE_KIND_TARGET);
}

/* Whether each event of the function says which activation it is of. */
static bool frames_tell(const struct check *c)
{
	for (uint32_t i = c->f->node; i < c->f->node + c->f->n_nodes; i++) {
		const struct pugmark_plan_node *n = &c->plan->nodes[i];
		if (n->site != PUGMARK_NONE &&
		    (n->flags & PUGMARK_NODE_CALLEE_CFA ||
		     c->plan->sites[n->site].cfa_reg == PUGMARK_CFA_UNKNOWN))
			return false;
	}
	return true;
}

/* The @k-th decision that may follow the node, or PUGMARK_NONE: nothing does; PUGMARK_NONE - 1:
 * there are no more. */
static uint32_t follows(const struct check *c, const struct pugmark_plan_node *node, uint32_t k)
{
	switch (node->kind) {
	case PUGMARK_NODE_KIND_BRANCH:
		return k > 1 ? PUGMARK_NONE - 1
		       : k   ? pugmark_node_taken(node)
			     : pugmark_node_next(node);
	case PUGMARK_NODE_KIND_TARGET:
		return k < pugmark_node_n_targets(node)
			       ? pugmark_node_targets(c->plan, node)[k].decision
			       : PUGMARK_NONE - 1;
	case PUGMARK_NODE_KIND_RETURN:
	case PUGMARK_NODE_KIND_OPAQUE:
	case PUGMARK_NODE_KIND_EXIT:
		return PUGMARK_NONE - 1;
	default:
		if (node->flags & (PUGMARK_NODE_TAIL | PUGMARK_NODE_NORETURN))
			return PUGMARK_NONE - 1;
		return k ? PUGMARK_NONE - 1 : pugmark_node_next(node);
	}
}

static uint64_t *set_of_node(const struct check *c, uint32_t node)
{
	uint32_t at = node ? node - c->f->node : c->f->n_nodes + c->n_decisions;
	return c->sets + (size_t)at * c->words;
}

static uint64_t *set_of_decision(const struct check *c, uint32_t index)
{
	return c->sets + (size_t)(c->f->n_nodes + index) * c->words;
}

static bool unite(const struct check *c, uint64_t *to, const uint64_t *from)
{
	uint64_t grew = 0;
	for (uint32_t i = 0; i < c->words; i++) {
		grew |= from[i] & ~to[i];
		to[i] |= from[i];
	}
	return grew;
}

static bool set_bit(uint64_t *set, uint32_t bit)
{
	bool had = set[bit / 64] >> bit % 64 & 1;
	set[bit / 64] |= 1ull << bit % 64;
	return !had;
}

/* One round of the equations for node @i. Returns whether its set grew. */
static bool solve_node(struct check *c, uint32_t i)
{
	const struct pugmark_plan_node *n = &c->plan->nodes[i];
	uint64_t *set = set_of_node(c, i);
	bool grew = false;
	if (n->site != PUGMARK_NONE && c->members[n->site] & c->share)
		return set_bit(set, c->bit[n->site]);
	bool back = c->joined && is_call(n) && leads_back(c, n);
	if (is_call(n))
		grew |= set_bit(set, LEFT);
	if (back && c->n_decisions)
		grew |= unite(c, set, set_of_decision(c, 0));
	if (n->flags & PUGMARK_NODE_TAIL || n->kind == PUGMARK_NODE_KIND_RETURN)
		grew |= unite(c, set, set_of_node(c, 0));
	for (uint32_t k = 0;; k++) {
		uint32_t decision = follows(c, n, k);
		if (decision == PUGMARK_NONE - 1)
			return grew;
		if (decision != PUGMARK_NONE)
			grew |= unite(c, set, set_of_decision(c, c->index[decision]));
	}
}

static bool solve_decision(struct check *c, uint32_t index)
{
	const struct pugmark_plan_decision *d = &c->plan->decisions[c->decisions[index]];
	bool grew = false;
	for (uint32_t i = 0; i < d->n; i++)
		grew |= unite(c, set_of_decision(c, index),
			      set_of_node(c, c->plan->alternatives[d->first + i]));
	return grew;
}

static bool solve_exit(struct check *c)
{
	uint64_t *set = set_of_node(c, 0);
	bool grew = set_bit(set, LEFT);
	if (c->n_decisions)
		grew |= unite(c, set, set_of_decision(c, 0));
	for (uint32_t i = c->f->node; c->joined && i < c->f->node + c->f->n_nodes; i++) {
		const struct pugmark_plan_node *n = &c->plan->nodes[i];
		bool back = is_call(n) && leads_back(c, n);
		uint32_t decision = back ? follows(c, n, 0) : PUGMARK_NONE;
		if (decision < PUGMARK_NONE - 1)
			grew |= unite(c, set, set_of_decision(c, c->index[decision]));
	}
	return grew;
}

static void solve(struct check *c)
{
	size_t n = (size_t)c->f->n_nodes + c->n_decisions + 1;
	memset(c->sets, 0, n * c->words * sizeof(*c->sets));
	for (bool grew = true; grew;) {
		grew = solve_exit(c);
		for (uint32_t i = c->f->n_nodes; i-- > 0;)
			grew |= solve_node(c, c->f->node + i);
		for (uint32_t i = c->n_decisions; i-- > 0;)
			grew |= solve_decision(c, i);
	}
}

static bool disjoint(const struct check *c, const uint64_t *x, const uint64_t *y)
{
	for (uint32_t i = 0; i < c->words; i++)
		if (x[i] & y[i])
			return false;
	return true;
}

/* How many shares tell the alternatives of each decision apart. */
struct open_pairs {
	uint8_t *tellers; /* n * n of each decision, one after the other */
	uint8_t *whole;	  /* per decision: a share tells all of it */
	size_t *at;	  /* per decision */
	uint8_t *jumps;	  /* per node: how many tell each two ways of a jump that is read */
};

/* Whether the share tells where the jump at node @i goes, which somebody reads. */
static bool tells_jump(const struct check *c, uint32_t i)
{
	const struct pugmark_plan_node *n = &c->plan->nodes[i];
	if (c->members[n->site] & c->share)
		return true;
	for (uint32_t a = 0; follows(c, n, a) != PUGMARK_NONE - 1; a++)
		for (uint32_t b = 0; b < a; b++) {
			uint32_t x = follows(c, n, a), y = follows(c, n, b);
			if (x != y && x != PUGMARK_NONE && y != PUGMARK_NONE &&
			    !disjoint(c, set_of_decision(c, c->index[x]),
				      set_of_decision(c, c->index[y])))
				return false;
		}
	return true;
}

static void tell_pairs(struct check *c, struct open_pairs *o)
{
	for (uint32_t i = 0; i < c->n_decisions; i++) {
		const struct pugmark_plan_decision *d = &c->plan->decisions[c->decisions[i]];
		const uint32_t *alternatives = c->plan->alternatives + d->first;
		bool all = true;
		for (uint32_t a = 0; a < d->n; a++)
			for (uint32_t b = a + 1; b < d->n; b++) {
				bool told = disjoint(c, set_of_node(c, alternatives[a]),
						     set_of_node(c, alternatives[b]));
				all &= told;
				o->tellers[o->at[i] + a * d->n + b] += told;
			}
		o->whole[i] |= all;
	}
	for (uint32_t i = 0; i < c->f->n_nodes; i++)
		o->jumps[i] += is_read(c, c->f->node + i) && tells_jump(c, c->f->node + i);
}

static void count_alone(struct check *c)
{
	c->counts->alone++;
	if (c->counts->alone_of)
		c->counts->alone_of[c->func]++;
}

static void report_pairs(struct check *c, const struct open_pairs *o)
{
	for (uint32_t i = 0; i < c->n_decisions; i++) {
		const struct pugmark_plan_decision *d = &c->plan->decisions[c->decisions[i]];
		const uint32_t *alternatives = c->plan->alternatives + d->first;
		bool fault = false, alone = false;
		c->counts->decisions += d->n > 1;
		for (uint32_t a = 0; a < d->n && !fault; a++)
			for (uint32_t b = a + 1; b < d->n && !fault; b++) {
				uint32_t tellers = o->tellers[o->at[i] + a * d->n + b];
				fault = !tellers;
				alone |= tellers == 1;
				if (fault)
					report(c, (struct share_fault){.kind = SHARE_FAULT_UNTOLD,
								       .func = c->func,
								       .node = alternatives[a],
								       .other = alternatives[b],
								       .site = PUGMARK_NONE});
			}
		c->counts->together += d->n > 1 && !fault && !o->whole[i];
		if (alone)
			count_alone(c);
	}
	for (uint32_t i = 0; i < c->f->n_nodes; i++)
		if (is_read(c, c->f->node + i) && o->jumps[i] < 2)
			count_alone(c);
}

static void note_decision(struct check *c, uint32_t decision)
{
	if (decision < PUGMARK_NONE - 1 && c->index[decision] == PUGMARK_NONE) {
		c->index[decision] = c->n_decisions;
		c->decisions[c->n_decisions++] = decision;
	}
}

/* The function's decisions and sites. 0 or -ENOMEM. */
static int begin_function(struct check *c, uint32_t func)
{
	const struct pugmark_plan *p = c->plan;
	uint32_t n = 1, bits = 1;
	c->func = func;
	c->f = &p->funcs[func];
	c->n_decisions = 0;
	for (uint32_t i = c->f->node; i < c->f->node + c->f->n_nodes; i++)
		for (uint32_t k = 0; follows(c, &p->nodes[i], k) != PUGMARK_NONE - 1; k++)
			n++;
	c->decisions = malloc(n * sizeof(*c->decisions));
	if (!c->decisions)
		return -ENOMEM;
	note_decision(c, c->f->entry);
	for (uint32_t i = c->f->node; i < c->f->node + c->f->n_nodes; i++) {
		const struct pugmark_plan_node *node = &p->nodes[i];
		for (uint32_t k = 0; follows(c, node, k) != PUGMARK_NONE - 1; k++)
			note_decision(c, follows(c, node, k));
		if (node->site != PUGMARK_NONE)
			c->bit[node->site] = bits++;
	}
	c->words = (bits + 63) / 64;
	c->joined = !frames_tell(c);
	if (c->joined)
		find_leads(c, func);
	c->sets =
		malloc(((size_t)c->f->n_nodes + c->n_decisions + 1) * c->words * sizeof(*c->sets));
	return c->sets ? 0 : -ENOMEM;
}

static int check_function(struct check *c, uint32_t func)
{
	struct open_pairs o = {0};
	size_t pairs = 0;
	int err = begin_function(c, func);
	if (!err)
		o.at = calloc(c->n_decisions + 1, sizeof(*o.at));
	for (uint32_t i = 0; o.at && i < c->n_decisions; i++) {
		uint32_t n = c->plan->decisions[c->decisions[i]].n;
		o.at[i] = pairs;
		pairs += (size_t)n * n;
	}
	o.tellers = calloc(pairs + 1, 1);
	o.whole = calloc(err ? 1 : c->n_decisions + 1, 1);
	o.jumps = calloc(c->f->n_nodes + 1, 1);
	if (!err && (!o.at || !o.tellers || !o.whole || !o.jumps))
		err = -ENOMEM;
	for (uint32_t k = 0; k < c->n_shares && !err; k++) {
		c->share = 1ull << k;
		solve(c);
		tell_pairs(c, &o);
	}
	if (!err)
		report_pairs(c, &o);
	for (uint32_t i = 0; c->decisions && i < c->n_decisions; i++)
		c->index[c->decisions[i]] = PUGMARK_NONE;
	void *heap[] = {o.at, o.tellers, o.whole, o.jumps, c->decisions, c->sets};
	for (size_t i = 0; i < sizeof(heap) / sizeof(*heap); i++)
		free(heap[i]);
	c->decisions = NULL;
	c->sets = NULL;
	return err;
}

/* Who must probe what, whatever it tells. */
static void check_sites(struct check *c)
{
	const struct pugmark_plan *p = c->plan;
	uint64_t all = c->n_shares == 64 ? UINT64_MAX : (1ull << c->n_shares) - 1;
	for (uint32_t i = 1; i < p->n_nodes; i++) {
		const struct pugmark_plan_node *n = &p->nodes[i];
		if (n->site == PUGMARK_NONE)
			continue;
		struct share_fault fault = {
			.func = n->func, .node = i, .other = PUGMARK_NONE, .site = n->site};
		const struct pugmark_plan_func *f = &p->funcs[n->func];
		bool entry = f->flags & PUGMARK_PLAN_FUNC_ENTERED && f->entry != PUGMARK_NONE &&
			     p->decisions[f->entry].n == 1 &&
			     p->alternatives[p->decisions[f->entry].first] == i;
		uint64_t bits = c->members[n->site];
		fault.kind = !bits					   ? SHARE_FAULT_NOBODY
			     : n->flags & PUGMARK_NODE_ROOT && bits != all ? SHARE_FAULT_SPECIAL
									   : SHARE_FAULT_ENTRY;
		if (!bits || (n->flags & PUGMARK_NODE_ROOT && bits != all) ||
		    ((entry || n->kind == PUGMARK_NODE_KIND_UNKNOWN) && !(bits & 1)))
			report(c, fault);
		c->func = n->func;
		if ((entry || n->kind == PUGMARK_NODE_KIND_UNKNOWN) && !(bits & (bits - 1)))
			count_alone(c);
	}
}

int share_check(const struct pugmark_plan *plan, const uint64_t *members, uint32_t n_shares,
		share_fault_sink *sink, void *ctx, struct share_check_counts *counts)
{
	struct check c = {.plan = plan,
			  .members = members,
			  .n_shares = n_shares,
			  .sink = sink,
			  .ctx = ctx,
			  .counts = counts};
	c.leads = malloc(plan->n_funcs + 1);
	c.index = malloc((plan->n_decisions + 1) * sizeof(*c.index));
	c.bit = calloc(plan->n_sites + 1, sizeof(*c.bit));
	int err = c.leads && c.index && c.bit ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < plan->n_decisions && !err; i++)
		c.index[i] = PUGMARK_NONE;
	if (!err)
		check_sites(&c);
	for (uint32_t f = 0; f < plan->n_funcs && !err; f++)
		if (plan->funcs[f].n_nodes && !(plan->funcs[f].flags & PUGMARK_PLAN_FUNC_OPAQUE))
			err = check_function(&c, f);
	void *heap[] = {c.leads, c.index, c.bit};
	for (size_t i = 0; i < sizeof(heap) / sizeof(*heap); i++)
		free(heap[i]);
	return err;
}

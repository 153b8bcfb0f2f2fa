/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_check_impl.h: what the parts of the check share, lowest first: plan_check_fault.c reports a
 * fault; plan_check_distinct.c compares two facts; plan_check_first.c computes what can come first;
 * plan_check_tables.c looks at the tables themselves, plan_check_follow.c at what comes after each
 * call; plan_check.c looks at each decision and drives the rest. Private to them. */
#ifndef OFFLINE_PLAN_CHECK_IMPL_H
#define OFFLINE_PLAN_CHECK_IMPL_H

#include "offline/base/vec.h"
#include "offline/prove/plan_check.h"
#include "offline/prove/plan_facts.h"

#define COMPARED_NOT UINT32_MAX
#define COMPARED_ANY (UINT32_MAX - 1)

struct check_entry {
	struct fact fact;
	uint32_t ret; /* the call that its event says it returns to, or NONE */
};

struct checker {
	const struct pugmark_plan *plan;
	plan_fault_sink *sink;
	void *ctx;
	struct plan_check_counts counts;
	bool failed; /* out of memory */
	bool grew;   /* a set did */

	/* per site */
	bool *is_entry;	 /* of a function that may be entered from anywhere */
	bool *reads_cfa; /* its event tells the frame that it is in */
	bool *reads_ret; /* and where that returns to */
	/* What can come first after a call, in a frame that may be the callee's. Per site: the call
	 * that it returns to, or COMPARED_*; per node: whether an entry there returns to it. */
	uint32_t *compared;
	bool *return_compared, any_return_compared;
	uint32_t other_return; /* a call that nothing in `compared` returns to, or NONE */
	uint32_t start;	       /* the site at the entry of the program's first function, or NONE */
	/* per decision, function */
	bool *decision_empty, *func_empty; /* the function's end can be reached in silence */
	struct facts *first;		   /* per function: what its first event can be */
	struct facts *need; /* per function: what must not come first after it has returned */
	bool *jumps;	    /* per function: it may jump to another known one */
	struct facts world; /* the needs of all functions that may be entered from anywhere */
	struct check_entry *world_entries; /* those of them that are entries, by ret */
	uint32_t n_world_entries;
	bool *after_unknown; /* per node: a call of unknown code, reached in silence, after which a
				function in `world` ends in silence */

	uint32_t *callers, *caller_at; /* callers[caller_at[f] .. caller_at[f + 1]): calls of f */
	uint32_t *queue, n_queue, queue_head;
	bool *queued;

	uint32_t *stack, n_stack; /* of nodes, during a walk */
	uint32_t *seen, stamp;	  /* per node */
};

static inline const struct pugmark_plan_node *check_node(const struct checker *ck, uint32_t node)
{
	return &ck->plan->nodes[node];
}

static inline bool check_is_call(const struct pugmark_plan_node *n)
{
	return n->kind == PUGMARK_NODE_KIND_CALL || n->kind == PUGMARK_NODE_KIND_UNKNOWN ||
	       n->kind == PUGMARK_NODE_KIND_LEAF;
}

/* Whether passing @n leaves the function. */
static inline bool check_leaves(const struct pugmark_plan_node *n)
{
	return n->kind == PUGMARK_NODE_KIND_EXIT || n->kind == PUGMARK_NODE_KIND_RETURN ||
	       (check_is_call(n) && n->flags & PUGMARK_NODE_TAIL);
}

/* Whether the event of the call @n tells where its callee's frame lies. */
static inline bool check_tells_callee(const struct checker *ck, const struct pugmark_plan_node *n)
{
	if (n->site == PUGMARK_NONE)
		return false;
	bool stack = n->flags & PUGMARK_NODE_ROOT &&
		     (ck->plan->sites[n->site].capture &
		      (PUGMARK_CAPTURE_STACK | PUGMARK_CAPTURE_IF_AGAIN)) == PUGMARK_CAPTURE_STACK;
	return n->flags & PUGMARK_NODE_CALLEE_CFA || stack;
}

/* ---- plan_check_fault.c ---- */

void check_fault(struct checker *ck, struct plan_fault fault);

/* ---- plan_check_distinct.c ---- */

/* Whether the fact is of the entry of a function that may be entered from anywhere. */
bool check_entry_fact(const struct checker *ck, struct fact fact);
/* Whether no one event fits both facts, of the same function. */
bool check_distinct(const struct checker *ck, struct fact a, struct fact b);

/* ---- plan_check_first.c ---- */

/* Sets ck->decision_empty and ck->func_empty. */
void check_find_empty(struct checker *ck);
/* Sets ck->first. */
void check_find_first(struct checker *ck);
/* Whether @n can be passed without an event. */
bool check_passes(const struct checker *ck, const struct pugmark_plan_node *n);
/* Puts the alternatives of @decision (or NONE) that were not seen since ck->stamp was raised on
 * ck->stack. */
void check_visit(struct checker *ck, uint32_t decision);
/* Adds to @out what the first event from @node on can be, and says whether there need be none up to
 * the end of the function. */
bool check_first(struct checker *ck, uint32_t node, struct facts *out);
/* Adds @fact to @set, and sets ck->grew if that changed it. */
void check_add(struct checker *ck, struct facts *set, struct fact fact);
/* Functions to look at again: each once, until check_next() finds none. */
void check_again(struct checker *ck, uint32_t func);
bool check_next(struct checker *ck, uint32_t *func);

/* ---- plan_check_tables.c, plan_check_follow.c ---- */

void check_tables(struct checker *ck);
void check_loops(struct checker *ck);
void check_follow(struct checker *ck);

#endif

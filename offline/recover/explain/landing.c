// SPDX-License-Identifier: LGPL-2.1-or-later
/* landing.c: which call an exception has come out of, by the landing pad that it reaches: where
 * silence may have led further than the call in progress, all calls that it can have led to are
 * looked at, frame by frame. The plan says of each where an exception out of it lands (plan.h,
 * `landing`). If one alone can have led to the pad, the thread was in that one. Where setjmp
 * returns a second time, the stack has the return address of the call that longjmp() came out of.
 */
#include "offline/recover/explain/landing.h"

#include "offline/base/leaf_functions.h"

#define DECISIONS_MAX 64 /* that are looked at in one frame; beyond them, nothing is said */

/* The decisions that silence leads to in one frame, each with the node and the decision before it.
 */
struct reached {
	struct step {
		uint32_t decision, node, from;
	} at[DECISIONS_MAX];
	uint32_t n;
};

struct search {
	const struct parser *p;
	uint32_t level;	 /* the innermost of the open frames that survive */
	uint32_t goal;	 /* of it: the call that has made the frame inside of it where the exception
			    landed; or PUGMARK_NONE: it landed in it */
	uint8_t landing; /* there */
	/* It is behind setjmp: that frame's CFA, and of what it had called when longjmp() came out
	 * of that the CFA, and where that was to return to; 0: not known. */
	bool again;
	uint64_t cfa, left_cfa, left_ret;
	uint16_t module; /* of the frame whose calls are looked at */
	bool here;	 /* whether that is the one that the exception landed in */
	bool there; /* whether one out of it gets there, out of the calls that the frames outside of
		       it are in */
	struct landing *out;
	uint32_t found;
};

/* The number of the pad @node among those of its function, as nodes name it. */
static uint32_t pad_number(const struct pugmark_plan *plan, uint32_t node)
{
	const struct pugmark_plan_func *f = &plan->funcs[plan->nodes[node].func];
	uint32_t number = 0;
	for (uint32_t i = f->node; i <= node; i++)
		number += !!(plan->nodes[i].flags & PUGMARK_NODE_ROOT);
	return number;
}

/* Whether it is known of call @n, of the frame that longjmp() has come back to, if longjmp() came
 * out of it: *@left. */
static bool knows_left(const struct search *s, const struct pugmark_plan_node *n, bool *left)
{
	*left = return_address(s->p, s->module, n) == s->left_ret;
	return s->left_ret && n->height != PUGMARK_HEIGHT_UNKNOWN &&
	       s->cfa - n->height == s->left_cfa;
}

/* Whether the exception may have come out of the call @n, of the frame that is looked at; *@known:
 * false where the plan does not say. Out of a frame inside of the one that it landed in it may have
 * come though it has a landing pad there: that may catch exceptions of other types only. */
static bool may_come_out_of(const struct search *s, const struct pugmark_plan_node *n, bool *known)
{
	bool left;
	if (s->here && s->again) {
		*known = knows_left(s, n, &left);
		return s->there && left;
	}
	*known = !s->here ||
		 (n->landing != PUGMARK_LANDING_NOT_KNOWN && n->landing != PUGMARK_LANDING_OTHER);
	return s->there && (!s->here || n->landing == s->landing);
}

/* Notes the way over the steps up to @last and then @node, the first time; false: it is too long.
 */
static bool note(struct search *s, const struct reached *r, uint32_t last, uint32_t node)
{
	struct landing *out = s->out;
	uint32_t n = 1, at = last;
	if (s->found++)
		return true;
	for (; r->at[at].node != PUGMARK_NONE; at = r->at[at].from)
		n++;
	if (n > LANDING_PATH_MAX - out->n)
		return false;
	out->n += n;
	out->path[out->n - 1] = (struct landing_step){.node = node};
	for (uint32_t i = out->n - 1; r->at[last].node != PUGMARK_NONE; last = r->at[last].from)
		out->path[--i] = (struct landing_step){.node = r->at[last].node};
	return true;
}

/* Whether no exception comes out of call @n: what it calls is ours and calls nobody else's, or is
 * of the C library and raises none. */
static bool stays_inside(const struct parse_tables *tables, const struct pugmark_plan_node *n)
{
	if (n->kind == PUGMARK_NODE_KIND_LEAF) {
		const struct leaf_function *leaf = leaf_function(tables->plan->strings + n->import);
		return leaf && leaf->raises_nothing;
	}
	return n->kind == PUGMARK_NODE_KIND_CALL && !(n->flags & PUGMARK_NODE_NORETURN) &&
	       parse_tables_stays_inside(tables, n->callee);
}

/* Looks at call @node behind step @at; in *@passed whether it may have come back. False: nothing
 * can be said. */
static bool look_at_call(struct search *s, const struct reached *r, uint32_t at, uint32_t node,
			 bool *passed)
{
	const struct parse_tables *tables = s->p->tables[s->module];
	const struct pugmark_plan_node *n = &tables->plan->nodes[node];
	bool known, may;
	*passed = !(n->flags & PUGMARK_NODE_NORETURN) &&
		  (n->kind != PUGMARK_NODE_KIND_CALL || parse_tables_func_empty(tables, n->callee));
	if (n->flags & PUGMARK_NODE_UNTOLD)
		return false;
	if (node == s->goal)
		return note(s, r, at, node);
	if (stays_inside(tables, n))
		return true;
	may = may_come_out_of(s, n, &known);
	if (may && n->flags & PUGMARK_NODE_TAIL)
		return false;
	return known && (!may || note(s, r, at, node));
}

/* Looks at @node, which is next behind step @at; false: nothing can be said. */
static bool look_at(struct search *s, struct reached *r, uint32_t at, uint32_t node, bool *ends)
{
	const struct pugmark_plan_node *n = node_at(s->p, s->module, node);
	bool passed = true;
	if (n->site != PUGMARK_NONE)
		return true;
	switch (n->kind) {
	case PUGMARK_NODE_KIND_EXIT:
	case PUGMARK_NODE_KIND_RETURN:
		return *ends = true;
	case PUGMARK_NODE_KIND_BLOCK:
		break;
	case PUGMARK_NODE_KIND_CALL:
	case PUGMARK_NODE_KIND_UNKNOWN:
	case PUGMARK_NODE_KIND_LEAF:
		if (!look_at_call(s, r, at, node, &passed))
			return false;
		*ends |= n->flags & PUGMARK_NODE_TAIL;
		break;
	default:
		return false;
	}
	uint32_t next = pugmark_node_next(n);
	if (!passed || n->flags & PUGMARK_NODE_TAIL || next == PUGMARK_NONE)
		return true;
	for (uint32_t k = 0; k < r->n; k++)
		if (r->at[k].decision == next)
			return false; /* in two ways */
	if (r->n == DECISIONS_MAX)
		return false;
	r->at[r->n++] = (struct step){next, node, at};
	return true;
}

/* All calls that silence leads to in one frame from @decision on; in *@ends whether the frame can
 * end. */
static bool look_on(struct search *s, uint32_t decision, bool *ends)
{
	struct reached r = {.n = 1};
	const struct pugmark_plan *plan = s->p->plans[s->module];
	r.at[0] = (struct step){decision, PUGMARK_NONE, 0};
	for (uint32_t at = 0; at < r.n; at++) {
		const struct pugmark_plan_decision *d = &plan->decisions[r.at[at].decision];
		if (parser_unsure_decision(s->p, s->module, r.at[at].decision))
			return false;
		for (uint32_t k = d->first; k < d->first + d->n; k++)
			if (!look_at(s, &r, at, plan->alternatives[k], ends))
				return false;
	}
	return true;
}

/* Whether an exception out of what the surviving frame has called gets there: out of the call that
 * this frame is in. */
static bool gets_there(const struct search *s)
{
	struct silence at;
	if (s->goal != PUGMARK_NONE || !silence_in(&at, s->p, s->level) || (!at.call && !at.behind))
		return false;
	const struct pugmark_plan_node *call = at.call ? at.call : at.behind;
	bool left;
	if (s->again)
		return !knows_left(s, call, &left) || left;
	return call->landing == s->landing || call->landing == PUGMARK_LANDING_NOT_KNOWN ||
	       call->landing == PUGMARK_LANDING_OTHER;
}

/* Looks at the calls of open frame @i; false: nothing can be said. *@ends: whether it can end, so
 * that those of the frame outside of it come into question too. */
static bool look_in(struct search *s, uint32_t i, bool *ends)
{
	struct silence at;
	bool known;
	*ends = false;
	if (!silence_in(&at, s->p, i))
		return false;
	const struct frame *f = at.frame;
	const struct pugmark_plan_node *passed = node_at(s->p, f->module, f->node);
	/* The parser goes on at once behind a call that does not come back into the module. */
	bool in_leaf = !at.call && !at.behind && passed->kind == PUGMARK_NODE_KIND_LEAF;
	const struct pugmark_plan_node *call = at.call ? at.call : in_leaf ? passed : at.behind;
	s->module = f->module;
	s->here = i == s->level && s->goal == PUGMARK_NONE;
	s->there = s->here || gets_there(s);
	if (call && (parser_unsure_call(s->p, f) || call->flags & PUGMARK_NODE_UNTOLD))
		return false;
	bool asked = call && call != at.behind &&
		     !(in_leaf && stays_inside(s->p->tables[s->module], call));
	bool may = asked && may_come_out_of(s, call, &known);
	if (may && call->flags & PUGMARK_NODE_TAIL)
		return false;
	if (asked && s->there && !known)
		return false;
	s->found += may;
	if (s->found == 1 && !s->out->from)
		s->out->from = i + 1;
	if (!silence_after_call(&at))
		return true;
	if (at.jumped)
		return *ends = true;
	if (at.decision != PUGMARK_NONE && !look_on(s, at.decision, ends))
		return false;
	if (s->found && !s->out->from)
		s->out->from = i + 1;
	return true;
}

/* Whether it is known where an exception can have come from at all: out of no handler of a signal.
 */
static bool can_ask(const struct parser *p)
{
	return !p->n_handlers && !p->foreign.sp;
}

bool landing_is_behind(const struct pugmark_plan *plan, uint32_t call, uint32_t node)
{
	const struct pugmark_plan_node *n = &plan->nodes[call];
	bool is = n->kind == PUGMARK_NODE_KIND_CALL || n->kind == PUGMARK_NODE_KIND_UNKNOWN ||
		  n->kind == PUGMARK_NODE_KIND_LEAF;
	uint32_t next = is ? pugmark_node_next(n) : PUGMARK_NONE;
	if (next == PUGMARK_NONE || n->flags & PUGMARK_NODE_NORETURN)
		return false;
	const struct pugmark_plan_decision *d = &plan->decisions[next];
	return d->n == 1 && plan->alternatives[d->first] == node;
}

/* How high the frame of @node is at the call that returns to it and nowhere else, setjmp's;
 * PUGMARK_HEIGHT_UNKNOWN where that is not known. */
static int32_t height_at_setjmp(const struct pugmark_plan *plan, uint32_t node)
{
	const struct pugmark_plan_func *f = &plan->funcs[plan->nodes[node].func];
	for (uint32_t i = f->node; i < f->node + f->n_nodes; i++)
		if (landing_is_behind(plan, i, node))
			return plan->nodes[i].height;
	return PUGMARK_HEIGHT_UNKNOWN;
}

/* Reads which call of that frame longjmp() came out of. The word is another one where sp has moved
 * since setjmp, where setjmp has made a call to return a second time, as musl's sigsetjmp does, or
 * where the event was told when the call at its own site had been made (a patched one). */
static void find_left(struct search *s, const struct pugmark_witness_event *e, uint32_t node)
{
	const struct parse_tables *tables = s->p->tables[e->module];
	uint64_t ret;
	s->cfa = pugmark_event_cfa(e);
	s->again = parser_copies_below(s->p, e);
	if (!s->again || !stack_word(e, e->stack_addr, &ret))
		return;
	int32_t height = height_at_setjmp(tables->plan, node);
	uint32_t call = parse_tables_return_to(tables, ret - e->bias);
	if (height == PUGMARK_HEIGHT_UNKNOWN || s->cfa - height != parser_stack_begin(s->p, e) ||
	    call == PUGMARK_NONE || call == node ||
	    tables->plan->nodes[call].func != tables->plan->nodes[node].func ||
	    landing_is_behind(tables->plan, call, node))
		return;
	s->left_cfa = parser_stack_begin(s->p, e);
	s->left_ret = ret;
}

/* The last call of the way is one of ours: goes on at the entry of what it has called. */
static bool enter(struct search *s)
{
	struct landing_step *last = &s->out->path[s->out->n - 1];
	const struct pugmark_plan_node *n = node_at(s->p, s->module, last->node);
	uint32_t entry = s->p->plans[s->module]->funcs[n->callee].entry;
	bool ends = false;
	last->enters = true;
	s->found = 0;
	return entry != PUGMARK_NONE && look_on(s, entry, &ends) && s->found == 1;
}

/* Whether the way ends in a call of ours, which the exception has come through. */
static bool ends_in_ours(const struct search *s)
{
	const struct landing *out = s->out;
	return out->n &&
	       node_at(s->p, s->module, out->path[out->n - 1].node)->kind == PUGMARK_NODE_KIND_CALL;
}

/* On the way inwards: the calls of @links, in the innermost of which it landed; then those of ours
 * that it came through. */
static bool look_inside(struct search *s, const struct stack_link *links, uint32_t n_links)
{
	for (uint32_t i = n_links; i-- > 0;) {
		if (!ends_in_ours(s) || links[i].module != s->module)
			return false;
		s->goal = i ? links[i - 1].call : PUGMARK_NONE;
		s->here = s->there = !i;
		if (!enter(s))
			return false;
	}
	s->here = false;
	s->there = true;
	while (ends_in_ours(s))
		if (!enter(s))
			return false;
	return true;
}

bool landing_find(const struct parser *p, const struct lookahead *la, uint32_t level,
		  const struct stack_link *links, uint32_t n_links, struct landing *out)
{
	const struct pugmark_plan *plan = p->plans[la->e->module];
	uint32_t node = parse_tables_node_of(p->tables[la->e->module], la->e->site);
	uint32_t number = pad_number(plan, node);
	struct search s = {.p = p, .level = level, .out = out};
	find_left(&s, la->e, node);
	s.goal = n_links ? links[n_links - 1].call : PUGMARK_NONE;
	s.landing = (uint8_t)number;
	*out = (struct landing){.from = 0};
	if (!can_ask(p) || number >= PUGMARK_LANDING_OTHER ||
	    p->stack[level].module != (n_links ? links[n_links - 1].module : la->e->module) ||
	    p->stack[level].func != (n_links ? node_at(p, links[n_links - 1].module, s.goal)->func
					     : plan->nodes[node].func))
		return false;
	bool ends = true;
	for (uint32_t i = p->n; ends && i-- > level;)
		if (!look_in(&s, i, &ends))
			return false;
	if (s.found != 1)
		return false;
	s.module = p->stack[out->from - 1].module;
	if (!look_inside(&s, links, n_links))
		return false;
	out->open = out->from;
	for (uint32_t i = 0; i < out->n; i++)
		out->open += out->path[i].enters;
	return true;
}

bool landing_go(struct parser *p, const struct landing *at)
{
	uint32_t open = at->from;
	parser_end_frames(p, open);
	for (uint32_t i = 0; i < at->n && p->n == open && !p->notes->failed; i++) {
		if (p->position == AT_CALL)
			parser_leave_call(p);
		parser_pass(p, at->path[i].node, NULL);
		open += at->path[i].enters;
		if (i + 1 < at->n)
			parser_end_frames(p, open);
	}
	return p->n == open;
}

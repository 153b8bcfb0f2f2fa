// SPDX-License-Identifier: LGPL-2.1-or-later
/* bottom.c: the first function on a stack has returned to where no call led to it. Whoever made the
 * stack has put that return address there: Go's runtime, for each goroutine, one behind the first
 * instruction of runtime.goexit. Where it lies in a function of ours the thread goes on there, in a
 * frame that nothing has entered. */
#include "offline/recover/explain/explain.h"

/* The frames that are open there, before anything shows: that one, and where the place lies right
 * before a call whose witness it has passed, that of what is called. */
struct behind {
	struct frame frames[2];
	uint32_t n;
	uint32_t passed; /* the call, or PUGMARK_NONE */
};

/* The decision that is next at the place @at; PUGMARK_NONE: not known. */
static uint32_t decision_at(const struct parser *p, uint64_t ret, const struct place *at)
{
	struct notes *notes = p->notes;
	if (notes->bottom_ret != ret) {
		notes->bottom_ret = ret;
		notes->bottom_decision =
			parser_decision_before(p->plans[at->module], at->func, at->next);
	}
	return notes->bottom_decision;
}

bool parser_callee_of(const struct parser *p, const struct frame *f, uint32_t node,
		      struct frame *callee)
{
	const struct pugmark_plan_node *n = node_at(p, f->module, node);
	if (n->kind != PUGMARK_NODE_KIND_CALL || n->flags & PUGMARK_NODE_TAIL)
		return false;
	bool known = f->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN;
	*callee = (struct frame){
		.func = n->callee,
		.module = f->module,
		.cfa = known ? f->cfa - n->height : 0,
		.ret = return_address(p, f->module, n),
		.decision = p->plans[f->module]->funcs[n->callee].entry,
		.boundary = BELOW_CALL,
	};
	return callee->decision != PUGMARK_NONE;
}

/* Where the first frame @f of a stack returns to, if that is in a function of ours, and no call of
 * ours is before it. */
static bool returns_to(const struct parser *p, const struct frame *f, struct place *at)
{
	uint16_t module;
	return f->cfa && f->ret &&
	       parser_return_to(p, f->module, f->ret, &module) == PUGMARK_NONE &&
	       parser_place_at(p, f->cfa, f->ret, 0, at) && at->func != PUGMARK_NONE &&
	       at->next != PUGMARK_NONE && !(at->next & PUGMARK_POINT_AFTER);
}

bool parser_is_bottom(const struct parser *p, const struct frame *f)
{
	struct place at;
	return returns_to(p, f, &at);
}

/* Where the thread is once all that are open have ended; false: not known. */
static bool find_behind(const struct parser *p, struct behind *b)
{
	const struct frame *first = p->n ? p->stack : &p->ended;
	struct place at;
	if ((first->boundary != BELOW_SWITCH && first->boundary != BELOW_ROOT) ||
	    (!p->n && p->position != OUTSIDE) || !parser_can_end(p, 0) ||
	    !returns_to(p, first, &at))
		return false;
	b->frames[0] = (struct frame){
		.func = at.func,
		.module = at.module,
		.cfa = at.cfa,
		.boundary = BELOW_SWITCH,
	};
	b->n = 1;
	b->passed = PUGMARK_NONE;
	if (at.next & PUGMARK_POINT_PASSED) {
		b->passed = PUGMARK_POINT_NODE(at.next);
		b->frames[0].node = b->passed;
		b->n = 2;
		return parser_callee_of(p, &b->frames[0], b->passed, &b->frames[1]);
	}
	b->frames[0].decision = decision_at(p, first->ret, &at);
	return b->frames[0].decision != PUGMARK_NONE;
}

void ask_bottom(const struct parser *p, const struct lookahead *la, struct candidates *set)
{
	struct behind b;
	struct candidate c = {.cause = CAUSE_BOTTOM, .unsaid = PUGMARK_CAUSE_NONE};
	if (!find_behind(p, &b))
		return;
	struct interruption by = {.kind = BELOW_SWITCH, .position = OUTSIDE};
	struct context behind = {.stack = b.frames,
				 .interruptions = &by,
				 .n = b.n,
				 .n_interruptions = 1,
				 .id = p->context,
				 .position = AT_DECISION};
	struct parser there = context_view(p, &behind);
	if (parser_find(&there, la, &c.next.level, &c.next.alt) == FOUND_ONE)
		candidate_add(set, &c);
}

enum commit commit_bottom(struct parser *p, struct lookahead *la, const struct candidate *c,
			  uint32_t *first)
{
	struct behind b;
	if (!find_behind(p, &b))
		return COMMIT_FAILED;
	p->bottom = p->n ? p->stack[0].cfa : p->ended.cfa;
	parser_end_frames(p, 0);
	p->ended.ret = 0;
	parser_emit_frame(p, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_CONTEXT, &b.frames[0]);
	if (!parser_push_on(p, b.frames[0], BELOW_SWITCH, PUGMARK_CAUSE_NONE))
		return COMMIT_FAILED;
	p->position = AT_DECISION;
	if (b.passed != PUGMARK_NONE)
		parser_pass(p, b.passed, NULL);
	parser_end_before(p, c->next.level + 1, la);
	*first = c->next.alt;
	return COMMIT_GO_ON;
}

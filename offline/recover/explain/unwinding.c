// SPDX-License-Identifier: LGPL-2.1-or-later
/* unwinding.c: a landing pad or second return of setjmp: the frame that survived is on the stack,
 * and those above it are left. */
#include "offline/recover/explain/explain.h"

/* Leaves the frames above the first @n by unwinding. Where it is not certain that they were all
 * still open, or what had been called from the last, that is a gap; it is not where @sure is not
 * set. */
void parser_unwind_to(struct parser *p, uint32_t n, bool sure)
{
	for (uint32_t h = p->n_handlers; h-- > 0 && p->handlers[h].frame >= n;)
		sure = sure && p->handlers[h].settled;
	uint32_t open = sure ? parser_leaving(p, true) : 0;
	if (open > n) /* a handler that has come there has ended */
		parser_end_frames(p, open);
	sure = sure &&
	       (parser_in_noreturn(p, parser_top(p), p->position) || parser_call_is_last(p, n));
	if (!sure) {
		parser_emit_gap(p, PUGMARK_CAUSE_UNWIND);
		parser_drop_frames(p, n);
		return;
	}
	if (p->position == AT_CALL)
		parser_announce(p);
	while (p->n > n) {
		if (!parser_top(p)->gone)
			parser_emit_frame(p, PUGMARK_TRACE_UNWIND, PUGMARK_CAUSE_NONE,
					  parser_top(p));
		parser_drop_frames(p, p->n - 1);
	}
	if (n)
		parser_top(p)->announced = false;
}

/* Opens the frames between open frame @level and the event's, which the calls in @links made. */
void parser_open_frames(struct parser *p, const struct pugmark_witness_event *e, uint32_t func,
			const struct stack_link *links, int n)
{
	for (int i = n; i-- > 0;) {
		struct frame *f = parser_top(p);
		const struct pugmark_plan_node *call = node_at(p, links[i].module, links[i].call);
		f->module = links[i].module;
		f->func = call->func; /* it may have got there by a jump that showed nothing */
		f->node = links[i].call;
		parser_push(p, (struct frame){
				       .module = e->module,
				       .cfa = links[i].cfa - call->height,
				       .ret = return_address(p, f->module, call),
				       .boundary = BELOW_CALL,
			       });
	}
	parser_top(p)->module = e->module;
	parser_top(p)->func = func;
}

bool parser_can_unwind(const struct parser *p, const struct lookahead *la)
{
	uint32_t node = parse_tables_node_of(p->tables[la->e->module], la->e->site), level;
	const struct pugmark_plan_node *n = node_at(p, la->e->module, node);
	struct stack_link links[STACK_LINKS_MAX];
	return n->flags & PUGMARK_NODE_ROOT && la->own_cfa &&
	       stack_chain(p, la->e, n->func, links, STACK_LINKS_MAX, &level) >= 0;
}

/* A landing pad or second return of setjmp: the frame that survived, the rest is unwound. */
bool parser_try_unwinding(struct parser *p, const struct lookahead *la)
{
	const struct pugmark_witness_event *e = la->e;
	uint32_t node = parse_tables_node_of(p->tables[e->module], e->site);
	const struct pugmark_plan_node *n = node_at(p, e->module, node);
	struct stack_link links[STACK_LINKS_MAX];
	uint32_t level;
	if (!(n->flags & PUGMARK_NODE_ROOT) || !la->own_cfa)
		return false;
	int count = stack_chain(p, e, n->func, links, STACK_LINKS_MAX, &level);
	if (count < 0)
		return false;
	parser_unwind_to(p, level + 1, count == 0);
	parser_open_frames(p, e, n->func, links, count);
	parser_take_event(p, node, e);
	return true;
}

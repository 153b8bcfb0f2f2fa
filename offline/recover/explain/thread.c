// SPDX-License-Identifier: LGPL-2.1-or-later
/* thread.c: a thread begins, or enters its next function from outside with none of ours open. */
#include "offline/recover/explain/explain.h"

/* No frame of ours is left: the thread's next function from outside. */
void parser_enter_root(struct parser *p, const struct lookahead *la)
{
	if (!parser_can_end(p, 0))
		parser_unwind_to(p, 0, true);
	parser_end_frames(p, 0);
	parser_enter(p, la, BELOW_ROOT, PUGMARK_CAUSE_THREAD);
}

/* Whether a call of the function of @node can have been made in silence right before @node. */
static bool follows_silent_call(const struct parser *p, uint16_t module, uint32_t node)
{
	const struct pugmark_plan *plan = p->plans[module];
	const struct pugmark_plan_func *func = &plan->funcs[plan->nodes[node].func];
	for (uint32_t i = func->node; i < func->node + func->n_nodes; i++) {
		const struct pugmark_plan_node *n = &plan->nodes[i];
		bool call = n->kind == PUGMARK_NODE_KIND_CALL ||
			    n->kind == PUGMARK_NODE_KIND_UNKNOWN ||
			    n->kind == PUGMARK_NODE_KIND_LEAF;
		if (!call || n->site != PUGMARK_NONE || n->flags & PUGMARK_NODE_TAIL ||
		    n->next == PUGMARK_NONE)
			continue;
		const struct pugmark_plan_decision *d = &plan->decisions[n->next];
		for (uint32_t k = d->first; k < d->first + d->n; k++)
			if (plan->alternatives[k] == node)
				return true;
	}
	return false;
}

/* The first event of a thread that was started behind a system call of ours, as in a program with
 * the C library in it: the thread begins in the middle of that function, which no call has entered.
 * It does so at the event, or at the call that the event came by. */
bool parser_begin_thread(struct parser *p, struct lookahead *la)
{
	const struct pugmark_witness_event *e = la->e;
	bool own = la->entered == PUGMARK_NONE;
	uint16_t module = own ? e->module : la->from;
	uint32_t node = own ? parse_tables_node_of(p->tables[module], e->site) : la->origin;
	if (p->n || p->position != OUTSIDE || node == PUGMARK_NONE || !node || la->foreign)
		return false;
	const struct pugmark_plan_node *n = node_at(p, module, node);
	if (n->kind == PUGMARK_NODE_KIND_OPAQUE ||
	    (!own && (n->site != PUGMARK_NONE || n->flags & PUGMARK_NODE_TAIL)) ||
	    follows_silent_call(p, module, node))
		return false;
	bool known = !own && la->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN;
	struct frame f = {
		.func = n->func,
		.module = module,
		.cfa = known		    ? la->cfa + n->height
		       : own && la->own_cfa ? e->cfa
					    : 0,
		.boundary = BELOW_ROOT,
	};
	parser_emit_frame(p, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_THREAD, &f);
	parser_push(p, f);
	if (own) {
		parser_take_event(p, node, e);
		return true;
	}
	parser_pass(p, node, NULL);
	return parser_derive(p, la, PUGMARK_NONE);
}

/* Whether the event is of a program's very first function, which has no return address: what
 * libraries ran before it has ended. */
bool parser_starts_program(struct parser *p, const struct lookahead *la)
{
	return la->entered != PUGMARK_NONE && !la->own_cfa && !la->e->ret && parser_can_end(p, 0);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* thread_begin.c: a thread begins, or enters its next function from outside with none of ours open.
 */
#include "offline/recover/explain/explain.h"

/* No frame of ours is left: the thread's next function from outside. */
void parser_enter_root(struct parser *p, const struct lookahead *la)
{
	if (!parser_can_end(p, 0)) {
		struct unwinding u = unwinding_of(p, 0, true);
		unwinding_leave(p, &u, la->e);
	}
	parser_end_frames(p, 0);
	parser_enter(p, la, BELOW_ROOT, PUGMARK_CAUSE_THREAD);
}

/* Whether the function of @node can have made a call in silence right before @node. */
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
		    pugmark_node_next(n) == PUGMARK_NONE)
			continue;
		const struct pugmark_plan_decision *d = &plan->decisions[pugmark_node_next(n)];
		for (uint32_t k = d->first; k < d->first + d->n; k++)
			if (plan->alternatives[k] == node)
				return true;
	}
	return false;
}

/* The node that a thread begins at: the event's own, or the call that the event came by. It has to
 * be one that no call has led to. PUGMARK_NONE: it does not begin in the middle of a function. */
static uint32_t begins_at(const struct parser *p, const struct lookahead *la, uint16_t *module)
{
	bool own = la->entered == PUGMARK_NONE;
	*module = own ? la->e->module : la->from;
	uint32_t node = own ? parse_tables_node_of(p->tables[*module], la->e->site) : la->origin;
	if (p->n || p->position != OUTSIDE || node == PUGMARK_NONE || !node || la->foreign)
		return PUGMARK_NONE;
	const struct pugmark_plan_node *n = node_at(p, *module, node);
	if (n->kind == PUGMARK_NODE_KIND_OPAQUE ||
	    (!own && (n->site != PUGMARK_NONE || n->flags & PUGMARK_NODE_TAIL)) ||
	    follows_silent_call(p, *module, node))
		return PUGMARK_NONE;
	return node;
}

void ask_begun(const struct parser *p, const struct lookahead *la, struct candidates *set)
{
	uint16_t module;
	if (begins_at(p, la, &module) != PUGMARK_NONE)
		candidate_add(set, &(struct candidate){.cause = CAUSE_BEGUN,
						       .unsaid = PUGMARK_CAUSE_NONE});
}

enum commit commit_begun(struct parser *p, struct lookahead *la, const struct candidate *c,
			 uint32_t *first)
{
	(void)c;
	(void)first;
	bool own = la->entered == PUGMARK_NONE;
	uint16_t module;
	uint32_t node = begins_at(p, la, &module);
	const struct pugmark_plan_node *n = node_at(p, module, node);
	bool known = !own && la->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN;
	struct frame f = {
		.func = n->func,
		.module = module,
		.cfa = known		    ? la->cfa + n->height
		       : own && la->own_cfa ? pugmark_event_cfa(la->e)
					    : 0,
	};
	parser_emit_frame(p, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_THREAD, &f);
	if (!parser_push_on(p, f, BELOW_ROOT, PUGMARK_CAUSE_NONE))
		return COMMIT_FAILED;
	if (own)
		parser_take_event(p, node, la->e);
	else
		parser_pass(p, node, NULL);
	return own ? COMMIT_TAKEN : COMMIT_GO_ON;
}

/* It has no return address: what libraries ran before it has ended. */
void ask_program(const struct parser *p, const struct lookahead *la, struct candidates *set)
{
	if (la->entered != PUGMARK_NONE && !la->own_cfa && !pugmark_event_ret(la->e) &&
	    parser_can_end(p, 0))
		candidate_add(set, &(struct candidate){.cause = CAUSE_PROGRAM,
						       .unsaid = PUGMARK_CAUSE_NONE});
}

enum commit commit_program(struct parser *p, struct lookahead *la, const struct candidate *c,
			   uint32_t *first)
{
	(void)c;
	(void)first;
	parser_enter_root(p, la);
	return COMMIT_GO_ON;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* links.c: the calls in progress between an event and an open frame, by the heights of frames
 * alone. */
#include "offline/recover/stack/snapshot.h"

#define TAIL_FUNCS_MAX 64 /* functions that one frame can be by tail jumps */

/* Whether an activation that began in @from can be in @func, or for PUGMARK_NONE out of the module,
 * by tail jumps that show nothing. */
static bool reaches_by_jumps(const struct pugmark_plan *plan, uint32_t from, uint32_t func)
{
	uint32_t seen[TAIL_FUNCS_MAX], n = 0;
	seen[n++] = from;
	for (uint32_t i = 0; i < n; i++) {
		if (seen[i] == func)
			return true;
		const struct pugmark_plan_func *f = &plan->funcs[seen[i]];
		for (uint32_t k = f->node; k < f->node + f->n_nodes && n < TAIL_FUNCS_MAX; k++) {
			const struct pugmark_plan_node *node = &plan->nodes[k];
			if (!(node->flags & PUGMARK_NODE_TAIL))
				continue;
			if (node->kind != PUGMARK_NODE_KIND_CALL) {
				if (func == PUGMARK_NONE)
					return true;
				continue;
			}
			uint32_t j = 0;
			while (j < n && seen[j] != node->callee)
				j++;
			if (j == n)
				seen[n++] = node->callee;
		}
	}
	return false;
}

bool stack_jumps_to(const struct pugmark_plan *plan, uint32_t from, uint32_t func)
{
	return reaches_by_jumps(plan, from, func);
}

bool stack_jumps_out(const struct pugmark_plan *plan, uint32_t from)
{
	return reaches_by_jumps(plan, from, PUGMARK_NONE);
}

/* Whether what call @call of @module enters can be in @func of module @in: through another module
 * anything can be reached. */
static bool call_leads_to(const struct parser *p, uint16_t module,
			  const struct pugmark_plan_node *call, uint16_t in, uint32_t func)
{
	if (call->kind == PUGMARK_NODE_KIND_CALL)
		return module == in && stack_jumps_to(p->plans[in], call->callee, func);
	return call->kind == PUGMARK_NODE_KIND_UNKNOWN;
}

bool stack_frame_in(const struct parser *p, uint32_t level, uint16_t module, uint32_t func)
{
	const struct frame *f = &p->stack[level];
	if (f->module == module && stack_jumps_to(p->plans[module], f->func, func))
		return true;
	if (f->boundary != BELOW_CALL || !level)
		return false;
	const struct pugmark_plan_node *call =
		node_at(p, p->stack[level - 1].module, p->stack[level - 1].node);
	return call->kind == PUGMARK_NODE_KIND_CALL &&
	       call_leads_to(p, p->stack[level - 1].module, call, module, func);
}

bool stack_open_frame_at(const struct parser *p, const struct pugmark_witness_event *e,
			 uint64_t cfa, uint32_t *level)
{
	for (uint32_t i = p->n; i-- > 0;)
		if (p->stack[i].cfa == cfa && stack_frames_intact(p, e, i)) {
			*level = i;
			return true;
		}
	return false;
}

int stack_chain(const struct parser *p, const struct pugmark_witness_event *e, uint32_t func,
		struct stack_link *links, int max, uint32_t *level)
{
	uint64_t cfa = e->cfa, word;
	uint16_t module = e->module;
	for (int n = 0; n <= max; n++) {
		uint16_t from;
		if (stack_open_frame_at(p, e, cfa, level))
			return stack_frame_in(p, *level, module, func) ? n : -1;
		if (n == max || !stack_word(e, cfa - 8, &word))
			return -1;
		uint32_t node = parser_call_before(p, module, word, &from);
		if (node == PUGMARK_NONE)
			return -1;
		const struct pugmark_plan_node *call = node_at(p, from, node);
		if (call->height == PUGMARK_HEIGHT_UNKNOWN ||
		    !call_leads_to(p, from, call, module, func))
			return -1;
		cfa += call->height;
		func = call->func;
		module = from;
		links[n] = (struct stack_link){module, node, cfa};
	}
	return -1;
}

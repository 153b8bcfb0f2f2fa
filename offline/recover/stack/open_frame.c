// SPDX-License-Identifier: LGPL-2.1-or-later
/* open_frame.c: the calls in progress between an event and an open frame, by the heights of frames
 * alone. */
#include "offline/recover/stack/snapshot.h"

#include "offline/recover/stack/cursor.h"
#include "offline/recover/tables/tail_jumps.h"

/* Whether what call @call of @module enters can be in @func of module @in: through another module
 * anything can be reached. */
static bool call_leads_to(const struct parser *p, uint16_t module,
			  const struct pugmark_plan_node *call, uint16_t in, uint32_t func)
{
	if (call->kind == PUGMARK_NODE_KIND_CALL)
		return module == in && tail_jumps_lead(p->tables[in], call->callee, func);
	return call->kind == PUGMARK_NODE_KIND_UNKNOWN;
}

bool stack_frame_in(const struct parser *p, uint32_t level, uint16_t module, uint32_t func)
{
	const struct frame *f = &p->stack[level];
	if (f->module == module && tail_jumps_lead(p->tables[module], f->func, func))
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

/* The chain from the frame at the cursor, which is of @func. */
static int chain_up(struct frame_cursor *at, uint32_t func, struct stack_link *links, int max,
		    uint32_t *level)
{
	const struct parser *p = at->p;
	for (int n = 0; n <= max; n++) {
		uint16_t module = at->module;
		if (stack_open_frame_at(p, at->e, at->cfa, level))
			return stack_frame_in(p, *level, module, func) ? n : -1;
		if (n == max || cursor_up(at) != STEP_HEIGHT ||
		    !call_leads_to(p, at->module, at->node, module, func))
			return -1;
		func = at->node->func;
		links[n] = (struct stack_link){at->module, at->call, at->cfa};
	}
	return -1;
}

int stack_chain(const struct parser *p, const struct pugmark_witness_event *e, uint32_t func,
		struct stack_link *links, int max, uint32_t *level)
{
	struct frame_cursor at = cursor_at(p, e, e->module, pugmark_event_cfa(e));
	return chain_up(&at, func, links, max, level);
}

int stack_chain_of_call(const struct parser *p, const struct pugmark_witness_event *e,
			const struct stack_link *call, struct stack_link *links, int max,
			uint32_t *level)
{
	struct frame_cursor at = cursor_at(p, e, call->module, call->cfa);
	cursor_put_call(&at, call->module, call->call);
	return cursor_find_frame(&at) == STEP_HEIGHT
		       ? chain_up(&at, at.node->func, links, max, level)
		       : -1;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* cursor.c: see cursor.h. */
#include "offline/recover/stack/cursor.h"

#include "offline/recover/stack/snapshot.h"

void cursor_put_call(struct frame_cursor *c, uint16_t module, uint32_t call)
{
	c->module = module;
	c->call = call;
	c->node = node_at(c->p, module, call);
	c->callee_cfa = c->cfa;
}

bool cursor_find_call(struct frame_cursor *c)
{
	if (!c->cfa || !stack_word(c->e, c->cfa - 8, &c->ret))
		c->ret = 0;
	return cursor_take_call(c);
}

bool cursor_take_call(struct frame_cursor *c)
{
	uint16_t module;
	uint32_t call = !c->ret	    ? PUGMARK_NONE
			: c->opaque ? parser_return_to(c->p, c->module, c->ret, &module)
				    : parser_call_before(c->p, c->module, c->ret, &module);
	if (call == PUGMARK_NONE)
		return false;
	cursor_put_call(c, module, call);
	return true;
}

void cursor_pass_bp(struct frame_cursor *c, uint8_t rule)
{
	if (rule == PUGMARK_BP_UNKNOWN)
		c->bp.known = false;
	else if (rule != PUGMARK_BP_KEPT)
		c->bp.known = stack_word(c->e, c->cfa - 8 * (uint64_t)rule, &c->bp.value);
}

enum cursor_step cursor_find_frame(struct frame_cursor *c)
{
	const struct pugmark_plan_node *n = c->node;
	bool opaque = n->kind == PUGMARK_NODE_KIND_OPAQUE, by_bp = false;
	c->cfa = 0;
	if (n->height != PUGMARK_HEIGHT_UNKNOWN) {
		c->cfa = c->callee_cfa + n->height;
	} else if (opaque && pugmark_node_cfa_from_bp(n) != PUGMARK_NONE && c->bp.known) {
		c->cfa = c->bp.value + pugmark_node_cfa_from_bp(n);
		by_bp = true;
	}
	if (!c->cfa)
		return STEP_LOST;
	cursor_pass_bp(c, opaque ? n->bp : PUGMARK_BP_UNKNOWN);
	return by_bp ? STEP_BP : STEP_HEIGHT;
}

bool cursor_next_word(struct frame_cursor *c)
{
	if (!stack_reaches(c->e, c->cfa))
		return false;
	c->cfa += 8;
	if (!stack_word(c->e, c->cfa - 8, &c->ret))
		c->ret = 0;
	return true;
}

enum cursor_step cursor_scan(struct frame_cursor *c)
{
	uint64_t begin = parser_stack_begin(c->p, c->e);
	c->cfa = c->cfa > begin ? c->cfa : begin;
	while (cursor_next_word(c)) {
		if (cursor_take_call(c))
			return STEP_LOST;
		if (c->ret)
			return STEP_SCAN;
	}
	return STEP_NONE;
}

enum cursor_step cursor_up(struct frame_cursor *c)
{
	return cursor_find_call(c) ? cursor_find_frame(c) : STEP_NONE;
}

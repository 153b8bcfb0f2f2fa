// SPDX-License-Identifier: LGPL-2.1-or-later
/* chain.c: calls in progress, from return addresses. Of each call of ours, traced or not, the plan
 * tells how high its function's frame is there; so from one return address the next is found
 * without a search, and it must be of a call that can have made the frame between them. Only code
 * that the plans do not know (or a frame that grows at run time) hides where the next lies: then
 * any higher word may be it, if a chain that is right in each frame leads on from there. What
 * earlier calls have left on the stack seldom is such a chain up to an open frame: where it
 * branches off from the calls in progress, one frame would be in two calls at once. */
#include "offline/recover/stack/chain.h"

#include "offline/recover/stack/snapshot.h"
#include "offline/recover/tables/tail_jumps.h"

static bool is_opaque(const struct pugmark_plan_node *n)
{
	return n->kind == PUGMARK_NODE_KIND_OPAQUE;
}

/* Whether the call @n of @module can have made a frame that is now @func's, of module @in. One of a
 * traced function shows unless a call that names it has made it. */
static bool may_make(const struct parser *p, uint16_t module, const struct pugmark_plan_node *n,
		     uint16_t in, uint32_t func, bool traced)
{
	uint32_t callee = plan_named_callee(n);
	if (n->kind == PUGMARK_NODE_KIND_LEAF || (traced && n->kind != PUGMARK_NODE_KIND_CALL))
		return false;
	if (callee != PUGMARK_NONE)
		return module == in && tail_jumps_may_lead(p->tables[in], callee, func);
	return parse_tables_enterable(p->tables[in], func);
}

/* Whether the call @n of @module can have entered code that the plans do not know. */
static bool may_leave(const struct parser *p, uint16_t module, const struct pugmark_plan_node *n)
{
	uint32_t callee = plan_named_callee(n);
	if (n->kind == PUGMARK_NODE_KIND_LEAF)
		return false;
	return callee == PUGMARK_NONE || parse_tables_jumps_out(p->tables[module], callee);
}

/* Whether the chain has come to an open frame, as one of @func, which returns to @ret. It need not
 * be the activation that is open, but one that the same call has made. */
static bool meets_open(const struct parser *p, const struct pugmark_witness_event *e, uint32_t func,
		       uint64_t ret, struct chain *c)
{
	if (!stack_open_frame_at(p, e, c->cfa, &c->level))
		return false;
	const struct frame *f = &p->stack[c->level];
	bool jumped =
		f->module == c->module && tail_jumps_may_lead(p->tables[c->module], f->func, func);
	if (!jumped && !stack_frame_in(p, c->level, c->module, func))
		return false;
	c->end = CHAIN_OPEN;
	if (c->origin != PUGMARK_NONE)
		return true;
	c->origin = parser_call_before(p, c->module, ret, &c->from);
	c->origin_cfa = c->cfa;
	c->origin_ret = ret;
	uint16_t module;
	uint32_t call = parser_return_to(p, c->module, ret, &module);
	bool named =
		call != PUGMARK_NONE && plan_named_callee(node_at(p, module, call)) != PUGMARK_NONE;
	c->anew = !named && parse_tables_enterable_unseen(p->tables[c->module], func);
	return true;
}

/* The frame of the traced call that the cursor is at ends where nothing tells: it is an open one if
 * its event has told where the callee's lies. */
static void find_open_call(const struct frame_cursor *at, struct chain *c)
{
	const struct parser *p = at->p;
	c->end = CHAIN_WRONG;
	for (uint32_t i = p->n; i-- > 0 && c->end == CHAIN_WRONG;) {
		const struct frame *f = &p->stack[i];
		if (f->module != c->module || f->node != at->call ||
		    stack_callee_cfa(p, i) != c->cfa)
			continue;
		c->level = i;
		c->end = CHAIN_OPEN;
	}
}

/* Outwards from the call that the cursor is at, whose callee lies at @c->cfa. */
static void climb(struct frame_cursor at, struct chain *c)
{
	const struct parser *p = at.p;
	c->origin = PUGMARK_NONE;
	for (;;) {
		const struct pugmark_plan_node *n = at.node;
		bool traced = !is_opaque(n);
		c->func = n->func;
		c->module = at.module;
		if (traced && c->origin == PUGMARK_NONE) {
			c->origin = at.call;
			c->from = at.module;
			c->origin_cfa = c->cfa;
			c->origin_ret = return_address(p, at.module, n);
		}
		if (cursor_find_frame(&at) == STEP_LOST) {
			c->end = CHAIN_HEIGHT;
			if (traced)
				find_open_call(&at, c);
			return;
		}
		c->end = CHAIN_WRONG;
		if (at.cfa < at.callee_cfa + 8)
			return;
		c->cfa = at.cfa;
		bool called = cursor_find_call(&at);
		if (meets_open(p, at.e, c->func, at.ret, c))
			return;
		if (!at.ret && c->cfa - 8 - at.e->stack_addr >= 8 * (uint64_t)at.e->stack_words) {
			c->end = CHAIN_BEYOND;
			return;
		}
		if (!called) {
			if (!traced && parse_tables_enterable(p->tables[c->module], n->func))
				c->end = CHAIN_OUT;
			return;
		}
		if (!may_make(p, at.module, at.node, c->module, n->func, traced))
			return;
	}
}

/* The call of ours, traced or not, that returns to @ret, of a frame of @module at @cfa; false:
 * there is none. */
static bool call_of(const struct parser *p, const struct pugmark_witness_event *e, uint16_t module,
		    uint64_t cfa, uint64_t ret, struct frame_cursor *at)
{
	uint32_t node = parser_return_to(p, module, ret, &module);
	*at = cursor_at(p, e, module, cfa);
	at->opaque = true;
	if (node != PUGMARK_NONE)
		cursor_put_call(at, module, node);
	return node != PUGMARK_NONE;
}

void chain_from_entry(const struct parser *p, const struct pugmark_witness_event *e, uint32_t func,
		      struct chain *c)
{
	struct frame_cursor at;
	*c = (struct chain){.end = CHAIN_OUT, .cfa = pugmark_event_cfa(e), .origin = PUGMARK_NONE};
	bool called = call_of(p, e, e->module, pugmark_event_cfa(e), pugmark_event_ret(e), &at);
	c->module = at.module;
	if (!called || !is_opaque(at.node))
		return;
	const struct pugmark_plan_site *site = &p->plans[e->module]->sites[e->site];
	at.bp.known = e->flags & PUGMARK_EVENT_HAS_TARGET && site->kind != PUGMARK_WITNESS_TARGET;
	at.bp.value = pugmark_event_bp(e);
	cursor_pass_bp(&at, site->bp);
	c->end = CHAIN_WRONG;
	if (may_make(p, at.module, at.node, e->module, func, false))
		climb(at, c);
	if (c->end == CHAIN_WRONG)
		c->cfa = pugmark_event_cfa(e);
}

bool chain_supports(const struct parser *p, const struct pugmark_witness_event *e, uint32_t i)
{
	const struct frame *f = &p->stack[i];
	struct chain c = {.cfa = f->cfa};
	struct frame_cursor at;
	if (f->boundary == BELOW_CALL || !f->cfa || !f->ret ||
	    !call_of(p, e, f->module, f->cfa, f->ret, &at) || !is_opaque(at.node))
		return true;
	climb(at, &c);
	if (c.end != CHAIN_OPEN)
		return c.end != CHAIN_WRONG;
	if (f->boundary != BELOW_CALLBACK)
		return c.level < i;
	const struct frame *by = &p->stack[c.level];
	bool jumped = c.origin_cfa == by->cfa; /* the origin is what called that frame itself */
	return c.level + 1 == i && (c.origin == PUGMARK_NONE || jumped || c.origin == by->node);
}

/* ---- where a chain has ended ---- */

static void add_callee(struct chain_scan *s, uint16_t module, uint32_t func, uint64_t above)
{
	for (uint32_t i = 0; i < s->n_callees; i++) {
		struct chain_callee *c = &s->callees[i];
		if (c->func != func || (func != PUGMARK_NONE && c->module != module))
			continue;
		if (above < c->above)
			c->above = above;
		return;
	}
	if (s->n_callees == CHAIN_KNOWN_MAX)
		s->too_many = true;
	else
		s->callees[s->n_callees++] = (struct chain_callee){module, func, above};
}

/* A frame of a height that is not known: outside of it the next call is to be found. */
static void add_frame(struct chain_scan *s, const struct parser *p, const struct chain *c)
{
	add_callee(s, c->module, c->func, c->cfa);
	if (parse_tables_enterable(p->tables[c->module], c->func))
		add_callee(s, 0, PUGMARK_NONE, c->cfa);
}

void chain_scan_begin(struct chain_scan *s, const struct parser *p,
		      const struct pugmark_witness_event *e, const struct chain *from,
		      uint32_t level)
{
	*s = (struct chain_scan){.level = level, .any = from->end == CHAIN_WRONG};
	s->at = cursor_at(p, e, e->module, parser_stack_begin(p, e));
	s->at.opaque = true;
	if (from->end == CHAIN_HEIGHT)
		add_frame(s, p, from);
	else if (from->end != CHAIN_BEYOND)
		add_callee(s, 0, PUGMARK_NONE, from->cfa);
}

/* Whether the call @n of @module, whose callee lies at @cfa, can be the next. */
static bool may_be_next(const struct chain_scan *s, const struct parser *p, uint16_t module,
			const struct pugmark_plan_node *n, uint64_t cfa, bool known_only)
{
	for (uint32_t i = 0; i < s->n_callees; i++) {
		const struct chain_callee *c = &s->callees[i];
		if (cfa <= c->above || (known_only && c->func == PUGMARK_NONE))
			continue;
		if (s->any ||
		    (c->func == PUGMARK_NONE ? may_leave(p, module, n)
					     : may_make(p, module, n, c->module, c->func, false)))
			return true;
	}
	return false;
}

/* Whether the open frame itself can have become what the scan is for. */
static bool is_own(const struct chain_scan *s, const struct parser *p, uint64_t cfa)
{
	const struct frame *f = &p->stack[s->level];
	if (cfa != f->cfa)
		return false;
	for (uint32_t i = 0; i < s->n_callees; i++) {
		const struct chain_callee *c = &s->callees[i];
		if (cfa > c->above &&
		    (c->func == PUGMARK_NONE || s->any ||
		     (c->module == f->module &&
		      tail_jumps_may_lead(p->tables[f->module], f->func, c->func))))
			return true;
	}
	return false;
}

/* Whether the chain is a reading: it leads to an open frame by a call of ours, or out of ours past
 * the level. */
static bool is_reading(struct chain_scan *s, const struct parser *p, const struct chain *c)
{
	uint64_t top = p->stack[s->level].cfa;
	bool over = top && c->cfa > top;
	if (c->end == CHAIN_WRONG || (c->end == CHAIN_BEYOND && c->origin != PUGMARK_NONE))
		return false;
	if (c->end == CHAIN_OPEN)
		return c->level == s->level || over;
	if (c->end == CHAIN_HEIGHT && !over)
		add_frame(s, p, c);
	return over;
}

static bool has_known(const struct chain_scan *s)
{
	for (uint32_t i = 0; i < s->n_callees; i++)
		if (s->callees[i].func != PUGMARK_NONE)
			return true;
	return false;
}

bool chain_scan_next(struct chain_scan *s, struct chain *c)
{
	const struct parser *p = s->at.p;
	uint64_t top = p->stack[s->level].cfa;
	while (cursor_next_word(&s->at)) {
		const struct frame_cursor *word = &s->at;
		if (is_own(s, p, word->cfa)) {
			*c = (struct chain){
				.cfa = word->cfa,
				.module = word->module,
				.level = s->level,
				.end = CHAIN_OPEN,
				.origin_cfa = word->cfa,
				.origin_ret = word->ret,
			};
			c->origin = parser_call_before(p, word->module, word->ret, &c->from);
			return true;
		}
		/* Outside of the level, only whether something else than it can be there. */
		bool above = top && word->cfa > top;
		if (above && !has_known(s))
			return false;
		if (!word->ret)
			continue;
		struct frame_cursor at = *word;
		if (!cursor_take_call(&at) || !may_be_next(s, p, at.module, at.node, at.cfa, above))
			continue;
		*c = (struct chain){.cfa = at.cfa, .level = s->level};
		climb(at, c);
		if (is_reading(s, p, c))
			return true;
	}
	return false;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* readings.c: see settle_impl.h. What calls are in progress is read from the stack: from a return
 * address of ours on the calls lead outwards from frame to frame to one that is open. Which address
 * is the innermost is known where the plan or call frame information tells; else each is tried, the
 * innermost first. */
#include "offline/recover/settle/settle_impl.h"

#include "offline/recover/stack/cursor.h"
#include "offline/recover/tables/tail_jumps.h"

#include <stdlib.h>

/* Whether the event of the function's end has been: what else is in it, up to the return, shows
 * nothing. */
static bool about_to_return(const struct settling *s)
{
	return s->next != PUGMARK_NONE && s->next & PUGMARK_POINT_PASSED &&
	       node_at(s->p, s->module, PUGMARK_POINT_NODE(s->next))->kind ==
		       PUGMARK_NODE_KIND_RETURN;
}

/* Whether the innermost call in progress can have led to where the thread is. */
static bool leads_here(const struct settling *s, const struct stack_link *link)
{
	const struct pugmark_plan_node *c = node_at(s->p, link->module, link->call);
	if (s->func == PUGMARK_NONE)
		return c->kind != PUGMARK_NODE_KIND_CALL ||
		       tail_jumps_lead(s->p->tables[link->module], c->callee, PUGMARK_NONE);
	if (c->kind == PUGMARK_NODE_KIND_UNKNOWN)
		return settle_just_entered(s) || about_to_return(s);
	if (c->kind != PUGMARK_NODE_KIND_CALL)
		return false;
	struct parse_tables *tables = s->p->tables[link->module];
	return (settle_just_entered(s) && tail_jumps_lead(tables, c->callee, PUGMARK_NONE)) ||
	       (link->module == s->module && tail_jumps_lead(tables, c->callee, s->func));
}

/* Whether open frame @f can have made the outermost call of the links. @cfa: where the frame that
 * made it lies; 0: that call's height is not known. */
static bool made_by(const struct settling *s, const struct frame *f, uint64_t cfa)
{
	if (cfa)
		return f->cfa == cfa;
	if (!s->n_links)
		return false;
	const struct stack_link *link = &s->links[s->n_links - 1];
	bool outside = f->cfa > link->cfa;
	if (node_at(s->p, link->module, link->call)->site == PUGMARK_NONE)
		return outside;
	/* Its witness told where its callee's frame is, on another stack as well. */
	return (outside || !f->cfa || f->call_cfa) && f->node == link->call &&
	       f->module == link->module && (!f->call_cfa || f->call_cfa == link->cfa);
}

/* The reading in which open frame @level did. */
static bool try_level(struct settling *s, uint32_t level, uint64_t cfa)
{
	s->level = level;
	return made_by(s, &s->p->stack[level], cfa) && stack_frames_intact(s->p, s->e, level) &&
	       settle_allowed(s);
}

/* The readings in which an open frame's own code made the calls in the links. */
static bool try_levels(struct settling *s, uint64_t cfa)
{
	uint64_t place = (cfa - 8 - s->e->stack_addr) / 8;
	if (cfa && !s->twice && place < s->e->stack_words)
		return s->frame_at[place] && try_level(s, s->frame_at[place] - 1, cfa);
	for (uint32_t level = s->p->n; level-- > 0;)
		if (try_level(s, level, cfa))
			return true;
	return false;
}

/* Notes at which word of the snapshot each open frame ends; and in `twice` whether two of them end
 * at one word. False where memory is out. */
static bool index_frames(struct settling *s)
{
	const struct pugmark_witness_event *e = s->e;
	s->twice = false;
	s->frame_at = calloc(e->stack_words + 1, sizeof(*s->frame_at));
	if (!s->frame_at) {
		s->p->notes->failed = true;
		return false;
	}
	for (uint32_t i = 0; i < s->p->n; i++) {
		uint64_t cfa = s->p->stack[i].cfa;
		if (!cfa || !stack_reaches(e, cfa - 8))
			continue;
		uint32_t *at = &s->frame_at[(cfa - 8 - e->stack_addr) / 8];
		s->twice |= *at != 0;
		*at = i + 1;
	}
	return true;
}

/* Whether the call that the cursor has come to can be in progress around those of the links; then
 * it is one of them. */
static bool add_link(struct settling *s, const struct frame_cursor *at)
{
	const struct parser *p = s->p;
	struct stack_link link = {.module = at->module, .call = at->call, .cfa = at->callee_cfa};
	if (s->n_links == STACK_LINKS_MAX)
		return false;
	if (!s->n_links) {
		if (!leads_here(s, &link))
			return false;
	} else {
		const struct stack_link *inner = &s->links[s->n_links - 1];
		uint32_t func = node_at(p, inner->module, inner->call)->func;
		if (at->node->kind != PUGMARK_NODE_KIND_CALL || link.module != inner->module ||
		    !tail_jumps_lead(p->tables[link.module], at->node->callee, func))
			return false;
	}
	s->links[s->n_links++] = link;
	return true;
}

/* The readings in which the calls of the links were made by frames that follow one another, from
 * the cursor's outwards to one that is open. */
static bool try_chain(struct settling *s, struct frame_cursor at)
{
	while (!try_levels(s, at.cfa)) {
		if (!cursor_find_call(&at) || !add_link(s, &at))
			return false;
		if (cursor_find_frame(&at) == STEP_LOST)
			return at.node->site != PUGMARK_NONE && try_levels(s, 0);
	}
	return true;
}

/* The readings with the cursor's return address as the innermost one of ours. */
static bool try_from(struct settling *s, struct frame_cursor at)
{
	s->n_links = 0;
	if (try_chain(s, at))
		return true;
	if (!s->n_links)
		return false;
	const struct stack_link *link = &s->links[0];
	const struct pugmark_plan_node *c = node_at(s->p, link->module, link->call);
	if (c->height != PUGMARK_HEIGHT_UNKNOWN || c->site != PUGMARK_NONE)
		return false;
	/* A call at an unknown height that nothing shows: its frame ends at the next return address
	 * that leads on, or else beyond the snapshot. */
	while (cursor_next_word(&at)) {
		s->n_links = 1;
		if (try_chain(s, at))
			return true;
	}
	s->n_links = 1;
	return try_levels(s, 0);
}

/* Whether the return address at @addr is into a function of ours that is not traced: what called
 * that lies further out. Of its calls the plan names those alone that lead back to traced code. */
static bool is_untraced(const struct settling *s, uint64_t addr)
{
	uint16_t module;
	uint64_t word;
	struct place call;
	if (!stack_word(s->e, addr, &word) ||
	    parser_call_before(s->p, s->module, word, &module) != PUGMARK_NONE)
		return false;
	return parser_place_at(s->p, 0, word - 1, 0, &call) && call.func == PUGMARK_NONE;
}

/* The readings where call frame information has found the innermost call of ours, or that there is
 * none: it may be in what a function of ours that was not called by another has jumped to. */
static bool try_caller(struct settling *s, uint64_t addr)
{
	const struct parser *p = s->p;
	bool none = s->caller == PUGMARK_SIGNAL_NO_CALLER;
	uint16_t module;
	s->n_links = 0;
	for (; stack_reaches(s->e, addr) && (none || addr < s->caller); addr += 8) {
		uint32_t i = s->frame_at[(addr - s->e->stack_addr) / 8];
		if (i && parser_call_before(p, 0, p->stack[i - 1].ret, &module) == PUGMARK_NONE &&
		    try_level(s, i - 1, addr + 8))
			return true;
	}
	struct frame_cursor at = cursor_at(p, s->e, s->module, s->caller + 8);
	return !none && !is_untraced(s, s->caller) && try_from(s, at);
}

/* Whether the thread is about to leave the module by a jump whose event has come already. The
 * parser has counted the jump as made, and has ended the frame. */
static bool counts_as_gone(const struct settling *s)
{
	if (s->func == PUGMARK_NONE || s->next == PUGMARK_NONE || !(s->next & PUGMARK_POINT_PASSED))
		return false;
	const struct pugmark_plan_node *n = node_at(s->p, s->module, PUGMARK_POINT_NODE(s->next));
	return n->kind == PUGMARK_NODE_KIND_LEAF && n->flags & PUGMARK_NODE_TAIL;
}

/* Whether open frame @f can be that of the thread's own code, though the snapshot does not reach
 * its end: that lies further out; or the function has left the stack that it was called on. */
static bool ends_beyond(const struct settling *s, const struct frame *f)
{
	if (stack_reaches(s->e, f->cfa - 8))
		return false;
	uint32_t flags = s->p->plans[f->module]->funcs[f->func].flags;
	return f->cfa > s->sp ||
	       (f->func == s->func && f->module == s->module && flags & PUGMARK_PLAN_FUNC_SWITCHES);
}

/* The readings of the stack from @first on. */
static bool read_from(struct settling *s, uint64_t first)
{
	struct frame_cursor at = cursor_at(s->p, s->e, s->module, s->cfa);
	s->n_links = 0;
	if (s->cfa)
		return try_chain(s, at);
	if (s->caller && try_caller(s, first))
		return true;
	if (s->caller && !is_untraced(s, s->caller))
		return false;
	if (s->caller)
		first = s->caller + 8;
	at.cfa = first;
	while (cursor_next_word(&at))
		if (try_from(s, at))
			return true;
	/* Its own code runs in a frame that the snapshot does not reach the end of. */
	s->n_links = 0;
	for (uint32_t i = s->p->n; i-- > 0;) {
		s->level = i;
		if (s->func != PUGMARK_NONE && ends_beyond(s, &s->p->stack[i]) && settle_allowed(s))
			return true;
	}
	return false;
}

/* Whether the thread is in a function that code which is not traced has called, and of which no
 * witness has told yet: as far as calls of ours go, it is still out there. */
static bool counts_as_out(const struct settling *s)
{
	uint16_t module;
	uint64_t ret;
	return s->cfa && settle_just_entered(s) && stack_word(s->e, s->cfa - 8, &ret) &&
	       parser_return_to(s->p, s->module, ret, &module) == PUGMARK_NONE;
}

/* A reading with the thread where it is; or else, where it counts as gone or out, with the thread
 * in code that is not traced. */
static bool find_reading(struct settling *s)
{
	uint64_t first = (s->sp + 7) & ~7ull;
	if (read_from(s, first))
		return true;
	if (!counts_as_gone(s) && !counts_as_out(s))
		return false;
	if (s->cfa)
		first = s->cfa;
	s->func = s->next = PUGMARK_NONE;
	s->cfa = 0;
	return read_from(s, first);
}

bool settle_find_reading(struct settling *s)
{
	bool found = index_frames(s) && find_reading(s);
	free(s->frame_at);
	return found;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* derive.c: follows the grammar in silence, along the alternatives of its decisions: to an
 * event, or to the end of a frame. What was done so once is kept (state/shortcut.c). */
#include "offline/recover/grammar/grammar.h"

/* The innermost frame, which is AT_DECISION, ends in silence. Returns false where it cannot. */
static bool end_frame(struct parser *p)
{
	if (parser_shortcut_to_end(p)) {
		parser_pop(p);
		return true;
	}
	struct shortcut_start start = parser_shortcut_start(p);
	while (p->lowest == start.n && !p->notes->failed) {
		if (p->position == AT_CALL) {
			parser_leave_call(p);
			continue;
		}
		if (p->position == LOST) /* by a jump that nothing tells of */
			return false;
		struct frame *f = parser_top(p);
		const struct decision_table *t = table_at(p, f->module, f->decision);
		if (!t || t->n_empty != 1) {
			if (t && t->n_empty) /* nothing tells which way it took */
				parser_lose(p, PUGMARK_CAUSE_UNRESOLVED);
			return false;
		}
		parser_pass(p, t->empty, NULL);
	}
	parser_keep_end(p, &start);
	return true;
}

void parser_end_before(struct parser *p, uint32_t n, const struct lookahead *la)
{
	while (p->n > n && !p->notes->failed) {
		if (p->position == AT_CALL) {
			parser_leave_call(p);
			continue;
		}
		if (la)
			parser_keep_past(p, la);
		if (!end_frame(p))
			return;
	}
}

void parser_end_frames(struct parser *p, uint32_t n)
{
	parser_end_before(p, n, NULL);
}

/* From a decision of the innermost frame on. @alt: what parser_find() said of it. */
static enum found derive_on(struct parser *p, const struct lookahead *la, uint32_t alt)
{
	while (p->n && !p->notes->failed) {
		struct frame *f = parser_top(p);
		if (p->position == AT_CALL) {
			if (parser_enters_through(p, f, la))
				parser_enter_by_call(p, la);
			else if (node_at(p, f->module, f->node)->flags & PUGMARK_NODE_NORETURN)
				return FOUND_NONE;
			else
				parser_leave_call(p);
			continue;
		}
		uint32_t level, found, empty = PUGMARK_NONE;
		if (p->position != AT_DECISION)
			return FOUND_NONE;
		if (f->doubtful && parser_find(p, la, &level, &found) == FOUND_TORN)
			return FOUND_TORN;
		if (alt == PUGMARK_NONE)
			alt = parser_alternative(p, f, f->decision, la, &empty);
		if (alt == ALTERNATIVE_TORN)
			return FOUND_TORN;
		if (alt == PUGMARK_NONE)
			alt = empty;
		if (alt == PUGMARK_NONE)
			return FOUND_NONE;
		const struct pugmark_plan_node *n = node_at(p, f->module, alt);
		if (n->site == PUGMARK_NONE) {
			parser_pass(p, alt, la->e);
			alt = PUGMARK_NONE;
			continue;
		}
		if (n->site != la->e->site || la->e->module != f->module)
			return FOUND_NONE;
		parser_take_event(p, alt, la->e);
		return FOUND_ONE;
	}
	return FOUND_NONE;
}

enum found parser_derive(struct parser *p, const struct lookahead *la, uint32_t first)
{
	uint32_t empty;
	while (p->n && p->position == AT_CALL && !parser_enters_through(p, parser_top(p), la)) {
		struct frame *f = parser_top(p);
		if (node_at(p, f->module, f->node)->flags & PUGMARK_NODE_NORETURN)
			return FOUND_NONE;
		parser_leave_call(p);
	}
	if (!p->n || p->position != AT_DECISION)
		return derive_on(p, la, PUGMARK_NONE);
	const struct frame *f = parser_top(p);
	if (first == PUGMARK_NONE)
		first = parser_alternative(p, f, f->decision, la, &empty);
	if (first == PUGMARK_NONE || first == ALTERNATIVE_TORN)
		return derive_on(p, la, first);
	if (parser_shortcut_here(p, la->e))
		return FOUND_ONE;
	struct shortcut_start start = parser_shortcut_start(p);
	enum found derived = derive_on(p, la, first);
	if (derived == FOUND_ONE)
		parser_keep_to_event(p, &start, la);
	return derived;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* misfit.c: nothing explains the event, or two causes that nothing tells apart: why, and how the
 * parser starts anew at it. */
#include "offline/recover/explain/explain.h"

uint8_t parser_misfit_cause(struct parser *p, const struct lookahead *la)
{
	if (p->position == LOST)
		return p->gap_cause;
	if (!p->n)
		return p->gaps ? PUGMARK_CAUSE_MODEL : PUGMARK_CAUSE_ATTACH;
	if (!p->n_interruptions)
		return PUGMARK_CAUSE_MODEL;
	const struct interruption *by = &p->interruptions[p->n_interruptions - 1];
	const struct frame *f = &p->stack[by->frame];
	bool outside = !la->own_cfa || !f->cfa || pugmark_event_cfa(la->e) > f->cfa;
	return by->kind == BELOW_GAP && outside && parser_can_end(p, by->frame)
		       ? by->hidden
		       : PUGMARK_CAUSE_MODEL;
}

/* Starts anew at the event itself: in the frame that it belongs to, where it is open or the stack
 * leads from it to one that is, or in a new one, the innermost, inside of those that may still be
 * open. */
void parser_reanchor(struct parser *p, const struct lookahead *la, uint8_t cause)
{
	const struct pugmark_witness_event *e = la->e;
	uint32_t node = parse_tables_node_of(p->tables[e->module], e->site);
	const struct pugmark_plan_node *n = node_at(p, e->module, node);
	struct stack_link links[STACK_LINKS_MAX];
	struct shown_call shown;
	uint32_t level;
	int count = la->own_cfa ? stack_chain(p, e, n->func, links, STACK_LINKS_MAX, &level) : -1;
	parser_emit_misfit(p, cause, e);
	p->gap_cause = cause;
	if (callback_shown(p, la, &shown)) {
		callback_enter_shown(p, la, &shown);
		parser_take_event(p, node, e);
		return;
	}
	if (count >= 0) {
		parser_drop_frames(p, level + 1);
		parser_open_frames(p, e->module, n->func, links, count);
	} else {
		while (p->n && la->own_cfa && parser_top(p)->cfa &&
		       parser_top(p)->cfa <= pugmark_event_cfa(e))
			parser_drop_frames(p, p->n - 1);
		struct frame f = {
			.func = n->func,
			.module = e->module,
			.cfa = la->own_cfa ? pugmark_event_cfa(e) : 0,
			.ret = pugmark_event_ret(e),
		};
		if (!parser_push_on(p, f, BELOW_GAP, cause))
			return;
	}
	parser_take_event(p, node, e);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* preempted.c: Go: a function that was preempted, nobody knows where between two of its events, has
 * returned: from there it comes to its end before anything shows, or else what it does shows
 * (struct interruption), and the next event is of the frame that has called it. */
#include "offline/recover/explain/explain.h"

void parser_end_preempted(struct parser *p, const struct lookahead *la)
{
	const struct pugmark_witness_event *e = la->e;
	const struct interruption *by =
		p->n_interruptions ? &p->interruptions[p->n_interruptions - 1] : NULL;
	if (!by || by->kind != BELOW_GAP || !by->ends || by->frame < 2 || !la->own_cfa ||
	    parser_is_another(p, e))
		return;
	/* In the frame that has called it, which is innermost but for it and what has preempted it.
	 */
	uint32_t n = by->frame - 1;
	const struct frame *caller = &p->stack[n - 1];
	uint32_t node = parse_tables_node_of(p->tables[e->module], e->site);
	if (p->stack[n].boundary != BELOW_CALL || caller->module != e->module ||
	    caller->func != node_at(p, e->module, node)->func ||
	    caller->cfa != pugmark_event_cfa(e) || !parser_can_end(p, by->frame))
		return;
	parser_end_frames(p, n + 1);
	parser_emit_frame(p, PUGMARK_TRACE_RET, PUGMARK_CAUSE_NONE, parser_top(p));
	parser_pop(p);
}

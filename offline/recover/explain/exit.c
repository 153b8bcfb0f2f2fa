// SPDX-License-Identifier: LGPL-2.1-or-later
/* exit.c: the task has ended, or is not followed any further. */
#include "offline/recover/explain/explain.h"

/* The task has ended: unless it was stopped in the middle, what is still open and can end in
 * silence did. */
void parser_finish(struct parser *p, bool stopped)
{
	if (p->n && p->position == AT_CALL)
		parser_announce(p); /* a call in progress was made, whatever has become of it */
	while (p->n && !stopped && !p->failed) {
		struct frame *f = parser_top(p);
		if (p->position == AT_CALL) {
			if (node_at(p, f->module, f->node)->flags & PUGMARK_NODE_NORETURN)
				break;
			parser_leave_call(p);
			continue;
		}
		if (p->position != AT_DECISION || f->decision == PUGMARK_NONE)
			break;
		const struct decision_table *t = parse_tables_at(p->tables[f->module], f->decision);
		if (t && t->n_empty > 1)
			parser_emit_gap(p, PUGMARK_CAUSE_UNRESOLVED);
		if (!t || t->n_empty != 1)
			break;
		parser_pass(p, t->empty, NULL);
	}
	parser_drop_frames(p, 0);
	parser_forget_contexts(p);
	p->position = OUTSIDE;
}

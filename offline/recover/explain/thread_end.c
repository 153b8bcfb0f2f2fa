// SPDX-License-Identifier: LGPL-2.1-or-later
/* thread_end.c: the task has ended, or is not followed any further. */
#include "offline/recover/explain/explain.h"

/* The task has ended: unless it was stopped in the middle, what is still open and can end in
 * silence did. */
void parser_finish(struct parser *p, bool stopped)
{
	struct silence s;
	if (p->n && p->position == AT_CALL)
		parser_announce(p); /* a call in progress was made, whatever has become of it */
	if (!stopped) {
		parser_end_frames(p, parser_can_end_down_to(p, 0));
		/* The next frame ends in silence as well, but in more ways than one. */
		if (p->n && silence_in(&s, p, p->n - 1) && silence_after_call(&s) && !s.jumped) {
			const struct decision_table *t = silence_table(&s);
			if (t && t->n_empty > 1)
				parser_emit_gap(p, PUGMARK_CAUSE_UNRESOLVED);
		}
	}
	parser_drop_frames(p, 0);
	parser_forget_contexts(p);
	p->position = OUTSIDE;
}

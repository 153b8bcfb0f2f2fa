// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_left.c: whether a frame of a walk is still the activation that it was at the last event,
 * see share_walk.h: what no share sees may have left it, and called its function again. */
#include "offline/share/share_walk.h"

/* The node of @f's graph behind its call in progress; PUGMARK_NONE: it does not come back to @f. */
static uint32_t node_after_call(const struct share_walk *w, const struct walk_frame *f)
{
	const struct pugmark_plan_node *n = &w->plan->nodes[f->node];
	return n->flags & (PUGMARK_NODE_TAIL | PUGMARK_NODE_NORETURN)
		       ? PUGMARK_NONE
		       : share_graph_after(&f->f->graph, w->plan, pugmark_node_next(n));
}

/* Whether the frame at @index may have been left in silence, and another activation stand in its
 * place, since the last event; @same_call: called from the same place. 1, 0 or -ENOMEM. */
static int may_be_another(const struct share_walk *w, uint32_t index, bool same_call)
{
	if (!index || w->frames[index].handler)
		return w->base_lost;
	const struct walk_frame *caller = &w->frames[index - 1];
	uint32_t after = node_after_call(w, caller);
	if (after == PUGMARK_NONE)
		return (w->plan->nodes[caller->node].flags & PUGMARK_NODE_TAIL) != 0;
	int leaves = share_tell_possible(w->t, caller->f, TELL_ANYBODY, after,
					 same_call ? TELL_REACHES : TELL_LEAVES,
					 caller->f->graph.flow.exit);
	return leaves == 1 && same_call ? may_be_another(w, index - 1, false) : leaves;
}

/* Whether the frame at @index, and all that it has called, may have been left in silence since the
 * last event, by returns. 1, 0 or -ENOMEM. */
static int may_be_left(const struct share_walk *w, uint32_t index)
{
	for (uint32_t i = w->n_frames; i-- > index;) {
		const struct walk_frame *f = &w->frames[i];
		bool top = i + 1 == w->n_frames, calls = !top || w->position == WALK_IN_CALL;
		uint32_t from = top && w->position == WALK_AT ? w->at : PUGMARK_NONE;
		if (!top && f[1].handler)
			continue; /* it was interrupted, anywhere */
		if (top && w->position == WALK_STUCK)
			return 0;
		if (calls && w->plan->nodes[f->node].flags & PUGMARK_NODE_NORETURN)
			return 0;
		if (calls)
			from = node_after_call(w, f);
		if (from == PUGMARK_NONE)
			continue;
		int got = share_tell_possible(w->t, f->f, TELL_ANYBODY, from, TELL_REACHES,
					      f->f->graph.flow.exit);
		if (got != 1)
			return got;
	}
	return 1;
}

int walk_may_be_another(const struct share_walk *w, uint32_t index, bool same_call)
{
	int left = may_be_left(w, index);
	return left == 1 ? may_be_another(w, index, same_call) : left;
}

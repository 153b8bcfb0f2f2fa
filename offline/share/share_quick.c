// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_quick.c: the steps that a walk mostly makes, in one loop: past what is silent and goes on
 * one way, past a witness that one part alone has, and from a fork that one share tells. Each does
 * what share_walk.c would do; what comes otherwise is left to that. */
#include "offline/share/share_walk.h"

/* Past node @n of the plan. 1; 0: another step is needed; or -errno. */
static int pass_node(struct share_walk *w, const struct tell_node *n)
{
	struct pugmark_witness_event e;
	bool taken = false;
	if (n->site != PUGMARK_NONE) {
		int got = n->alone && n->kind != TELL_IS_MORE ? walk_take_alone(w, n, &e) : 0;
		if (got <= 0)
			return got;
		taken = n->kind == TELL_BRANCHES && pugmark_event_taken(&e);
	} else if (n->kind != TELL_PASSES) {
		return 0;
	}
	w->target_told = false;
	w->at = taken ? n->taken : n->next;
	w->position = w->at == PUGMARK_NONE ? WALK_STUCK : WALK_AT;
	return 1;
}

int walk_quickly(struct share_walk *w)
{
	while (w->position == WALK_AT && w->ordinary && !w->handler_next &&
	       w->silent < SILENT_MAX) {
		const struct tell_func *f = walk_top(w)->f;
		uint32_t entry = f->graph.flow.entry;
		w->silent++;
		if (w->at < entry) {
			int got = pass_node(w, &f->nodes[w->at]);
			if (got <= 0)
				return got;
			continue;
		}
		uint32_t way = w->at > f->graph.flow.exit ? walk_way_told(w, w->at) : PUGMARK_NONE;
		if (way == PUGMARK_NONE)
			return 0;
		w->at = way;
	}
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_entries.c: how the thread came into the function whose entry is next, see share_walk.h: by
 * the call in progress, or behind it, or by one further out. */
#include "offline/share/share_walk.h"

/* The entry that the first part, which has all of them, comes to next; NULL: none. */
const struct pugmark_witness_event *walk_next_entry(const struct share_walk *w)
{
	return w->ordinary & 1 && w->t->is_entry[w->fronts[0]->site] ? w->fronts[0] : NULL;
}

/* Whether the stack that the entry @a shows still holds the return address of the call in progress,
 * where that has put it; where the place is not known, or not shown, anywhere. */
static bool stack_holds_call(const struct share_walk *w, const struct pugmark_witness_event *a,
			     uint64_t ret)
{
	const struct walk_frame *f = &w->frames[w->n_frames - 1];
	const struct pugmark_plan_node *n = &w->plan->nodes[f->node];
	const struct pugmark_witness_event *e = a;
	uint64_t slot = w->callee_cfa && w->callee_of == w->n_frames ? w->callee_cfa - 8 : 0;
	if (!slot && f->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN)
		slot = f->cfa - n->height - 8;
	if (!e->stack)
		return true;
	if (slot)
		return slot < e->stack_addr || slot >= e->stack_addr + 8ull * e->stack_words ||
		       e->stack[(slot - e->stack_addr) / 8] == ret;
	for (uint32_t i = 0; i < e->stack_words; i++)
		if (e->stack[i] == ret)
			return true;
	return false;
}

/* Where the call in progress has put the frame of what it enters; 0: not known. */
static uint64_t callee_frame(const struct share_walk *w)
{
	const struct walk_frame *f = &w->frames[w->n_frames - 1];
	const struct pugmark_plan_node *n = &w->plan->nodes[f->node];
	if (n->flags & PUGMARK_NODE_TAIL)
		return f->cfa;
	if (w->callee_cfa && w->callee_of == w->n_frames)
		return w->callee_cfa;
	return f->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN ? f->cfa - n->height : 0;
}

/* Whether all parts that have the site of @e come to it next: else other events come before. */
static bool is_ready(const struct share_walk *w, const struct pugmark_witness_event *e)
{
	for (uint64_t bits = w->t->members[e->site]; bits; bits &= bits - 1) {
		uint32_t part = __builtin_ctzll(bits);
		if (!(w->ordinary >> part & 1) || w->fronts[part]->site != e->site)
			return false;
	}
	return true;
}

/* Whether the call that entered the top frame, in the frame below it, may come again before the
 * entry @a, by this activation or another one in its place: as far as those see who see that entry.
 * 1, 0 or -ENOMEM. */
static int caller_calls_again(const struct share_walk *w, const struct pugmark_witness_event *a)
{
	if (w->n_frames < 2 || w->frames[w->n_frames - 1].handler)
		return 1;
	const struct walk_frame *caller = &w->frames[w->n_frames - 2];
	const struct share_graph *g = &caller->f->graph;
	const struct pugmark_plan_node *n = &w->plan->nodes[caller->node];
	uint64_t members = w->t->members[a->site];
	if (n->flags & PUGMARK_NODE_TAIL)
		return 1;
	uint32_t after = n->flags & PUGMARK_NODE_NORETURN
				 ? PUGMARK_NONE
				 : share_graph_after(g, w->plan, pugmark_node_next(n));
	if (after == PUGMARK_NONE || (n->site != PUGMARK_NONE && w->t->members[n->site] & members))
		return 0;
	const uint32_t goals[] = {caller->node - g->first, g->flow.exit};
	for (; members; members &= members - 1) {
		int again = 0;
		for (int i = 0; i < 2 && !again; i++)
			again = share_tell_possible(w->t, caller->f, __builtin_ctzll(members),
						    after, TELL_REACHES, goals[i]);
		if (again <= 0)
			return again;
	}
	return 1;
}

/* A call of ours returns to behind itself, out of the frame that it has made; one that other code
 * makes returns to that, into no module of ours, and then the call in progress is still on the
 * stack: else it has ended in silence, and what is entered is called back out of one further out.
 */
enum walk_entered walk_how_entered(const struct share_walk *w,
				   const struct pugmark_witness_event *a)
{
	const struct walk_frame *f = &w->frames[w->n_frames - 1];
	const struct pugmark_plan_node *n = &w->plan->nodes[f->node];
	bool tail = n->flags & PUGMARK_NODE_TAIL;
	uint64_t ret = pugmark_event_ret(a) - a->bias,
		 own = tail ? f->ret : w->bias + n->addr + n->call_len;
	bool foreign = ret < w->t->text || ret >= w->t->text_end;
	uint64_t callee = callee_frame(w), limit = callee ? callee : f->cfa;
	bool below = !limit || !pugmark_event_cfa(a) || pugmark_event_cfa(a) < limit;
	bool there = !w->target_told || w->plan->funcs[w->t->site_func[a->site]].addr == w->target;
	if (!is_ready(w, a))
		return ENTERED_NOT_BY_CALL;
	if (!(a->flags & PUGMARK_EVENT_HAS_RET))
		return below ? ENTERED_BEHIND_CALL : ENTERED_NOT_BY_CALL;
	if (pugmark_event_ret(a) == own && there &&
	    (!callee || !pugmark_event_cfa(a) ? below : pugmark_event_cfa(a) == callee))
		return !tail || w->target_told || !caller_calls_again(w, a) ? ENTERED_BY_CALL
									    : ENTERED_UNSURE;
	if (!foreign || !below || (own && !stack_holds_call(w, a, own)))
		return ENTERED_NOT_BY_CALL;
	/* Behind a jump to other code, out of what such code has called, the stack looks like that
	 * of other code alone. Nothing comes after the jump: it is all the same to what follows
	 * whether its function is left already, or will be with the rest. */
	return tail && own - a->bias - w->t->text >= w->t->text_end - w->t->text
		       ? ENTERED_NOT_BY_CALL
		       : ENTERED_BEHIND_CALL;
}

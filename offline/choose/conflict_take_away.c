// SPDX-License-Identifier: LGPL-2.1-or-later
/* conflict_take_away.c: whether everything in a function still holds without one of its marks.
 *
 * Let m be the marked block. Without its mark, decisions on the way to m see what comes after m
 * instead: the new terminals T and, if m is then no node any more, the nodes N after it. Only T can
 * break what held before, and only in a decision from which something else can be reached in
 * silence, by a way that does not lead through m, that T is not told from. So of all decisions from
 * which m is reached (in a large function hundreds), only those are checked again from which such a
 * place is reached as well; the others cost one step of a walk. Of those, a decision is hurt only
 * if T lies behind one of its alternatives and such a place behind another one: what lies behind
 * the same alternative need not be told apart. After each call only T is compared with what the
 * callee needs.
 *
 * Such places are looked for ahead of the decisions on the way to m, which is seldom far, and the
 * walks back from them stay there. The walks go back from a place to the decisions that have it as
 * an alternative itself, or behind a call that is silent. The first kind is harmless if the place
 * is in N and the decision had m: then both are one alternative. */
#include "offline/choose/conflict_impl.h"

#include <stdlib.h>
#include <string.h>

enum held { HELD_DECISIONS = 1, HELD_FOLLOW = 2, HELD_ENTRY = 4 };
enum reached { REACHED_ITSELF = 1, REACHED_BEHIND = 2 };
enum passed {
	PASSED_NODE = 1,
	PASSED_IN_SILENCE = 2,
	PASSED_SHOWS = 4, /* it is no mark, but calls what may show */
	PASSED_ENDS = 8,  /* the function can end with it */
	PASSED_MARKED = 16,
};

/* Whether the call in @block can show something first. */
static bool call_shows(const struct conflicts *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	if (b->call != CALL_DIRECT)
		return b->call == CALL_UNKNOWN;
	const struct summary *callee = &ch->sums[b->callee];
	return !callee->known || callee->first.top || callee->first.n;
}

/* What @block is to walks, until its mark changes: callees' summaries do not change meanwhile. */
static void note_passed(struct conflicts *ch, uint32_t block)
{
	bool ends = ch->hops[block].flags & HOP_RET || ch->prog->blocks[block].flags & PROG_TAIL;
	ch->watch.passed[conflict_place(ch, block)] =
		(conflict_is_node(ch, block) ? PASSED_NODE : 0) |
		(conflict_passes_silently(ch, block) ? PASSED_IN_SILENCE : 0) |
		(!ch->marks[block] && call_shows(ch, block) ? PASSED_SHOWS : 0) |
		(ends ? PASSED_ENDS : 0) | (ch->marks[block] ? PASSED_MARKED : 0);
}

/* Whether something in @f shows as if it had jumped there. */
static bool shows_jumps(struct conflicts *ch, const struct prog_func *f)
{
	bool jumps = ch->hops[f->block].flags & HOP_ENTRY &&
		     ch->pred_at[f->block + 1] > ch->pred_at[f->block];
	for (uint32_t b = f->block; b < f->block + f->n_blocks && !jumps; b++) {
		const struct prog_block *block = &ch->prog->blocks[b];
		bool top;
		ch->n_found = 0;
		if (block->flags & PROG_REACHED && block->call != CALL_NONE)
			conflict_call_first(ch, b, 0, &top);
		for (uint32_t i = 0; i < ch->n_found && !jumps; i++)
			jumps = conflict_is_jump_term(ch, ch->found[i].term);
	}
	return jumps;
}

/* Finds the blocks that a cycle may lead through: jumps lead back past them. */
static void find_loops(struct conflicts *ch, const struct prog_func *f)
{
	uint32_t first = UINT32_MAX; /* where the jumps from here on lead back to */
	for (uint32_t b = f->block + f->n_blocks; b-- > f->block;) {
		const struct hop *hop = &ch->hops[b];
		for (uint32_t i = 0; i < hop->n_succ; i++) {
			uint32_t next = ch->prog->succs[hop->succ + i];
			first = next <= b && next < first ? next : first;
		}
		ch->watch.loops[conflict_place(ch, b)] = first <= b;
	}
}

void conflict_watch(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	struct watch *w = &ch->watch;
	w->func = func;
	w->jumps = f->flags & PROG_ENTERED_TAIL && shows_jumps(ch, f);
	find_loops(ch, f);
	bool told = conflict_all_marked(ch, f);
	uint32_t stamp = ++ch->stamp;
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		uint8_t *held = &w->held[conflict_place(ch, b)];
		*held = 0;
		note_passed(ch, b);
		if (!(ch->prog->blocks[b].flags & PROG_REACHED) || !conflict_is_node(ch, b))
			continue;
		if (told || conflict_node_decisions_hold(ch, func, b, stamp))
			*held |= HELD_DECISIONS;
		if (conflict_follow_holds(ch, b))
			*held |= HELD_FOLLOW;
	}
	if (told || conflict_decision_holds(ch, (struct decision){func, PUGMARK_NONE, WAY_ALL}))
		w->held[conflict_place(ch, f->block)] |= HELD_ENTRY;
}

/* One removal: what the decisions on the way to the block see without its mark. */
struct removal {
	uint32_t func, block;
	bool node;  /* the block stays a node: it holds a call */
	bool top;   /* what comes after it may be anything */
	bool empty; /* the function may return in silence after it */
	bool jump;  /* an entry that looks as if this function had jumped there may come after it */
	bool exit;  /* the exit is in N */
	bool everywhere; /* hurts_all() */
	bool entries;	 /* some of T are entries that may be entered from anywhere */
	bool any;	 /* one of T is of any such */
	uint32_t q;	 /* stamp of N in watch.new_alts, T in watch.term_at, and of watch.ahead */
};

static bool is_new_alt(const struct conflicts *ch, const struct removal *r, uint32_t block)
{
	return ch->watch.new_alts[conflict_place(ch, block)] == r->q;
}

/* Puts T into watch.terms and N into watch.new_alts. Returns whether the nodes of N are told from
 * each other. */
static bool look_behind(struct conflicts *ch, struct removal *r)
{
	struct watch *w = &ch->watch;
	bool top = false;
	ch->n_found = 0;
	if (r->node) {
		r->empty = conflict_close_over(ch, r->block, 0, &top);
	} else {
		struct decision d = {r->func, r->block, WAY_ALL};
		uint32_t empty;
		conflict_alternatives(ch, d, &ch->alts);
		if (ch->alts.n <= 1)
			empty = conflict_first(ch, &ch->alts, &top);
		else if (!conflict_alternatives_told(ch, d, &empty))
			return false;
		r->empty = empty;
		for (uint32_t i = 0; i < ch->alts.n; i++)
			if (ch->alts.at[i] == NODE_EXIT)
				r->exit = true;
			else
				w->new_alts[conflict_place(ch, ch->alts.at[i])] = r->q;
	}
	r->top = top;
	if (ch->n_found > w->cap_terms) {
		struct terminal *terms = realloc(w->terms, ch->n_found * sizeof(*terms));
		if (!terms) {
			ch->failed = true;
			return false;
		}
		w->terms = terms;
		w->cap_terms = ch->n_found;
	}
	w->n_terms = ch->n_found;
	for (uint32_t i = 0; i < ch->n_found; i++) {
		struct terminal t = w->terms[i] = ch->found[i].term;
		r->jump |= conflict_is_jump_term(ch, t);
		r->entries |= conflict_is_entry_term(ch, t.w);
		r->any |= t.w == TERMINAL_ANY_ENTRY;
		w->term_at[conflict_place(ch, t.w)] = r->q;
	}
	return true;
}

/* Notes that a walk back has reached the start of @block, if that is new. */
static void reach_back(struct conflicts *ch, struct watch_ways *ways, uint32_t block, uint8_t how)
{
	uint8_t *reached = &ways->starts[conflict_place(ch, block)];
	if (*reached & how)
		return;
	if (!*reached)
		push(ch, &ways->some_starts, block);
	*reached |= how;
	if (!VEC_RESERVE(&ch->back, 2)) {
		ch->failed = true;
		return;
	}
	ch->back.at[ch->back.n++] = block;
	ch->back.at[ch->back.n++] = how;
}

/* Walks back from the blocks given to reach_back(), not through the block of @r, nor from where
 * @only has another value than r->q (NULL: from everywhere). Most of the time goes to the nodes
 * where it ends, and a large part of all choosing is spent here: so what the loop needs is in
 * variables of its own, and the rest of reach_back() is written out. */
static void walk_back(struct conflicts *ch, const struct removal *r, struct watch_ways *ways,
		      const uint32_t *only)
{
	const uint32_t *pred_at = ch->pred_at, *preds = ch->preds;
	const uint32_t *new_alts = ch->watch.new_alts;
	const uint8_t *passed = ch->watch.passed;
	uint8_t *starts = ways->starts, *nodes = ways->nodes;
	uint32_t mask = ch->places_mask, block = r->block, q = r->q;
	struct vec_u32 back = ch->back, some_starts = ways->some_starts,
		       some_nodes = ways->some_nodes;
	uint64_t steps = 0;
	bool ok = true;
	while (back.n && ok) {
		uint8_t how = back.at[--back.n];
		uint32_t b = back.at[--back.n], p = pred_at[b], n = pred_at[b + 1] - p;
		steps += n;
		ok = VEC_RESERVE(&back, 2 * n) && VEC_RESERVE(&some_starts, n) &&
		     VEC_RESERVE(&some_nodes, n);
		for (uint32_t end = ok ? p + n : p; p < end; p++) {
			uint32_t pred = preds[p], place = pred & mask;
			uint8_t next = how;
			if (passed[place] & PASSED_NODE) {
				uint8_t before = nodes[place];
				nodes[place] = before | how;
				if (before)
					continue; /* how does not matter to what is behind it */
				some_nodes.at[some_nodes.n++] = pred;
				if (!(passed[place] & PASSED_IN_SILENCE))
					continue;
				next = new_alts[place] == q ? REACHED_ITSELF : REACHED_BEHIND;
			}
			uint8_t reached = starts[place];
			if (pred == block || reached & next || (only && only[place] != q))
				continue;
			if (!reached)
				some_starts.at[some_starts.n++] = pred;
			starts[place] = reached | next;
			back.at[back.n++] = pred;
			back.at[back.n++] = next;
		}
	}
	ch->failed |= !ok;
	ch->back = back;
	ways->some_starts = some_starts;
	ways->some_nodes = some_nodes;
	ch->steps += steps;
	ch->work += steps;
}

/* Whether some terminal of T cannot be told from @t. */
static bool shows_as(struct conflicts *ch, struct terminal t)
{
	const struct watch *w = &ch->watch;
	ch->steps += w->n_terms;
	ch->work += w->n_terms;
	for (uint32_t i = 0; i < w->n_terms; i++)
		if (!conflict_distinguishable(ch, w->terms[i], t))
			return true;
	return false;
}

/* Whether T may have an event of @w. */
static bool may_be_shown(const struct conflicts *ch, const struct removal *r, uint32_t w)
{
	if (w == TERMINAL_ANY_ENTRY)
		return r->entries;
	return ch->watch.term_at[conflict_place(ch, w)] == r->q ||
	       (r->any && conflict_is_entry_term(ch, w));
}

/* Whether the unmarked call in @block can show first what T shows. */
static bool call_is_rival(struct conflicts *ch, const struct removal *r, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	uint32_t call = b->flags & PROG_TAIL ? RET_SELF : block;
	if (b->call == CALL_UNKNOWN) {
		struct terminal any = {.w = TERMINAL_ANY_ENTRY, .ret = RET_SELF};
		return r->entries && shows_as(ch, terminal_lift(any, b->height, call));
	}
	const struct summary *callee = &ch->sums[b->callee];
	if (!callee->known || callee->first.top)
		return true;
	const struct terminal *terms = callee->first.terms;
	if (conflict_spent(ch))
		return false; /* the mark stays */
	ch->steps += callee->first.n;
	ch->work += callee->first.n;
	for (uint32_t i = 0; i < callee->first.n; i++)
		if (may_be_shown(ch, r, terms[i].w) &&
		    shows_as(ch, terminal_lift(terms[i], b->height, call)))
			return true;
	return false;
}

/* Whether the mark of @block is one of T. */
static bool mark_is_rival(const struct conflicts *ch, const struct removal *r, uint32_t block)
{
	const struct watch *w = &ch->watch;
	bool is = r->any && block == ch->prog->funcs[r->func].block;
	bool may_be = !is && w->term_at[conflict_place(ch, block)] == r->q;
	for (uint32_t i = 0; may_be && i < w->n_terms && !is; i++)
		is = w->terms[i].w == block;
	return is;
}

/* Whether @block shows the same event as T, or is a silent way out where the removal makes one. */
static bool is_rival(struct conflicts *ch, const struct removal *r, uint32_t block, uint8_t passed)
{
	if (passed & PASSED_MARKED)
		return mark_is_rival(ch, r, block);
	if (passed & PASSED_SHOWS && call_is_rival(ch, r, block))
		return true;
	return r->empty && passed & PASSED_ENDS &&
	       (!(passed & PASSED_NODE) || passed & PASSED_IN_SILENCE);
}

/* Finds the rivals that decisions on the way to the block lead to in silence, and marks what these
 * lead to in watch.ahead. As in walk_back(), the loop has what it needs in variables of its own. */
static void find_rivals(struct conflicts *ch, const struct removal *r)
{
	struct watch *w = &ch->watch;
	const struct prog_func *f = &ch->prog->funcs[r->func];
	const uint32_t *nodes = w->ours.some_nodes.at, *succs = ch->prog->succs;
	const struct hop *hops = ch->hops;
	const uint8_t *passed_at = w->passed;
	uint32_t *ahead = w->ahead, mask = ch->places_mask, q = r->q, steps = 0;
	uint32_t left = w->ours.some_nodes.n, n = 0;
	uint8_t telling = PASSED_MARKED | PASSED_SHOWS | (r->empty ? PASSED_ENDS : 0);
	ch->walk.n = 0;
	if (!VEC_RESERVE(&ch->walk, f->n_blocks)) { /* each is there once at most */
		ch->failed = true;
		return;
	}
	uint32_t *walk = ch->walk.at;
	if (w->ours.starts[f->block & mask]) {
		ahead[f->block & mask] = q;
		walk[n++] = f->block;
	}
	while (left || n) {
		uint32_t b;
		if (n) {
			b = walk[--n];
			uint8_t passed = passed_at[b & mask];
			if (b == r->block)
				continue;
			if (passed & telling && is_rival(ch, r, b, passed)) {
				bool same = passed & PASSED_NODE ? is_new_alt(ch, r, b) : r->exit;
				reach_back(ch, &w->rivals, b,
					   same ? REACHED_ITSELF : REACHED_BEHIND);
			}
			if (passed & PASSED_NODE && !(passed & PASSED_IN_SILENCE))
				continue;
		} else {
			b = nodes[--left]; /* where a decision is */
		}
		const uint32_t *next = succs + hops[b].succ, *end = next + hops[b].n_succ;
		steps += 1 + hops[b].n_succ;
		for (; next < end; next++) {
			uint32_t *stamp = &ahead[*next & mask];
			if (*stamp == q)
				continue;
			*stamp = q;
			walk[n++] = *next;
		}
	}
	ch->steps += steps;
	ch->work += steps;
}

/* Whether what comes after the block may break any decision that leads to it. */
static bool hurts_all(const struct conflicts *ch, const struct removal *r)
{
	bool returns_by_jump = ch->prog->funcs[r->func].flags & PROG_ENTERED_TAIL;
	return r->top || (r->empty && ch->plain) ||
	       (returns_by_jump && (r->jump || (r->empty && ch->watch.jumps)));
}

/* Whether decisions from which @ours leads to the block may be broken: @rival leads from them to
 * something that shows the same event as what comes after the block. */
static bool may_be_hurt(uint8_t ours, uint8_t rival)
{
	return ours & REACHED_BEHIND ? rival : rival & REACHED_BEHIND;
}

/* Whether @d, from which @ours leads to the block, has no two alternatives of which one leads to T
 * and the other to a rival. Those in N were told from each other before. */
static bool told_apart(struct conflicts *ch, const struct removal *r, struct decision d,
		       uint8_t ours)
{
	const struct watch *w = &ch->watch;
	uint32_t n_behind = 0, n_new = 0, n_rivals = 0, n_both = 0, n_new_rivals = 0;
	conflict_alternatives(ch, d, &ch->alts);
	ch->steps += ch->alts.n;
	ch->work += ch->alts.n;
	for (uint32_t i = 0; i < ch->alts.n; i++) {
		uint32_t a = ch->alts.at[i], place = conflict_place(ch, a);
		bool exit = a == NODE_EXIT;
		bool new_alt = ours & REACHED_ITSELF && !r->node &&
			       (exit ? r->exit : is_new_alt(ch, r, a));
		bool behind = !exit && w->ours.starts[place];
		bool rival = exit ? r->empty : w->rivals.starts[place];
		n_behind += behind;
		n_new += new_alt;
		n_rivals += rival;
		n_both += behind && rival;
		n_new_rivals += new_alt && rival;
	}
	bool same = n_behind == 1 && n_both == 1; /* one alternative leads to both */
	return (!n_behind || n_rivals <= same) && (!n_new || n_rivals == n_new_rivals);
}

/* The same of all decisions behind @node. Those for which ch->seen_alike is @stamp are known to. */
static bool node_told_apart(struct conflicts *ch, const struct removal *r, uint32_t node,
			    uint32_t stamp)
{
	uint8_t ours = ch->watch.ours.nodes[conflict_place(ch, node)];
	for (uint32_t i = 0; i < conflict_ways(ch, node); i++) {
		struct decision d = {r->func, node, conflict_decision_way(ch, node, i)};
		uint32_t c = d.way == WAY_ALL ? conflict_continuation(ch, d) : PUGMARK_NONE;
		uint32_t *seen = c == PUGMARK_NONE ? NULL : &ch->seen_alike[conflict_place(ch, c)];
		if (seen && *seen == stamp)
			continue;
		if (!told_apart(ch, r, d, ours))
			return false;
		if (seen)
			*seen = stamp;
	}
	return true;
}

static bool node_decisions_hold(struct conflicts *ch, const struct removal *r, uint32_t node,
				uint32_t stamp)
{
	const struct watch *w = &ch->watch;
	uint32_t place = conflict_place(ch, node);
	if (w->held[place] & HELD_DECISIONS && !r->everywhere &&
	    (!may_be_hurt(w->ours.nodes[place], w->rivals.nodes[place]) ||
	     node_told_apart(ch, r, node, stamp)))
		return true;
	return conflict_node_decisions_hold(ch, r->func, node, stamp);
}

static bool node_holds(struct conflicts *ch, const struct removal *r, uint32_t node, uint32_t stamp)
{
	const struct watch *w = &ch->watch;
	if (!node_decisions_hold(ch, r, node, stamp))
		return false;
	if (!(w->held[conflict_place(ch, node)] & HELD_FOLLOW) || r->top)
		return conflict_follow_holds(ch, node);
	return conflict_terms_follow(ch, node, w->terms, w->n_terms);
}

static bool entry_holds(struct conflicts *ch, const struct removal *r)
{
	const struct watch *w = &ch->watch;
	struct decision d = {r->func, PUGMARK_NONE, WAY_ALL};
	uint32_t first = conflict_place(ch, ch->prog->funcs[r->func].block);
	uint8_t ours = w->ours.starts[first];
	if (!ours)
		return true;
	if (w->held[first] & HELD_ENTRY && !r->everywhere &&
	    (!may_be_hurt(ours, w->rivals.starts[first]) || told_apart(ch, r, d, ours)))
		return true;
	return conflict_decision_holds(ch, d);
}

static void clear_flags(uint8_t *flags, const uint32_t *at, uint32_t n, uint32_t mask)
{
	for (uint32_t i = 0; i < n; i++)
		flags[at[i] & mask] = 0;
}

static void clear(struct conflicts *ch, struct watch_ways *ways)
{
	clear_flags(ways->starts, ways->some_starts.at, ways->some_starts.n, ch->places_mask);
	clear_flags(ways->nodes, ways->some_nodes.at, ways->some_nodes.n, ch->places_mask);
	ways->some_starts.n = ways->some_nodes.n = 0;
}

static bool holds_without(struct conflicts *ch, struct removal *r)
{
	struct watch *w = &ch->watch;
	const struct prog_func *f = &ch->prog->funcs[r->func];
	bool goes_on =
		!w->loops[conflict_place(ch, r->block)] || conflict_progress_holds(ch, r->block);
	if (!goes_on || !look_behind(ch, r))
		return false;
	r->everywhere = hurts_all(ch, r);
	clear(ch, &w->ours);
	clear(ch, &w->rivals);
	ch->back.n = 0;
	struct removal plain = *r;
	plain.q = UINT32_MAX; /* N is for the rivals' walk alone */
	reach_back(ch, &w->ours, r->block, REACHED_ITSELF);
	walk_back(ch, &plain, &w->ours, NULL);
	if (!r->everywhere) {
		find_rivals(ch, r);
		walk_back(ch, r, &w->rivals, w->ahead);
	}
	if (!entry_holds(ch, r))
		return false;
	const struct vec_u32 *nodes = &w->ours.some_nodes;
	uint32_t stamp = ++ch->stamp, first = conflict_place(ch, f->block);
	for (uint32_t i = 0; i < nodes->n; i++)
		if (!node_holds(ch, r, nodes->at[i], stamp))
			return false;
	uint8_t *held = w->held;
	uint32_t mask = ch->places_mask;
	for (uint32_t i = 0, n = nodes->n; i < n; i++)
		held[nodes->at[i] & mask] |= HELD_DECISIONS | HELD_FOLLOW;
	if (w->ours.starts[first])
		w->held[first] |= HELD_ENTRY;
	return true;
}

bool conflict_do_without(struct conflicts *ch, uint32_t func, uint32_t block)
{
	uint8_t mark = ch->marks[block];
	bool was_node = conflict_is_node(ch, block);
	ch->marks[block] = MARK_NONE;
	struct removal r = {
		.func = func,
		.block = block,
		.node = conflict_is_node(ch, block),
		.q = ++ch->watch.removals,
	};
	if (r.node != was_node)
		conflict_forget(ch, block);
	note_passed(ch, block);
	bool paths = ch->prog->funcs[func].flags & PROG_PATHS;
	bool holds = paths ? conflict_surroundings_hold(ch, func, block) : holds_without(ch, &r);
	holds = holds && !conflict_spent(ch);
	if (!holds) {
		ch->marks[block] = mark;
		note_passed(ch, block);
		if (r.node != was_node)
			conflict_forget(ch, block);
	}
	return holds;
}

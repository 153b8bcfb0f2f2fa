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
 * The walks go back from a place to the decisions that have it as an alternative itself, or behind
 * a call that is silent. The first kind is harmless if the place is in N and the decision had m:
 * then both are one alternative. */
#include "offline/choose/conflict_impl.h"

#include <stdlib.h>
#include <string.h>

enum held { HELD_DECISIONS = 1, HELD_FOLLOW = 2, HELD_ENTRY = 4 };
enum reached { REACHED_ITSELF = 1, REACHED_BEHIND = 2 };
enum passed { PASSED_NODE = 1, PASSED_IN_SILENCE = 2 };

/* What @block is to walks back, until its mark changes: callees' summaries do not change meanwhile.
 */
static void note_passed(struct conflicts *ch, uint32_t block)
{
	ch->watch.passed[conflict_place(ch, block)] =
		(conflict_is_node(ch, block) ? PASSED_NODE : 0) |
		(conflict_passes_silently(ch, block) ? PASSED_IN_SILENCE : 0);
}

/* The sources of @w, or NULL. */
static struct watch_chain *chain_of(struct conflicts *ch, uint32_t w)
{
	struct watch *watch = &ch->watch;
	struct place_head *head = &watch->chain_at[conflict_place(ch, w)];
	if (head->stamp != watch->stamp)
		*head = (struct place_head){watch->stamp, UINT32_MAX};
	for (uint32_t i = head->first; i != UINT32_MAX; i = watch->chains.at[i].next)
		if (watch->chains.at[i].w == w)
			return &watch->chains.at[i];
	return NULL;
}

static struct watch_chain *make_chain(struct conflicts *ch, uint32_t w)
{
	struct watch *watch = &ch->watch;
	struct watch_chain *chain = chain_of(ch, w);
	if (chain)
		return chain;
	struct place_head *head = &watch->chain_at[conflict_place(ch, w)];
	if (!VEC_PUSH(&watch->chains, (struct watch_chain){w, 0, UINT32_MAX, head->first})) {
		ch->failed = true;
		return NULL;
	}
	head->first = watch->chains.n - 1;
	return &watch->chains.at[head->first];
}

static bool add_source(struct conflicts *ch, uint32_t block, struct terminal t)
{
	struct watch *w = &ch->watch;
	if (w->n_sources == w->cap_sources) {
		uint32_t cap = w->cap_sources ? 2 * w->cap_sources : 1024;
		struct watch_source *at = realloc(w->sources, cap * sizeof(*at));
		if (!at) {
			ch->failed = true;
			return false;
		}
		w->sources = at;
		w->cap_sources = cap;
	}
	struct watch_chain *chain = make_chain(ch, t.w);
	if (!chain)
		return false;
	chain->n++;
	w->sources[w->n_sources++] = (struct watch_source){t, block, UINT32_MAX};
	return true;
}

/* The call in @block is unmarked: what it can show first, it shows. */
static void open_sources(struct conflicts *ch, uint32_t block)
{
	struct watch *w = &ch->watch;
	for (uint32_t s = w->source_at[conflict_place(ch, block)];
	     s < w->n_sources && w->sources[s].block == block; s++) {
		struct watch_chain *chain = chain_of(ch, w->sources[s].term.w);
		w->sources[s].next = chain->open;
		chain->open = s;
	}
}

/* What the calls of @f can show first, by witness. */
static void index_calls(struct conflicts *ch, const struct prog_func *f)
{
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		const struct prog_block *block = &ch->prog->blocks[b];
		bool top = false;
		ch->watch.source_at[conflict_place(ch, b)] = ch->watch.n_sources;
		if (!(block->flags & PROG_REACHED))
			continue;
		if (ch->hops[b].flags & HOP_RET || block->flags & PROG_TAIL)
			push(ch, &ch->watch.exits, b);
		ch->n_found = 0;
		if (block->call != CALL_NONE)
			conflict_call_first(ch, b, 0, &top);
		if (top)
			push(ch, &ch->watch.anything, b);
		for (uint32_t i = 0; i < ch->n_found; i++) {
			ch->watch.jumps |= conflict_is_jump_term(ch, ch->found[i].term);
			if (!add_source(ch, b, ch->found[i].term))
				return;
		}
		if (!ch->marks[b])
			open_sources(ch, b);
	}
}

void conflict_watch(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	struct watch *w = &ch->watch;
	w->func = func;
	w->stamp++;
	w->n_sources = w->exits.n = w->anything.n = 0;
	w->chains.n = 0;
	w->jumps = ch->hops[f->block].flags & HOP_ENTRY &&
		   ch->pred_at[f->block + 1] > ch->pred_at[f->block];
	index_calls(ch, f);
	uint32_t stamp = ++ch->stamp;
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		uint8_t *held = &w->held[conflict_place(ch, b)];
		*held = 0;
		note_passed(ch, b);
		if (!(ch->prog->blocks[b].flags & PROG_REACHED) || !conflict_is_node(ch, b))
			continue;
		if (conflict_node_decisions_hold(ch, func, b, stamp))
			*held |= HELD_DECISIONS;
		if (conflict_follow_holds(ch, b))
			*held |= HELD_FOLLOW;
	}
	if (conflict_decision_holds(ch, (struct decision){func, PUGMARK_NONE, WAY_ALL}))
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
	uint32_t q;	 /* stamp of N in watch.new_alts */
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
		if (!conflict_decision_holds(ch, d))
			return false;
		conflict_alternatives(ch, d, &ch->alts);
		for (uint32_t i = 0; i < ch->alts.n; i++)
			if (ch->alts.at[i] == NODE_EXIT)
				r->exit = true;
			else
				w->new_alts[conflict_place(ch, ch->alts.at[i])] = r->q;
		r->empty = conflict_first(ch, &ch->alts, &top);
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
		w->terms[i] = ch->found[i].term;
		r->jump |= conflict_is_jump_term(ch, w->terms[i]);
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

/* Walks back from the blocks given to reach_back(), not through the block of @r. Most of the time
 * goes to the nodes where it ends, and a large part of all choosing is spent here: so what the loop
 * needs is in variables of its own, and the rest of reach_back() is written out. */
static void walk_back(struct conflicts *ch, const struct removal *r, struct watch_ways *ways)
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
			if (pred == block || reached & next)
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

static void start_from(struct conflicts *ch, const struct removal *r, uint32_t block, bool same)
{
	if (block != r->block)
		reach_back(ch, &ch->watch.rivals, block, same ? REACHED_ITSELF : REACHED_BEHIND);
}

/* Starts from those unmarked calls of @chain that show @t. Counts all its calls, whether marked or
 * not. */
static void start_from_calls(struct conflicts *ch, const struct removal *r, struct terminal t,
			     const struct watch_chain *chain)
{
	const struct watch_source *sources = ch->watch.sources;
	ch->steps += chain->n;
	ch->work += chain->n;
	for (uint32_t s = chain->open; s != UINT32_MAX; s = sources[s].next)
		if (!conflict_distinguishable(ch, t, sources[s].term))
			start_from(ch, r, sources[s].block, is_new_alt(ch, r, sources[s].block));
}

/* Finds the places that show the same events as T, and the silent ways out if one is new. */
static void find_rivals(struct conflicts *ch, const struct removal *r)
{
	struct watch *w = &ch->watch;
	for (uint32_t i = 0; i < w->n_terms; i++) {
		struct terminal t = w->terms[i];
		bool any = t.w == TERMINAL_ANY_ENTRY;
		uint32_t own = any ? ch->prog->funcs[r->func].block : t.w;
		if (ch->marks[own] && ch->prog->blocks[own].func == r->func)
			start_from(ch, r, own, is_new_alt(ch, r, own));
		const struct watch_chain *same = chain_of(ch, t.w);
		if (same && !any)
			start_from_calls(ch, r, t, same);
		const struct watch_chain *entries = chain_of(ch, TERMINAL_ANY_ENTRY);
		if (entries && !any && conflict_is_entry_term(ch, t.w))
			start_from_calls(ch, r, t, entries);
		for (uint32_t k = 0; any && k < w->chains.n; k++)
			if (conflict_is_entry_term(ch, w->chains.at[k].w))
				start_from_calls(ch, r, t, &w->chains.at[k]);
		if (conflict_spent(ch))
			return;
	}
	for (uint32_t i = 0; i < w->anything.n; i++)
		if (!ch->marks[w->anything.at[i]])
			start_from(ch, r, w->anything.at[i], is_new_alt(ch, r, w->anything.at[i]));
	for (uint32_t i = 0; i < w->exits.n && r->empty; i++) {
		uint32_t b = w->exits.at[i];
		bool node = conflict_is_node(ch, b);
		if (!node || conflict_passes_silently(ch, b))
			start_from(ch, r, b, node ? is_new_alt(ch, r, b) : r->exit);
	}
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
	if (!conflict_progress_holds(ch, r->block) || !look_behind(ch, r))
		return false;
	r->everywhere = hurts_all(ch, r);
	clear(ch, &w->ours);
	clear(ch, &w->rivals);
	ch->back.n = 0;
	struct removal plain = *r;
	plain.q = UINT32_MAX; /* N is for the rivals' walk alone */
	reach_back(ch, &w->ours, r->block, REACHED_ITSELF);
	walk_back(ch, &plain, &w->ours);
	find_rivals(ch, r);
	walk_back(ch, r, &w->rivals);
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
	} else if (!paths) {
		open_sources(ch, block);
	}
	return holds;
}

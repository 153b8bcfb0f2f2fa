// SPDX-License-Identifier: LGPL-2.1-or-later
/* conflict_rivals.c: see conflict_rivals.h. The rivals are looked for ahead of the decisions on the
 * way to the mark, which is seldom far, and the walks back from them stay there. */
#include "offline/choose/conflict_rivals.h"

#include "offline/choose/conflict_impl.h"

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
static void look_ahead(struct conflicts *ch, const struct removal *r)
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
				bool same = passed & PASSED_NODE ? conflict_is_new_alt(ch, r, b)
								 : r->exit;
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

static void clear_flags(uint8_t *flags, const uint32_t *at, uint32_t n, uint32_t mask)
{
	for (uint32_t i = 0; i < n; i++)
		flags[at[i] & mask] = 0;
}

static void clear(const struct conflicts *ch, struct watch_ways *ways)
{
	clear_flags(ways->starts, ways->some_starts.at, ways->some_starts.n, ch->places_mask);
	clear_flags(ways->nodes, ways->some_nodes.at, ways->some_nodes.n, ch->places_mask);
	ways->some_starts.n = ways->some_nodes.n = 0;
}

void conflict_find_ours(struct conflicts *ch, const struct removal *r)
{
	struct watch *w = &ch->watch;
	struct removal plain = *r;
	plain.q = UINT32_MAX; /* N is for the rivals' walk alone */
	clear(ch, &w->ours);
	clear(ch, &w->rivals);
	ch->back.n = 0;
	reach_back(ch, &w->ours, r->block, REACHED_ITSELF);
	walk_back(ch, &plain, &w->ours, NULL);
}

void conflict_find_rivals(struct conflicts *ch, const struct removal *r)
{
	look_ahead(ch, r);
	walk_back(ch, r, &ch->watch.rivals, ch->watch.ahead);
}

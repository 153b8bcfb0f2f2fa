// SPDX-License-Identifier: LGPL-2.1-or-later
/* conflict_first.c: R1 of docs/theory.md: by which first events the alternatives of a decision
 * show, and whether those tell them apart. */
#include "offline/choose/conflict_impl.h"

#include <stdlib.h>

void conflict_note_ret(struct conflicts *ch, uint32_t w)
{
	if (w == TERMINAL_ANY_ENTRY)
		return;
	if (ch->note_rets)
		ch->capture_ret[w] = true;
	const struct vec_u32 *rets = &ch->checked_rets;
	bool again = rets->n > ch->checking_from && rets->at[rets->n - 1] == w;
	if (ch->keeps_rets && !again)
		push(ch, &ch->checked_rets, w);
}

/* Whether no one event fits both terminals, seen from the same function. */
bool conflict_distinguishable(struct conflicts *ch, struct terminal a, struct terminal b)
{
	if (!conflict_same_event(ch, a.w, b.w))
		return true;
	/* An entry's event says which call site it came from in every mode: without that it would
	 * not name its caller at all. */
	if (ch->plain && !conflict_is_entry_term(ch, a.w))
		return false;
	if (!ch->plain && terminal_depths_differ(a, b))
		return true;
	if (a.ret >= RET_UNKNOWN || b.ret >= RET_UNKNOWN || a.ret == b.ret)
		return false;
	conflict_note_ret(ch, a.w);
	conflict_note_ret(ch, b.w);
	return true;
}

static void add_found(struct conflicts *ch, struct terminal term, uint32_t alt)
{
	if (ch->n_found == ch->cap_found) {
		uint32_t cap = ch->cap_found ? 2 * ch->cap_found : 256;
		struct found_term *found = realloc(ch->found, cap * sizeof(*found));
		if (!found) {
			ch->failed = true;
			return;
		}
		ch->found = found;
		ch->cap_found = cap;
	}
	ch->work++;
	ch->found[ch->n_found++] = (struct found_term){.term = term, .alt = alt};
}

static struct terminal own_term(const struct conflicts *ch, uint32_t block)
{
	const struct hop *hop = &ch->hops[block];
	if (ch->plain && !conflict_is_entry_term(ch, block))
		return terminal_of(block, DEPTH_UNKNOWN, RET_UNKNOWN, false);
	uint8_t mark = ch->marks[block];
	bool known = hop->flags & (mark == MARK_BLOCK  ? HOP_CFA_ANY
				   : mark == MARK_LAST ? HOP_CFA_CALL
						       : HOP_CFA_LAST);
	return known ? terminal_of(block, 0, RET_SELF, false)
		     : terminal_of(block, DEPTH_UNKNOWN, RET_UNKNOWN, false);
}

/* What the call in @block shows first; returns whether it can show nothing. */
bool conflict_call_first(struct conflicts *ch, uint32_t block, uint32_t alt, bool *top)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	uint32_t call = b->flags & PROG_TAIL ? RET_SELF : block;
	if (b->call == CALL_UNKNOWN) {
		struct terminal any = {.w = TERMINAL_ANY_ENTRY, .ret = RET_SELF};
		add_found(ch, terminal_lift(any, b->height, call), alt);
		return true;
	}
	if (b->call != CALL_DIRECT)
		return true;
	const struct summary *callee = &ch->sums[b->callee];
	if (!callee->known) {
		*top = true;
		return true;
	}
	*top |= callee->first.top;
	for (uint32_t i = 0; i < callee->first.n; i++)
		add_found(ch, terminal_lift(callee->first.terms[i], b->height, call), alt);
	return callee->nullable;
}

bool conflict_call_silent(struct conflicts *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	ch->work += b->call == CALL_UNKNOWN;
	if (b->call != CALL_DIRECT || !ch->sums[b->callee].known)
		return true;
	ch->work += ch->sums[b->callee].first.n;
	return ch->sums[b->callee].nullable;
}

/* Adds the first terminals of one alternative, through all that is silent before them; returns
 * whether the function's exit can be reached in silence. */
bool conflict_close_over(struct conflicts *ch, uint32_t node, uint32_t alt, bool *top)
{
	bool empty = false;
	if (node == NODE_EXIT)
		return true;
	if (ch->marks[node] && ch->work + 1 < ch->work_end) { /* most of them */
		ch->steps++;
		ch->work++;
		add_found(ch, own_term(ch, node), alt);
		return false;
	}
	uint32_t closure_stamp = ++ch->stamp;
	struct vec_u32 next = {0};
	ch->closure.n = 0;
	push(ch, &ch->closure, node);
	while (ch->closure.n) {
		uint32_t n = ch->closure.at[--ch->closure.n];
		if (n == NODE_EXIT) {
			empty = true;
			continue;
		}
		uint32_t *seen = &ch->seen_closure[conflict_place(ch, n)];
		if (*seen == closure_stamp)
			continue;
		*seen = closure_stamp;
		ch->steps++;
		ch->work++;
		if (conflict_spent(ch)) {
			*top = true;
			return true;
		}
		if (ch->marks[n]) {
			add_found(ch, own_term(ch, n), alt);
			continue;
		}
		if (!conflict_call_first(ch, n, alt, top))
			continue;
		next = ch->decisions;
		conflict_alternatives(ch, (struct decision){0, n, WAY_ALL}, &next);
		ch->decisions = next;
		for (uint32_t i = 0; i < next.n; i++)
			push(ch, &ch->closure, next.at[i]);
	}
	return empty;
}

bool conflict_passes_silently(const struct conflicts *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	if (ch->marks[block])
		return false;
	if (b->call == CALL_DIRECT)
		return !ch->sums[b->callee].known || ch->sums[b->callee].nullable;
	return true;
}

void conflict_find_ends(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	uint32_t stamp = ch->end_stamp = ++ch->stamp;
	ch->back.n = 0;
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++)
		if (ch->prog->blocks[b].flags & (PROG_RET | PROG_TAIL))
			push(ch, &ch->back, b);
	while (ch->back.n && !ch->failed) {
		uint32_t b = ch->back.at[--ch->back.n];
		uint32_t *seen = &ch->seen_end[conflict_place(ch, b)];
		if (*seen == stamp || ch->prog->blocks[b].flags & PROG_NORETURN ||
		    !conflict_passes_silently(ch, b))
			continue;
		*seen = stamp;
		ch->work += 1 + ch->pred_at[b + 1] - ch->pred_at[b];
		for (uint32_t p = ch->pred_at[b]; p < ch->pred_at[b + 1]; p++)
			push(ch, &ch->back, ch->preds[p]);
	}
}

bool conflict_may_end(const struct conflicts *ch, struct decision d)
{
	const struct prog_block *b = &ch->prog->blocks[d.block];
	const uint32_t *succs = prog_succs(ch->prog, d.block);
	if (b->flags & PROG_NORETURN)
		return false;
	bool all = d.way == WAY_ALL, ends = b->flags & (PROG_RET | PROG_TAIL);
	/* A jump through a table may have thousands of ways, each asked for by itself. */
	for (uint32_t i = all ? 0 : d.way; i < (all ? b->n_succ : d.way + 1) && !ends; i++)
		ends = ch->seen_end[conflict_place(ch, succs[i])] == ch->end_stamp;
	return ends;
}

uint32_t conflict_first(struct conflicts *ch, const struct vec_u32 *alts, bool *top)
{
	uint32_t empty = 0;
	ch->n_found = 0;
	*top = false;
	for (uint32_t i = 0; i < alts->n; i++)
		empty += conflict_close_over(ch, alts->at[i], i, top);
	return empty;
}

/* The terminals that were found and filed. */
struct filed {
	uint32_t stamp;	  /* ch->heads with this has those of each witness */
	uint32_t entries; /* the first found_term that is an entry; UINT32_MAX: none */
};

static struct place_head *head_of(struct conflicts *ch, const struct filed *filed, uint32_t w)
{
	struct place_head *head = &ch->heads[conflict_place(ch, w)];
	if (head->stamp != filed->stamp)
		*head = (struct place_head){filed->stamp, UINT32_MAX};
	return head;
}

/* Whether @f is told from the terminal of another alternative that was filed as @other. */
static bool told_from(struct conflicts *ch, const struct found_term *f, uint32_t other)
{
	const struct found_term *o = &ch->found[other];
	ch->steps++;
	ch->work++;
	return !conflict_spent(ch) &&
	       (o->alt == f->alt || conflict_distinguishable(ch, o->term, f->term));
}

/* The same of all terminals filed of witness @w. */
static bool told_from_all(struct conflicts *ch, const struct filed *filed,
			  const struct found_term *f, uint32_t w)
{
	for (uint32_t j = head_of(ch, filed, w)->first; j != UINT32_MAX; j = ch->found[j].next)
		if (ch->found[j].term.w == w && !told_from(ch, f, j))
			return false;
	return true;
}

/* The same of all filed entries. */
static bool told_from_entries(struct conflicts *ch, const struct filed *filed,
			      const struct found_term *f)
{
	for (uint32_t j = filed->entries; j != UINT32_MAX; j = ch->found[j].next_entry)
		if (!told_from(ch, f, j))
			return false;
	return true;
}

/* Files the terminals found from @from on; returns whether each is told from those of other
 * alternatives that were filed before. */
static bool file_terms(struct conflicts *ch, uint32_t from, struct filed *filed)
{
	for (uint32_t i = from; i < ch->n_found; i++) {
		struct found_term *f = &ch->found[i];
		bool any = f->term.w == TERMINAL_ANY_ENTRY;
		bool entry = any || conflict_is_entry_term(ch, f->term.w);
		if (any ? !told_from_entries(ch, filed, f)
			: !told_from_all(ch, filed, f, f->term.w) ||
				    (entry && !told_from_all(ch, filed, f, TERMINAL_ANY_ENTRY)))
			return false;
		struct place_head *head = head_of(ch, filed, f->term.w);
		f->next = head->first;
		head->first = i;
		if (entry) {
			f->next_entry = filed->entries;
			filed->entries = i;
		}
	}
	return true;
}

/* Foreign code may call two functions one after the other from the same place. The entry of the
 * second then looks as if the first had jumped there. So a function that foreign code entered must
 * not have to choose between returning in silence and such a jump. */
static bool jumps_differ_from_return(struct conflicts *ch, struct decision d)
{
	uint32_t func = d.block == PUGMARK_NONE ? d.func : ch->prog->blocks[d.block].func;
	if (!(ch->prog->funcs[func].flags & PROG_ENTERED_TAIL))
		return true;
	for (uint32_t i = 0; i < ch->n_found; i++)
		if (conflict_is_jump_term(ch, ch->found[i].term))
			return false;
	return true;
}

bool conflict_alternatives_told(struct conflicts *ch, struct decision d, uint32_t *empty)
{
	/* In most decisions that do not hold the first alternatives already show it. */
	struct filed filed = {++ch->file_stamp, UINT32_MAX};
	*empty = ch->n_found = 0;
	for (uint32_t i = 0; i < ch->alts.n; i++) {
		bool top = false;
		uint32_t from = ch->n_found;
		*empty += conflict_close_over(ch, ch->alts.at[i], i, &top);
		if (top || *empty > (ch->plain ? 0 : 1) || !file_terms(ch, from, &filed))
			return false;
	}
	return !*empty || jumps_differ_from_return(ch, d);
}

bool conflict_decision_holds(struct conflicts *ch, struct decision d)
{
	if (conflict_spent(ch))
		return false;
	uint32_t empty;
	conflict_alternatives(ch, d, &ch->alts);
	return ch->alts.n <= 1 || conflict_alternatives_told(ch, d, &empty);
}

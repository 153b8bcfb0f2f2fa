// SPDX-License-Identifier: LGPL-2.1-or-later
/* diff.c: see diff.h. The automata of a function in both recordings are walked together, by the
 * symbols that both have. What only one of two corresponding states has is a difference. */
#include "user/encode/diff.h"

#include "offline/base/hash.h"

#include <errno.h>
#include <stdlib.h>

enum { MAX_PAIRS = 1 << 20 };

/* A pair of states, and how it was reached. */
struct pair {
	uint32_t a, b, from, symbol;
};

struct walk {
	struct diff *d;
	uint32_t name;
	struct fsa *fsa[2];
	VEC(struct pair) pairs;
	VEC(uint32_t) slots; /* pair + 1, or 0; as many as a power of two */
};

static uint32_t automaton_of(const struct encode *e, uint32_t name)
{
	return name < e->automata.n ? e->automata.at[name] : 0;
}

static uint64_t runs_of(const struct fsa *fsa)
{
	uint64_t n = 0;
	for (uint32_t q = 0; fsa && q < fsa->n_states; q++)
		n += fsa->accepted[q] + fsa->cut[q];
	return n;
}

static uint64_t calls_of(const struct fsa *fsa, uint32_t symbol)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < fsa->n_arcs; i++)
		n += fsa->arcs[i].symbol == symbol ? fsa->arcs[i].count : 0;
	return n;
}

static int add(struct diff *d, struct difference found)
{
	return VEC_PUSH(&d->found, found) ? 0 : -ENOMEM;
}

/* ---- walking two automata together ---- */

static bool enter_slot(struct walk *w, uint32_t index)
{
	const struct pair *p = &w->pairs.at[index];
	uint32_t mask = w->slots.n - 1, i = (uint32_t)hash_pair(p->a, p->b) & mask;
	for (; w->slots.at[i]; i = (i + 1) & mask) {
		const struct pair *known = &w->pairs.at[w->slots.at[i] - 1];
		if (known->a == p->a && known->b == p->b)
			return false;
	}
	w->slots.at[i] = index + 1;
	return true;
}

static int rehash(struct walk *w, uint32_t size)
{
	w->slots.n = 0;
	if (!VEC_RESERVE(&w->slots, size))
		return -ENOMEM;
	memset(w->slots.at, 0, size * sizeof(*w->slots.at));
	w->slots.n = size;
	for (uint32_t i = 0; i < w->pairs.n; i++)
		enter_slot(w, i);
	return 0;
}

static int visit(struct walk *w, struct pair pair)
{
	if (w->pairs.n == MAX_PAIRS)
		return 0;
	if (!VEC_PUSH(&w->pairs, pair))
		return -ENOMEM;
	if (!enter_slot(w, w->pairs.n - 1))
		w->pairs.n--;
	return 2 * w->pairs.n > w->slots.n ? rehash(w, 2 * w->slots.n) : 0;
}

static int note_order(struct walk *w, uint32_t pair, bool second, uint32_t symbol, uint64_t count)
{
	struct difference found = {
		.kind = DIFF_ORDER, .second = second, .function = w->name, .callee = symbol};
	uint32_t length = 0;
	for (uint32_t i = pair; i; i = w->pairs.at[i].from)
		length++;
	found.path_cut = length > DIFF_PATH;
	found.n_path = found.path_cut ? DIFF_PATH : length;
	for (uint32_t i = pair, k = found.n_path; k > 0; i = w->pairs.at[i].from)
		found.path[--k] = w->pairs.at[i].symbol;
	found.counts[second] = count;
	return add(w->d, found);
}

/* Reports what the state of one side has and that of the other has not. A call that the other side
 * never makes was reported already. */
static int compare_states(struct walk *w, uint32_t at, bool second)
{
	const struct fsa *mine = w->fsa[second], *other = w->fsa[!second];
	struct pair p = w->pairs.at[at];
	uint32_t q = second ? p.b : p.a, r = second ? p.a : p.b;
	int err = 0;
	for (uint32_t i = mine->first[q]; i < mine->first[q + 1] && !err; i++) {
		const struct fsa_arc *arc = &mine->arcs[i];
		uint32_t to = fsa_step(other, r, arc->symbol);
		if (to != FSA_NONE && !second)
			err = visit(w, (struct pair){arc->to, to, at, arc->symbol});
		else if (to == FSA_NONE && calls_of(other, arc->symbol))
			err = note_order(w, at, second, arc->symbol, arc->count);
	}
	if (!err && mine->accepted[q] && !other->accepted[r])
		err = note_order(w, at, second, DIFF_END, mine->accepted[q]);
	return err;
}

static int compare_order(struct walk *w)
{
	int err = rehash(w, 64);
	if (!err)
		err = visit(w, (struct pair){0});
	for (uint32_t i = 0; i < w->pairs.n && !err; i++) {
		err = compare_states(w, i, false);
		if (!err)
			err = compare_states(w, i, true);
	}
	return err;
}

/* ---- functions ---- */

static int compare_calls(struct walk *w, bool second)
{
	const struct fsa *mine = w->fsa[second], *other = w->fsa[!second];
	int err = 0;
	for (uint32_t i = 0; i < mine->n_arcs && !err; i++) {
		uint32_t symbol = mine->arcs[i].symbol;
		bool before = false;
		for (uint32_t k = 0; k < i && !before; k++)
			before = mine->arcs[k].symbol == symbol;
		if (before || calls_of(other, symbol))
			continue;
		struct difference found = {
			.kind = DIFF_CALL, .second = second, .function = w->name, .callee = symbol};
		found.counts[second] = calls_of(mine, symbol);
		err = add(w->d, found);
	}
	return err;
}

static int compare_function(struct walk *w)
{
	struct difference found = {.function = w->name,
				   .counts = {runs_of(w->fsa[0]), runs_of(w->fsa[1])}};
	found.second = found.counts[1] > found.counts[0];
	if (!w->fsa[0] || !w->fsa[1])
		return add(w->d, found);
	found.kind = DIFF_COUNT;
	int err = found.counts[0] != found.counts[1] ? add(w->d, found) : 0;
	for (int side = 0; side < 2 && !err; side++)
		err = compare_calls(w, side);
	return err ? err : compare_order(w);
}

static int by_kind(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->second != y->second)
		return x->second ? 1 : -1;
	return x->callee < y->callee ? -1 : x->callee > y->callee;
}

static int compare(struct diff *d)
{
	struct walk w = {.d = d};
	int err = 0;
	uint32_t n = symbols_count(d->sides[0].symbols);
	for (w.name = 0; w.name < n && !err; w.name++) {
		w.pairs.n = 0;
		for (int side = 0; side < 2 && !err; side++) {
			struct encode *e = &d->sides[side];
			uint32_t automaton = automaton_of(e, w.name);
			w.fsa[side] = NULL;
			if (automaton)
				err = fsa_finish(e->fsa, automaton - 1, FSA_MINIMAL, &w.fsa[side]);
		}
		if (!err && (w.fsa[0] || w.fsa[1]))
			err = compare_function(&w);
		fsa_free(w.fsa[0]);
		fsa_free(w.fsa[1]);
		w.fsa[0] = w.fsa[1] = NULL;
	}
	VEC_FREE(&w.pairs);
	VEC_FREE(&w.slots);
	if (!err && d->found.n)
		qsort(d->found.at, d->found.n, sizeof(*d->found.at), by_kind);
	return err;
}

int diff_run(struct diff *d, struct pugmark_diag *diag)
{
	for (int side = 0; side < 2; side++) {
		struct encode *e = &d->sides[side];
		e->selection = SELECT_CALLEES;
		e->encoding = ENCODE_FSA;
		e->symbols = d->sides[0].symbols;
		e->shares_symbols = side;
		int err = encode_read(e, diag);
		if (err)
			return err;
	}
	return compare(d) ? trace_view_no_memory(&d->sides[0].view, diag) : 0;
}

void diff_deinit(struct diff *d)
{
	encode_deinit(&d->sides[1]);
	encode_deinit(&d->sides[0]);
	VEC_FREE(&d->found);
}

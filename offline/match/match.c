// SPDX-License-Identifier: LGPL-2.1-or-later
/* match.c: see match.h. Signatures do not change, so who fits whom is found once; which of those
 * that fit is the partner follows from the makers' partners, in rounds. */
#include "offline/match/match.h"

#include "offline/match/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROUNDS = 4,
	SKIPPED = 1024,	 /* executions of a in a row that b may leave out */
	CANDIDATES = 64, /* that are kept of an instruction */
	TELLING = 4,	 /* different values that are hardly there by chance */
	LEAST = 8,	 /* executions that agree before it is said that a later one does not */
};

/* Those whose whole history is consistent. */
struct fits {
	uint32_t *at; /* numbers of a */
	uint32_t n;
	uint8_t different; /* values in b's history, at most TELLING */
};

struct matching {
	const struct match_side *a, *b;
	struct match_index index; /* of a, by what a history may begin with */
	struct fits *fits;
	struct match_found *found;
};

/* --- signatures ------------------------------------------------------------------------------ */

/* How many of @b's executions are, in order, among those of @a; *@at: where @a stands then. A jump
 * may be taken in one program where it is not in the other one: @flip. */
static uint32_t agree(const struct match_insn *a, const struct match_insn *b, uint32_t flip,
		      uint32_t *at)
{
	uint32_t i = 0, skipped = 0, last = 0;
	bool any = false;
	for (uint32_t k = 0; k < a->n && i < b->n && skipped < SKIPPED; k++) {
		if (a->what[k] == (b->what[i] ^ flip)) {
			last = a->what[k];
			any = true;
			skipped = 0;
			i++;
			*at = k + 1;
		} else {
			/* What an optimiser computes once is the same each time. */
			skipped += !any || a->what[k] != last;
		}
	}
	return i;
}

static uint32_t agreed(const struct match_insn *a, const struct match_insn *b, uint32_t *at)
{
	uint32_t other_at = 0;
	*at = 0;
	uint32_t n = agree(a, b, 0, at);
	if (b->kind != MATCH_JUMP || n == b->n)
		return n;
	uint32_t other = agree(a, b, 1, &other_at);
	if (other <= n)
		return n;
	*at = other_at;
	return other;
}

static uint8_t different_values(const struct match_insn *m)
{
	uint32_t seen[TELLING];
	uint8_t n = 0;
	for (uint32_t i = 0; i < m->n && n < TELLING; i++) {
		bool known = false;
		for (unsigned k = 0; k < n && !known; k++)
			known = seen[k] == m->what[i];
		if (!known)
			seen[n++] = m->what[i];
	}
	return n;
}

static bool may_fit(const struct match_insn *a, const struct match_insn *b)
{
	return a->n && a->kind == b->kind;
}

static bool add_fit(struct fits *f, uint32_t a)
{
	if (f->n == CANDIDATES)
		return true;
	if (!f->at)
		f->at = malloc(CANDIDATES * sizeof(*f->at));
	if (!f->at)
		return false;
	f->at[f->n++] = a;
	return true;
}

/* Looks at @a for @b: it fits, or it is the one that went furthest so far. */
static bool look(struct matching *m, uint32_t b, uint32_t a)
{
	struct match_found *found = &m->found[b];
	const struct match_insn *y = &m->b->insns[b];
	uint32_t at, n;
	if (!may_fit(&m->a->insns[a], y))
		return true;
	n = agreed(&m->a->insns[a], y, &at);
	if (n == y->n)
		return add_fit(&m->fits[b], a);
	if (n >= LEAST && n > found->agreed) {
		found->agreed = n;
		found->partner = a;
		found->at = at;
	}
	return true;
}

/* Those of the function of that name (@inside), or those of the others. A history is followed from
 * its first execution on, and that is in the index: agree() skips no more than is there. */
static bool look_among(struct matching *m, uint32_t b, bool inside)
{
	const struct match_insn *y = &m->b->insns[b];
	const struct match_index *x = &m->index;
	uint32_t bucket = match_index_bucket(x, y->kind, y->what[0]);
	bool fine = true;
	for (uint32_t i = x->start[bucket]; fine && i < x->start[bucket + 1]; i++)
		if ((m->a->functions[x->at[i]] == m->b->functions[b]) == inside)
			fine = look(m, b, x->at[i]);
	return fine;
}

static bool find_fits(struct matching *m, uint32_t b)
{
	m->fits[b].different = different_values(&m->b->insns[b]);
	bool fine = look_among(m, b, true);
	/* Elsewhere only what is no coincidence. */
	if (fine && !m->fits[b].n && m->fits[b].different >= TELLING)
		fine = look_among(m, b, false);
	return fine;
}

/* --- structure ------------------------------------------------------------------------------- */

static bool has_maker(const struct match_insn *m, uint32_t maker)
{
	for (unsigned i = 0; i < m->n_makers; i++)
		if (m->makers[i] == maker)
			return true;
	return false;
}

/* Whether what made an operand of b, @maker, has its partner among the makers of @a. */
static bool maker_fits(const struct matching *m, uint32_t maker, const struct match_insn *a)
{
	if (maker & MATCH_MAKER_CALL)
		return has_maker(a, maker);
	const struct fits *f = &m->fits[maker - 1];
	const struct match_found *p = &m->found[maker - 1];
	if (p->matched && has_maker(a, p->partner + 1))
		return true;
	for (uint32_t i = 0; i < f->n; i++)
		if (has_maker(a, f->at[i] + 1))
			return true;
	return false;
}

/* How well @a is the partner of @b; greater is better. */
static uint32_t worth(const struct matching *m, uint32_t b, uint32_t a, unsigned *makers)
{
	const struct match_insn *x = &m->a->insns[a], *y = &m->b->insns[b];
	*makers = 0;
	for (unsigned i = 0; i < y->n_makers; i++)
		*makers += maker_fits(m, y->makers[i], x);
	uint32_t share = x->n ? (uint32_t)((uint64_t)256 * y->n / x->n) : 0;
	share = share > 256 ? 256 : share;
	return *makers * 4096 + (x->mnemonic == y->mnemonic) * 512 + share;
}

/* Signatures fit. Small parts of what the partner does are no match by themselves: any counter that
 * ends early is a part of another one. */
static bool is_match(const struct fits *f, const struct match_found *found,
		     const struct match_insn *b, const struct match_insn *a)
{
	bool most = 2 * (uint64_t)b->n > a->n;
	if (found->makers && !found->makers_matched)
		return f->different >= TELLING && most;
	if (found->makers)
		return found->makers_matched == found->makers || (f->different > 1 && most);
	return f->n == 1;
}

static void choose(struct matching *m, uint32_t b)
{
	struct match_found *found = &m->found[b];
	const struct match_insn *y = &m->b->insns[b];
	const struct fits *f = &m->fits[b];
	uint32_t best = 0;
	for (uint32_t i = 0; i < f->n; i++) {
		unsigned makers;
		uint32_t w = worth(m, b, f->at[i], &makers);
		if (i && w < best)
			continue;
		found->alike = i && w == best ? found->alike + 1 : 1;
		if (i && w == best)
			continue;
		best = w;
		found->partner = f->at[i];
		found->makers_matched = (uint8_t)makers;
	}
	if (!f->n)
		return;
	found->makers = y->n_makers;
	found->agreed = y->n;
	found->matched = is_match(f, found, y, &m->a->insns[found->partner]);
}

/* --- all of it ------------------------------------------------------------------------------- */

int match_find(const struct match_side *a, const struct match_side *b, struct match_found **out)
{
	struct matching m = {.a = a, .b = b};
	m.fits = calloc(b->n + 1, sizeof(*m.fits));
	m.found = calloc(b->n + 1, sizeof(*m.found));
	bool fine = m.fits && m.found && match_index_init(&m.index, a->insns, a->n, SKIPPED);
	for (uint32_t i = 0; fine && i < b->n; i++) {
		m.found[i].partner = MATCH_NONE;
		fine = !b->insns[i].n || find_fits(&m, i);
	}
	for (unsigned round = 0; fine && round < ROUNDS; round++)
		for (uint32_t i = 0; i < b->n; i++)
			choose(&m, i);
	for (uint32_t i = 0; m.fits && i < b->n; i++)
		free(m.fits[i].at);
	free(m.fits);
	match_index_deinit(&m.index);
	if (!fine) {
		free(m.found);
		return -ENOMEM;
	}
	*out = m.found;
	return 0;
}

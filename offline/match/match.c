// SPDX-License-Identifier: LGPL-2.1-or-later
/* match.c: see match.h. Signatures do not change, so who fits whom is found once; which of those
 * that fit is the partner follows from the makers' partners, in rounds. */
#include "offline/match/match.h"

#include "offline/match/index.h"
#include "offline/match/pace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROUNDS = 4,
	SKIPPED = 1024,	 /* executions of a in a row that b may leave out */
	CANDIDATES = 64, /* that are kept of an instruction */
	TELLING = 4,	 /* different values that are hardly there by chance */
	PACES = 2,	 /* times that it is looked at when */
	DEPTH = 1 << 16, /* executions by which an instruction is found */
	PROBED = 3,	 /* executions that are looked at when */
	FAR = 64,	 /* instructions of the first program, from where a partner is expected */
	/* Of a candidate, each against being at half the distance: */
	WORTH_MAKER = 8,
	WORTH_MNEMONIC = 2,
	WORTH_ALL = 2,
	LEAST = 8, /* executions that agree before it is said that a later one does not */
};

/* Those whose whole history is consistent. */
struct fit {
	uint32_t a;	       /* its number */
	uint32_t when[PROBED]; /* when it did what b did the first, the middle and the last time */
};
struct fits {
	struct fit *at;
	uint32_t n;
	uint8_t different; /* values in b's history, at most TELLING */
};

struct matching {
	const struct match_side *a, *b;
	struct match_index index; /* of a, by what a history may begin with */
	struct fits *fits;
	struct match_found *found;
	uint32_t *taken; /* how many of b have each of a as their partner */
	struct match_pace pace;
};

/* --- signatures ------------------------------------------------------------------------------ */

/* How far a history goes along with another one. */
struct along {
	uint32_t n;  /* executions of b that are, in order and when they can be, among those of a */
	uint32_t at; /* where a stands then */
	uint32_t when[PROBED]; /* of a, as in struct fit */
};

/* Of PROBED executions, the first to the last, the number of the @p-th. */
static uint32_t probed(const struct match_insn *m, unsigned p)
{
	return (uint32_t)((uint64_t)p * (m->n - 1) / (PROBED - 1));
}

/* A jump may be taken in one program where it is not in the other one: @flip. */
static struct along agree(const struct match_pace *pace, const struct match_insn *a,
			  const struct match_insn *b, uint32_t flip)
{
	struct along along = {0};
	uint32_t k = 0, last = 0;
	for (; along.n < b->n; along.n++) {
		struct match_window window = match_pace_at(pace, b->when[along.n]);
		uint32_t what = b->what[along.n] ^ flip, skipped = 0;
		for (; k < a->n && (a->when[k] < window.least || a->what[k] != what); k++) {
			/* What an optimiser computes once is the same each time. */
			skipped += a->when[k] >= window.least && (!along.n || a->what[k] != last);
			if (skipped == SKIPPED)
				return along;
		}
		if (k == a->n || a->when[k] > window.most)
			return along;
		for (unsigned p = 0; p < PROBED; p++)
			if (along.n == probed(b, p))
				along.when[p] = a->when[k];
		last = what;
		along.at = ++k;
	}
	return along;
}

static struct along agreed(const struct match_pace *pace, const struct match_insn *a,
			   const struct match_insn *b)
{
	struct along along = agree(pace, a, b, 0);
	if (b->kind != MATCH_JUMP || along.n == b->n)
		return along;
	struct along other = agree(pace, a, b, 1);
	return other.n > along.n ? other : along;
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

static bool add_fit(struct fits *f, struct fit fit)
{
	if (f->n == CANDIDATES)
		return true;
	if (!f->at)
		f->at = malloc(CANDIDATES * sizeof(*f->at));
	if (!f->at)
		return false;
	f->at[f->n++] = fit;
	return true;
}

/* Looks at @a for @b: it fits, or it is the one that went furthest so far. */
static bool look(struct matching *m, uint32_t b, uint32_t a)
{
	struct match_found *found = &m->found[b];
	const struct match_insn *y = &m->b->insns[b];
	if (!may_fit(&m->a->insns[a], y))
		return true;
	struct along along = agreed(&m->pace, &m->a->insns[a], y);
	if (along.n == y->n)
		return add_fit(&m->fits[b],
			       (struct fit){a, {along.when[0], along.when[1], along.when[2]}});
	if (along.n >= LEAST && along.n > found->agreed) {
		found->agreed = along.n;
		found->partner = a;
		found->at = along.at;
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
		if (has_maker(a, f->at[i].a + 1))
			return true;
	return false;
}

/* How far executions of @b are from those of the candidate, in the first program's time. */
static uint32_t distance(const struct matching *m, uint32_t b, const struct fit *fit)
{
	const struct match_insn *y = &m->b->insns[b];
	uint32_t most = 0;
	for (unsigned p = 0; p < PROBED; p++) {
		uint32_t d = match_pace_distance(&m->pace, fit->when[p], y->when[probed(y, p)]);
		most = d > most ? d : most;
	}
	return most;
}

/* A candidate as the partner of b. */
struct rating {
	int32_t worth;
	bool taken; /* by another one */
	uint32_t distance;
	unsigned makers; /* that match */
};

static struct rating rate(const struct matching *m, uint32_t b, const struct fit *fit)
{
	const struct match_insn *x = &m->a->insns[fit->a], *y = &m->b->insns[b];
	struct rating r = {.taken = m->taken[fit->a], .distance = distance(m, b, fit)};
	for (unsigned i = 0; i < y->n_makers; i++)
		r.makers += maker_fits(m, y->makers[i], x);
	r.worth = (int32_t)r.makers * WORTH_MAKER + (x->mnemonic == y->mnemonic) * WORTH_MNEMONIC +
		  (4 * (uint64_t)y->n >= 3 * (uint64_t)x->n) * WORTH_ALL;
	for (uint32_t d = r.distance; d; d /= 2)
		r.worth--;
	return r;
}

static bool is_better(const struct rating *a, const struct rating *b)
{
	if (a->worth != b->worth)
		return a->worth > b->worth;
	return a->taken != b->taken ? b->taken : a->distance < b->distance;
}

/* Signatures fit. Small parts of what the partner does are no match by themselves: any counter that
 * ends early is a part of another one. Nor is what happens at another time, or where several fit
 * equally well, for nothing says which of them it is. */
static bool is_match(const struct fits *f, const struct match_found *found, const struct rating *r,
		     const struct match_insn *b, const struct match_insn *a)
{
	bool most = 2 * (uint64_t)b->n > a->n;
	if (r->distance >= FAR || found->alike > 1)
		return false;
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
	struct rating best = {0};
	if (!f->n)
		return;
	if (found->alike)
		m->taken[found->partner]--;
	found->alike = 0;
	for (uint32_t i = 0; i < f->n; i++) {
		struct rating r = rate(m, b, &f->at[i]);
		bool better = !i || is_better(&r, &best);
		found->alike =
			!i || r.worth > best.worth ? 1 : found->alike + (r.worth == best.worth);
		if (!better)
			continue;
		best = r;
		found->partner = f->at[i].a;
	}
	m->taken[found->partner]++;
	found->makers_matched = (uint8_t)best.makers;
	found->makers = y->n_makers;
	found->agreed = y->n;
	found->matched = is_match(f, found, &best, y, &m->a->insns[found->partner]);
}

/* --- all of it ------------------------------------------------------------------------------- */

/* Whom it fits, and which of these is the partner. */
static bool find_partners(struct matching *m)
{
	bool fine = true;
	memset(m->taken, 0, m->a->n * sizeof(*m->taken));
	for (uint32_t i = 0; fine && i < m->b->n; i++) {
		free(m->fits[i].at);
		m->fits[i] = (struct fits){0};
		m->found[i] = (struct match_found){.partner = MATCH_NONE};
		fine = !m->b->insns[i].n || find_fits(m, i);
	}
	for (unsigned round = 0; fine && round < ROUNDS; round++)
		for (uint32_t i = 0; i < m->b->n; i++)
			choose(m, i);
	return fine;
}

/* How often both did the same from the start, none of them anything else between. */
static uint32_t in_step(const struct match_insn *a, const struct match_insn *b)
{
	uint32_t n = 0;
	while (n < a->n && n < b->n && a->what[n] == b->what[n])
		n++;
	return n;
}

/* By what is no coincidence: whose values are many, and whose partner is the only one. */
static bool find_pace(struct matching *m)
{
	uint32_t *steps = calloc(m->b->n + 1, sizeof(*steps));
	for (uint32_t i = 0; steps && i < m->b->n; i++) {
		const struct match_found *f = &m->found[i];
		if (f->partner == MATCH_NONE || m->fits[i].n > 1)
			continue;
		struct match_insn b = m->b->insns[i];
		b.n = in_step(&m->a->insns[f->partner], &b);
		steps[i] = different_values(&b) == TELLING ? b.n : 0;
	}
	match_pace_deinit(&m->pace);
	bool fine = steps && !match_pace_init(&m->pace, m->a, m->b, m->found, steps);
	free(steps);
	return fine;
}

int match_find(const struct match_side *a, const struct match_side *b, struct match_found **out)
{
	struct matching m = {.a = a, .b = b};
	m.taken = calloc(a->n + 1, sizeof(*m.taken));
	m.fits = calloc(b->n + 1, sizeof(*m.fits));
	m.found = calloc(b->n + 1, sizeof(*m.found));
	bool fine = m.taken && m.fits && m.found &&
		    match_index_init(&m.index, a->insns, a->n, DEPTH) && find_partners(&m);
	for (unsigned i = 0; fine && i < PACES; i++)
		fine = find_pace(&m) && find_partners(&m);
	for (uint32_t i = 0; m.fits && i < b->n; i++)
		free(m.fits[i].at);
	free(m.fits);
	free(m.taken);
	match_pace_deinit(&m.pace);
	match_index_deinit(&m.index);
	if (!fine) {
		free(m.found);
		return -ENOMEM;
	}
	*out = m.found;
	return 0;
}

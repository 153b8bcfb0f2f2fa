// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_facts.c: ordered sets of facts with a bound for each site. */
#include "offline/prove/plan_facts.h"

#include "offline/base/search.h"

#include <stdlib.h>
#include <string.h>

static inline uint64_t place(struct fact fact)
{
	return (uint64_t)fact.site << 32 | fact.ret;
}

static inline int64_t depth(struct fact fact)
{
	return 2 * (int64_t)fact.below + fact.further;
}

static inline bool precedes(struct fact a, struct fact b)
{
	return place(a) != place(b) ? place(a) < place(b) : depth(a) < depth(b);
}

static inline bool same(struct fact a, struct fact b)
{
	return place(a) == place(b) && depth(a) == depth(b);
}

static uint32_t position(const struct facts *set, struct fact fact)
{
	uint32_t lo = SEARCH_FIRST_NOT(0, set->n, i, precedes(set->at[i], fact));
	return lo;
}

void facts_of(const struct facts *set, uint32_t site, uint32_t *from, uint32_t *to)
{
	*from = position(set, (struct fact){site, INT32_MIN, 0, false, false});
	*to = *from;
	while (*to < set->n && set->at[*to].site == site)
		++*to;
}

/* Facts of the function's own frame are not joined with those of frames below. There are few. */
static bool own_frame(struct fact fact)
{
	return fact.below == 0 && !fact.further && fact.ret == RETURNS_LIKE_SELF;
}

/* What is joined has one key. */
static uint64_t key_of(struct fact fact)
{
	bool call = fact.site == SITE_ENTRY_OF_ANY || fact.site == SITE_UNKNOWN_CALL;
	return (uint64_t)fact.site << 32 | (call ? fact.ret : 0);
}

/* Those of one key with @fact are at[*from .. *to). */
static void range_of(const struct facts *set, struct fact fact, uint32_t *from, uint32_t *to)
{
	uint64_t key = key_of(fact);
	*from = position(set, (struct fact){fact.site, INT32_MIN, (uint32_t)key, false, false});
	*to = *from;
	while (*to < set->n && key_of(set->at[*to]) == key && !own_frame(set->at[*to]))
		++*to;
}

static uint32_t joined_position(const struct facts *set, uint64_t key)
{
	uint32_t lo = SEARCH_FIRST_NOT(0, set->n_joined, i, set->joined[i] < key);
	return lo;
}

static bool has_joined(const struct facts *set, uint64_t key)
{
	uint32_t at = joined_position(set, key);
	return at < set->n_joined && set->joined[at] == key;
}

static bool note_joined(struct facts *set, uint64_t key)
{
	uint32_t at = joined_position(set, key);
	if (set->n_joined == set->cap_joined) {
		uint32_t cap = set->cap_joined ? 2 * set->cap_joined : 4;
		uint64_t *joined = realloc(set->joined, cap * sizeof(*joined));
		if (!joined)
			return false;
		set->joined = joined;
		set->cap_joined = cap;
	}
	memmove(set->joined + at + 1, set->joined + at,
		(set->n_joined - at) * sizeof(*set->joined));
	set->joined[at] = key;
	set->n_joined++;
	return true;
}

/* One fact that stands for both. */
static struct fact join(struct fact a, struct fact b)
{
	if (a.below == BELOW_UNKNOWN || b.below == BELOW_UNKNOWN) {
		a.below = BELOW_UNKNOWN;
		a.further = false;
	} else if (a.below != b.below || b.further) {
		a.below = a.below < b.below ? a.below : b.below;
		a.further = true;
	}
	if (a.ret != b.ret) {
		bool self = a.ret == RETURNS_LIKE_SELF || a.ret == RETURNS_ANYWHERE ||
			    b.ret == RETURNS_LIKE_SELF || b.ret == RETURNS_ANYWHERE;
		a.ret = self ? RETURNS_ANYWHERE : RETURNS_TO_DIRECT;
	}
	return a;
}

static bool insert(struct facts *set, uint32_t at, struct fact fact)
{
	if (set->n == set->cap) {
		uint32_t cap = set->cap ? 2 * set->cap : 4;
		struct fact *bigger = realloc(set->at, cap * sizeof(*bigger));
		if (!bigger)
			return false;
		set->at = bigger;
		set->cap = cap;
	}
	memmove(set->at + at + 1, set->at + at, (set->n - at) * sizeof(*set->at));
	set->at[at] = fact;
	set->n++;
	return true;
}

/* Makes one fact of at[from .. to) and @fact. */
static void join_range(struct facts *set, uint32_t from, uint32_t to, struct fact fact)
{
	for (uint32_t i = from; i < to; i++)
		fact = join(fact, set->at[i]);
	fact.fresh = true;
	set->at[from] = fact;
	memmove(set->at + from + 1, set->at + to, (set->n - to) * sizeof(*set->at));
	set->n -= to - from - 1;
}

/* Those of at[from .. to) that return where @fact does: a recursion's, for one. */
static void range_of_ret(const struct facts *set, struct fact fact, uint32_t *from, uint32_t *to)
{
	while (*from < *to && set->at[*from].ret < fact.ret)
		++*from;
	uint32_t end = *from;
	while (end < *to && set->at[end].ret == fact.ret)
		end++;
	*to = end;
}

static enum facts_added add_to_one(struct fact *one, struct fact fact)
{
	fact = join(*one, fact);
	if (same(fact, *one))
		return FACTS_SAME;
	*one = fact;
	one->fresh = true;
	return FACTS_GREW;
}

/* Joins, of at[first .. last), which return to one place, all but the @keep nearest. */
static void join_far(struct facts *set, uint32_t first, uint32_t last, uint32_t keep)
{
	if (last - first <= keep + 1)
		return;
	struct fact far = set->at[first + keep];
	join_range(set, first + keep, last, far);
}

/* Adds @fact to at[first .. last), which return to the same place as it; the last of them stands
 * for all that lies further below as well. */
static enum facts_added add_before_far(struct facts *set, uint32_t first, uint32_t last,
				       struct fact fact)
{
	struct fact far = set->at[last - 1];
	if (!set->near || fact.below == BELOW_UNKNOWN)
		return add_to_one(&set->at[last - 1], fact);
	if (fact.below >= far.below)
		return FACTS_SAME;
	uint32_t at = position(set, fact);
	if (fact.further) {
		join_range(set, at, last, fact);
		return FACTS_GREW;
	}
	if (!insert(set, at, fact))
		return FACTS_NO_MEMORY;
	join_far(set, first, last + 1, FACTS_NEAR);
	return FACTS_GREW;
}

/* Joins, of at[from .. to), which have one key, those that return to one place and are joined in
 * part already; returns whether that made room. */
static bool give_up_near(struct facts *set, uint32_t from, uint32_t to)
{
	uint32_t n = set->n;
	for (uint32_t first = from, last; first < to; first = last) {
		uint32_t ret = set->at[first].ret, before = set->n;
		for (last = first; last < to && set->at[last].ret == ret;)
			last++;
		if (set->at[last - 1].further)
			join_far(set, first, last, 0);
		to -= before - set->n;
		last -= before - set->n;
	}
	return set->n < n;
}

enum facts_added facts_add(struct facts *set, struct fact fact)
{
	uint32_t from, to, at = position(set, fact);
	if (at < set->n && same(set->at[at], fact))
		return FACTS_SAME;
	fact.fresh = true;
	range_of(set, fact, &from, &to);
	if (set->n_joined && !own_frame(fact) && has_joined(set, key_of(fact)))
		return add_to_one(&set->at[from], fact);
	uint32_t most = set->n < FACTS_EXACT || set->wide ? FACTS_PER_SITE : 1;
	uint32_t first = from, last = to;
	range_of_ret(set, fact, &first, &last);
	if (first < last && set->at[first].below == BELOW_UNKNOWN && !own_frame(fact))
		return add_to_one(&set->at[first], fact); /* at any depth */
	if (first < last && set->at[last - 1].further && !own_frame(fact) && !set->unbounded)
		return add_before_far(set, first, last, fact);
	uint32_t alike = set->apart && set->n < FACTS_APART ? last - first : to - from;
	if (alike < most || set->unbounded || own_frame(fact))
		return insert(set, at, fact) ? FACTS_GREW : FACTS_NO_MEMORY;
	if (first < last) {
		if (!insert(set, at, fact))
			return FACTS_NO_MEMORY;
		join_far(set, first, last + 1, set->near && most > 1 ? FACTS_NEAR : 0);
		return FACTS_GREW;
	}
	if (set->near && most > 1 && give_up_near(set, from, to))
		return insert(set, position(set, fact), fact) ? FACTS_GREW : FACTS_NO_MEMORY;
	join_range(set, from, to, fact);
	return note_joined(set, key_of(fact)) ? FACTS_GREW : FACTS_NO_MEMORY;
}

void facts_clear(struct facts *set)
{
	set->n = set->n_joined = 0;
}

void facts_free(struct facts *set)
{
	free(set->at);
	free(set->joined);
	*set = (struct facts){0};
}

struct fact fact_lifted(struct fact fact, int32_t height, uint32_t call)
{
	bool known = fact.below != BELOW_UNKNOWN && height != PUGMARK_HEIGHT_UNKNOWN;
	if (!known || __builtin_add_overflow(fact.below, height, &fact.below) || fact.below < 0) {
		fact.below = BELOW_UNKNOWN;
		fact.further = false;
	}
	if (fact.ret == RETURNS_LIKE_SELF)
		fact.ret = call;
	else if (fact.ret == RETURNS_ANYWHERE)
		fact.ret = RETURNS_TO_DIRECT;
	return fact;
}

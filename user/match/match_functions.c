// SPDX-License-Identifier: LGPL-2.1-or-later
/* match_functions.c: see match_functions.h. Each instruction that matches is a vote. */
#include "user/match/match_functions.h"

#include "user/match/match_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_VOTES = 3 };

/* Instructions of one function of the second that match in one of the first. */
struct votes {
	uint32_t second, first, n;
};

static int by_functions(const void *a, const void *b)
{
	const struct votes *x = a, *y = b;
	if (x->second != y->second)
		return x->second < y->second ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* All votes, those for the same two functions together. The caller frees; NULL: out of memory. */
static struct votes *count_votes(const struct match_run *a, const struct match_run *b,
				 const struct match_found *found, size_t *n)
{
	struct votes *at = calloc(b->side.n + 1, sizeof(*at));
	size_t k = 0, to = 0;
	for (uint32_t i = 0; at && i < b->side.n; i++)
		if (b->side.insns[i].n && found[i].matched)
			at[k++] =
				(struct votes){b->functions[i], a->functions[found[i].partner], 1};
	if (at && k)
		qsort(at, k, sizeof(*at), by_functions);
	for (size_t i = 0; i < k; i++)
		if (to && !by_functions(&at[to - 1], &at[i]))
			at[to - 1].n++;
		else
			at[to++] = at[i];
	*n = to;
	return at;
}

/* Whether it is the most that either of the two has, and most of all that the second has. */
static bool is_majority(const struct votes *v, const struct votes *all, size_t n)
{
	uint64_t of_second = 0;
	for (size_t i = 0; i < n; i++) {
		of_second += all[i].second == v->second ? all[i].n : 0;
		if (all[i].first == v->first && &all[i] != v && all[i].n >= v->n)
			return false;
	}
	return v->n >= LEAST_VOTES && 2 * (uint64_t)v->n > of_second;
}

static uint32_t valued(const struct match_run *b, uint32_t function)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < b->side.n; i++)
		n += b->functions[i] == function && b->side.insns[i].n;
	return n;
}

static int pair_up(const struct match_run runs[2], const struct match_names *names,
		   const struct match_found *found, struct match_pair **out, size_t *n)
{
	size_t n_votes = 0;
	struct votes *votes = count_votes(&runs[0], &runs[1], found, &n_votes);
	struct match_pair *pairs = calloc(n_votes + 1, sizeof(*pairs));
	int err = votes && pairs ? 0 : -ENOMEM;
	*n = 0;
	for (size_t i = 0; i < n_votes && !err; i++) {
		const struct votes *v = &votes[i];
		if (!is_majority(v, votes, n_votes))
			continue;
		pairs[*n] = (struct match_pair){strdup(names->at[v->first]),
						strdup(names->at[v->second]), v->n,
						valued(&runs[1], v->second)};
		err = pairs[*n].first && pairs[*n].second ? 0 : -ENOMEM;
		++*n;
	}
	free(votes);
	*out = pairs;
	return err;
}

int match_pairs(const char *const dirs[2], struct match_pair **out, size_t *n,
		struct pugmark_diag *diag)
{
	struct match_run runs[2] = {0};
	struct match_names names = {0};
	struct match_found *found = NULL;
	struct match_pair *pairs = NULL;
	size_t n_pairs = 0;
	int err = 0;
	for (int i = 0; i < 2 && !err; i++)
		err = match_run_init(&runs[i], dirs[i], 0, &names, diag);
	if (!err) {
		err = match_find(&runs[0].side, &runs[1].side, &found);
		err = err ? err : pair_up(runs, &names, found, &pairs, &n_pairs);
		if (err)
			pugmark_diag_set(diag, err, dirs[1], PUGMARK_NO_OFFSET, "out of memory");
	}
	free(found);
	free(names.at);
	match_run_deinit(&runs[0]);
	match_run_deinit(&runs[1]);
	if (err) {
		match_pairs_free(pairs, n_pairs);
		return err;
	}
	*out = pairs;
	*n = n_pairs;
	return 0;
}

void match_pairs_free(struct match_pair *pairs, size_t n)
{
	for (size_t i = 0; pairs && i < n; i++) {
		free(pairs[i].first);
		free(pairs[i].second);
	}
	free(pairs);
}

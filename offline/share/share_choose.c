// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_choose.c: which of several splittings of a program is taken, see share.h: one within the
 * bound, and of all groupings the one whose costliest machine pays least. share_make.c makes each.
 */
#include "offline/share/share_split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The witnesses of the share that has most. */
static uint32_t most_sites(const struct share_set *set)
{
	uint32_t most = 0;
	for (uint32_t k = 0; k < set->n; k++) {
		uint32_t n = 0;
		for (uint32_t i = 0; i < set->plan->n_sites; i++)
			n += set->members[i] >> k & 1;
		most = n > most ? n : most;
	}
	return most;
}

/* Splits within the bound. What all shares have, and what it takes beside for the log of all to
 * read one way, is known only when a set is made: what is too much then is taken off the bound for
 * jobs. */
static int make_bounded(const struct program *program, const struct pugmark_model *model,
			const struct share_options *options, bool refine, struct share_set *out,
			struct pugmark_diag *diag)
{
	enum { TRIES = 12 };
	struct share_options o = *options;
	uint32_t most = 0;
	for (int i = 0; i < TRIES; i++) {
		int err = share_make_set(program, model, &o, refine, out, diag);
		if (err == -E2BIG && most)
			break; /* the bound for jobs has become too small for them */
		if (err)
			return err;
		most = options->bound ? most_sites(out) : 0;
		if (most <= options->bound)
			return 0;
		share_set_deinit(out);
		if (o.bound <= most - options->bound)
			break;
		o.bound -= most - options->bound;
	}
	return pugmark_diag_set(
		diag, -E2BIG, NULL, PUGMARK_NO_OFFSET,
		"--bound %u: a share would have %u witnesses, with those that every "
		"share needs beside what it tells (a larger bound, or --grouping "
		"fine)",
		options->bound, most);
}

static double largest_load(const struct share_set *set, uint32_t machines)
{
	double largest = 0;
	for (uint32_t m = 0; m < machines; m++) {
		double sum = 0;
		for (uint32_t k = 0; k < set->n; k++)
			sum += set->machine[k] == m ? set->load_ns[k] : 0;
		if (sum > largest)
			largest = sum;
	}
	return largest;
}

/* Jobs of every size, as they come and refined: none is best for all programs, since what is told
 * together costs less, and what is small is shared out more evenly. */
static int make_best(const struct program *program, const struct pugmark_model *model,
		     const struct share_options *options, struct share_set *out,
		     struct pugmark_diag *diag)
{
	struct share_options o = *options;
	bool found = false;
	int err = 0;
	uint32_t ways = options->machines > 1 ? 2 : 1; /* a single one has nobody to move jobs to */
	for (uint32_t i = 0; i < ways * SHARE_BEST && err != -ENOMEM; i++) {
		struct share_set set;
		o.grouping = i / ways;
		err = make_bounded(program, model, &o, i % ways, &set, diag);
		if (err)
			continue; /* with a bound, another grouping may fit */
		if (found && largest_load(out, o.machines) <= largest_load(&set, o.machines)) {
			share_set_deinit(&set);
			continue;
		}
		if (found)
			share_set_deinit(out);
		*out = set;
		found = true;
	}
	if (found && err == -ENOMEM)
		share_set_deinit(out);
	return found && err != -ENOMEM ? 0 : err;
}

int share_make(const struct program *program, const struct pugmark_model *model,
	       const struct share_options *options, struct share_set *out,
	       struct pugmark_diag *diag)
{
	return options->grouping == SHARE_BEST
		       ? make_best(program, model, options, out, diag)
		       : make_bounded(program, model, options, false, out, diag);
}

void share_set_deinit(struct share_set *set)
{
	pugmark_plan_free(set->plan);
	free(set->members);
	free(set->site_ns);
	*set = (struct share_set){0};
}

int share_plan(const struct share_set *set, uint32_t k, struct pugmark_plan *out,
	       struct pugmark_plan_site **sites)
{
	uint32_t n = set->plan->n_sites;
	*sites = malloc((n + 1) * sizeof(**sites));
	if (!*sites)
		return -ENOMEM;
	memcpy(*sites, set->plan->sites, n * sizeof(**sites));
	for (uint32_t i = 0; i < n; i++)
		(*sites)[i].elsewhere = !(set->members[i] >> k & 1);
	*out = *set->plan;
	out->sites = *sites;
	out->share = k + 1;
	return 0;
}

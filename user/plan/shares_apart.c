// SPDX-License-Identifier: LGPL-2.1-or-later
/* shares_apart.c: planning_shares(), whose analysis is done in a sandbox (user/sandbox): the child
 * hands back the plan of the whole, and of each of its sites which shares probe it. Each of these
 * bytes may be made up. */
#include "user/plan/planning.h"

#include "offline/plan/plan_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the child hands back; behind it members, costs of sites, and the plan. */
struct found {
	double whole_ns, largest_job_ns, least_ns, two_jobs_ns, load_ns[SHARES_MAX];
	uint64_t number; /* of the set, which the file of a whole plan has not */
	uint32_t n, n_sites, untold, machine[SHARES_MAX];
};

/* ---- in the child ---- */

static int hand_back(const struct share_set *set, double whole_ns, FILE *out)
{
	struct found f = {.whole_ns = whole_ns,
			  .largest_job_ns = set->largest_job_ns,
			  .least_ns = set->least_ns,
			  .two_jobs_ns = set->two_jobs_ns,
			  .number = set->plan->share_set,
			  .n = set->n,
			  .n_sites = set->plan->n_sites,
			  .untold = set->untold};
	void *bytes;
	size_t len;
	int err = plan_encode(set->plan, &bytes, &len);
	if (err)
		return err;
	memcpy(f.load_ns, set->load_ns, sizeof(f.load_ns));
	memcpy(f.machine, set->machine, sizeof(f.machine));
	fwrite(&f, sizeof(f), 1, out);
	fwrite(set->members, sizeof(*set->members), f.n_sites, out);
	fwrite(set->site_ns, sizeof(*set->site_ns), f.n_sites, out);
	fwrite(bytes, len, 1, out);
	free(bytes);
	return 0;
}

static int shares_inside(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	const struct planning_inside *inside = ctx;
	struct share_set set;
	double whole_ns;
	int err = planning_shares_here(inside, inside->ctx, &set, &whole_ns, diag);
	if (err)
		return err;
	err = hand_back(&set, whole_ns, out);
	share_set_deinit(&set);
	return err ? pugmark_diag_set(diag, err, inside->binary, PUGMARK_NO_OFFSET, "out of memory")
		   : 0;
}

/* ---- in the process that asked ---- */

static bool is_cost(double ns)
{
	return isfinite(ns) && ns >= 0;
}

/* Costs are numbers, and no more shares and sites are there than are said to be. */
static bool is_sound(const struct found *f, const struct share_set *set)
{
	bool sound = f->n && f->n <= SHARES_MAX && f->n_sites == set->plan->n_sites &&
		     is_cost(f->whole_ns) && is_cost(f->largest_job_ns) && is_cost(f->least_ns) &&
		     is_cost(f->two_jobs_ns);
	for (uint32_t k = 0; sound && k < f->n; k++)
		sound = f->machine[k] < SHARES_MAX && is_cost(f->load_ns[k]);
	for (uint32_t i = 0; sound && i < f->n_sites; i++)
		sound = is_cost(set->site_ns[i]) &&
			(f->n == SHARES_MAX || !(set->members[i] >> f->n));
	return sound;
}

/* Copies @n things of @size bytes from *@at; NULL: there are not so many, or no memory. */
static void *take_array(const char **at, const char *end, uint32_t n, size_t size)
{
	if (n > (size_t)(end - *at) / size)
		return NULL;
	void *array = malloc(n * size + 1);
	if (array)
		memcpy(array, *at, n * size);
	*at += n * size;
	return array;
}

static int take(const char *bytes, size_t len, const char *binary, struct share_set *out,
		double *whole_ns, struct pugmark_diag *diag)
{
	struct planning_result result = {0};
	struct found f;
	const char *at = bytes + sizeof(f), *end = bytes + len;
	int err = -EBADMSG;
	*out = (struct share_set){0};
	pugmark_diag_set(diag, err, binary, PUGMARK_NO_OFFSET,
			 "its analysis handed back what are no shares");
	if (len < sizeof(f))
		return err;
	memcpy(&f, bytes, sizeof(f));
	out->members = take_array(&at, end, f.n_sites, sizeof(*out->members));
	if (out->members)
		out->site_ns = take_array(&at, end, f.n_sites, sizeof(*out->site_ns));
	if (out->site_ns)
		err = planning_take_plan(at, (size_t)(end - at), binary, &result, diag);
	out->plan = result.plan;
	if (!err && !is_sound(&f, out))
		err = pugmark_diag_set(diag, -EBADMSG, binary, PUGMARK_NO_OFFSET,
				       "its analysis handed back what are no shares");
	if (err) {
		share_set_deinit(out);
		return err;
	}
	out->plan->share_set = f.number;
	out->plan->n_shares = f.n;
	out->n = f.n;
	out->untold = f.untold;
	out->largest_job_ns = f.largest_job_ns;
	out->least_ns = f.least_ns;
	out->two_jobs_ns = f.two_jobs_ns;
	memcpy(out->machine, f.machine, sizeof(f.machine));
	memcpy(out->load_ns, f.load_ns, sizeof(f.load_ns));
	*whole_ns = f.whole_ns;
	return 0;
}

int planning_shares(const char *binary, const struct planning_options *options,
		    const struct share_options *shares, struct share_set *out, double *whole_ns,
		    struct pugmark_diag *diag)
{
	struct planning_inside inside = {.ctx = (void *)shares};
	void *bytes = NULL;
	size_t len = 0;
	int err = planning_apart(binary, options, NULL, shares_inside, &inside, &bytes, &len, diag);
	if (!err)
		err = take(bytes, len, binary, out, whole_ns, diag);
	free(bytes);
	return err;
}

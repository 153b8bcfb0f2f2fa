// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_scope.c: see plan_scope.h. */
#include "user/plan/plan_scope.h"

#include "offline/share/share_functions.h"
#include "user/cli/patterns.h"

#include <errno.h>
#include <stdlib.h>

/* Marks in @hit the functions that one of @patterns names. */
static int apply_patterns(const struct pugmark_model *model, const char *const *texts, uint32_t n,
			  bool elsewhere, bool *hit, struct pugmark_diag *diag)
{
	struct patterns patterns = {0};
	bool *seen = calloc(n + 1, sizeof(bool));
	int err = seen ? 0
		       : pugmark_diag_set(diag, -ENOMEM, model->path, PUGMARK_NO_OFFSET,
					  "out of memory");
	for (uint32_t i = 0; i < n && !err; i++)
		err = patterns_add(&patterns, texts[i], diag);
	for (uint32_t f = 0; f < model->n_funcs && !err; f++)
		hit[f] = patterns_match(&patterns, model->funcs[f].name, seen) >= 0;
	for (uint32_t i = 0; i < n && !err && !elsewhere; i++)
		if (!seen[i])
			err = pugmark_diag_set(diag, -ENOENT, model->path, PUGMARK_NO_OFFSET,
					       "no function matches '%s' (see: pugmark cfg --list)",
					       texts[i]);
	patterns_deinit(&patterns);
	free(seen);
	return err;
}

/* Adds to @without what patterns leave out. */
static int apply_without(const struct pugmark_model *model, const struct planning_options *o,
			 bool *without, struct pugmark_diag *diag)
{
	bool *hit = calloc(model->n_funcs + 1, sizeof(bool));
	int err = hit ? apply_patterns(model, o->without, o->n_without, o->elsewhere, hit, diag)
		      : pugmark_diag_set(diag, -ENOMEM, model->path, PUGMARK_NO_OFFSET,
					 "out of memory");
	for (uint32_t f = 0; !err && f < model->n_funcs; f++)
		without[f] |= hit[f];
	free(hit);
	return err;
}

/* Leaves out what is not in the share that is asked for. Which share traces a function follows from
 * the binary, and the counts if there are some, alone: so all hosts that run it agree, whatever
 * else each was asked for, and whatever a probe costs there. */
static int leave_other_shares(const struct pugmark_model *model, const struct planning_options *o,
			      const struct profile *profile, bool *without)
{
	struct program_options options = {.costs = probe_costs_default, .counts = profile->counts};
	struct program *program = NULL;
	uint32_t *share = malloc((model->n_funcs + 1) * sizeof(*share));
	bool *in = calloc(model->n_funcs + 1, sizeof(*in));
	int err = share && in ? program_from_model(model, &options, &program) : -ENOMEM;
	if (!err)
		err = share_functions(program, profile->calls, profile->n_calls, o->n_shares, share,
				      NULL);
	if (!err)
		err = share_functions_along(program, share, o->share - 1, in);
	for (uint32_t f = 0; !err && f < program->n_funcs; f++)
		without[program->funcs[f].origin] |= !in[f];
	program_free(program);
	free(in);
	free(share);
	return err;
}

int plan_scope_find(const struct pugmark_model *model, const struct planning_options *o,
		    const struct profile *profile, const bool *foreign, bool **out,
		    struct pugmark_diag *diag)
{
	*out = NULL;
	bool *in = calloc(model->n_funcs + 1, sizeof(bool));
	bool *without = calloc(model->n_funcs + 1, sizeof(bool));
	if (without && !foreign && !o->n_only && !o->n_without && !o->n_out && !o->n_shares) {
		free(in);
		free(without);
		return 0;
	}
	int err = in && without ? 0
				: pugmark_diag_set(diag, -ENOMEM, model->path, PUGMARK_NO_OFFSET,
						   "out of memory");
	if (!err)
		err = apply_patterns(model, o->only, o->n_only, o->elsewhere, in, diag);
	if (!err)
		err = apply_without(model, o, without, diag);
	for (uint32_t f = 0; !err && foreign && f < model->n_funcs; f++)
		without[f] |= foreign[f];
	for (uint32_t i = 0; !err && i < o->n_out; i++) {
		uint32_t f = pugmark_model_func_at(model, o->out[i]);
		if (f != PUGMARK_NONE)
			without[f] = true;
	}
	if (!err && o->n_shares && leave_other_shares(model, o, profile, without))
		err = pugmark_diag_set(diag, -ENOMEM, model->path, PUGMARK_NO_OFFSET,
				       "out of memory");
	bool any = false;
	for (uint32_t f = 0; !err && f < model->n_funcs; f++) {
		in[f] = !((in[f] || !o->n_only) && !without[f]); /* from here on: opaque */
		any |= !in[f];
	}
	free(without);
	if (!err && !any)
		err = pugmark_diag_set(diag, -ENODATA, model->path, PUGMARK_NO_OFFSET,
				       "the scope leaves no function to trace");
	if (err)
		free(in);
	else
		*out = in;
	return err;
}

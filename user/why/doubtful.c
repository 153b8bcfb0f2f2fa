// SPDX-License-Identifier: LGPL-2.1-or-later
/* doubtful.c: see doubtful.h. */
#include "user/why/doubtful.h"

#include "offline/slice/doubt.h"
#include "user/why/prune.h"

#include <errno.h>
#include <stdlib.h>

struct doubtful {
	struct why_run *w;
	const struct why_options *o;
	struct fold all; /* the slice's instances, and those of the outputs that were right */
	struct slice_members right;
	uint32_t *groups; /* by 1 + the index of an entry of @all: 1 + the entry of the slice that
			     stands for its line; 0: none */
	struct slice_doubt *doubt;
	float *confidence;
};

static void visit_right(void *ctx, const struct slice_step *step)
{
	struct doubtful *d = ctx;
	slice_members_add(&d->right, d->all.trace, step);
	fold_visit(&d->all, step);
}

static int take_slices(struct doubtful *d, bool backward, bool forward)
{
	const struct dep_trace *t = d->all.trace;
	struct why_run *w = d->w;
	int err = fold_keep_members(&d->all);
	err = err ? err : slice_members_init(&d->right, t);
	if (!err && backward)
		err = slice_backward(t, &w->criterion, d->o->follow, w->control, fold_visit,
				     &d->all);
	if (!err && forward)
		err = slice_forward(t, &w->criterion, d->o->follow, w->control, fold_visit,
				    &d->all);
	err = err ? err : why_also(w, d->o, &d->all);
	for (unsigned i = 0; !err && i < w->n_extras; i++)
		if (w->extras[i].kind == WHY_OK)
			err = slice_backward(t, &w->extras[i].criterion, d->o->follow, w->control,
					     visit_right, d);
	fold_finish(&d->all);
	return err || !d->all.no_memory ? err : -ENOMEM;
}

static int find_lines(struct doubtful *d, const struct fold *fold)
{
	size_t n = d->all.n + 1;
	d->groups = calloc(n, sizeof(*d->groups));
	d->confidence = calloc(n, sizeof(*d->confidence));
	if (!d->groups || !d->confidence)
		return -ENOMEM;
	for (size_t i = 0; i < d->all.n; i++) {
		const struct fold_entry *e = fold_like(fold, &d->all.at[i]);
		d->groups[i + 1] = e ? e->group + 1 : 0;
	}
	return 0;
}

static uint32_t place_of(void *ctx, const struct slice_step *step)
{
	const struct doubtful *d = ctx;
	const struct fold_entry *e = fold_find(&d->all, step);
	return e ? (uint32_t)(e - d->all.at) + 1 : 0;
}

/* Follows the task once more, for the values. */
static int take_values(struct doubtful *d, struct pugmark_diag *diag)
{
	struct value_run *run;
	struct dep_build *build;
	enum value_replay_stop stop;
	int err = value_run_new(d->w->replay, d->w->task, &run, diag);
	if (err)
		return err;
	value_run_snapshot_every(run, UINT64_MAX / 2);
	err = dep_build_new(run, &build);
	if (!err) {
		slice_doubt_take(d->doubt, run, build);
		stop = dep_build_forward(build, d->all.trace->count);
		err = stop == VALUE_REPLAY_NO_MEMORY ? -ENOMEM : 0;
		dep_build_free(build);
	}
	value_run_free(run);
	return err;
}

/* A line is as doubtful as its most doubtful instruction. */
static int tell_lines(const struct doubtful *d, size_t n_entries, struct why_line *lines, size_t n)
{
	struct why_line **of = calloc(n_entries + 1, sizeof(*of)); /* by entry of the slice */
	if (!of)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		lines[i].confidence = 1;
		of[lines[i].group] = &lines[i];
	}
	for (size_t p = 1; p <= d->all.n; p++) {
		struct why_line *l = d->groups[p] ? of[d->groups[p] - 1] : NULL;
		if (l && d->confidence[p] < l->confidence)
			l->confidence = d->confidence[p];
	}
	free(of);
	return 0;
}

int why_doubt(struct why_run *w, const struct why_options *o, const uint64_t *pinned,
	      const struct fold *fold, struct why_line *lines, size_t n, struct pugmark_diag *diag)
{
	struct doubtful d = {.w = w, .o = o, .all.trace = dep_build_trace(w->build)};
	int err = take_slices(&d, !o->forward || o->both, o->forward || o->both);
	err = err ? err : find_lines(&d, fold);
	struct slice_places places = {place_of, &d, (uint32_t)d.all.n + 1};
	if (!err)
		err = slice_doubt_new(d.all.trace, &d.all.members, o->follow, w->control, &places,
				      &d.doubt);
	err = err ? err : take_values(&d, diag);
	err = err ? err : slice_doubt_confidence(d.doubt, &d.right, pinned, d.confidence);
	err = err ? err : tell_lines(&d, fold->n, lines, n);
	slice_doubt_free(d.doubt);
	slice_members_deinit(&d.right);
	fold_deinit(&d.all);
	free(d.groups);
	free(d.confidence);
	return err;
}

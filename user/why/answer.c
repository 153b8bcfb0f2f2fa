// SPDX-License-Identifier: LGPL-2.1-or-later
/* answer.c: see answer.h. */
#include "user/why/answer.h"

#include "user/why/doubtful.h"
#include "user/why/prune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

size_t why_shown(const struct why_slice *s, const struct why_options *o)
{
	size_t left = s->n - s->pruned;
	return left < o->limit ? left : o->limit;
}

const char *why_direction(const struct why_options *o)
{
	return o->both ? "bidirectional" : o->forward ? "forward" : "backward";
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int count_functions(struct why_slice *s)
{
	const char **names = calloc(s->n + 1, sizeof(*names));
	size_t n = 0;
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++) {
		s->ends |= s->lines[i].ends;
		if (s->lines[i].function)
			names[n++] = s->lines[i].function;
	}
	if (n)
		qsort(names, n, sizeof(*names), by_name);
	for (size_t i = 0; i < n; i++)
		s->functions += !i || strcmp(names[i], names[i - 1]);
	free(names);
	return 0;
}

/* Does not finish @fold. */
static int one_slice(struct why_run *w, const struct slice_criterion *c, unsigned follow,
		     const struct slice_control *control, bool backward, bool forward,
		     struct fold *fold)
{
	const struct dep_trace *t = dep_build_trace(w->build);
	int err = 0;
	fold->trace = t;
	if (backward)
		err = slice_backward(t, c, follow, control, fold_visit, fold);
	if (!err && forward)
		err = slice_forward(t, c, follow, control, fold_visit, fold);
	return err;
}

static int finish(struct fold *fold, int err)
{
	fold_finish(fold);
	return err || !fold->no_memory ? err : -ENOMEM;
}

/* The executions that lines are near to: of critical jumps, else what is asked about. */
static int find_centers(const struct why_run *w, struct why_slice *s, const struct why_options *o)
{
	size_t n = 0;
	s->centers = calloc(w->n_extras + 1, sizeof(*s->centers));
	if (!s->centers)
		return -ENOMEM;
	for (unsigned i = 0; i < w->n_extras; i++)
		if (w->extras[i].kind == WHY_THROUGH || w->extras[i].kind == WHY_ALSO)
			s->centers[n++] = w->extras[i].criterion.count;
	s->critical = n || o->critical;
	if (!n || o->critical)
		s->centers[n++] = w->criterion.count;
	s->fold.centers = s->centers;
	s->fold.n_centers = n;
	return 0;
}

/* All that was read of others is followed: the line does not end the slice. */
static void goes_on(struct why_line *l)
{
	if (l->event && l->kind == DEP_OTHERS)
		l->ends = false;
}

/* The slice that is asked for, as lines. */
static int main_slice(struct why_run *w, struct why_slice *s, const struct why_options *o)
{
	bool alone = o->forward || o->both;
	int err = alone ? 0 : why_threads_open(w, o, &s->threads);
	if (!err && !alone)
		err = fold_foreigns_init(&s->foreign, dep_build_trace(w->build));
	if (!err && !alone && dep_build_trace(w->build)->n_spans)
		err = fold_foreigns_ask(&s->foreign, w->criterion.defs, w->criterion.n_defs,
					w->criterion.count, w->addr);
	s->fold.foreign = alone ? NULL : &s->foreign;
	s->fold.pinned = s->pinned;
	if (!err && (o->format != WHY_TEXT || s->pinned)) {
		s->fold.trace = dep_build_trace(w->build);
		err = fold_keep_members(&s->fold);
	}
	uint64_t *tainted = NULL;
	struct dep_units left = {{0}};
	bool onward = o->forward && !o->both;
	w->criterion.left = &left;
	if (onward)
		w->criterion.tainted = &tainted;
	err = err ? err
		  : one_slice(w, &w->criterion, o->follow, w->control, !o->forward || o->both,
			      o->forward || o->both, &s->fold);
	w->criterion.tainted = NULL;
	if (!err && onward)
		err = why_threads_onward(w, o, tainted, &s->threads);
	free(tainted);
	s->fold.foreign = NULL;
	w->criterion.left = NULL;
	if (!err && !alone)
		err = why_threads_take(w, &s->foreign, &left, &s->fold, &s->threads);
	err = err ? err : why_also(w, o, &s->fold);
	if (!err && s->passing)
		err = why_passing_add(s->passing, &s->fold);
	err = finish(&s->fold, err);
	err = err ? err : why_lines(w, &s->fold, o->instructions, o->forward, &s->lines, &s->n);
	for (size_t i = 0; !err && i < s->n; i++)
		s->beside += s->lines[i].beside;
	s->whole = s->n - s->beside;
	if (!err && !alone &&
	    (s->foreign.n || s->foreign.calls || s->threads.brought.n || s->threads.forked.n))
		err = why_threads_follow(w, o, &s->foreign, &s->threads);
	bool whole = !err && !alone && why_threads_whole(&s->threads);
	for (size_t i = 0; i < s->n && whole; i++)
		goes_on(&s->lines[i]);
	for (size_t i = 0; i < s->threads.n && !err; i++)
		for (size_t k = 0; k < s->threads.at[i].n; k++) {
			if (whole)
				goes_on(&s->threads.at[i].lines[k]);
			s->ends |= s->threads.at[i].lines[k].ends;
		}
	return err;
}

/* Leaves the lines that all the other slices have as well. */
static int keep_common(struct why_run *w, struct why_slice *s, const struct why_options *o)
{
	int err = 0;
	for (unsigned i = 0; !err && i < w->n_extras; i++) {
		const struct why_extra *e = &w->extras[i];
		struct fold other = {0};
		if (e->kind != WHY_FROM && e->kind != WHY_THROUGH)
			continue;
		err = one_slice(w, &e->criterion, o->follow, w->control, e->kind == WHY_THROUGH,
				true, &other);
		err = finish(&other, err);
		err = err ? err : why_keep_common(w, &other, o, s->lines, &s->n);
		fold_deinit(&other);
	}
	return err;
}

/* Which lines are in the slices by data alone of what lines are near to. */
static int mark_by_data(struct why_run *w, struct why_slice *s, const struct why_options *o)
{
	struct fold by_data = {0};
	int err = 0;
	bool any = false;
	for (unsigned i = 0; !err && i < w->n_extras; i++)
		if (w->extras[i].kind == WHY_THROUGH || w->extras[i].kind == WHY_ALSO) {
			err = one_slice(w, &w->extras[i].criterion, SLICE_DATA, NULL, true, true,
					&by_data);
			any = true;
		}
	if (!err && (!any || o->critical))
		err = one_slice(w, &w->criterion, SLICE_DATA, NULL, true, s->critical, &by_data);
	err = finish(&by_data, err);
	err = err ? err : why_mark_data(w, &by_data, o, s->lines, s->n);
	fold_deinit(&by_data);
	return err;
}

int why_slice_compute(struct why_run *w, struct why_slice *s, const struct why_options *o,
		      struct pugmark_diag *diag)
{
	s->ranked = o->n_sets || o->n_passing || o->ranked || o->critical;
	int err = o->n_passing ? why_passing_new(w, o, &s->passing, diag) : 0;
	err = err ? err : why_pinned(w, &s->pinned);
	err = err ? err : find_centers(w, s, o);
	err = err ? err : main_slice(w, s, o);
	err = err ? err : keep_common(w, s, o);
	if (!err && s->passing)
		why_passing_lines(s->passing, &s->fold, s->lines, s->n);
	if (!err && s->ranked) {
		err = mark_by_data(w, s, o);
		if (!err && s->pinned)
			err = why_doubt(w, o, s->pinned, &s->fold, s->lines, s->n, diag);
		s->pruned = err ? 0 : why_put_by_doubt(s->lines, s->n);
	}
	if (!err && o->format != WHY_TEXT)
		err = why_graph_init(&s->graph, dep_build_trace(w->build), &s->fold, s->lines,
				     why_shown(s, o), o->follow, w->control);
	return err ? err : count_functions(s);
}

void why_slice_deinit(struct why_slice *s)
{
	why_threads_deinit(&s->threads);
	fold_foreigns_deinit(&s->foreign);
	why_lines_free(s->lines, s->n);
	why_graph_deinit(&s->graph);
	fold_deinit(&s->fold);
	free(s->pinned);
	why_passing_free(s->passing);
	free(s->centers);
}

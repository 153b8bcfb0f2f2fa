// SPDX-License-Identifier: LGPL-2.1-or-later
/* prune.c: see prune.h. */
#include "user/why/prune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void pin(void *ctx, const struct slice_step *step)
{
	uint64_t *bits = ctx;
	if (step->insn)
		bits[step->count / 64] |= (uint64_t)1 << step->count % 64;
}

int why_pinned(struct why_run *w, uint64_t **out)
{
	const struct dep_trace *t = dep_build_trace(w->build);
	int err = 0;
	*out = NULL;
	for (unsigned i = 0; !err && i < w->n_extras; i++) {
		if (w->extras[i].kind != WHY_OK)
			continue;
		*out = *out ? *out : calloc(t->count / 64 + 1, sizeof(**out));
		err = *out ? slice_backward(t, &w->extras[i].criterion, SLICE_PINNED, NULL, pin,
					    *out)
			   : -ENOMEM;
	}
	return err;
}

int why_also(struct why_run *w, const struct why_options *o, struct fold *fold)
{
	const struct dep_trace *t = dep_build_trace(w->build);
	int err = 0;
	for (unsigned i = 0; !err && i < w->n_extras; i++) {
		const struct slice_criterion *c = &w->extras[i].criterion;
		if (w->extras[i].kind != WHY_ALSO)
			continue;
		err = slice_backward(t, c, o->follow, w->control, fold_visit, fold);
		err = err ? err : slice_forward(t, c, o->follow, w->control, fold_visit, fold);
	}
	return err;
}

static bool is_place(const struct why_line *a, const struct why_line *b)
{
	if (!a->file || !b->file)
		return !a->file && !b->file && a->ip == b->ip;
	return a->line == b->line && !strcmp(a->file, b->file);
}

int why_keep_common(struct why_run *w, struct fold *other, const struct why_options *o,
		    struct why_line *lines, size_t *n)
{
	struct why_line *others = NULL;
	size_t n_others = 0, k = 0;
	int err = why_lines(w, other, o->instructions, false, &others, &n_others);
	if (err)
		return err;
	for (size_t i = 0; i < *n; i++) {
		bool common = false;
		for (size_t j = 0; j < n_others && !common; j++)
			common = is_place(&lines[i], &others[j]);
		if (common) {
			lines[k++] = lines[i];
			continue;
		}
		free(lines[i].text);
		free(lines[i].value);
	}
	*n = k;
	why_lines_free(others, n_others);
	return 0;
}

int why_mark_data(struct why_run *w, struct fold *data, const struct why_options *o,
		  struct why_line *lines, size_t n)
{
	struct why_line *others = NULL;
	size_t n_others = 0;
	int err = why_lines(w, data, o->instructions, false, &others, &n_others);
	for (size_t i = 0; !err && i < n; i++)
		for (size_t j = 0; j < n_others && !lines[i].by_data; j++)
			lines[i].by_data = is_place(&lines[i], &others[j]);
	if (!err)
		why_lines_free(others, n_others);
	return err;
}

static int by_doubt(const void *a, const void *b)
{
	const struct why_line *x = a, *y = b;
	bool x_sure = x->pinned == x->instances, y_sure = y->pinned == y->instances;
	if (x_sure != y_sure)
		return x_sure - y_sure;
	if (x->by_data != y->by_data)
		return y->by_data - x->by_data;
	return x->near < y->near ? -1 : x->near > y->near;
}

size_t why_put_by_doubt(struct why_line *lines, size_t n)
{
	size_t sure = 0;
	if (n)
		qsort(lines, n, sizeof(*lines), by_doubt);
	while (sure < n && lines[n - 1 - sure].pinned == lines[n - 1 - sure].instances)
		sure++;
	return sure;
}

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
			common = why_line_is(&lines[i], &others[j]);
		if (common) {
			lines[k++] = lines[i];
			continue;
		}
		why_line_deinit(&lines[i]);
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
			lines[i].by_data = why_line_is(&lines[i], &others[j]);
	if (!err)
		why_lines_free(others, n_others);
	return err;
}

static bool is_sure(const struct why_line *l)
{
	return l->pinned == l->instances && !l->beside;
}

static int compare(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

/* So that an order is always the same. */
static int by_time(const struct why_line *x, const struct why_line *y)
{
	int order = compare(y->last, x->last);
	return order ? order : compare(x->ip, y->ip);
}

static int by_doubt(const void *a, const void *b)
{
	const struct why_line *x = a, *y = b;
	if (is_sure(x) != is_sure(y))
		return is_sure(x) - is_sure(y);
	if (x->by_data != y->by_data)
		return y->by_data - x->by_data;
	return x->near != y->near ? compare(x->near, y->near) : by_time(x, y);
}

static int by_evidence(const void *a, const void *b)
{
	const struct why_line *x = a, *y = b;
	if (is_sure(x) != is_sure(y))
		return is_sure(x) - is_sure(y);
	if (x->evidence.same_ways != y->evidence.same_ways)
		return compare(x->evidence.same_ways, y->evidence.same_ways);
	return by_doubt(a, b);
}

static int by_both(const void *a, const void *b)
{
	const struct why_line *x = a, *y = b;
	if (is_sure(x) != is_sure(y))
		return is_sure(x) - is_sure(y);
	return x->score != y->score ? (x->score < y->score) - (x->score > y->score) : by_time(x, y);
}

static void put(struct why_line *lines, size_t n, int (*order)(const void *, const void *))
{
	qsort(lines, n, sizeof(*lines), order);
	for (size_t i = 0; i < n; i++)
		lines[i].score += 1 / (1 + (float)i);
}

size_t why_put_by_doubt(struct why_line *lines, size_t n)
{
	size_t sure = 0;
	bool evidence = n && lines[0].evidence.runs;
	if (n)
		put(lines, n, by_doubt);
	if (evidence) {
		put(lines, n, by_evidence);
		qsort(lines, n, sizeof(*lines), by_both);
	}
	while (sure < n && is_sure(&lines[n - 1 - sure]))
		sure++;
	return sure;
}

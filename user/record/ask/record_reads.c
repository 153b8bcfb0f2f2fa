// SPDX-License-Identifier: LGPL-2.1-or-later
/* record_reads.c: see record_reads.h. */
#include "user/record/ask/record_reads.h"

#include "user/plan/handles.h"

#include <errno.h>
#include <stdlib.h>

struct record_reads {
	struct handle handles[OPTION_LIST_MAX];
	uint32_t n_handles;
	struct planning_reads *rows;
	uint32_t n;
};

static void add_handle(struct record_reads *r, const struct handle *h)
{
	for (uint32_t i = 0; i < h->n_rows; i++)
		r->rows[r->n++] = (struct planning_reads){
			.pattern = h->rows[i].pattern,
			.what = h->rows[i].arg | (h->rows[i].returns ? PUGMARK_READS_RESULT : 0),
			.optional = true,
		};
}

static int add_args(struct record_args *a, struct record_reads *r)
{
	uint32_t n_rows = a->args_of.n + a->time_of.n + 1;
	for (uint32_t i = 0; i < r->n_handles; i++)
		n_rows += r->handles[i].n_rows;
	r->rows = calloc(n_rows, sizeof(*r->rows));
	if (!r->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->args_of.n; i++)
		r->rows[r->n++] = (struct planning_reads){a->args_of.at[i], a->n_args, false};
	if (a->n_args && !a->args_of.n)
		r->rows[r->n++] = (struct planning_reads){"*", a->n_args, true};
	for (uint32_t i = 0; i < a->time_of.n; i++)
		r->rows[r->n++] =
			(struct planning_reads){a->time_of.at[i], PUGMARK_READS_TIME, false};
	for (uint32_t i = 0; i < r->n_handles; i++)
		add_handle(r, &r->handles[i]);
	a->planning.reads = r->rows;
	a->planning.n_reads = r->n;
	return 0;
}

int record_reads_make(struct record_args *a, struct record_reads **out, struct pugmark_diag *diag)
{
	*out = NULL;
	if (!a->n_args && !a->handles.n && !a->time_of.n)
		return 0;
	struct record_reads *r = calloc(1, sizeof(*r));
	int err = r ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < a->handles.n && !err; i++) {
		err = handle_read(a->handles.at[i], &r->handles[i], diag);
		r->n_handles += !err;
	}
	if (!err && add_args(a, r))
		err = pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
	if (err)
		record_reads_free(r);
	else
		*out = r;
	return err;
}

void record_reads_free(struct record_reads *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->n_handles; i++)
		handle_deinit(&r->handles[i]);
	free(r->rows);
	free(r);
}

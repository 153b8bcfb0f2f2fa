// SPDX-License-Identifier: LGPL-2.1-or-later
/* against.c: see against.h. */
#include "user/view/compare/against.h"

int against_collect(struct trace_view *const views[2], bool match, struct match_known *known,
		    size_t n_known, struct against *out, struct pugmark_diag *diag)
{
	static const struct report_wish none = {0};
	const struct report *const reports[2] = {&out->reports[0], &out->reports[1]};
	int err = 0;
	*out = (struct against){0};
	for (int side = 0; side < 2 && !err; side++)
		err = report_collect(views[side], &none, &out->reports[side], diag);
	if (!err && match)
		out->matched = match_functions(views, reports, known, n_known);
	if (!err && (out->matched < 0 || compare_reports(views, reports, &out->compare)))
		err = trace_view_no_memory(views[0], diag);
	return err;
}

void against_deinit(struct against *a)
{
	compare_deinit(&a->compare);
	for (int side = 0; side < 2; side++)
		report_deinit(&a->reports[side]);
}

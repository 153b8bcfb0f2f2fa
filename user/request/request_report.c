// SPDX-License-Identifier: LGPL-2.1-or-later
/* request_report.c: the way from a pattern to what is shown. */
#include "user/request/differences.h"
#include "user/request/show.h"

#include <errno.h>

int request_report(struct trace_view *view, const char *text, uint64_t limit_ns,
		   struct request_show *show, struct pugmark_diag *diag)
{
	struct requests requests = {0};
	struct request_tree tree = {0};
	struct request_blame blame = {0};
	if (!view->info->times)
		return pugmark_diag_set(diag, -ENODATA, view->dir, PUGMARK_NO_OFFSET,
					"it was recorded without times: requests are told apart by "
					"how long they took");
	int err = requests_find(view, text, limit_ns, &requests, diag);
	if (!err)
		err = request_differences(view, &requests, &tree, diag);
	if (!err && request_blame(&requests, &tree, &blame))
		err = trace_view_no_memory(view, diag);
	if (!err) {
		show->view = view;
		show->requests = &requests;
		show->tree = &tree;
		show->blame = &blame;
		bool json = !strcmp(view->format, "json");
		err = show->within ? request_show_within(show, json)
		      : json	   ? request_show_json(show)
				   : request_show_text(show);
		if (err)
			trace_view_no_memory(view, diag);
	}
	request_blame_deinit(&blame);
	request_tree_deinit(&tree);
	requests_deinit(&requests);
	return err;
}

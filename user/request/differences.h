/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* differences.h: what the fast and the slow requests did, counted in one more walk of the trace. */
#ifndef USER_REQUEST_DIFFERENCES_H
#define USER_REQUEST_DIFFERENCES_H

#include "user/request/tree.h"

/* Fills @out with what the fast and slow ones of @requests did. Returns 0, or -errno with @diag
 * filled; request_tree_deinit() either way. */
int request_differences(struct trace_view *view, const struct requests *requests,
			struct request_tree *out, struct pugmark_diag *diag);

#endif

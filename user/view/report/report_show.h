/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* report_show.h: what report.h counts, shown: which functions, in which order, as text or JSON. */
#ifndef USER_REPORT_SHOW_H
#define USER_REPORT_SHOW_H

#include "user/cli/outbuf.h"
#include "user/cli/tty.h"
#include "user/view/report/report.h"

enum report_order { ORDER_TOTAL, ORDER_SELF, ORDER_CALLS, ORDER_NAME, N_REPORT_ORDERS };
extern const char *const report_order_names[N_REPORT_ORDERS];

struct report_show {
	struct trace_view view;
	struct report report;
	struct outbuf *out;
	struct tty term;
	struct report_wish wish;
	const char *callers, *callees; /* text: the pattern, or NULL */
	bool distribution;	       /* text: instead of sums */
	bool outliers;		       /* only functions that have some, the most time first */
	uint32_t top;		       /* at most so many functions; 0: all */
	enum report_order order;
	bool sorted;		/* the order was asked for */
	uint32_t *rows, n_rows; /* heap: the functions that are shown, in order */
};

/* Fills ->rows, and sorts ->report.edges by calls. 0, or -errno with @diag filled. */
int report_show_rows(struct report_show *s, struct pugmark_diag *diag);
const char *report_show_name(struct report_show *s, uint32_t id);
/* Whether anything was counted of the function. */
bool report_show_ran(const struct report_func *f);

/* Each 0, or -errno with @diag filled. */
int report_show_text(struct report_show *s, struct pugmark_diag *diag);
int report_show_json(struct report_show *s, struct pugmark_diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* compare.h: two reports side by side, function by function: how often each was called, and what a
 * call took. Where the bounds of that do not overlap, one of the two was certainly slower. */
#ifndef USER_VIEW_COMPARE_H
#define USER_VIEW_COMPARE_H

#include "user/view/report/report.h"

struct compare_mean {
	double min_ns, max_ns;
};

struct compare_row {
	const char *name, *module; /* borrowed from the views */
	bool import, main;	   /* main: of the program itself */
	uint64_t calls[2];
	struct compare_mean total[2], self[2]; /* of a call */
	/* 1: in the second a call certainly took longer, by the sum; -1: less; 0: not known. */
	int slower;
	double apart_ns; /* at least, of one call, in the part that is apart the most */
};

struct compare {
	struct compare_row *rows; /* heap: that ran in either, by what they differ, most first */
	uint32_t n;
};

/* Compares what was collected. Returns 0 or -ENOMEM; compare_deinit() either way. */
int compare_reports(struct trace_view *const views[2], const struct report *const reports[2],
		    struct compare *out);
void compare_deinit(struct compare *compare);

#endif

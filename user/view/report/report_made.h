/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* report_made.h: callers that are code which the program has made at run time. It carries no probe:
 * how often it ran and for how long is not known, only what it called. While threads are counted
 * such a caller is a number that no function has; in the report it is one behind all of these.
 * Private to report*.c. */
#ifndef USER_REPORT_MADE_H
#define USER_REPORT_MADE_H

#include "user/view/report/report_count.h"

/* What the entry @call came from: the number of a caller, or PUGMARK_NONE: no such code that has a
 * name. */
uint32_t report_made_caller(const struct report_worker *worker, const struct call *call);
/* Adds what edges come from to the functions of @report. 0 or -ENOMEM. */
int report_made_add(const struct trace_view *view, struct report *report);

#endif

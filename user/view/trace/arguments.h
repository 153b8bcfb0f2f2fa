/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* arguments.h: what calls were made with, as far as the recording has it (record --args): values
 * are collected from the trace's events, and printed as the types say that were recorded with them.
 */
#ifndef USER_VIEW_ARGUMENTS_H
#define USER_VIEW_ARGUMENTS_H

#include "user/file/arg_types.h"
#include "user/view/trace/calls.h"
#include "user/view/trace/trace_view.h"

/* Zeroed where no recording has been asked. */
struct arguments {
	struct trace_view *view;
	struct arg_types **types; /* heap, of n_modules; NULL: nothing is known of the module */
	uint32_t n_modules;
	bool any;
	/* Of the call that the next event tells, and where that is made. */
	struct arg_values passed;
	uint64_t passed_at;
	/* Whether the innermost call was told by the last event, and so takes what follows. */
	bool fresh;
	struct arg_values *last; /* what PUGMARK_VALUE_READ goes on with; or NULL */
};

/* Reads what is known of types in the open @view. Types that cannot be read are not known. */
void arguments_open(struct trace_view *view, struct arguments *out);
void arguments_close(struct arguments *arguments);
/* What follows is of another task. */
void arguments_begin(struct arguments *arguments);
/* The next event, when calls_feed() has taken it. *@own: the values of the innermost open call, on
 * the heap, whose owner frees them (NULL so far: they are made); or NULL: no call is open. Returns
 * 0 or -ENOMEM. */
int arguments_feed(struct arguments *arguments, const struct pugmark_trace_event *event,
		   struct arg_values **own);
/* Prints them (arg_types.h): by their types, or numbers where these are not known. */
void arguments_print(const struct arguments *arguments, const struct call *call,
		     const struct arg_values *values, bool json, struct outbuf *out);

#endif

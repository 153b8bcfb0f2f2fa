// SPDX-License-Identifier: LGPL-2.1-or-later
/* report_made.c: see report_made.h. */
#include "user/view/report/report_made.h"

#include "offline/base/search.h"
#include "offline/base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A caller: this bit, the name's number, and whether it is not certain. */
#define MADE (1u << 31)

uint32_t report_made_caller(const struct report_worker *w, const struct call *call)
{
	const struct trace_view *view = w->job->view;
	struct pugmark_recording_code code;
	/* The call instruction lies before where it returns to. */
	if (!call->entered_from ||
	    !pugmark_recording_code_at(view->rec, view->tasks[w->task].pid, call->entered_from - 1,
				       call->to_ns, &code))
		return PUGMARK_NONE;
	return MADE | code.number << 1 | !code.certain;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* The name of @caller, as it is shown; the caller frees it. NULL: no memory. */
static char *name_of(const struct trace_view *view, uint32_t caller)
{
	const char *name = pugmark_recording_code_name(view->rec, (caller & ~MADE) >> 1);
	char *text;
	return asprintf(&text, "[jit] %s%s", name, caller & 1 ? "?" : "") < 0 ? NULL : text;
}

int report_made_add(const struct trace_view *view, struct report *r)
{
	VEC(uint32_t) made = {0};
	bool failed = false;
	for (uint32_t i = 0; i < r->n_edges && !failed; i++)
		if (r->edges[i].caller & MADE)
			failed = !VEC_PUSH(&made, r->edges[i].caller);
	if (made.n)
		qsort(made.at, made.n, sizeof(*made.at), by_number);
	uint32_t n = 0;
	for (uint32_t i = 0; i < made.n; i++)
		if (!n || made.at[n - 1] != made.at[i])
			made.at[n++] = made.at[i];
	uint32_t first = r->n_funcs;
	struct report_func *funcs =
		failed ? NULL : realloc(r->funcs, (first + n + 1ul) * sizeof(*funcs));
	if (funcs)
		r->funcs = funcs;
	for (uint32_t i = 0; funcs && i < n; i++) {
		char *name = name_of(view, made.at[i]);
		failed |= !name;
		funcs[r->n_funcs++] = (struct report_func){
			.id = {.kind = FUNC_MADE, .func = PUGMARK_NONE, .import = name}};
	}
	for (uint32_t i = 0; i < r->n_edges; i++)
		if (r->edges[i].caller & MADE)
			r->edges[i].caller =
				first + SEARCH_FIRST_NOT(0, n, k, made.at[k] < r->edges[i].caller);
	VEC_FREE(&made);
	return funcs && !failed ? 0 : -ENOMEM;
}

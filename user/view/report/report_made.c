// SPDX-License-Identifier: LGPL-2.1-or-later
/* report_made.c: see report_made.h. */
#include "user/view/report/report_made.h"

#include "offline/base/search.h"
#include "offline/base/vec.h"
#include "user/view/trace/made_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A caller: this bit, and what made_code_number() says. */
#define MADE (1u << 31)

uint32_t report_made_caller(const struct report_worker *w, const struct call *call)
{
	uint32_t number = made_code_number(w->job->view, w->task, call->entered_from, call->to_ns);
	return number ? MADE | number : PUGMARK_NONE;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
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
		char *name = made_code_shown(view, made.at[i] & ~MADE);
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

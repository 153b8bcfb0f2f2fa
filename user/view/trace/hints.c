// SPDX-License-Identifier: LGPL-2.1-or-later
/* hints.c: what the plan says of a function's neighbours and of what it calls, and the file of what
 * it loads. */
#include "user/view/trace/hints.h"

#include "user/file/loaded_strings.h"

#include <pugmark/plan.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	HINT_FUNCS = 16,  /* a name that is further away, in functions, says nothing */
	HINT_IMPORTS = 3, /* so many are named */
	HINT_STRINGS = 2,
	HINT_LETTERS = 40, /* of a string */
};

static bool is_nameless(const struct trace_view *view, uint32_t module, uint32_t func)
{
	const struct pugmark_plan *plan = pugmark_trace_plan(view->trace, module);
	char none[32];
	snprintf(none, sizeof(none), "sub_%llx", (unsigned long long)plan->funcs[func].addr);
	return !strcmp(pugmark_trace_func_name(view->trace, module, func), none);
}

/* NULL: none is close. */
static const char *neighbour(const struct trace_view *view, uint32_t module, uint32_t func)
{
	const struct pugmark_plan *plan = pugmark_trace_plan(view->trace, module);
	for (uint32_t away = 1; away <= HINT_FUNCS; away++) {
		if (away <= func && !is_nameless(view, module, func - away))
			return pugmark_trace_func_name(view->trace, module, func - away);
		if (away < plan->n_funcs - func && !is_nameless(view, module, func + away))
			return pugmark_trace_func_name(view->trace, module, func + away);
	}
	return NULL;
}

static uint32_t imports_of(const struct pugmark_plan *plan, uint32_t func,
			   uint32_t out[HINT_IMPORTS])
{
	const struct pugmark_plan_func *f = &plan->funcs[func];
	uint32_t n = 0;
	for (uint32_t i = f->node; i < f->node + f->n_nodes && n < HINT_IMPORTS; i++) {
		bool again = !plan->nodes[i].import;
		for (uint32_t j = 0; j < n; j++)
			again = again || !strcmp(plan->strings + out[j],
						 plan->strings + plan->nodes[i].import);
		if (!again)
			out[n++] = plan->nodes[i].import;
	}
	return n;
}

/* The file of @module, read when it is first asked for; NULL: it is not there any more, or is
 * another. */
static const struct loaded_strings *strings_of(struct trace_view *view, uint32_t module)
{
	uint32_t n;
	const struct pugmark_recording_module *modules = pugmark_recording_modules(view->rec, &n);
	if (!view->strings) {
		view->strings = calloc(n + 1, sizeof(*view->strings));
		view->n_strings = view->strings ? n : 0;
	}
	if (module >= n || module >= view->n_strings || !modules[module].path)
		return NULL;
	struct view_strings *of = &view->strings[module];
	if (!of->asked)
		of->in = loaded_strings_open(modules[module].path, modules[module].build_id,
					     modules[module].build_id_len);
	of->asked = true;
	return of->in;
}

void hints_deinit(struct trace_view *view)
{
	for (uint32_t m = 0; m < view->n_strings; m++)
		loaded_strings_free(view->strings[m].in);
	free(view->strings);
	view->strings = NULL;
	view->n_strings = 0;
}

static void add_strings(struct trace_view *view, uint32_t module, uint32_t func, char *out,
			size_t len)
{
	const struct pugmark_plan *plan = pugmark_trace_plan(view->trace, module);
	const struct loaded_strings *strings = strings_of(view, module);
	const char *found[HINT_STRINGS];
	if (!strings)
		return;
	uint64_t addr = plan->funcs[func].addr;
	uint64_t end = func + 1 < plan->n_funcs ? plan->funcs[func + 1].addr : addr + 4096;
	uint32_t n = loaded_strings_of(strings, addr, end, found, HINT_STRINGS);
	for (uint32_t i = 0; i < n && len < HINT_BYTES; i++)
		len += (size_t)snprintf(out + len, HINT_BYTES - len, "%s\"%.*s%s\"",
					i     ? ", "
					: len ? "; strings "
					      : "strings ",
					HINT_LETTERS, found[i],
					strlen(found[i]) > HINT_LETTERS ? "..." : "");
}

void func_hint(struct trace_view *view, uint32_t module, uint32_t func, char out[HINT_BYTES])
{
	const struct pugmark_plan *plan =
		func == PUGMARK_NONE ? NULL : pugmark_trace_plan(view->trace, module);
	uint32_t imports[HINT_IMPORTS], n;
	*out = 0;
	if (!plan || func >= plan->n_funcs || !is_nameless(view, module, func))
		return;
	const char *near = neighbour(view, module, func);
	size_t len = 0;
	if (near)
		len = (size_t)snprintf(out, HINT_BYTES, "near %s", near);
	n = imports_of(plan, func, imports);
	for (uint32_t i = 0; i < n && len < HINT_BYTES; i++)
		len += (size_t)snprintf(out + len, HINT_BYTES - len, "%s%s",
					i     ? ", "
					: len ? "; calls "
					      : "calls ",
					plan->strings + imports[i]);
	if (len < HINT_BYTES)
		add_strings(view, module, func, out, len);
}

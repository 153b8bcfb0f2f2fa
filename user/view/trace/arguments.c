// SPDX-License-Identifier: LGPL-2.1-or-later
/* arguments.c: see arguments.h. */
#include "user/view/trace/arguments.h"

#include "offline/base/private_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { FILE_BYTES_MAX = 256 << 20 };

static void read_types(struct arguments *a, uint32_t module)
{
	char *path = NULL;
	struct private_file file;
	if (asprintf(&path, "%s/arguments-%u.json", a->view->dir, module) < 0)
		return;
	if (!private_file_open(path, FILE_BYTES_MAX, &file)) {
		if (!arg_types_parse((const char *)file.bytes, file.len_bytes, &a->types[module]))
			a->any = true;
		private_file_free(&file);
	}
	free(path);
}

void arguments_open(struct trace_view *view, struct arguments *out)
{
	*out = (struct arguments){.view = view};
	out->types = calloc(view->n_modules + 1, sizeof(*out->types));
	out->n_modules = out->types ? view->n_modules : 0;
	for (uint32_t m = 0; m < out->n_modules; m++)
		read_types(out, m);
}

void arguments_close(struct arguments *a)
{
	for (uint32_t m = 0; m < a->n_modules; m++)
		arg_types_free(a->types[m]);
	free(a->types);
	*a = (struct arguments){0};
}

/* Takes register @i, in their order: a function that begins with a loop reads its arguments again
 * in each round, and only the first ones are its own. */
static struct arg_values *take(struct arg_values *v, uint32_t i, uint64_t value)
{
	if (i >= ARG_REGISTERS || i != v->n_registers || v->n_words)
		return NULL;
	v->registers[v->n_registers++] = value;
	return v;
}

static int take_value(struct arguments *a, const struct pugmark_trace_event *e,
		      struct arg_values **own)
{
	switch (e->cause) {
	case PUGMARK_VALUE_PASSED:
		if (!e->func)
			a->passed = (struct arg_values){0};
		a->passed_at = e->addr;
		a->last = take(&a->passed, e->func, e->target);
		return 0;
	case PUGMARK_VALUE_TAKEN:
		a->last = NULL;
		if (!a->fresh || !own)
			return 0;
		if (!*own && !(*own = calloc(1, sizeof(**own))))
			return -ENOMEM;
		a->last = take(*own, e->func, e->target);
		return 0;
	case PUGMARK_VALUE_READ:
		if (a->last && e->func == a->last->n_words && e->func < ARG_WORDS_MAX)
			a->last->words[a->last->n_words++] = e->target;
		return 0;
	default: /* what has returned is gone */
		a->last = NULL;
		a->fresh = false;
	}
	return 0;
}

void arguments_begin(struct arguments *a)
{
	a->last = NULL;
	a->fresh = false;
	a->passed.n_registers = 0;
}

int arguments_feed(struct arguments *a, const struct pugmark_trace_event *e,
		   struct arg_values **own)
{
	if (e->kind == PUGMARK_TRACE_VALUE)
		return take_value(a, e, own);
	bool called = e->kind == PUGMARK_TRACE_CALL || e->kind == PUGMARK_TRACE_TAIL;
	bool passed = called && a->passed.n_registers && e->addr == a->passed_at;
	/* What another module calls takes nothing here. */
	a->fresh = (called && e->func != PUGMARK_NONE) || e->kind == PUGMARK_TRACE_ENTER;
	a->last = NULL;
	if (passed && own) {
		if (!*own && !(*own = malloc(sizeof(**own))))
			return -ENOMEM;
		**own = a->passed;
		a->fresh = false;
	}
	a->passed.n_registers = 0;
	return 0;
}

void arguments_print(const struct arguments *a, const struct call *call,
		     const struct arg_values *values, bool json, struct outbuf *out)
{
	const struct pugmark_plan *plan = call->module < a->n_modules
						  ? pugmark_trace_plan(a->view->trace, call->module)
						  : NULL;
	const struct arg_types *types = plan ? a->types[call->module] : NULL;
	const struct arg_function *f =
		!types		? NULL
		: call->outside ? arg_types_import(types, call->import)
		: call->func < plan->n_funcs
			? arg_types_function(types, plan->funcs[call->func].addr)
			: NULL;
	if (f) {
		arg_function_print(f, values, json, out);
		return;
	}
	if (json)
		outbuf_char(out, '[');
	for (uint32_t i = 0; i < values->n_registers; i++)
		outbuf_format(out, json ? "%s\"0x%llx\"" : "%s0x%llx", i ? json ? "," : ", " : "",
			      (unsigned long long)values->registers[i]);
	if (json)
		outbuf_char(out, ']');
}

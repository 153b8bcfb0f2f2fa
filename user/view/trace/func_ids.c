// SPDX-License-Identifier: LGPL-2.1-or-later
/* func_ids.c: see func_ids.h. */
#include "user/view/trace/func_ids.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t add(struct func_ids *ids, struct func_id id)
{
	ids->at[ids->n] = id;
	return ids->n++;
}

static int number_module(struct func_ids *ids, uint32_t m)
{
	const struct pugmark_plan *plan = pugmark_trace_plan(ids->view->trace, m);
	ids->first_func[m] = ids->n;
	for (uint32_t f = 0; f < plan->n_funcs; f++)
		add(ids, (struct func_id){.func = f, .module = (uint16_t)m});
	uint32_t *numbers = calloc(plan->strings_bytes + 1, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	ids->import_id[m] = numbers;
	for (uint32_t i = 0; i < plan->n_nodes; i++) {
		uint32_t import = plan->nodes[i].import;
		if (import && !numbers[import])
			numbers[import] = add(ids, (struct func_id){
							   .kind = FUNC_IMPORT,
							   .module = (uint16_t)m,
							   .func = PUGMARK_NONE,
							   .import = plan->strings + import,
						   });
	}
	return 0;
}

int func_ids_grow(struct func_ids *ids)
{
	uint32_t n = ids->view->n_modules;
	uint64_t most = ids->n + 3ul;
	for (uint32_t m = ids->n_modules; m < n; m++) {
		const struct pugmark_plan *plan = pugmark_trace_plan(ids->view->trace, m);
		most += plan->n_funcs + plan->n_nodes;
	}
	struct func_id *at = realloc(ids->at, most * sizeof(*at));
	if (at)
		ids->at = at;
	uint32_t *first = realloc(ids->first_func, (n + 1) * sizeof(*first));
	if (first)
		ids->first_func = first;
	uint32_t **imports = realloc(ids->import_id, (n + 1) * sizeof(*imports));
	if (imports)
		ids->import_id = imports;
	if (!at || !first || !imports)
		return -ENOMEM;
	if (!ids->n) { /* First, so that no import has the number 0. */
		ids->start = add(ids, (struct func_id){.kind = FUNC_START, .func = PUGMARK_NONE});
		ids->outside =
			add(ids, (struct func_id){.kind = FUNC_OUTSIDE, .func = PUGMARK_NONE});
		ids->unknown =
			add(ids, (struct func_id){.kind = FUNC_UNKNOWN, .func = PUGMARK_NONE});
	}
	for (; ids->n_modules < n; ids->n_modules++) {
		int err = number_module(ids, ids->n_modules);
		if (err)
			return err;
	}
	return 0;
}

int func_ids_init(struct func_ids *ids, const struct trace_view *view)
{
	*ids = (struct func_ids){.view = view};
	return func_ids_grow(ids);
}

void func_ids_deinit(struct func_ids *ids)
{
	for (uint32_t m = 0; ids->import_id && m < ids->n_modules; m++)
		free(ids->import_id[m]);
	free(ids->import_id);
	free(ids->first_func);
	free(ids->at);
	*ids = (struct func_ids){0};
}

uint32_t func_ids_of(const struct func_ids *ids, const struct call *call)
{
	if (call->func != PUGMARK_NONE)
		return ids->first_func[call->module] + call->func;
	if (!call->outside)
		return ids->unknown;
	if (!*call->import)
		return ids->outside;
	const struct pugmark_plan *plan = pugmark_trace_plan(ids->view->trace, call->module);
	return ids->import_id[call->module][call->import - plan->strings];
}

const char *func_id_name(struct trace_view *view, const struct func_id *id)
{
	switch (id->kind) {
	case FUNC_OF_PLAN:
		return trace_view_func_name(view, id->module, id->func);
	case FUNC_IMPORT:
		return trace_view_import_name(view, id->module, id->import);
	case FUNC_OUTSIDE:
		return "[outside]";
	case FUNC_START:
		return "[start]";
	case FUNC_MADE:
		return id->import;
	default:
		return "[unknown]";
	}
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* late_names.c: see late_names.h. A name is taken over where a function begins at the same address.
 */
#include "user/view/trace/late_names.h"

#include "user/file/debuginfod.h"

#include <pugmark/model.h>
#include <pugmark/plan.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_nameless(const struct pugmark_plan *plan, uint32_t func)
{
	char none[32];
	snprintf(none, sizeof(none), "sub_%llx", (unsigned long long)plan->funcs[func].addr);
	return !strcmp(plan->strings + plan->funcs[func].name, none);
}

static bool has_nameless(const struct pugmark_plan *plan)
{
	uint32_t f = 0;
	while (f < plan->n_funcs && !is_nameless(plan, f))
		f++;
	return f < plan->n_funcs;
}

static int name_module(struct pugmark_trace *trace, uint32_t module,
		       const struct pugmark_model *model)
{
	const struct pugmark_plan *plan = pugmark_trace_plan(trace, module);
	int err = 0;
	for (uint32_t f = 0; !err && f < plan->n_funcs; f++) {
		uint32_t func = pugmark_model_func_at(model, plan->funcs[f].addr);
		if (is_nameless(plan, f) && func != PUGMARK_NONE &&
		    model->funcs[func].addr == plan->funcs[f].addr)
			err = pugmark_trace_rename_func(trace, module, f, model->funcs[func].name);
	}
	return err;
}

int late_names_take(struct pugmark_trace *trace)
{
	uint32_t n;
	const struct pugmark_recording_module *modules =
		pugmark_recording_modules(pugmark_trace_recording(trace), &n);
	int err = 0;
	for (uint32_t m = 0; debuginfod_is_on() && !err && m < n; m++) {
		struct pugmark_model *model;
		struct pugmark_diag diag;
		if (!modules[m].path || !has_nameless(pugmark_trace_plan(trace, m)))
			continue;
		debuginfod_fetch(modules[m].path);
		if (pugmark_model_open(modules[m].path, &model, &diag))
			continue;
		if (model->build_id_len && model->build_id_len == modules[m].build_id_len &&
		    !memcmp(model->build_id, modules[m].build_id, model->build_id_len))
			err = name_module(trace, m, model);
		pugmark_model_free(model);
	}
	return err;
}

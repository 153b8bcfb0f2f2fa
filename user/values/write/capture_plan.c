// SPDX-License-Identifier: LGPL-2.1-or-later
/* capture_plan.c: see capture_plan.h. */
#include "user/values/write/capture_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct others {
	const struct capture_plan *plan;
	const struct recorder_module *modules;
	uint32_t module;
};

/* By the plan of its calls, which has looked at who may call what. */
static bool is_entered(void *ctx, uint64_t addr)
{
	const struct others *o = ctx;
	const struct pugmark_plan *plan = o->modules[o->module].plan;
	uint32_t f = pugmark_plan_func_at(plan, addr);

	return f == PUGMARK_NONE || plan->funcs[f].flags & PUGMARK_PLAN_FUNC_ENTERED;
}

/* Whether a traced module but the one that asks exports @name. */
static bool is_inside(void *ctx, const char *name)
{
	const struct others *o = ctx;

	for (uint32_t m = 0; m < o->plan->n_modules; m++) {
		const struct pugmark_model *model = o->plan->models[m];
		uint32_t f = m == o->module ? PUGMARK_NONE : pugmark_model_func_named(model, name);

		if (f != PUGMARK_NONE && model->funcs[f].flags & PUGMARK_FUNC_EXPORTED)
			return true;
	}
	return false;
}

static int add_pair(json_t *list, uint64_t addr, const char *name)
{
	/* A name that is not UTF-8 is no name that any table knows. */
	json_t *word = json_string(name);
	if (!word)
		word = json_string("?");
	return json_array_append_new(list, json_pack("[I,o]", (json_int_t)addr, word)) ? -ENOMEM
										       : 0;
}

/* The PLT stubs, the GOT slots and what is exported, with their names. */
static json_t *names_of(const struct pugmark_model *model)
{
	json_t *stubs = json_array(), *slots = json_array(), *exports = json_array();
	int err = 0;

	for (uint32_t i = 0; !err && i < model->n_imports; i++) {
		const struct pugmark_import *import = &model->imports[i];

		if (!*import->name || import->ifunc)
			continue;
		if (import->plt_addr)
			err = add_pair(stubs, import->plt_addr, import->name);
		if (!err && import->got_addr)
			err = add_pair(slots, import->got_addr, import->name);
	}
	for (uint32_t f = 0; !err && f < model->n_funcs; f++)
		if (model->funcs[f].flags & PUGMARK_FUNC_EXPORTED)
			err = add_pair(exports, model->funcs[f].addr, model->funcs[f].name);
	json_t *names =
		json_pack("{s:o,s:o,s:o}", "stubs", stubs, "slots", slots, "exports", exports);
	if (err) {
		json_decref(names);
		return NULL;
	}
	return names;
}

int capture_plan_make(const struct recorder_module *modules, uint32_t n_modules,
		      const char *imports, struct capture_plan **out, struct pugmark_diag *diag)
{
	struct capture_plan *p = calloc(1, sizeof(*p));
	int err = -ENOMEM;

	if (p && (p->models = calloc(n_modules + 1, sizeof(struct pugmark_model *))) &&
	    (p->modules = json_array()))
		err = imports_open(imports, &p->imports, diag);
	for (uint32_t m = 0; !err && m < n_modules; m++) {
		err = pugmark_model_open(modules[m].path, &p->models[m], diag);
		p->n_modules += !err;
	}
	for (uint32_t m = 0; !err && m < n_modules; m++) {
		struct others others = {p, modules, m};
		struct places_options options = {
			.imports = p->imports,
			.module = m,
			.is_entered = modules[m].plan ? is_entered : NULL,
			.is_inside = is_inside,
			.ctx = &others,
		};
		err = places_add(p->models[m], &options, &p->places);
		if (!err && json_array_append_new(p->modules, names_of(p->models[m])))
			err = -ENOMEM;
	}
	if (err) {
		if (err == -ENOMEM)
			pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET, "out of memory");
		capture_plan_free(p);
		return err;
	}
	*out = p;
	return 0;
}

void capture_plan_free(struct capture_plan *p)
{
	if (!p)
		return;
	places_deinit(&p->places);
	for (uint32_t m = 0; m < p->n_modules; m++)
		pugmark_model_free(p->models[m]);
	free(p->models);
	imports_free(p->imports);
	json_decref(p->modules);
	free(p);
}

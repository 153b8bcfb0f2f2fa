// SPDX-License-Identifier: LGPL-2.1-or-later
/* capture_plan.c: see capture_plan.h. */
#include "user/values/record/capture_plan.h"

#include "user/kernel/site_bytes.h"
#include "user/sandbox/sandbox.h"

#include <pugmark/model.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is asked of a module. The plans of the others are there: who looks is a fork. */
struct asked {
	const struct recorder_module *modules;
	uint32_t n_modules, module;
	const struct imports *imports;
	const char **inside; /* what the others export, in order */
	uint32_t n_inside;
};

/* What comes back; behind it places, outputs, texts, and what JSON says of names. */
struct found {
	uint64_t text_addr;
	uint32_t n_places, n_outputs, text_bytes, json_bytes;
};
/* One of its places: the name is in the texts. */
struct found_place {
	struct capture_place place;
	struct capture_desc desc;
	uint64_t off_file;
	uint32_t import;
	uint8_t probe;
};

/* ---- in the child ---- */

/* By the plan of its calls, which has looked at who may call what. */
static bool is_entered(void *ctx, uint64_t addr)
{
	const struct asked *a = ctx;
	const struct pugmark_plan *plan = a->modules[a->module].plan;
	uint32_t f = pugmark_plan_func_at(plan, addr);

	return f == PUGMARK_NONE || plan->funcs[f].flags & PUGMARK_PLAN_FUNC_ENTERED;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Whether a traced module but the one that asks exports @name. */
static bool is_inside(void *ctx, const char *name)
{
	const struct asked *a = ctx;

	return a->n_inside && bsearch(&name, a->inside, a->n_inside, sizeof(*a->inside), by_name);
}

/* By their plans. */
static int list_inside(struct asked *a)
{
	uint32_t most = 0;

	for (uint32_t m = 0; m < a->n_modules; m++)
		most += a->modules[m].plan ? a->modules[m].plan->n_funcs : 0;
	a->inside = calloc(most + 1, sizeof(*a->inside));
	if (!a->inside)
		return -ENOMEM;
	for (uint32_t m = 0; m < a->n_modules; m++) {
		const struct pugmark_plan *plan = a->modules[m].plan;

		for (uint32_t f = 0; m != a->module && plan && f < plan->n_funcs; f++)
			if (plan->funcs[f].flags & PUGMARK_PLAN_FUNC_EXPORTED)
				a->inside[a->n_inside++] = plan->strings + plan->funcs[f].name;
	}
	qsort(a->inside, a->n_inside, sizeof(*a->inside), by_name);
	return 0;
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

/* The texts of @places, one behind the other. */
static int hand_back_places(const struct place_list *places, FILE *out, FILE *texts)
{
	for (uint32_t i = 0; i < places->n; i++) {
		const struct place_site *p = &places->at[i];
		long at = ftell(texts);
		struct found_place f;

		memset(&f, 0, sizeof(f));
		f.place = p->place;
		f.place.import = NULL;
		f.desc = p->desc;
		f.off_file = p->off_file;
		f.probe = p->probe;
		f.import = (uint32_t)at;
		fwrite(&f, sizeof(f), 1, out);
		if (at < 0 || at > INT32_MAX)
			return -EFBIG;
		fputs(p->place.import, texts);
		fputc(0, texts);
	}
	fwrite(places->outputs, sizeof(*places->outputs), places->n_outputs, out);
	return 0;
}

static int hand_back(const struct pugmark_model *model, const struct place_list *places, FILE *out)
{
	json_t *names = names_of(model);
	char *json = names ? json_dumps(names, JSON_COMPACT) : NULL, *text = NULL, *rows = NULL;
	size_t text_bytes = 0, rows_bytes = 0;
	FILE *texts = open_memstream(&text, &text_bytes), *at = open_memstream(&rows, &rows_bytes);
	int err = json && texts && at ? hand_back_places(places, at, texts) : -ENOMEM;

	if (texts && fclose(texts) && !err)
		err = -ENOMEM;
	if (at && fclose(at) && !err)
		err = -ENOMEM;
	if (!err) {
		struct found f = {model->text_addr, places->n, places->n_outputs,
				  (uint32_t)text_bytes, (uint32_t)strlen(json)};
		fwrite(&f, sizeof(f), 1, out);
		fwrite(rows, rows_bytes, 1, out);
		fwrite(text, text_bytes, 1, out);
		fwrite(json, f.json_bytes, 1, out);
	}
	free(rows);
	free(text);
	free(json);
	json_decref(names);
	return err;
}

static int look_inside(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	struct asked *a = ctx;
	const struct recorder_module *module = &a->modules[a->module];
	struct place_list places = {0};
	struct pugmark_model *model;
	struct places_options options = {
		.imports = a->imports,
		.module = a->module,
		.is_entered = module->plan ? is_entered : NULL,
		.is_inside = is_inside,
		.ctx = a,
	};
	int err = pugmark_model_open(module->path, &model, diag);

	if (err)
		return err;
	err = list_inside(a);
	if (!err)
		err = places_add(model, &options, &places);
	if (!err)
		err = hand_back(model, &places, out);
	places_deinit(&places);
	free(a->inside);
	pugmark_model_free(model);
	return err ? pugmark_diag_set(diag, err, module->path, PUGMARK_NO_OFFSET, "out of memory")
		   : 0;
}

/* ---- in the process that asked ---- */

/* Each of these bytes may be made up. */
struct taken {
	const struct found_place *places;
	const struct capture_output *outputs;
	const char *texts, *json;
	struct found found;
};

static bool split(const char *bytes, size_t len, struct taken *out)
{
	if (len < sizeof(out->found))
		return false;
	memcpy(&out->found, bytes, sizeof(out->found));
	const struct found *f = &out->found;
	size_t places = f->n_places * sizeof(*out->places),
	       outputs = f->n_outputs * sizeof(*out->outputs);

	out->places = (const void *)(bytes + sizeof(*f));
	out->outputs = (const void *)(bytes + sizeof(*f) + places);
	out->texts = bytes + sizeof(*f) + places + outputs;
	out->json = out->texts + f->text_bytes;
	return len == sizeof(*f) + places + outputs + f->text_bytes + f->json_bytes &&
	       (!f->text_bytes || !out->texts[f->text_bytes - 1]);
}

static bool is_sound(const struct taken *t, const struct found_place *p, uint32_t module)
{
	const struct found *f = &t->found;

	return p->place.module == module && p->desc.module == module &&
	       p->desc.addr_off == p->place.addr - f->text_addr && p->import < f->text_bytes &&
	       p->desc.asks_time <= 1 && p->desc.no_rax <= 1 && p->desc.all_regs <= 1 &&
	       p->desc.n_outputs <= CAPTURE_MAX_OUTPUTS && p->desc.output <= f->n_outputs &&
	       p->desc.n_outputs <= f->n_outputs - p->desc.output;
}

/* By the file's own bytes, as for the probes of a plan. */
static int check_bytes(const struct taken *t, const struct recorder_module *module,
		       struct pugmark_diag *diag)
{
	struct recorder_module of = *module;
	struct pugmark_plan_site *sites = calloc(t->found.n_places + 1, sizeof(*sites));

	if (!sites)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->found.n_places; i++) {
		sites[i].addr = t->places[i].place.addr;
		sites[i].off_file = t->places[i].off_file;
	}
	of.sites = sites;
	of.n_sites = t->found.n_places;
	int err = site_bytes_check(&of, diag);
	free(sites);
	return err;
}

/* Room for what is taken, behind what is there. */
static int make_room(struct place_list *l, const struct found *f)
{
	struct place_site *at = realloc(l->at, ((size_t)l->n + f->n_places + 1) * sizeof(*at));

	if (at)
		l->at = at;
	struct capture_output *outputs =
		realloc(l->outputs, ((size_t)l->n_outputs + f->n_outputs + 1) * sizeof(*outputs));
	if (outputs)
		l->outputs = outputs;
	if (!at || !outputs)
		return -ENOMEM;
	l->cap = l->n + f->n_places;
	l->cap_outputs = l->n_outputs + f->n_outputs;
	return 0;
}

static int take_places(struct capture_plan *p, const struct taken *t, uint32_t module)
{
	struct place_list *l = &p->places;
	const struct found *f = &t->found;
	int err = make_room(l, f);

	p->names[module] = malloc(f->text_bytes + 1);
	if (err || !p->names[module])
		return -ENOMEM;
	memcpy(p->names[module], t->texts, f->text_bytes);
	for (uint32_t i = 0; i < f->n_places; i++) {
		const struct found_place *from = &t->places[i];
		struct place_site *to = &l->at[l->n++];

		*to = (struct place_site){from->place, from->desc, from->off_file, from->probe};
		to->place.import = p->names[module] + from->import;
		to->desc.output += l->n_outputs;
	}
	if (f->n_outputs)
		memcpy(l->outputs + l->n_outputs, t->outputs, f->n_outputs * sizeof(*t->outputs));
	l->n_outputs += f->n_outputs;
	return 0;
}

/* No more than the three lists that the table has of a module. */
static int take_names(struct capture_plan *p, const struct taken *t)
{
	static const char *const lists[] = {"stubs", "slots", "exports"};
	json_t *all = json_loadb(t->json, t->found.json_bytes, 0, NULL), *names = json_object();

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		json_t *list = json_object_get(all, lists[i]);
		json_object_set_new(names, lists[i],
				    json_is_array(list) ? json_incref(list) : json_array());
	}
	json_decref(all);
	return json_array_append_new(p->modules, names) ? -ENOMEM : 0;
}

int capture_plan_take(struct capture_plan *p, const struct recorder_module *module, uint32_t number,
		      const void *handed, size_t len, struct pugmark_diag *diag)
{
	const char *name = module->name ? module->name : module->path;
	struct taken t;
	bool sound = split(handed, len, &t);

	for (uint32_t i = 0; sound && i < t.found.n_places; i++)
		sound = is_sound(&t, &t.places[i], number);
	if (!sound)
		return pugmark_diag_set(diag, -EBADMSG, name, PUGMARK_NO_OFFSET,
					"its analysis handed back what is not to be captured");
	int err = check_bytes(&t, module, diag);
	if (!err)
		err = take_places(p, &t, number);
	return err ? err : take_names(p, &t);
}

static int add_module(struct capture_plan *p, struct asked *asked, struct pugmark_diag *diag)
{
	const struct recorder_module *module = &asked->modules[asked->module];
	struct sandbox sandbox = {
		.subject = module->name ? module->name : module->path,
		.grants = &module->path,
		.n_grants = 1,
	};
	void *bytes = NULL;
	size_t len = 0;
	int err = sandbox_or_here(&sandbox, look_inside, asked, &bytes, &len, diag);

	if (!err)
		err = capture_plan_take(p, module, asked->module, bytes, len, diag);
	free(bytes);
	return err;
}

struct capture_plan *capture_plan_new(uint32_t n_modules)
{
	struct capture_plan *p = calloc(1, sizeof(*p));

	if (p && (p->names = calloc(n_modules + 1, sizeof(*p->names))) &&
	    (p->modules = json_array())) {
		p->n_modules = n_modules;
		return p;
	}
	capture_plan_free(p);
	return NULL;
}

int capture_plan_make(const struct recorder_module *modules, uint32_t n_modules,
		      const char *imports, struct capture_plan **out, struct pugmark_diag *diag)
{
	struct capture_plan *p = capture_plan_new(n_modules);
	int err = p ? imports_open(imports, &p->imports, diag) : -ENOMEM;

	for (uint32_t m = 0; !err && m < n_modules; m++) {
		struct asked asked = {modules, n_modules, m, p->imports, NULL, 0};
		err = add_module(p, &asked, diag);
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
	for (uint32_t m = 0; m < p->n_modules && p->names; m++)
		free(p->names[m]);
	free(p->names);
	imports_free(p->imports);
	json_decref(p->modules);
	free(p);
}

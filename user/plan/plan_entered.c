// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_entered.c: see plan_entered.h. */
#include "user/plan/plan_entered.h"

#include "offline/link/callers_by_name.h"
#include "offline/link/never_returns.h"
#include "offline/link/plugin_interface.h"
#include "offline/link/switching_calls.h"
#include "user/plan/host_modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool planning_exports_named(const char *word, enum planning_exports *out)
{
	static const char *const names[] = {"auto", "needed", "all"};
	for (int i = 0; i < 3; i++)
		if (!strcmp(word, names[i])) {
			*out = (enum planning_exports)i;
			return true;
		}
	return false;
}

int plan_modules_list(const struct planning_options *o, struct plan_modules *out,
		      struct pugmark_diag *diag)
{
	int err = 0;
	*out = (struct plan_modules){0};
	for (uint32_t i = 0; i < o->n_plugins && !err; i++)
		err = module_files_add(&out->plugins, o->plugins[i], diag);
	for (uint32_t i = 0; i < o->n_traced && !err; i++)
		err = module_files_add(&out->plugins, o->traced[i], diag);
	if (err)
		plan_modules_deinit(out);
	return err;
}

void plan_modules_deinit(struct plan_modules *modules)
{
	module_files_deinit(&modules->plugins);
}

static struct library_options loaded_with(const struct planning_options *o,
					  const struct plan_modules *modules)
{
	return (struct library_options){
		.library_path = getenv("LD_LIBRARY_PATH"),
		.preloaded = getenv("LD_PRELOAD"),
		.origin = o->origin,
		.any_program = o->any_program,
		.plugins = (const char *const *)modules->plugins.at,
		.n_plugins = modules->plugins.n,
	};
}

/* *@plugin: a module of this host that is made for @model, heap; NULL: there is none. Returns 0 or
 * -errno with @diag filled. */
static int find_plugin(const struct pugmark_model *model, const struct planning_options *o,
		       const uint8_t *entered, char **plugin, struct pugmark_diag *diag)
{
	struct module_files host;
	uint32_t at;
	bool asks;
	*plugin = NULL;
	int err = plugin_interface_asks(model, entered, &asks, diag);
	if (err || !asks)
		return err;
	err = host_modules_list(o->origin ? o->origin : model->path, &host);
	if (err)
		return pugmark_diag_set(diag, err, model->path, PUGMARK_NO_OFFSET,
					"listing what it may load: %s", strerror(-err));
	err = plugin_interface_find(model, entered, host.at, host.n, &at, diag);
	if (!err && at < host.n && !(*plugin = strdup(host.at[at])))
		err = pugmark_diag_set(diag, -ENOMEM, model->path, PUGMARK_NO_OFFSET,
				       "out of memory");
	module_files_deinit(&host);
	return err;
}

int plan_entered_mark(const struct pugmark_model *model, const struct planning_options *o,
		      const struct plan_modules *modules, uint8_t *entered, uint8_t *bound,
		      char **plugin, struct pugmark_diag *diag)
{
	const struct library_options loaded = loaded_with(o, modules);
	int err = 0;
	*plugin = NULL;
	if (o->exports != EXPORTS_ALL)
		err = callers_by_name_mark(model, &loaded, entered, bound, diag);
	if (!err && o->exports == EXPORTS_AUTO)
		err = find_plugin(model, o, entered, plugin, diag);
	if (err || (o->exports != EXPORTS_ALL && !*plugin))
		return err;
	memset(entered, 1, model->n_funcs);
	memset(bound, 0, model->n_imports);
	return 0;
}

/* Nothing lands in a module without landing pads: whether a call returns matters less then. */
static bool has_landing_pads(const struct pugmark_model *model)
{
	bool lands = false;
	for (uint32_t i = 0; i < model->n_blocks && !lands; i++)
		lands = model->blocks[i].flags & PUGMARK_BLOCK_LANDING_PAD;
	return lands;
}

int plan_calls_mark(const struct pugmark_model *model, const struct planning_options *o,
		    const struct plan_modules *modules, uint8_t *never, uint8_t *switches)
{
	struct pugmark_diag diag = {0};
	const struct library_options loaded = loaded_with(o, modules);
	char **files = NULL;
	uint32_t n = 0;
	int err = library_files(model->path, &loaded, &files, &n, &diag);
	const char *const *read = (const char *const *)files;
	if (!err && has_landing_pads(model))
		err = never_returns_mark(model, read, n, never);
	if (!err)
		err = switching_calls_mark(model, read, n, switches);
	for (uint32_t i = 0; i < n; i++)
		free(files[i]);
	free(files);
	return err == -ENOMEM ? err : 0;
}

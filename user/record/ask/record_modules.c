// SPDX-License-Identifier: LGPL-2.1-or-later
/* record_modules.c: see record_modules.h. */
#include "user/file/go_goid.h"
#include "user/record/ask/record_modules.h"

#include "offline/plan/plan_file.h"
#include "user/cli/command.h"
#include "user/proc/launch.h"
#include "user/proc/running.h"
#include "user/record/ask/record_check.h"
#include "user/record/ask/site_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int find_programs(const struct record_modules_options *o, struct record_modules *out,
			 struct pugmark_diag *diag)
{
	if (o->binary)
		return targets_add(&out->targets, o->binary, NULL, NULL, diag);
	if (!o->argv) {
		uint32_t at[64] = {0};
		int err = 0;
		for (uint32_t i = 0; !err && i < o->n_pids && i < 64; i++)
			err = targets_add_process(&out->targets, o->pids[i], &at[i], diag);
		for (uint32_t i = 0; !err && i < o->n_pids && i < 64; i++)
			out->pid_programs[i] = out->targets.at[at[i]].path;
		return err;
	}
	char *path = launch_resolve(o->argv[0], diag);
	int err = path ? targets_add(&out->targets, path, NULL, NULL, diag) : -ENOENT;
	free(path);
	return err;
}

/* What runs already, and what it has loaded. */
static int find_running(const struct record_modules_options *o, struct record_modules *out,
			struct pugmark_diag *diag)
{
	int err = 0;
	out->loaded.max = PLANNING_PLUGINS_MAX > o->planning->n_plugins
				  ? PLANNING_PLUGINS_MAX - o->planning->n_plugins
				  : 1;
	if (o->argv)
		return 0;
	if (o->binary)
		out->n_running =
			running_processes(&out->targets.at[0], out->running, RECORD_RUNNING_MAX);
	for (uint32_t i = 0; !o->binary && i < o->n_pids; i++)
		out->running[out->n_running++] = o->pids[i];
	for (uint32_t i = 0; !err && i < out->n_running; i++)
		err = running_add_modules(&out->loaded, out->running[i], diag);
	return err;
}

static struct recorder_module *add(struct record_modules *out, uint32_t target,
				   struct pugmark_diag *diag)
{
	const struct target *t = &out->targets.at[target];
	if (out->n == RECORD_MODULES_MAX) {
		pugmark_diag_set(diag, -E2BIG, NULL, PUGMARK_NO_OFFSET,
				 "more than %d modules (choose some with --module)",
				 RECORD_MODULES_MAX);
		return NULL;
	}
	out->at[out->n] = (struct recorder_module){.path = t->path, .name = t->name};
	return &out->at[out->n++];
}

static int add_sites(const struct record_modules_options *o, struct record_modules *out,
		     struct pugmark_diag *diag)
{
	struct recorder_module *module = add(out, 0, diag);
	int err = site_list_read(o->sites, module->path, &out->sites, &module->n_sites, diag);
	module->sites = out->sites;
	return err;
}

/* The place of @module in the list of files. */
static uint32_t target_of(const struct record_modules *out, const struct recorder_module *module)
{
	uint32_t t = 0;
	while (t + 1 < out->targets.n && out->targets.at[t].path != module->path)
		t++;
	return t;
}

/* Whether @loaded is the file that @module is of. */
static bool is_file_of(const struct record_modules *out, const struct target *loaded,
		       const struct recorder_module *module)
{
	const struct target *t = &out->targets.at[target_of(out, module)];
	return t->dev == loaded->dev && t->ino == loaded->ino;
}

/* The path by which to plan it: its name, as long as that leads to this file (what it needs may lie
 * next to it). */
static const char *place_of(const struct target *loaded)
{
	struct stat st;
	bool there =
		!stat(loaded->name, &st) && st.st_dev == loaded->dev && st.st_ino == loaded->ino;
	return there ? loaded->name : loaded->path;
}

/* Plans @module as its number @number; @plan: or takes that one. */
static int plan_module(const struct record_modules_options *o, struct record_modules *out,
		       struct recorder_module *module, enum plan_mode mode, const char *plan,
		       struct pugmark_diag *diag)
{
	const char *others[RECORD_MODULES_MAX], *plugins[PLANNING_PLUGINS_MAX];
	struct planning_options options = *o->planning;
	struct planning_result *planned = &out->planned[module - out->at];
	struct progress progress;
	int err = 0;
	options.mode = mode;
	options.origin = module->name;
	options.progress = &progress;
	options.traced = others;
	options.elsewhere = out->targets.n > 1;
	options.any_program = !o->argv && !o->n_pids;
	for (uint32_t i = 0; i < out->targets.n && i < RECORD_MODULES_MAX; i++)
		if (out->targets.at[i].path != module->path)
			others[options.n_traced++] = out->targets.at[i].path;
	for (uint32_t i = 0; i < options.n_plugins; i++)
		plugins[i] = o->planning->plugins[i];
	for (uint32_t i = 0; i < out->loaded.n && options.n_plugins < PLANNING_PLUGINS_MAX; i++)
		if (!is_file_of(out, &out->loaded.at[i], module))
			plugins[options.n_plugins++] = place_of(&out->loaded.at[i]);
	options.plugins = plugins;
	if (plan) {
		planned->path = strdup(plan);
		err = planned->path ? pugmark_plan_open(plan, &planned->plan, diag) : -ENOMEM;
	} else {
		progress_start(&progress, "planning", 0, o->quiet);
		err = planning_make(module->path, &options, planned, diag);
		progress_end(&progress);
		if (!err && planned->plugin && !o->quiet)
			command_say(
				stderr,
				"pugmark: note: all exported functions are planned for, "
				"as modules of this host call them (--exports needed leaves that "
				"out): ",
				planned->plugin, "\n");
		if (!err && planned->not_kept && !o->quiet)
			command_say(stderr,
				    "pugmark: note: the plan is not kept: ", planned->not_kept,
				    "\n");
		if (err == -ENOEXEC && module->name)
			record_explain_script(module->name, err, diag);
	}
	if (!err)
		err = record_check_plan(planned->plan, plan, module->path, diag);
	if (err)
		return err;
	module->plan = planned->plan;
	module->sites = planned->plan->sites;
	module->n_sites = planned->plan->n_sites;
	memcpy(module->build_id, planned->plan->build_id, sizeof(module->build_id));
	module->build_id_len = planned->plan->build_id_len;
	module->goid_at = go_goid_at(module->path);
	return 0;
}

/* Adds the file at @target by each of @modes. Where the scope leaves nothing of it, and there are
 * others, it is left out. */
static int add_planned(const struct record_modules_options *o, struct record_modules *out,
		       uint32_t target, uint32_t n_modes, const char *plan,
		       struct pugmark_diag *diag)
{
	for (uint32_t i = 0; i < n_modes; i++) {
		struct recorder_module *module = add(out, target, diag);
		if (!module)
			return -E2BIG;
		int err = plan_module(o, out, module, o->modes[i], plan, diag);
		if (err == -ENODATA && out->targets.n > 1) {
			out->n--;
			continue;
		}
		if (err)
			return err;
	}
	return 0;
}

int record_modules_open(const struct record_modules_options *o, struct record_modules *out,
			struct pugmark_diag *diag)
{
	int err = find_programs(o, out, diag);
	uint32_t n_programs = out->targets.n;
	for (uint32_t i = 0; i < n_programs && i < 64; i++)
		out->program_fds[out->n_programs++] = out->targets.at[i].fd;
	if (!err)
		err = find_running(o, out, diag);
	if (!err && o->sites)
		err = add_sites(o, out, diag);
	for (uint32_t i = 0; !err && i < o->n_modules; i++)
		err = targets_add_modules(&out->targets, o->modules[i], 0, o->pids, o->n_pids,
					  &out->awaited[i], diag);
	for (uint32_t i = o->no_program ? n_programs : 0; !err && !o->sites && i < out->targets.n;
	     i++)
		err = add_planned(o, out, i, i < n_programs || o->no_program ? o->n_modes : 1,
				  i < n_programs ? o->plan : NULL, diag);
	if (!err && !out->n)
		err = pugmark_diag_set(
			diag, -ENODATA, NULL, PUGMARK_NO_OFFSET,
			"no function of any module matches (see: pugmark cfg --list)");
	out->n_now = out->n;
	for (uint32_t i = 0; i < out->n; i++)
		out->models[i] = i;
	if (err)
		targets_name(&out->targets, diag);
	return err;
}

bool record_modules_wants(const struct record_modules_options *o, const char *name)
{
	for (uint32_t i = 0; i < o->n_modules; i++)
		if (targets_is_named(name, o->modules[i]))
			return true;
	return false;
}

static bool is_among(const struct targets *t, const struct target *target)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->at[i].dev == target->dev && t->at[i].ino == target->ino)
			return true;
	return false;
}

/* Adds the files that are asked for and that one of the processes has mapped since. */
static int add_come(const struct record_modules_options *o, struct record_modules *out,
		    const struct replan_request *request, struct pugmark_diag *diag)
{
	uint32_t had = out->targets.n;
	int err = 0;
	for (uint32_t p = 0; !err && p < request->n_pids; p++) {
		for (uint32_t i = 0; !err && i < o->n_modules; i++) {
			uint32_t found = 0;
			err = targets_add_mapped(&out->targets, o->modules[i], request->pids[p],
						 &found, diag);
			out->awaited[i] &= !found;
			if (err == -ENOENT || err == -ESRCH) /* the process has ended */
				err = 0;
		}
		/* If all at once fail, they are tried one at a time: only then it is known which
		 * one is refused. */
		while (out->targets.n > had &&
		       is_among(&out->refused, &out->targets.at[out->targets.n - 1]))
			targets_drop(&out->targets, out->targets.n - 1);
		if (!err && out->targets.n > had)
			err = running_add_modules(&out->loaded, request->pids[p], diag);
	}
	return err;
}

static void add_news(struct record_modules *out, const char *name, const char *text)
{
	char *news = NULL;
	if (asprintf(&news, "%s%s%s %s", out->news ? out->news : "", out->news ? "; " : "", name,
		     text) < 0)
		return;
	free(out->news);
	out->news = news;
}

/* Refuses the targets from @from on: nothing of them can be traced. */
static void refuse(struct record_modules *out, uint32_t from, const struct pugmark_diag *diag)
{
	for (uint32_t t = from; t < out->targets.n; t++) {
		const struct target *target = &out->targets.at[t];
		char text[sizeof(diag->text) + 64];
		snprintf(text, sizeof(text), "was loaded, and cannot be traced: %s", diag->text);
		add_news(out, target->name, text);
		targets_add(&out->refused, target->path, target->name, NULL, NULL);
	}
	targets_drop(&out->targets, from);
}

/* Plans module number @m of those that are probed now again, without what is taken out of it. */
static int plan_again(const struct record_modules_options *o, struct record_modules *out,
		      uint32_t m, bool grown, const struct replan_request *request,
		      struct pugmark_diag *diag)
{
	const struct recorder_module *old = &out->at[out->first + m];
	uint64_t *addrs = calloc(request->n_out + 1, sizeof(*addrs));
	struct planning_options planning = *o->planning;
	struct record_modules_options again = *o;
	uint32_t index = out->n;
	if (!addrs)
		return -ENOMEM;
	again.planning = &planning;
	again.quiet = true;
	planning.keep_model = false;
	planning.out = addrs;
	/* What else is traced makes another plan. */
	planning.seed_model = grown ? NULL : out->planned[out->models[m]].model;
	planning.seed = grown ? NULL : old->plan;
	for (uint32_t i = 0; i < request->n_out; i++)
		if (request->out[i].path == old->path)
			addrs[planning.n_out++] = request->out[i].addr;
	int err = add_planned(&again, out, target_of(out, old), 1, NULL, diag);
	free(addrs);
	if (err && err != -ENODATA)
		return err;
	if (out->n == index && !add(out, target_of(out, old), diag))
		return -E2BIG;
	out->at[index].arg_types = old->arg_types;
	out->at[index].arg_types_json = old->arg_types_json;
	if (!out->at[index].n_sites) { /* nothing of it is left: it keeps its place */
		out->at[index] = *old;
		out->at[index].n_sites = 0;
	}
	return 0;
}

/* Plans all of them again, and the targets that came, from @come on. */
static int plan_all_again(const struct record_modules_options *o, struct record_modules *out,
			  uint32_t come, const struct replan_request *request,
			  struct pugmark_diag *diag)
{
	struct record_modules_options quiet = *o;
	struct planning_options planning = *o->planning;
	uint32_t first = out->n, n_sites = 0;
	int err = 0;
	quiet.quiet = true;
	quiet.planning = &planning;
	planning.cancelled = request->cancelled;
	for (uint32_t m = 0; !err && m < out->n_now; m++)
		err = plan_again(&quiet, out, m, come < out->targets.n, request, diag);
	for (uint32_t t = come; !err && t < out->targets.n; t++) {
		err = add_planned(&quiet, out, t, 1, NULL, diag);
		if (err && err != -ECANCELED)
			refuse(out, t, diag);
	}
	for (uint32_t i = first; i < out->n; i++)
		n_sites += out->at[i].n_sites;
	return err ? err : n_sites ? 0 : -ENODATA;
}

/* The targets from @come on, for whose plan nobody waits any more. */
static void add_unplanned(struct record_modules *out, uint32_t come)
{
	for (uint32_t t = come; t < out->targets.n; t++)
		add_news(out, out->targets.at[t].name,
			 "was loaded, and is not traced: the recording ended before it was planned "
			 "(name its path with --module, or plan it beforehand: pugmark plan "
			 "--warm)");
}

int record_modules_replan(const struct record_modules_options *o, struct record_modules *out,
			  const struct replan_request *request, uint32_t *first, uint32_t *n,
			  struct pugmark_diag *diag)
{
	uint32_t come = out->targets.n;
	int err = add_come(o, out, request, diag);
	*first = out->n;
	while (!err) {
		uint32_t n_targets = out->targets.n;
		if (n_targets == come && !request->more_out)
			return -EALREADY;
		err = plan_all_again(o, out, come, request, diag);
		if (!err || out->targets.n == n_targets)
			break;
		for (; out->n > *first; out->n--) /* without what was refused */
			planning_deinit(&out->planned[out->n - 1]);
		err = 0;
	}
	*n = out->n - *first;
	if (err == -ECANCELED)
		add_unplanned(out, come);
	if (err)
		return err;
	for (uint32_t t = come; t < out->targets.n; t++)
		add_news(out, out->targets.at[t].name, "was loaded, and is traced from here on");
	for (uint32_t m = out->n_now; m < *n; m++)
		out->models[m] = *first + m;
	out->first = *first;
	out->n_now = *n;
	return 0;
}

void record_modules_planned(struct record_modules *modules)
{
	for (uint32_t i = 0; i < RECORD_MODULES_MAX; i++)
		if (modules->planned[i].plan)
			plan_forget_grammar(modules->planned[i].plan);
}

void record_modules_deinit(struct record_modules *modules)
{
	for (uint32_t i = 0; i < RECORD_MODULES_MAX; i++)
		planning_deinit(&modules->planned[i]);
	free(modules->sites);
	free(modules->news);
	targets_deinit(&modules->refused);
	targets_deinit(&modules->loaded);
	targets_deinit(&modules->targets);
}

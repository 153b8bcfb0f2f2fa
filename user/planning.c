// SPDX-License-Identifier: LGPL-2.1-or-later
/* planning.c: see planning.h. A plan is written to the cache under a temporary name and renamed, so
 * two processes that plan the same binary at once cost time, not truth. */
#include "user/planning.h"

#include "offline/needed.h"
#include "offline/plan_build.h"
#include "user/probe_costs.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#define PLANNER_VERSION 6 /* another one where the same binary would be planned otherwise */

static const char *const mode_names[] = {
	[MODE_FULL] = "full",
	[MODE_BRANCH] = "branch",
	[MODE_CASPER] = "casper",
	[MODE_BEST] = "best",
	[MODE_PATHS_BLOCKS] = "paths-blocks",
	[MODE_PATHS_TARGETS] = "paths-targets",
	[MODE_PATHS_EDGES] = "paths-edges",
	[MODE_PATHS_NODES] = "paths-nodes",
	[MODE_PATHS_BEST] = "paths-best",
};

bool planning_placement_named(const char *name, enum plan_mode *out)
{
	for (int i = MODE_PATHS_BLOCKS; i < N_PLAN_MODES; i++)
		if (!strcmp(name, mode_names[i] + strlen("paths-"))) {
			*out = i;
			return true;
		}
	return false;
}

bool planning_mode_named(const char *name, enum plan_mode *out)
{
	for (int i = 0; i <= MODE_BEST; i++)
		if (!strcmp(name, mode_names[i])) {
			*out = i;
			return true;
		}
	return false;
}

const char *planning_mode_name(enum plan_mode mode)
{
	return mode < N_PLAN_MODES ? mode_names[mode] : "?";
}

static int make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		int err = mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
		*slash = '/';
		if (err)
			return err;
	}
	return 0;
}

static uint32_t scope_hash(const struct planning_options *o)
{
	uint32_t crc = 0;
	for (uint32_t i = 0; i < o->n_only; i++)
		crc = crc32(crc, (const void *)o->only[i], strlen(o->only[i]) + 1);
	crc = crc32(crc, (const void *)"", 1);
	for (uint32_t i = 0; i < o->n_without; i++)
		crc = crc32(crc, (const void *)o->without[i], strlen(o->without[i]) + 1);
	return o->n_only || o->n_without ? crc : 0;
}

/* Where the plan of @model belongs in the cache; the caller frees. */
static char *cache_path(const struct pugmark_model *model, const struct planning_options *o,
			const struct probe_costs *costs, const uint8_t *entered)
{
	char id[80] = "";
	for (uint32_t i = 0; i < model->build_id_len; i++)
		sprintf(id + 2 * i, "%02x", model->build_id[i]);
	struct stat st;
	if (!model->build_id_len && !stat(model->path, &st))
		snprintf(id, sizeof(id), "file-%llx-%llx-%llx-%llx", (unsigned long long)st.st_dev,
			 (unsigned long long)st.st_ino, (unsigned long long)st.st_size,
			 (unsigned long long)st.st_mtim.tv_sec * 1000000000ull +
				 st.st_mtim.tv_nsec);
	uint32_t cost_hash = crc32(0, (const void *)costs, sizeof(*costs));
	cost_hash = crc32(cost_hash, entered, model->n_funcs);
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool has_xdg = xdg && *xdg == '/';
	char *path = NULL;
	if (asprintf(&path, "%s%s/pugmark/plans/%s-%s-%08" PRIx32 "-%08" PRIx32 "-v%d.plan",
		     has_xdg	     ? xdg
		     : home && *home ? home
				     : "/tmp",
		     has_xdg ? "" : "/.cache", id, mode_names[o->mode], scope_hash(o), cost_hash,
		     PLANNER_VERSION) < 0)
		return NULL;
	return path;
}

static bool name_matches(const char *pattern, const char *name)
{
	size_t len = strlen(pattern);
	if (len < 2 || *pattern != '/' || pattern[len - 1] != '/')
		return !fnmatch(pattern, name, 0);
	char *text = strndup(pattern + 1, len - 2);
	regex_t regex;
	bool matches = false;
	if (text && !regcomp(&regex, text, REG_EXTENDED | REG_NOSUB)) {
		matches = !regexec(&regex, name, 0, NULL, 0);
		regfree(&regex);
	}
	free(text);
	return matches;
}

/* Marks in @hit the functions that @pattern names, by linker or demangled name. */
static bool apply_pattern(const struct pugmark_model *model, const char *pattern, bool *hit)
{
	bool any = false;
	for (uint32_t f = 0; f < model->n_funcs; f++) {
		bool matches = name_matches(pattern, model->funcs[f].name);
		if (!matches && !strncmp(model->funcs[f].name, "_Z", 2)) {
			char *plain = pugmark_demangle(model->funcs[f].name);
			matches = plain && name_matches(pattern, plain);
			free(plain);
		}
		hit[f] |= matches;
		any |= matches;
	}
	return any;
}

/* Which functions are opaque; NULL in *@out where none is. */
static int find_scope(const struct pugmark_model *model, const struct planning_options *o,
		      bool **out, struct pugmark_diag *diag)
{
	*out = NULL;
	if (!o->n_only && !o->n_without)
		return 0;
	bool *in = calloc(model->n_funcs + 1, sizeof(bool));
	bool *without = calloc(model->n_funcs + 1, sizeof(bool));
	const char *lost = NULL;
	int err = in && without ? 0 : -ENOMEM;
	for (uint32_t i = 0; !err && i < o->n_only; i++)
		if (!apply_pattern(model, o->only[i], in))
			lost = o->only[i];
	for (uint32_t i = 0; !err && i < o->n_without; i++)
		if (!apply_pattern(model, o->without[i], without))
			lost = o->without[i];
	bool any = false;
	for (uint32_t f = 0; !err && f < model->n_funcs; f++) {
		in[f] = !((in[f] || !o->n_only) && !without[f]); /* from here on: opaque */
		any |= !in[f];
	}
	free(without);
	if (lost)
		err = pugmark_diag_set(diag, -ENOENT, model->path, PUGMARK_NO_OFFSET,
				       "no function matches '%s' (see: pugmark cfg --list)", lost);
	else if (!err && !any)
		err = pugmark_diag_set(diag, -ENODATA, model->path, PUGMARK_NO_OFFSET,
				       "the scope leaves no function to trace");
	if (err)
		free(in);
	else
		*out = in;
	return err;
}

static int plan_model(const struct pugmark_model *model, const struct planning_options *o,
		      const struct probe_costs *costs, const uint8_t *entered,
		      struct planning_result *out, struct pugmark_diag *diag)
{
	bool *opaque;
	int err = find_scope(model, o, &opaque, diag);
	if (err)
		return err;
	struct program *program;
	struct program_options options = {.costs = *costs, .opaque = opaque, .entered = entered};
	bool *paths = NULL;
	if (o->mode >= MODE_PATHS_BLOCKS) {
		paths = malloc(model->n_funcs + 1);
		err = paths ? 0 : -ENOMEM;
		for (uint32_t f = 0; paths && f < model->n_funcs; f++)
			paths[f] = !opaque || !opaque[f];
		options.paths = paths;
	}
	if (!err)
		err = program_from_model(model, &options, &program);
	free(paths);
	if (!err) {
		struct choice choice;
		err = choose_witnesses(program, o->mode, &choice, &out->unresolved);
		if (!err || err == -EDOM) {
			err = plan_build(program, &choice, o->mode, model, &out->plan);
			choice_deinit(&choice);
		}
		program_free(program);
	}
	free(opaque);
	if (err)
		return pugmark_diag_set(diag, err, model->path, PUGMARK_NO_OFFSET,
					"cannot plan: %s", strerror(-err));
	return 0;
}

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Which functions of @model are entered from outside by their names; the caller frees. */
static int find_entered(const struct pugmark_model *model, const struct planning_options *o,
			uint8_t **out, struct pugmark_diag *diag)
{
	struct needed_options needed = {
		.library_path = getenv("LD_LIBRARY_PATH"),
		.plugins = o->plugins,
		.n_plugins = o->n_plugins,
	};
	uint8_t *entered = calloc(model->n_funcs + 1, 1);
	int err = 0;
	if (!entered)
		err = pugmark_diag_set(diag, -ENOMEM, model->path, PUGMARK_NO_OFFSET,
				       "out of memory");
	if (!err && o->all_exports)
		memset(entered, 1, model->n_funcs);
	else if (!err)
		err = needed_mark_entered(model, &needed, entered, diag);
	if (err)
		free(entered);
	else
		*out = entered;
	return err;
}

static int plan_or_load(const struct pugmark_model *model, const struct planning_options *o,
			const uint8_t *entered, struct planning_result *out,
			struct pugmark_diag *diag)
{
	struct probe_costs costs = probe_costs_of_machine();
	out->path = cache_path(model, o, &costs, entered);
	if (!out->path)
		return pugmark_diag_set(diag, -ENOMEM, model->path, PUGMARK_NO_OFFSET,
					"out of memory");
	if (!o->fresh && !access(out->path, R_OK) &&
	    !pugmark_plan_open(out->path, &out->plan, NULL))
		return 0;
	int err = plan_model(model, o, &costs, entered, out, diag);
	if (err)
		return err;
	err = make_folders(out->path);
	if (err)
		return pugmark_diag_set(diag, err, out->path, PUGMARK_NO_OFFSET,
					"cannot make the cache folder: %s (set XDG_CACHE_HOME)",
					strerror(-err));
	return pugmark_plan_write(out->plan, out->path, diag);
}

int planning_make(const char *binary, const struct planning_options *options,
		  struct planning_result *out, struct pugmark_diag *diag)
{
	struct pugmark_model *model;
	*out = (struct planning_result){0};
	double start = now_s();
	int err = pugmark_model_open(binary, &model, diag);
	if (err)
		return err;
	out->n_functions = model->n_funcs;
	out->n_call_sites = model->n_sites;
	uint8_t *entered = NULL;
	err = find_entered(model, options, &entered, diag);
	if (!err)
		err = plan_or_load(model, options, entered, out, diag);
	free(entered);
	pugmark_model_free(model);
	out->seconds = now_s() - start;
	if (err)
		planning_deinit(out);
	return err;
}

void planning_deinit(struct planning_result *result)
{
	pugmark_plan_free(result->plan);
	free(result->path);
	*result = (struct planning_result){0};
}

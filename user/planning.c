// SPDX-License-Identifier: LGPL-2.1-or-later
/* planning.c: see planning.h. A plan is written to the cache under a temporary name and renamed, so
 * two processes that plan the same binary at once cost time, not truth. */
#include "user/planning.h"

#include "offline/choose_seed.h"
#include "offline/needed.h"
#include "offline/plan_build.h"
#include "offline/plan_file.h"
#include "offline/whole_file.h"
#include "user/patterns.h"
#include "user/probe_costs.h"
#include "user/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#define PLANNER_VERSION 25 /* another one where the same binary would be planned otherwise */

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
	for (int i = 0; i < N_PLAN_MODES; i++) /* paths-*: for record --twin */
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

static uint32_t add_text(uint32_t crc, const char *text)
{
	return crc32(crc, (const void *)text, strlen(text) + 1);
}

static uint32_t scope_hash(const struct planning_options *o)
{
	uint32_t crc = 0;
	for (uint32_t i = 0; i < o->n_only; i++)
		crc = add_text(crc, o->only[i]);
	crc = add_text(crc, "");
	for (uint32_t i = 0; i < o->n_without; i++)
		crc = add_text(crc, o->without[i]);
	for (uint32_t i = 0; i < o->n_out; i++)
		crc = crc32(crc, (const void *)&o->out[i], sizeof(o->out[i]));
	for (uint32_t i = 0; i < o->n_reads; i++)
		crc = crc32(add_text(crc, o->reads[i].pattern), &o->reads[i].what, 1);
	return o->n_only || o->n_without || o->n_out || o->n_reads ? crc : 0;
}

/* What tells the file of @model from all others: its build-id, or else where it is and when it was
 * written. */
static void identity(const struct pugmark_model *model, char id[80])
{
	struct stat st;
	*id = 0;
	for (uint32_t i = 0; i < model->build_id_len; i++)
		sprintf(id + 2 * i, "%02x", model->build_id[i]);
	if (!model->build_id_len && !stat(model->path, &st))
		snprintf(id, 80, "file-%llx-%llx-%llx-%llx", (unsigned long long)st.st_dev,
			 (unsigned long long)st.st_ino, (unsigned long long)st.st_size,
			 (unsigned long long)st.st_mtim.tv_sec * 1000000000ull +
				 st.st_mtim.tv_nsec);
}

/* Where the plan of @model belongs in the cache; the caller frees. NULL where there is none. */
static char *cache_path(const struct pugmark_model *model, const struct planning_options *o,
			const struct probe_costs *costs, const uint8_t *entered,
			const uint8_t *traced, const uint8_t *bound, uint32_t profile_hash)
{
	char id[80];
	identity(model, id);
	uint32_t cost_hash = crc32(profile_hash, (const void *)costs, sizeof(*costs));
	cost_hash = crc32(cost_hash, entered, model->n_funcs);
	cost_hash = crc32(cost_hash, traced, model->n_imports);
	cost_hash = crc32(cost_hash, bound, model->n_imports);
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool has_xdg = xdg && *xdg == '/';
	char *path = NULL;
	if (!has_xdg && !(home && *home))
		return NULL;
	if (asprintf(&path, "%s%s/pugmark/plans/%s-%s%s-%08" PRIx32 "-%08" PRIx32 "-v%d.plan",
		     has_xdg ? xdg : home, has_xdg ? "" : "/.cache", id, mode_names[o->mode],
		     o->returns_apart ? "-returns" : "", scope_hash(o), cost_hash,
		     PLANNER_VERSION) < 0)
		return NULL;
	return path;
}

/* Marks in @hit the functions that one of @patterns names. */
static int apply_patterns(const struct pugmark_model *model, const char *const *texts, uint32_t n,
			  bool elsewhere, bool *hit, struct pugmark_diag *diag)
{
	struct patterns patterns = {0};
	bool *seen = calloc(n + 1, sizeof(bool));
	int err = seen ? 0
		       : pugmark_diag_set(diag, -ENOMEM, model->path, PUGMARK_NO_OFFSET,
					  "out of memory");
	for (uint32_t i = 0; i < n && !err; i++)
		err = patterns_add(&patterns, texts[i], diag);
	for (uint32_t f = 0; f < model->n_funcs && !err; f++)
		hit[f] = patterns_match(&patterns, model->funcs[f].name, seen) >= 0;
	for (uint32_t i = 0; i < n && !err && !elsewhere; i++)
		if (!seen[i])
			err = pugmark_diag_set(diag, -ENOENT, model->path, PUGMARK_NO_OFFSET,
					       "no function matches '%s' (see: pugmark cfg --list)",
					       texts[i]);
	patterns_deinit(&patterns);
	free(seen);
	return err;
}

/* Which functions are opaque; NULL in *@out where none is. */
static int find_scope(const struct pugmark_model *model, const struct planning_options *o,
		      bool **out, struct pugmark_diag *diag)
{
	*out = NULL;
	if (!o->n_only && !o->n_without && !o->n_out)
		return 0;
	bool *in = calloc(model->n_funcs + 1, sizeof(bool));
	bool *without = calloc(model->n_funcs + 1, sizeof(bool));
	int err = in && without ? 0
				: pugmark_diag_set(diag, -ENOMEM, model->path, PUGMARK_NO_OFFSET,
						   "out of memory");
	if (!err)
		err = apply_patterns(model, o->only, o->n_only, o->elsewhere, in, diag);
	if (!err)
		err = apply_patterns(model, o->without, o->n_without, o->elsewhere, without, diag);
	for (uint32_t i = 0; !err && i < o->n_out; i++) {
		uint32_t f = pugmark_model_func_at(model, o->out[i]);
		if (f != PUGMARK_NONE)
			without[f] = true;
	}
	bool any = false;
	for (uint32_t f = 0; !err && f < model->n_funcs; f++) {
		in[f] = !((in[f] || !o->n_only) && !without[f]); /* from here on: opaque */
		any |= !in[f];
	}
	free(without);
	if (!err && !any)
		err = pugmark_diag_set(diag, -ENODATA, model->path, PUGMARK_NO_OFFSET,
				       "the scope leaves no function to trace");
	if (err)
		free(in);
	else
		*out = in;
	return err;
}

/* One planning, and what it works with. */
struct planner {
	const struct planning_options *o;
	const char *binary;
	struct probe_costs costs;
	const struct pugmark_model *model;
	struct pugmark_model *read; /* NULL: model is the options' */
	uint8_t *entered;	    /* per function: from outside, by its name */
	uint8_t *traced;	    /* per import: another traced module has it */
	uint8_t *bound;		    /* per import: it is the binary's own */
	struct profile profile;
	bool *opaque;
	uint8_t *func_reads, *import_reads; /* per function and import, or NULL */
	struct program *program;
	struct planning_result *out;
	struct pugmark_diag *diag;
};

static void say(const struct planner *p, const char *what)
{
	if (p->o->progress)
		progress_phase(p->o->progress, what);
}

static int failed(const struct planner *p, int err)
{
	return pugmark_diag_set(p->diag, err, p->binary, PUGMARK_NO_OFFSET, "cannot plan: %s",
				strerror(-err));
}

static int open_model(struct planner *p)
{
	const struct planning_options *o = p->o;
	const char *users[PLANNING_PLUGINS_MAX + PLANNING_TRACED_MAX];
	struct needed_options needed = {
		.library_path = getenv("LD_LIBRARY_PATH"),
		.preloaded = getenv("LD_PRELOAD"),
		.origin = o->origin,
		.any_program = o->any_program,
		.plugins = users,
	};
	for (uint32_t i = 0; i < o->n_plugins && i < PLANNING_PLUGINS_MAX; i++)
		users[needed.n_plugins++] = o->plugins[i];
	for (uint32_t i = 0; i < o->n_traced && i < PLANNING_TRACED_MAX; i++)
		users[needed.n_plugins++] = o->traced[i];
	say(p, "reading the binary");
	int err = o->seed_model ? 0 : pugmark_model_open(p->binary, &p->read, p->diag);
	if (err)
		return err;
	p->model = o->seed_model ? o->seed_model : p->read;
	p->entered = calloc(p->model->n_funcs + 1, 1);
	p->traced = calloc(p->model->n_imports + 1, 1);
	p->bound = calloc(p->model->n_imports + 1, 1);
	if (!p->entered || !p->traced || !p->bound)
		return failed(p, -ENOMEM);
	needed_mark_traced(p->model, o->traced, o->n_traced, p->traced);
	if (!o->all_exports)
		return needed_mark(p->model, &needed, p->entered, p->bound, p->diag);
	memset(p->entered, 1, p->model->n_funcs);
	return 0;
}

/* More arguments or fewer, with the result or without: all that is asked for. */
static uint8_t joined_reads(uint8_t a, uint8_t b)
{
	uint8_t n = (a & READS_ARGS) > (b & READS_ARGS) ? a & READS_ARGS : b & READS_ARGS;
	return n | ((a | b) & READS_RESULT);
}

/* Which values are to be read of which functions. */
static int find_reads(struct planner *p)
{
	const struct pugmark_model *m = p->model;
	if (!p->o->n_reads)
		return 0;
	p->func_reads = calloc(m->n_funcs + 1, 1);
	p->import_reads = calloc(m->n_imports + 1, 1);
	if (!p->func_reads || !p->import_reads)
		return failed(p, -ENOMEM);
	for (uint32_t i = 0; i < p->o->n_reads; i++) {
		const struct planning_reads *r = &p->o->reads[i];
		struct patterns pattern = {0};
		bool seen = false;
		int err = patterns_add(&pattern, r->pattern, p->diag);
		for (uint32_t f = 0; !err && f < m->n_funcs; f++)
			if (patterns_match(&pattern, m->funcs[f].name, &seen) >= 0)
				p->func_reads[f] = joined_reads(p->func_reads[f], r->what);
		for (uint32_t k = 0; !err && k < m->n_imports; k++)
			if (patterns_match(&pattern, m->imports[k].name, &seen) >= 0)
				p->import_reads[k] = joined_reads(p->import_reads[k], r->what);
		patterns_deinit(&pattern);
		if (!err && !seen && !r->optional && !p->o->elsewhere)
			err = pugmark_diag_set(p->diag, -ENOENT, m->path, PUGMARK_NO_OFFSET,
					       "--args-of: no function matches '%s' (see: pugmark "
					       "cfg --list)",
					       r->pattern);
		if (err)
			return err;
	}
	return 0;
}

static int make_program(struct planner *p)
{
	if (p->program)
		return 0;
	int err = find_scope(p->model, p->o, &p->opaque, p->diag);
	if (!err)
		err = find_reads(p);
	if (err)
		return err;
	bool *paths = NULL;
	if (p->o->mode >= MODE_PATHS_BLOCKS) {
		paths = malloc(p->model->n_funcs + 1);
		if (!paths)
			return failed(p, -ENOMEM);
		for (uint32_t f = 0; f < p->model->n_funcs; f++)
			paths[f] = !p->opaque || !p->opaque[f];
	}
	struct program_options options = {
		.costs = p->costs,
		.opaque = p->opaque,
		.entered = p->entered,
		.traced = p->traced,
		.bound = p->bound,
		.paths = paths,
		.counts = p->profile.counts,
		.func_reads = p->func_reads,
		.import_reads = p->import_reads,
	};
	err = program_from_model(p->model, &options, &p->program);
	free(paths);
	return err ? failed(p, err) : 0;
}

static int choose_from_seed(const struct planner *p, struct choice *choice, uint32_t *unresolved)
{
	struct choice_seed seed;
	int err = choice_seed_from_plan(p->program, p->o->seed, &seed);
	if (err)
		return err;
	err = choose_witnesses_seeded(p->program, &seed, choice, unresolved);
	choice_seed_deinit(&seed);
	return err == -EDOM ? 0 : err;
}

static int choose(const struct planner *p, enum plan_mode mode, struct choice *choice,
		  uint32_t *unresolved)
{
	if (p->o->seed && mode == MODE_BEST && !p->o->returns_apart)
		return choose_from_seed(p, choice, unresolved);
	int err = p->o->returns_apart
			  ? choose_witnesses_returns_apart(p->program, mode, choice, unresolved)
			  : choose_witnesses(p->program, mode, choice, unresolved);
	/* What cannot be told apart is as good as it gets, and reported. */
	return err == -EDOM ? 0 : err;
}

static int plan(struct planner *p)
{
	struct choice choice;
	uint32_t unresolved = 0;
	int err = make_program(p);
	if (err)
		return err;
	say(p, "choosing what to probe");
	err = choose(p, p->o->mode, &choice, &unresolved);
	if (err)
		return failed(p, err);
	err = plan_build(p->program, &choice, p->o->mode, p->model, &p->out->plan);
	choice_deinit(&choice);
	if (err)
		return failed(p, err);
	return 0;
}

/* What mode full would do with the same scope and counts. */
static int compare(struct planner *p)
{
	struct choice choice;
	struct pugmark_plan *full;
	uint32_t unresolved = 0;
	int err = make_program(p);
	if (err)
		return err;
	say(p, "comparing");
	err = choose(p, MODE_FULL, &choice, &unresolved);
	if (err)
		return failed(p, err);
	err = plan_build(p->program, &choice, MODE_FULL, p->model, &full);
	choice_deinit(&choice);
	if (err)
		return failed(p, err);
	p->out->full_sites = full->n_sites;
	p->out->full_cost_ns = full->expected_cost_ns;
	pugmark_plan_free(full);
	return 0;
}

/* The plan in the cache, if there is one, whole and of this binary. */
static bool find_cached(const struct planner *p)
{
	const struct planning_options *o = p->o;
	const struct pugmark_model *m = p->model;
	struct pugmark_plan *plan;
	if (o->output || o->fresh || !p->out->path || access(p->out->path, R_OK) ||
	    pugmark_plan_open(p->out->path, &plan, NULL))
		return false;
	if (plan->mode != o->mode || plan->build_id_len != m->build_id_len ||
	    memcmp(plan->build_id, m->build_id, m->build_id_len) || plan->n_funcs != m->n_funcs ||
	    (plan->n_nodes > 1 && !plan->n_points)) {
		pugmark_plan_free(plan);
		return false;
	}
	p->out->plan = plan;
	p->out->cached = true;
	return true;
}

static int write_to_stdout(struct planner *p)
{
	void *bytes;
	size_t len;
	int err = plan_encode(p->out->plan, &bytes, &len);
	if (err)
		return failed(p, err);
	err = write_all(STDOUT_FILENO, bytes, len);
	free(bytes);
	return err ? pugmark_diag_set(p->diag, err, "standard output", PUGMARK_NO_OFFSET,
				      "cannot write the plan: %s", strerror(-err))
		   : 0;
}

/* The file in the cache; that there is none costs the next planning its time, and nothing else. */
static int keep(struct planner *p)
{
	struct planning_result *out = p->out;
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	int n, err = out->path ? make_folders(out->path) : 0;
	if (err)
		pugmark_diag_set(&diag, err, out->path, PUGMARK_NO_OFFSET,
				 "cannot make the folder: %s", strerror(-err));
	else if (out->path)
		err = pugmark_plan_write(out->plan, out->path, &diag);
	if (out->path && !err)
		return 0;
	n = out->path
		    ? asprintf(&out->not_kept, "%s: %s (set XDG_CACHE_HOME)", out->path, diag.text)
		    : asprintf(&out->not_kept, "no folder for it (set XDG_CACHE_HOME or HOME)");
	free(out->path);
	out->path = NULL;
	if (n < 0)
		out->not_kept = NULL;
	return n < 0 ? failed(p, -ENOMEM) : 0;
}

static int make_file(struct planner *p)
{
	if (!p->o->output)
		return keep(p);
	if (!strcmp(p->o->output, "-"))
		return write_to_stdout(p);
	return pugmark_plan_write(p->out->plan, p->out->path, p->diag);
}

static int plan_or_load(struct planner *p)
{
	const struct planning_options *o = p->o;
	int err = open_model(p);
	if (!err && o->profile) {
		say(p, "counting in the recording");
		err = profile_read(o->profile, p->model, &p->profile, p->diag);
	}
	if (err)
		return err;
	p->out->path = o->output ? strdup(o->output)
				 : cache_path(p->model, o, &p->costs, p->entered, p->traced,
					      p->bound, p->profile.hash);
	if (o->output && !p->out->path)
		return failed(p, -ENOMEM);
	if (find_cached(p))
		return 0;
	err = plan(p);
	return err ? err : make_file(p);
}

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

int planning_make(const char *binary, const struct planning_options *options,
		  struct planning_result *out, struct pugmark_diag *diag)
{
	struct planner p = {
		.o = options,
		.binary = binary,
		.costs = probe_costs_of_machine(),
		.out = out,
		.diag = diag,
	};
	*out = (struct planning_result){0};
	double start = now_s();
	int err = plan_or_load(&p);
	out->seconds = now_s() - start;
	if (!err && options->compare)
		err = compare(&p);
	if (!err && (options->compare || options->keep_model)) {
		out->model = p.read;
		p.read = NULL;
	}
	program_free(p.program);
	free(p.entered);
	free(p.traced);
	free(p.bound);
	free(p.opaque);
	free(p.func_reads);
	free(p.import_reads);
	profile_deinit(&p.profile);
	pugmark_model_free(p.read);
	if (err)
		planning_deinit(out);
	return err;
}

void planning_deinit(struct planning_result *result)
{
	pugmark_plan_free(result->plan);
	pugmark_model_free(result->model);
	free(result->path);
	free(result->not_kept);
	*result = (struct planning_result){0};
}

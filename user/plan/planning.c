// SPDX-License-Identifier: LGPL-2.1-or-later
/* planning.c: see planning.h. Keeping plans is plan_cache.h's. */
#include "user/plan/planning.h"

#include "offline/patch/placing.h"
#include "offline/plan/plan_seed.h"
#include "offline/link/callers_by_name.h"
#include "offline/plan/plan_build.h"
#include "offline/program/foreign_code.h"
#include "user/cli/patterns.h"
#include "user/file/own_cache.h"
#include "user/plan/plan_cache.h"
#include "user/plan/plan_entered.h"
#include "user/plan/plan_scope.h"
#include "user/plan/probe_costs.h"
#include "user/plan/profile.h"
#include "user/plan/profile_kept.h"
#include "user/plan/taken_before.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAMES_MAX 3000
/* Arrays of more bytes are mapped each by itself, and so given back at once when they are freed.
 * Set here, since glibc raises it to 32 MB by itself. */
#define MAPPED_BYTES (1 << 20)

/* One planning, and what it works with. */
struct planner {
	const struct planning_options *o;
	const char *binary;
	const struct plan_modules *modules;
	struct probe_costs costs;
	const struct pugmark_model *model;
	struct pugmark_model *read; /* NULL: model is the options' */
	uint8_t *entered;	    /* per function: from outside, by its name */
	uint8_t *traced;	    /* per import: another traced module has it */
	uint8_t *bound;		    /* per import: it is the binary's own */
	uint8_t *never;		    /* per import: it never returns */
	uint8_t *switches;	    /* per site: what it calls elsewhere may switch stacks */
	struct profile profile;
	bool *foreign, *opaque;		    /* per function; NULL: none is */
	uint8_t *func_reads, *import_reads; /* per function and import, or NULL */
	struct program *program;
	struct choosing *choosing;	   /* for it, or NULL */
	struct planning_options recalling; /* the options, with what was taken out before */
	uint64_t *recalled;		   /* those functions: heap */
	char *taken_path;		   /* where they are kept, or NULL; heap */
	double comparing_s;		   /* what the plan would not have taken */
	struct planning_result *out;
	struct pugmark_diag *diag;
};

static void say(const struct planner *p, const char *what)
{
	malloc_trim(0); /* what the last step took lies between what is kept */
	if (p->o->progress)
		progress_phase(p->o->progress, what);
}

/* Shares of the time: what is read before anything can be chosen, and what is written behind. */
#define PART_READ 0.15
#define PART_WRITTEN 0.05

static void tell_part(void *ctx, double part)
{
	_Atomic uint32_t *permille = ctx;
	double all = PART_READ + (1 - PART_READ - PART_WRITTEN) * part;
	uint32_t now = (uint32_t)(1000 * all);

	if (now > *permille) /* what is tried behind the choice begins anew */
		*permille = now;
}

static int failed(const struct planner *p, int err)
{
	return pugmark_diag_set(p->diag, err, p->binary, PUGMARK_NO_OFFSET, "cannot plan: %s",
				strerror(-err));
}

static int open_model(struct planner *p)
{
	const struct planning_options *o = p->o;
	say(p, "reading the binary");
	int err = o->seed_model ? 0 : pugmark_model_open(p->binary, &p->read, p->diag);
	if (err)
		return err;
	p->model = o->seed_model ? o->seed_model : p->read;
	p->entered = calloc(p->model->n_funcs + 1, 1);
	p->traced = calloc(p->model->n_imports + 1, 1);
	p->bound = calloc(p->model->n_imports + 1, 1);
	p->never = calloc(p->model->n_imports + 1, 1);
	p->switches = calloc(p->model->n_sites + 1, 1);
	if (!p->entered || !p->traced || !p->bound || !p->never || !p->switches)
		return failed(p, -ENOMEM);
	err = callers_by_name_mark_traced(p->model, o->traced, o->n_traced, p->traced);
	if (err)
		return failed(p, err);
	err = plan_entered_mark(p->model, o, p->modules, p->entered, p->bound, &p->out->plugin,
				p->diag);
	if (!err && plan_calls_mark(p->model, o, p->modules, p->never, p->switches))
		err = failed(p, -ENOMEM);
	return err;
}

/* The names of the first of @n functions. */
static char *name_functions(const struct pugmark_model *m, const uint64_t *addrs, uint32_t n)
{
	char *names = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&names, &len);
	for (uint32_t i = 0; f && i < n && ftell(f) < NAMES_MAX; i++) {
		uint32_t func = pugmark_model_func_at(m, addrs[i]);
		fprintf(f, "%s%.200s", i ? ", " : "",
			func == PUGMARK_NONE ? "?" : m->funcs[func].name);
	}
	if (f)
		fclose(f);
	return names;
}

/* Takes functions out that an earlier recording took out. */
static int recall(struct planner *p)
{
	const struct planning_options *o = p->o;
	uint32_t n;
	if (o->max_overhead <= 0)
		return 0;
	p->taken_path = plan_cache_taken_path(p->model, o);
	if (p->taken_path && o->fresh && !o->n_out)
		own_cache_remove(p->taken_path);
	if (!p->taken_path || o->fresh || taken_before_read(p->taken_path, &p->recalled, &n))
		return 0;
	uint64_t *both = realloc(p->recalled, (n + o->n_out + 1) * sizeof(*both));
	if (!both)
		return failed(p, -ENOMEM);
	p->recalled = both;
	if (o->n_out)
		memcpy(both + n, o->out, o->n_out * sizeof(*both));
	p->recalling = *o;
	p->recalling.out = both;
	p->recalling.n_out += n;
	p->o = &p->recalling;
	p->out->left_out = name_functions(p->model, both, n);
	p->out->n_left_out = p->out->left_out ? n : 0;
	return 0;
}

/* Keeps what was taken out for the next recording. A failure costs that one time, and is no
 * error. */
static void remember(struct planner *p)
{
	if (p->taken_path && p->o->n_out)
		taken_before_write(p->taken_path, p->o->out, p->o->n_out);
}

/* The union of two requests: the larger number of arguments, and the result if either asks for
 * it. */
static uint8_t joined_reads(uint8_t a, uint8_t b)
{
	uint8_t n = (a & PUGMARK_READS_ARGS) > (b & PUGMARK_READS_ARGS) ? a & PUGMARK_READS_ARGS
									: b & PUGMARK_READS_ARGS;
	return n | ((a | b) & (PUGMARK_READS_RESULT | PUGMARK_READS_TIME | PUGMARK_READS_OUT));
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
					       "--%s: no function matches '%s' (see: pugmark "
					       "cfg --list)",
					       r->what & PUGMARK_READS_TIME ? "time-of" : "args-of",
					       r->pattern);
		if (err)
			return err;
	}
	return 0;
}

static int find_foreign(struct planner *p)
{
	p->foreign = calloc(p->model->n_funcs + 1, sizeof(bool));
	if (!p->foreign)
		return failed(p, -ENOMEM);
	if (!foreign_code_find(p->model, p->foreign)) {
		free(p->foreign);
		p->foreign = NULL;
	}
	return 0;
}

static int make_program(struct planner *p)
{
	if (p->program)
		return 0;
	int err = find_foreign(p);
	if (!err)
		err = plan_scope_find(p->model, p->o, &p->profile, p->foreign, &p->opaque, p->diag);
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
	uint8_t *patchable = NULL;
	if (p->o->patched && patch_placing_possible(p->model, &patchable)) {
		free(paths);
		return failed(p, -ENOMEM);
	}
	struct program_options options = {
		.patchable = patchable,
		.costs = p->costs,
		.opaque = p->opaque,
		.foreign = p->foreign,
		.entered = p->entered,
		.traced = p->traced,
		.bound = p->bound,
		.never = p->never,
		.switches = p->switches,
		.paths = paths,
		.counts = p->profile.counts,
		.func_reads = p->func_reads,
		.import_reads = p->import_reads,
	};
	err = program_from_model(p->model, &options, &p->program);
	free(paths);
	free(patchable);
	return err ? failed(p, err) : 0;
}

static void end_choosing(struct planner *p)
{
	choosing_free(p->choosing);
	p->choosing = NULL;
}

static int begin_choosing(struct planner *p)
{
	return p->choosing ? 0 : choosing_new(p->program, &p->choosing);
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

static int choose(struct planner *p, enum plan_mode mode, struct choice *choice,
		  uint32_t *unresolved)
{
	if (p->o->seed && mode == MODE_BEST && !p->o->returns_apart) {
		end_choosing(p); /* it begins elsewhere */
		return choose_from_seed(p, choice, unresolved);
	}
	int err = begin_choosing(p);
	if (!err)
		err = choose_witnesses_on(p->choosing, mode, p->o->returns_apart, choice,
					  unresolved);
	end_choosing(p);
	/* Places that no probe can tell apart are reported, and are no error. */
	return err == -EDOM ? 0 : err;
}

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Counts what mode full would probe with the same scope and counts. */
static int compare(struct planner *p)
{
	struct choice choice;
	int err = make_program(p);
	if (err)
		return err;
	say(p, "comparing");
	double start = now_s();
	err = begin_choosing(p);
	if (!err)
		err = choose_full_marks(p->choosing, &choice);
	p->comparing_s = now_s() - start;
	if (err)
		return failed(p, err);
	p->out->full_cost_ns = choice_cost(p->program, &choice);
	p->out->full_sites = plan_count_sites(p->program, &choice);
	choice_deinit(&choice);
	return 0;
}

/* What it is compared with comes first, while there is no plan yet that takes memory. */
static int plan(struct planner *p)
{
	struct choice choice;
	uint32_t unresolved = 0;
	int err = make_program(p);
	if (!err && p->o->compare)
		err = compare(p);
	if (err)
		return err;
	say(p, "choosing what to probe");
	p->program->told = p->o->permille ? tell_part : NULL;
	p->program->told_ctx = p->o->permille;
	err = choose(p, p->o->mode, &choice, &unresolved);
	p->program->told = NULL;
	if (err)
		return failed(p, err);
	say(p, "writing the plan");
	err = plan_build_last(&p->program, &choice, p->o->mode, p->model, &p->out->plan);
	choice_deinit(&choice);
	if (err)
		return failed(p, err);
	return 0;
}

/* Keeps the plan in the cache. A failure costs the next planning time, and is no error. */
static int keep(struct planner *p)
{
	struct planning_result *out = p->out;
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	if (out->path && !plan_cache_keep(out->path, out->plan, &diag))
		return 0;
	int n = out->path
			? asprintf(&out->not_kept, "%s: %s (set XDG_CACHE_HOME)", out->path,
				   diag.text)
			: asprintf(&out->not_kept, "no folder for it (set XDG_CACHE_HOME or HOME)");
	free(out->path);
	out->path = NULL;
	if (n < 0)
		out->not_kept = NULL;
	return n < 0 ? failed(p, -ENOMEM) : 0;
}

/* Of all that a plan is made from beside the options and the binary. */
static void digest_inputs(const struct planner *p, uint8_t out[DIGEST_BYTES])
{
	const struct pugmark_model *m = p->model;
	struct digest d;
	digest_init(&d);
	digest_add(&d, p->profile.counts,
		   p->profile.counts ? m->n_blocks * sizeof(*p->profile.counts) : 0);
	for (uint32_t i = 0; p->o->n_shares && i < p->profile.n_calls; i++)
		digest_add(&d, &p->profile.calls[i], sizeof(p->profile.calls[i]));
	digest_add(&d, &p->costs, sizeof(p->costs));
	digest_add(&d, p->entered, m->n_funcs);
	digest_add(&d, p->traced, m->n_imports);
	digest_add(&d, p->bound, m->n_imports);
	digest_add(&d, p->never, m->n_imports);
	digest_add(&d, p->switches, m->n_sites);
	digest_end(&d, out);
}

/* Counts in the recordings, unless that was done before. Where all of each is counted nothing is
 * kept: they are seldom counted in twice. */
static int count(struct planner *p)
{
	const struct planning_options *o = p->o;
	say(p, "counting in what was recorded");
	char *path = o->profile_events ? profile_kept_path(p->model, o->profiles, o->n_profiles,
							   o->profile_events, o->tag)
				       : NULL;
	int err = 0;
	if (!path || o->fresh || profile_kept_read(path, p->model, &p->profile)) {
		err = profile_read(o->profiles, o->n_profiles, p->model, o->profile_events,
				   &p->profile, p->diag);
		if (!err && path)
			profile_kept_write(path, p->model, &p->profile); /* else it is done again */
	}
	free(path);
	return err;
}

static int plan_or_load(struct planner *p)
{
	int err = open_model(p);
	if (!err)
		err = recall(p);
	const struct planning_options *o = p->o;
	if (!err && o->n_profiles)
		err = count(p);
	if (err)
		return err;
	uint8_t inputs[DIGEST_BYTES];
	digest_inputs(p, inputs);
	p->out->path = o->output ? strdup(o->output) : plan_cache_path(p->model, o, inputs);
	if (o->output && !p->out->path)
		return failed(p, -ENOMEM);
	if (!o->output && !o->fresh)
		p->out->plan = plan_cache_find(p->out->path, p->model, o->mode);
	p->out->cached = p->out->plan != NULL;
	if (p->out->cached)
		return 0;
	err = plan(p);
	return err || o->output ? err : keep(p);
}

static void planner_deinit(struct planner *p)
{
	end_choosing(p);
	program_free(p->program);
	free(p->entered);
	free(p->traced);
	free(p->bound);
	free(p->never);
	free(p->switches);
	free(p->recalled);
	free(p->taken_path);
	free(p->foreign);
	free(p->opaque);
	free(p->func_reads);
	free(p->import_reads);
	profile_deinit(&p->profile);
	pugmark_model_free(p->read);
}

int planning_make_here(const char *binary, const struct planning_options *options,
		       const struct plan_modules *modules, struct planning_result *out,
		       struct pugmark_diag *diag)
{
	struct planner p = {
		.o = options,
		.modules = modules,
		.binary = binary,
		.out = out,
		.diag = diag,
	};
	*out = (struct planning_result){0};
	mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
	out->costs_measured = probe_costs_of_machine(&p.costs);
	out->costs = p.costs;
	double start = now_s();
	int err = plan_or_load(&p);
	out->seconds = now_s() - start - p.comparing_s;
	if (!err)
		remember(&p);
	if (!err && options->compare && out->cached)
		err = compare(&p);
	if (!err && (options->compare || options->keep_model)) {
		out->model = p.read;
		p.read = NULL;
	}
	planner_deinit(&p);
	if (err)
		planning_deinit(out);
	return err;
}

int planning_shares_here(const struct planning_inside *inside, const struct share_options *shares,
			 struct share_set *out, double *whole_ns, struct pugmark_diag *diag)
{
	const struct planning_options *options = inside->options;
	struct planning_result result = {0};
	struct planner p = {.o = options,
			    .modules = inside->modules,
			    .binary = inside->binary,
			    .out = &result,
			    .diag = diag};
	struct share_options alone = *shares;
	*whole_ns = 0;
	probe_costs_of_machine(&p.costs);
	int err = open_model(&p);
	if (!err && options->n_profiles)
		err = profile_read(options->profiles, options->n_profiles, p.model, 0, &p.profile,
				   diag);
	if (!err)
		err = make_program(&p);
	alone.machines = 1;
	alone.bound = 0;
	if (!err)
		err = share_make(p.program, p.model, &alone, out, diag);
	if (!err && (shares->machines > 1 || shares->bound)) {
		*whole_ns = out->load_ns[0];
		share_set_deinit(out);
		err = share_make(p.program, p.model, shares, out, diag);
	} else if (!err) {
		*whole_ns = out->load_ns[0];
	}
	planner_deinit(&p);
	free(result.plugin);
	return err;
}

void planning_deinit(struct planning_result *result)
{
	pugmark_plan_free(result->plan);
	pugmark_model_free(result->model);
	free(result->path);
	free(result->not_kept);
	free(result->left_out);
	free(result->plugin);
	*result = (struct planning_result){0};
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_record.c: `pugmark record`: checks, plans, records, and the sentence at the end. */
#include "user/cmd/record_notes.h"
#include "user/cmd/record_summary.h"
#include "user/cli/command.h"
#include "user/measure/measure_costs.h"
#include "user/plan/probe_costs.h"
#include "user/record/ask/record_args.h"
#include "user/record/ask/record_check.h"
#include "user/record/ask/record_reads.h"
#include "user/record/recorder.h"
#include "user/record/turns.h"
#include "user/sandbox/sandbox.h"
#include "user/values/record/capture_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct replanning {
	const struct record_modules_options *options;
	struct record_modules *modules;
};

static int replan(void *ctx, const struct replan_request *request, struct recorder_options *changed,
		  char **news, struct pugmark_diag *diag)
{
	struct replanning *r = ctx;
	uint32_t first;
	int err = record_modules_replan(r->options, r->modules, request, &first,
					&changed->n_modules, diag);

	changed->modules = &r->modules->at[first];
	*news = r->modules->news;
	r->modules->news = NULL;
	return err;
}

static bool wants(void *ctx, const char *file)
{
	struct replanning *r = ctx;

	return record_modules_wants(r->options, file);
}

static const char *changed(void *ctx, bool at_end)
{
	struct replanning *r = ctx;

	return targets_changed(&r->modules->targets, at_end);
}

static void release(void *ctx)
{
	struct replanning *r = ctx;

	targets_release(&r->modules->targets);
}

static void planned(void *ctx)
{
	struct replanning *r = ctx;

	record_modules_planned(r->modules);
}

/* Refuses to wait for modules that are loaded later: they would be planned together with what is
 * patched already. */
static int refuse_awaited(const struct record_modules_options *o, const struct record_modules *m,
			  struct pugmark_diag *diag)
{
	for (uint32_t i = 0; i < o->n_modules; i++)
		if (m->awaited[i])
			return pugmark_diag_set(diag, -ENOTSUP, NULL, PUGMARK_NO_OFFSET,
						"--module %s: no such module so far, and with "
						"--carrier patch none is taken in later (use "
						"--carrier probe)",
						o->modules[i]);
	return 0;
}

/* Measures the costs that the overhead is computed by, where doctor has not left any. */
static void measure_costs(bool quiet)
{
	char *path = probe_costs_path();
	struct measured_costs costs;
	struct progress progress;

	if (path && access(path, R_OK)) {
		progress_start(&progress, "measuring what a probe costs", 0, quiet);
		if (!costs_measure(&costs, NULL))
			costs_save(&costs, NULL);
		progress_end(&progress);
	}
	free(path);
}

/* Level values: plans what is captured of the modules. They are witnessed as well, unless that is
 * not wanted. */
static int plan_captures(struct record_args *a, struct record_modules *modules,
			 struct capture_plan **out, struct pugmark_diag *diag)
{
	enum { CHECK_EVERY = 16, CAPTURE_RING_BYTES = 64 << 20 };

	if (!a->values)
		return 0;
	if (a->no_memory && !strcmp(a->no_memory, "[heap]") && !a->options.n_pids)
		return pugmark_diag_set(diag, -EINVAL, "--no-memory '[heap]'", PUGMARK_NO_OFFSET,
					"a program that is started has no heap yet: what comes "
					"there follows from what "
					"it reads (hide that: --redact)");
	int err = capture_plan_make(modules->at, modules->n, a->imports, out, diag);
	a->options.captures = *out;
	a->options.check_every = a->check_every ? a->check_every : CHECK_EVERY;
	a->options.thin = a->check_every > 1;
	a->options.one_processor = a->one_processor;
	a->options.no_memory = a->no_memory;
	a->options.redact = a->redact.at;
	a->options.n_redact = a->redact.n;
	a->options.capture_ring_bytes = CAPTURE_RING_BYTES;
	if (a->options.ring_bytes > CAPTURE_RING_BYTES)
		a->options.capture_ring_bytes = a->options.ring_bytes;
	for (uint32_t i = 0; a->check_every && i < modules->n; i++)
		modules->at[i].n_sites = 0;
	return err;
}

/* Refuses where arguments were asked for, and no probe of these functions can read any. */
static int check_reads(const struct record_args *a, const struct record_modules *modules,
		       struct pugmark_diag *diag)
{
	if (!a->args_of.n || a->modules.plan)
		return 0;
	for (uint32_t i = 0; i < a->modules.n_modules; i++)
		if (modules->awaited[i])
			return 0;
	for (uint32_t m = 0; m < modules->n; m++)
		for (uint32_t i = 0; i < modules->at[m].n_sites; i++)
			if (modules->at[m].sites[i].reads & PUGMARK_READS_ARGS)
				return 0;
	return pugmark_diag_set(diag, -ENODATA, NULL, PUGMARK_NO_OFFSET,
				"--args-of: at none of these functions' begins a probe can stand "
				"while the arguments are in their registers (see: pugmark plan "
				"--list)");
}

/* What is recorded, and who plans what comes later. */
static void give_planned(struct record_args *a, struct record_modules *modules,
			 struct replanning *replanning)
{
	const struct record_modules_options *m = &a->modules;
	a->options.later =
		m->n_modules && !m->sites && !m->plan && m->n_modes == 1 && !a->options.carrier;
	a->options.wants = wants;
	a->options.modules = modules->at;
	a->options.n_modules = modules->n;
	a->options.pid_programs = m->binary ? NULL : modules->pid_programs;
	a->options.program_fds = modules->program_fds;
	a->options.n_program_fds = modules->n_programs;
	a->options.program = modules->targets.at[0].path;
	a->options.program_name = modules->targets.at[0].name;
	a->options.running = modules->running;
	a->options.n_running = modules->n_running;
	a->options.not_all_loaded = &modules->loaded.cut;
	a->options.replan = replan;
	a->options.changed = changed;
	a->options.release = release;
	a->options.planned = planned;
	a->options.replan_ctx = replanning;
}

static int run(struct record_args *a, struct recorder_result *result, struct pugmark_diag *diag)
{
	struct record_modules_options *m = &a->modules;
	struct record_modules *modules = calloc(1, sizeof(*modules));
	struct record_reads *reads = NULL;
	struct replanning replanning = {m, modules};
	struct capture_plan *captures = NULL;
	char *notes[RECORD_NOTES] = {NULL};
	int err = modules ? record_check_rights(diag) : -ENOMEM;

	if (!err)
		err = record_check_shapes(a->options.quiet, diag);
	if (modules)
		modules->targets.guarded = true;
	for (uint32_t i = 0; !err && i < a->options.n_pids; i++)
		err = record_check_process(a->pids[i], diag);
	m->argv = a->options.argv;
	m->pids = a->pids;
	m->n_pids = a->options.n_pids;
	m->quiet = a->options.quiet;
	if (!err && (a->options.max_overhead > 0 || a->options.refuse_above > 0))
		measure_costs(a->options.quiet);
	if (!m->argv && !a->plan_at_once) /* what runs is not to be slowed down by planning */
		sandbox_give_way();
	if (!err)
		err = record_reads_make(a, &reads, diag);
	if (!err)
		err = record_modules_open(m, modules, diag);
	if (err) {
		char file[sizeof(diag->file)];
		memcpy(file, diag->file, sizeof(file));
		record_explain_script(file, err, diag);
	}
	if (!err && a->options.carrier)
		err = refuse_awaited(m, modules, diag);
	if (!err) {
		record_notes_tell(a, modules, notes);
		give_planned(a, modules, &replanning);
		err = plan_captures(a, modules, &captures, diag);
		if (!err)
			err = check_reads(a, modules, diag);
		if (!err)
			err = record_reads_types(a, reads, modules, diag);
		a->options.forecast = a->options.refuse_above > 0 ||
				      (!a->options.quiet && !a->options.carrier &&
				       !modules->sites && !(a->options.max_overhead > 0));
	}
	sandbox_get_on();
	if (!err) {
		err = recorder_run(&a->options, result, diag);
		record_notes_awaited(m, modules, true);
		if (err && err != -ECANCELED)
			record_explain_failure(err, diag);
		targets_name(&modules->targets, diag);
	}
	if (modules)
		record_modules_deinit(modules);
	capture_plan_free(captures);
	record_reads_free(reads);
	for (int i = 0; i < RECORD_NOTES; i++)
		free(notes[i]);
	free(modules);
	return err;
}

/* Has the turn planned by what was counted in those turns that have recordings (one that had no
 * function has none), unless the user has said by what. In a process of its own: @begin lives as
 * long. */
static void plan_by_turns(struct record_args *a, const struct turn_begin *begin)
{
	enum { ENOUGH_EVENTS = 100000 };
	const char **dirs = calloc(begin->n_counted + 1, sizeof(*dirs));
	uint32_t n = 0;
	if (!dirs || a->planning.n_profiles || a->no_times)
		return;
	for (uint32_t i = 0; i < begin->n_counted; i++) {
		char *meta, *dir = turn_folder(a->options.output, begin->counted + i);
		if (!dir || asprintf(&meta, "%s/meta.json", dir) < 0)
			return;
		if (!access(meta, R_OK))
			dirs[n++] = dir;
		free(meta);
	}
	a->planning.profiles = dirs;
	a->planning.n_profiles = n;
	a->planning.profile_events = ENOUGH_EVENTS;
}

/* One turn, in a process of its own. Returns its exit status. */
static int record_turn(void *ctx, const struct turn_begin *begin)
{
	struct record_args *a = ctx;
	struct recorder_result result = {0};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};

	plan_by_turns(a, begin);
	a->options.share = a->planning.share = begin->share;
	a->options.n_shares = a->planning.n_shares = a->rotate;
	a->options.output = begin->output;
	a->options.go_fd = begin->go_fd;
	a->options.begun_fd = begin->begun_fd;
	a->options.duration_ns = 0;
	a->options.quiet = true;
	int err = run(a, &result, &diag);
	if (err == -ECANCELED || err == -ENODATA)
		return err == -ENODATA ? TURN_EMPTY : EXIT_OK;
	if (err) {
		record_explain_files(err, &diag);
		return command_fail(&diag);
	}
	if (result.why == STOP_MEMORY || result.why == STOP_REFUSED)
		fprintf(stderr, "pugmark: this turn was ended: %s\n",
			result.why == STOP_MEMORY ? "the recorder took more than --max-memory"
						  : "it would cost more than --refuse-above");
	bool ended =
		result.why == STOP_DISK || result.why == STOP_MEMORY || result.why == STOP_REFUSED;
	return ended ? EXIT_ERROR : result.lost || result.not_whole ? TURN_LOSSY : EXIT_OK;
}

static int record_in_turns(struct record_args *a)
{
	enum { EVERY_S = 10 };
	struct turns turns = {
		.output = a->options.output,
		.shares = a->rotate,
		.every_ns = (a->every_s > 0 ? a->every_s : EVERY_S) * 1e9,
		.duration_ns = a->options.duration_ns,
		.record = record_turn,
		.ctx = a,
	};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	struct turns_result result;

	int err = turns_run(&turns, &result, &diag);
	if (err)
		return command_fail(&diag);
	if (!a->options.quiet) {
		command_say(stderr, "pugmark: ", a->options.output, ": ");
		fprintf(stderr, "%u turn%s of %u shares\n", result.n, result.n == 1 ? "" : "s",
			a->rotate);
	}
	if (result.missed) {
		command_say(stderr, "pugmark: ", a->options.output, ": ");
		fprintf(stderr,
			"%u of %u shares had no turn, and their functions were not traced (a "
			"longer --duration, or fewer shares)\n",
			result.missed, a->rotate);
	}
	if (result.lossy) {
		command_say(stderr, "pugmark: ", a->options.output, ": ");
		fprintf(stderr,
			"%u of its recordings are not whole (`pugmark verify` of each says "
			"why)\n",
			result.lossy);
	}
	return result.lossy || result.missed ? EXIT_GAPS : EXIT_OK;
}

int cmd_record(int argc, char **argv)
{
	struct record_args a;
	struct recorder_result result = {0};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	int status;

	if (!record_args_parse(&a, argc, argv, &status))
		return status;
	if (a.rotate)
		return record_in_turns(&a);
	int err = run(&a, &result, &diag);
	if (err) {
		record_explain_files(err, &diag);
		return command_fail(&diag);
	}
	record_summary(&a, &result);
	if (result.exit_status)
		return result.exit_status;
	return result.why == STOP_DISK || result.why == STOP_OVERHEAD ||
			       result.why == STOP_REFUSED || result.why == STOP_MEMORY
		       ? EXIT_ERROR
	       : result.lost || result.not_whole || (!result.tasks && !a.options.argv) ? EXIT_GAPS
										       : EXIT_OK;
}

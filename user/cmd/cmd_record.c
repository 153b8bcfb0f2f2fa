// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_record.c: `pugmark record`: checks, plans, records, and the sentence at the end. */
#include "user/cmd/record_summary.h"
#include "user/cli/command.h"
#include "user/cli/printable.h"
#include "user/file/packed.h"
#include "user/measure/measure_costs.h"
#include "user/plan/probe_costs.h"
#include "user/plan/unknown_code.h"
#include "user/proc/running.h"
#include "user/record/ask/record_args.h"
#include "user/record/ask/record_check.h"
#include "user/record/ask/record_reads.h"
#include "user/record/recorder.h"
#include "user/record/turns.h"
#include "user/sandbox/sandbox.h"
#include "user/values/write/capture_plan.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
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

/* Says which patterns have no match yet: such a pattern may be wrong, or its module may be loaded
 * later, or never. */
static void tell_awaited(const struct record_modules_options *o, const struct record_modules *m,
			 bool last)
{
	for (uint32_t i = 0; i < o->n_modules; i++)
		if (m->awaited[i])
			command_say(stderr,
				    last ? "pugmark: no module '" : "pugmark: note: no module '",
				    o->modules[i],
				    last ? "' was ever loaded\n"
					 : "' so far: it is traced from when one is loaded\n");
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

/* Says, before anything is recorded, where no probe can tell what the program does. */
static void warn_unresolved(const struct record_modules *modules, bool quiet)
{
	for (uint32_t i = 0; !quiet && i < modules->n; i++) {
		const struct recorder_module *m = &modules->at[i];
		uint32_t n = m->plan ? pugmark_plan_unknown_code(m->plan) : 0;

		if (!n)
			continue;
		command_say(stderr, "pugmark: ", m->name ? m->name : m->path, ": ");
		fprintf(stderr,
			"at %u place%s of this file nothing can be probed that tells what happens: "
			"where one of them is met, the trace may have a gap (which `pugmark "
			"verify` then names)\n",
			n, n == 1 ? "" : "s");
	}
}

/* Says which functions have a probe on each block, because they are too large to choose for. */
static void tell_whole(const struct record_modules *modules)
{
	for (uint32_t i = 0; i < modules->n; i++) {
		const struct pugmark_plan *p = modules->at[i].plan;
		for (uint32_t f = 0; p && f < p->n_funcs; f++) {
			if (!(p->funcs[f].flags & PUGMARK_PLAN_FUNC_WHOLE))
				continue;
			command_say(stderr, "pugmark: note: ", p->strings + p->funcs[f].name,
				    " is too large to choose for: each of its blocks is probed "
				    "(-N leaves it out)\n");
		}
	}
}

/* Says where code of a file is taken for that of another module. What is left out because somebody
 * has asked for it is not told. */
static void tell_foreign(const struct record_args *a, const struct record_modules *modules)
{
	const struct planning_options *o = &a->planning;
	for (uint32_t i = 0; i < modules->n; i++) {
		const struct recorder_module *m = &modules->at[i];
		uint32_t n = 0;
		for (uint32_t f = 0; m->plan && f < m->plan->n_funcs; f++)
			n += !!(m->plan->funcs[f].flags & PUGMARK_PLAN_FUNC_OPAQUE);
		if (!n || o->n_only || o->n_without || o->n_out || o->n_shares ||
		    modules->planned[i].n_left_out)
			continue;
		command_say(stderr, "pugmark: note: ", m->name ? m->name : m->path, ": ");
		fprintf(stderr,
			"%u functions have no call frame information, and return from frames of "
			"a size that nothing tells: they are taken for another module's, and not "
			"traced\n",
			n);
	}
}

/* What is to be said of a module, or NULL; the caller frees. */
typedef char *words_fn(const struct recorder_module *module, const char *name);

/* Says of each module what @words_of has to say; returns all of that for the recording, or NULL.
 * The caller frees. */
static char *tell_each(const struct record_modules *modules, words_fn *words_of, bool quiet)
{
	char *text = NULL;

	for (uint32_t i = 0; i < modules->n; i++) {
		const struct recorder_module *m = &modules->at[i];
		char *words = words_of(m, m->name ? m->name : m->path), *both;

		if (!words)
			continue;
		if (!quiet)
			command_say(stderr, "pugmark: note: ", words, "\n");
		if (text && asprintf(&both, "%s; %s", text, words) >= 0) {
			free(text);
			text = both;
		}
		if (text)
			free(words);
		else
			text = words;
	}
	return text;
}

/* Of a file that holds a program that only its memory shows. */
static char *packed_words(const struct recorder_module *m, const char *name)
{
	char *words;

	return file_is_packed(m->path) && asprintf(&words, "%s " PACKED_WORDS, name) >= 0 ? words
											  : NULL;
}

#define NUMBERLESS_WORDS                                                                           \
	"was built by no version of Go that is known to keep a goroutine's number at a certain "   \
	"place (1.18 to 1.26), nor does DWARF say where: goroutines have no numbers"

/* Go's runtime is in it; the plan has the names of functions that Go's own table has. */
static bool is_of_go(const struct pugmark_plan *plan)
{
	for (uint32_t f = 0; plan && f < plan->n_funcs; f++)
		if (!strcmp(plan->strings + plan->funcs[f].name, "runtime.copystack"))
			return true;
	return false;
}

/* Of a program whose goroutines have no numbers. */
static char *numberless_words(const struct recorder_module *m, const char *name)
{
	char *words;
	bool tells = !m->goid_at && is_of_go(m->plan);

	return tells && asprintf(&words, "%s " NUMBERLESS_WORDS, name) >= 0 ? words : NULL;
}

/* Of code that nothing tells that it runs. */
static char *unknown_words(const struct recorder_module *m, const char *name)
{
	struct unknown_code u = {0};
	char *words;

	if (m->plan)
		u = unknown_code_of(m->plan);
	return u.n && asprintf(&words, "%s: " UNKNOWN_CODE_WORDS, name, u.n, u.n == 1 ? "" : "s",
			       (unsigned long long)u.bytes, (unsigned long long)u.first) >= 0
		       ? words
		       : NULL;
}

/* Says which processes are not traced: workers that a process has already. What it forks from now
 * on is. */
static void tell_forked(const struct record_args *a, const struct record_modules *modules)
{
	enum { NAMED = 8 };
	pid_t forked[RECORD_RUNNING_MAX];
	const char *name = modules->targets.at[0].name;
	uint32_t n = running_forked(a->pids, a->options.n_pids, forked, RECORD_RUNNING_MAX);

	if (!n)
		return;
	fprintf(stderr, "pugmark: note: %u process%s forked before %s not traced (", n,
		n == 1 ? " that was" : "es that were", n == 1 ? "is" : "are");
	for (uint32_t i = 0; n <= NAMED && i < n; i++)
		fprintf(stderr, "%s -p %d%s", i ? "" : "add", forked[i],
			i + 1 == n ? ", or take " : "");
	if (running_runs(a->pids[0], name)) {
		fputs("-a ", stderr);
		printable_print(stderr, name, PRINT_SHELL);
		fputs(")\n", stderr);
	} else { /* replaced or deleted */
		fprintf(stderr, "-a /proc/%d/exe)\n", a->pids[0]);
	}
}

/* Says what an earlier recording has taken out, which is not traced; returns that for the
 * recording. The caller frees. */
static char *tell_left_out(const struct record_modules *modules, bool quiet)
{
	char *text = NULL;
	size_t len = 0;
	uint32_t n = 0;
	for (uint32_t i = 0; i < modules->n; i++)
		n += modules->planned[i].n_left_out;
	FILE *f = n ? open_memstream(&text, &len) : NULL;
	if (!f)
		return NULL;
	if (!quiet)
		fprintf(stderr,
			"pugmark: note: %u function%s out from the start, as an earlier recording "
			"has taken %s out (--fresh begins with all; `pugmark verify` names them)\n",
			n, n == 1 ? " is" : "s are", n == 1 ? "it" : "them");
	fprintf(f, "out from the start, since an earlier recording has taken them out:");
	for (uint32_t i = 0, k = 0; i < modules->n; i++)
		if (modules->planned[i].n_left_out)
			fprintf(f, "%s %s", k++ ? ";" : "", modules->planned[i].left_out);
	fclose(f);
	return text;
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

/* Says which traced files' own memory is kept out: by the names that they have in the process. */
static void tell_kept_out(const struct record_args *a, const struct record_modules *modules)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; a->values && a->no_memory && i < modules->n; i++)
		if (realpath(modules->at[i].path, path) && !fnmatch(a->no_memory, path, 0))
			command_say(stderr, "pugmark: note: --no-memory keeps nothing of ", path,
				    ", which is traced: values end where its code begins\n");
}

enum { N_NOTES = 4 };

/* Says what the plans leave out, and what else is to be known before the run. What the recording is
 * to say as well is put into @notes, the caller's to free. */
static void tell_planned(struct record_args *a, const struct record_modules *modules,
			 char *notes[N_NOTES])
{
	warn_unresolved(modules, a->options.quiet);
	if (!a->options.quiet)
		tell_whole(modules);
	if (!a->options.quiet && !a->modules.plan)
		tell_foreign(a, modules);
	if (!a->options.quiet)
		tell_kept_out(a, modules);
	notes[0] = tell_left_out(modules, a->options.quiet);
	notes[1] = tell_each(modules, packed_words, a->options.quiet);
	notes[2] = tell_each(modules, numberless_words, a->options.quiet);
	notes[3] = tell_each(modules, unknown_words, a->options.quiet);
	if (!a->options.quiet && !a->options.carrier)
		tell_awaited(&a->modules, modules, false);
	if (!a->options.quiet && !a->options.no_follow && a->options.n_pids)
		tell_forked(a, modules);
	for (int i = 0; i < N_NOTES; i++)
		a->options.notes[i] = notes[i];
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
	char *notes[N_NOTES] = {NULL};
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
		tell_planned(a, modules, notes);
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
		tell_awaited(m, modules, true);
		if (err && err != -ECANCELED)
			record_explain_failure(err, diag);
		targets_name(&modules->targets, diag);
	}
	if (modules)
		record_modules_deinit(modules);
	capture_plan_free(captures);
	record_reads_free(reads);
	for (int i = 0; i < N_NOTES; i++)
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

// SPDX-License-Identifier: LGPL-2.1-or-later
/* trace_view.c: see trace_view.h. Names are matched once, when the recording is opened: an event
 * asks only for a bit. */
#include "user/view/trace/trace_view.h"

#include "user/cli/command.h"
#include "user/view/trace/hints.h"
#include "user/view/trace/late_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *trace_view_cause(uint8_t cause)
{
	static const char *const words[] = {
		[PUGMARK_CAUSE_NONE] = "-",
		[PUGMARK_CAUSE_THREAD] = "thread",
		[PUGMARK_CAUSE_CALLBACK] = "callback",
		[PUGMARK_CAUSE_SIGNAL] = "signal",
		[PUGMARK_CAUSE_ATTACH] = "attach",
		[PUGMARK_CAUSE_LOST] = "lost",
		[PUGMARK_CAUSE_MODEL] = "model",
		[PUGMARK_CAUSE_RECORDING] = "recording",
		[PUGMARK_CAUSE_UNWIND] = "unwind",
		[PUGMARK_CAUSE_STACK] = "stack",
		[PUGMARK_CAUSE_PLAN] = "plan",
		[PUGMARK_CAUSE_CONTEXT] = "context",
		[PUGMARK_CAUSE_RESUMED] = "resumed",
		[PUGMARK_CAUSE_SWITCH] = "switch",
		[PUGMARK_CAUSE_UNRESOLVED] = "unresolved",
		[PUGMARK_CAUSE_DIVERGED] = "diverged",
	};
	return cause < sizeof(words) / sizeof(*words) ? words[cause] : "other";
}

void trace_view_init(struct trace_view *view, const char *command, const char *format)
{
	*view = (struct trace_view){.command = command, .format = format, .to_ns = UINT64_MAX};
}

static void free_plain(char ***plain, uint32_t module, uint32_t n)
{
	if (!plain || !plain[module])
		return;
	for (uint32_t i = 0; i < n; i++)
		free(plain[module][i]);
	free(plain[module]);
}

void trace_view_deinit(struct trace_view *view)
{
	hints_deinit(view);
	for (uint32_t m = 0; m < view->n_modules; m++) {
		if (view->funcs)
			free(view->funcs[m]);
		if (view->imports)
			free(view->imports[m]);
		const struct pugmark_plan *plan = pugmark_trace_plan(view->trace, m);
		free_plain(view->plain, m, plan ? plan->n_funcs : 0);
		free_plain(view->plain_imports, m, plan ? plan->strings_bytes : 0);
	}
	free(view->plain);
	free(view->plain_imports);
	free(view->module_in);
	free(view->funcs);
	free(view->imports);
	patterns_deinit(&view->only);
	patterns_deinit(&view->without);
	patterns_deinit(&view->modules);
	free(view->as_tasks);
	pugmark_trace_free(view->trace);
	view->trace = NULL;
}

static int add_pattern(struct trace_view *view, struct patterns *patterns, const char *text)
{
	struct pugmark_diag diag;

	if (!patterns_add(patterns, text, &diag))
		return -1;
	return command_usage(view->command, "%s", diag.text);
}

static int add_goroutine(struct trace_view *view, const char *arg)
{
	char *end;
	unsigned long long number = strtoull(arg, &end, 10);
	if (*arg < '1' || *arg > '9' || *end)
		return command_usage(view->command, "'%s' is no number of a goroutine", arg);
	if (view->n_goroutines == VIEW_MAX_THREADS)
		return command_usage(view->command, "at most %d goroutines", VIEW_MAX_THREADS);
	view->goroutines[view->n_goroutines++] = number;
	view->by_goroutine = true;
	return -1;
}

int trace_view_option(struct trace_view *view, int opt, const char *arg)
{
	char *end;

	switch (opt) {
	case 'F':
		return add_pattern(view, &view->only, arg);
	case 'N':
		return add_pattern(view, &view->without, arg);
	case VIEW_MODULE:
		if (*arg && strspn(arg, "0123456789") == strlen(arg)) {
			view->only_module = strtoul(arg, NULL, 10) + 1;
			return -1;
		}
		return add_pattern(view, &view->modules, arg);
	case VIEW_FORMAT:
		view->format = arg;
		return -1;
	case VIEW_FROM:
	case VIEW_TO:
		view->timed = true;
		if (when_parse(arg, opt == VIEW_FROM ? &view->from : &view->to))
			return -1;
		return command_usage(view->command,
				     "'%s' is not a time: seconds, or a number with s, ms, us, "
				     "ns; or HH:MM:SS, after YYYY-MM-DDT or not",
				     arg);
	case VIEW_DEPTH:
		return trace_view_number(view, arg, UINT32_MAX, &view->depth);
	case VIEW_BY:
		view->by_goroutine = !strcmp(arg, "goroutine");
		if (view->by_goroutine || !strcmp(arg, "thread"))
			return -1;
		return command_usage(view->command, "--by '%s': thread or goroutine", arg);
	case VIEW_GOROUTINE:
		return add_goroutine(view, arg);
	case VIEW_THREAD:
		if (view->n_tids == VIEW_MAX_THREADS)
			return command_usage(view->command, "more than %d threads",
					     VIEW_MAX_THREADS);
		view->tids[view->n_tids] = (int32_t)strtol(arg, &end, 10);
		if (end != arg && !*end && view->tids[view->n_tids] > 0) {
			view->n_tids++;
			return -1;
		}
		return command_usage(view->command, "'%s' is not a thread's number", arg);
	}
	return command_usage(view->command, "wrong option");
}

int trace_view_number(const struct trace_view *view, const char *arg, uint32_t max, uint32_t *out)
{
	char *end;
	errno = 0;
	unsigned long n = strtoul(arg, &end, 10);
	if (end == arg || *end || errno || !n || n > max || *arg == '-')
		return command_usage(view->command, "'%s' is not a number from 1 to %u", arg, max);
	*out = (uint32_t)n;
	return -1;
}

int trace_view_duration(const struct trace_view *view, const char *arg, uint64_t *out_ns)
{
	if (when_parse_duration(arg, out_ns))
		return -1;
	return command_usage(view->command,
			     "'%s' is not a duration: seconds, or a number with s, ms, us, ns",
			     arg);
}

int trace_view_format(const struct trace_view *view, const char *const *names)
{
	char list[128] = "";
	for (size_t i = 0, n = 0; names[i]; i++) {
		if (!strcmp(view->format, names[i]))
			return -1;
		n += snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", names[i]);
	}
	return command_usage(view->command, "no format '%s' (%s)", view->format, list);
}

int trace_view_parse(struct trace_view *view, int argc, char **argv,
		     const struct command_words *words, const char *help, view_own_option own,
		     void *ctx)
{
	int opt;

	command_options_begin();
	while ((opt = command_option(words, argc, argv)) >= 0) {
		if (opt == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		if (opt == '?' || opt == ':')
			return command_usage(view->command,
					     opt == ':' ? "'%s' needs a value" : "no option '%s'",
					     argv[optind - 1]);
		int status = own(ctx, opt, optarg);
		if (status >= 0)
			return status;
	}
	if (optind + 1 != argc)
		return command_usage(view->command,
				     optind == argc ? "which recording?" : "one recording only");
	view->dir = argv[optind];
	if (view->by_goroutine && view->n_tids)
		return command_usage(view->command, "--thread does not go with goroutines");
	return -1;
}

int trace_view_no_memory(const struct trace_view *view, struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, -ENOMEM, view->dir, PUGMARK_NO_OFFSET, "out of memory");
}

static int find_threads(struct trace_view *view, struct pugmark_diag *diag)
{
	for (uint32_t i = 0; i < view->n_tids; i++) {
		bool found = false;
		for (uint32_t t = 0; t < view->n_tasks; t++)
			found |= view->tasks[t].tid == view->tids[i];
		if (!found)
			return pugmark_diag_set(diag, -ENOENT, view->dir, PUGMARK_NO_OFFSET,
						"no thread %d in it (see: pugmark verify)",
						view->tids[i]);
	}
	return 0;
}

/* Tells it by goroutine, with the lines in place of threads. */
static int find_lines(struct trace_view *view, struct pugmark_diag *diag)
{
	int err = view->by_goroutine ? pugmark_trace_by_goroutine(view->trace, diag) : 0;
	if (err)
		snprintf(diag->file, sizeof(diag->file), "%s", view->dir);
	if (err || !view->by_goroutine)
		return err;
	uint32_t n;
	const struct pugmark_trace_line *lines = pugmark_trace_lines(view->trace, &n);
	view->as_tasks = calloc(n + 1ul, sizeof(*view->as_tasks));
	if (!view->as_tasks)
		return trace_view_no_memory(view, diag);
	for (uint32_t i = 0; i < n; i++) {
		struct pugmark_recording_task *t = &view->as_tasks[i];
		*t = view->tasks[lines[i].task];
		t->number = i + 1;
		t->parent = 0;
		t->n_events = lines[i].n_events;
		t->first_ns = lines[i].first_ns;
		t->last_ns = lines[i].last_ns;
	}
	view->lines = lines;
	view->tasks = view->as_tasks;
	view->n_tasks = n;
	for (uint32_t i = 0; i < view->n_goroutines; i++) {
		bool found = false;
		for (uint32_t k = 0; k < n; k++)
			found |= lines[k].goroutine == view->goroutines[i];
		if (!found)
			return pugmark_diag_set(diag, -ENOENT, view->dir, PUGMARK_NO_OFFSET,
						"no goroutine %llu in it",
						(unsigned long long)view->goroutines[i]);
	}
	return 0;
}

void trace_view_who(const struct trace_view *view, uint32_t task, char out[VIEW_WHO_BYTES])
{
	uint64_t goroutine = trace_view_goroutine(view, task);
	if (goroutine)
		snprintf(out, VIEW_WHO_BYTES, "g%llu", (unsigned long long)goroutine);
	else
		snprintf(out, VIEW_WHO_BYTES, "%d", view->tasks[task].tid);
}

/* Notes in @seen, unless that is NULL, which patterns matched. */
static bool has_module_name(const struct trace_view *view, uint32_t m, bool *seen)
{
	const char *name = pugmark_trace_module_name(view->trace, m);
	return !view->modules.n || patterns_match(&view->modules, name, seen) >= 0;
}

static int find_modules(struct trace_view *view, struct pugmark_diag *diag)
{
	pugmark_recording_modules(view->rec, &view->n_modules);
	view->module_in = calloc(view->n_modules + 1, sizeof(bool));
	bool *seen = calloc(view->modules.n + 1, sizeof(bool));
	if (!view->module_in || !seen) {
		free(seen);
		return trace_view_no_memory(view, diag);
	}
	for (uint32_t m = 0; m < view->n_modules; m++)
		view->module_in[m] = has_module_name(view, m, seen);
	int err = 0;
	for (uint32_t i = 0; i < view->modules.n && !err; i++)
		if (!seen[i])
			err = pugmark_diag_set(diag, -ENOENT, view->dir, PUGMARK_NO_OFFSET,
					       "no module '%s' in it",
					       patterns_text(&view->modules, i));
	free(seen);
	return err;
}

/* Notes in @seen which of the patterns, those of -F first, the name matched. */
static uint8_t match_name(const struct trace_view *view, const char *name, bool *seen)
{
	bool in = !view->only.n || patterns_match(&view->only, name, seen) >= 0;
	bool out = patterns_match(&view->without, name, seen + view->only.n) >= 0;
	return (in ? VIEW_MATCHES : 0) | (out ? VIEW_LEFT_OUT : 0);
}

/* What has no name matches no pattern. */
static uint8_t match_unnamed(const struct trace_view *view)
{
	return view->only.n ? 0 : VIEW_MATCHES;
}

static int match_module(struct trace_view *view, uint32_t m, bool *seen, struct pugmark_diag *diag)
{
	const struct pugmark_plan *plan = pugmark_trace_plan(view->trace, m);
	view->funcs[m] = calloc(plan->n_funcs + 1, 1);
	view->imports[m] = calloc(plan->strings_bytes + 1, 1);
	bool *asked = calloc(plan->strings_bytes + 1, sizeof(bool));
	if (!view->funcs[m] || !view->imports[m] || !asked) {
		free(asked);
		return trace_view_no_memory(view, diag);
	}
	for (uint32_t f = 0; f < plan->n_funcs; f++)
		view->funcs[m][f] =
			match_name(view, pugmark_trace_func_name(view->trace, m, f), seen);
	for (uint32_t i = 0; i < plan->n_nodes; i++) {
		uint32_t import = plan->nodes[i].import;
		if (asked[import])
			continue;
		asked[import] = true;
		view->imports[m][import] = import ? match_name(view, plan->strings + import, seen)
						  : match_unnamed(view);
	}
	free(asked);
	return 0;
}

static int find_functions(struct trace_view *view, struct pugmark_diag *diag)
{
	uint32_t n = view->only.n + view->without.n;
	if (!n)
		return 0;
	view->funcs = calloc(view->n_modules + 1, sizeof(uint8_t *));
	view->imports = calloc(view->n_modules + 1, sizeof(uint8_t *));
	bool *seen = calloc(n, sizeof(bool));
	int err = view->funcs && view->imports && seen ? 0 : trace_view_no_memory(view, diag);
	for (uint32_t m = 0; m < view->n_modules && !err; m++)
		err = match_module(view, m, seen, diag);
	for (uint32_t i = 0; i < n && !err; i++)
		if (!seen[i])
			err = pugmark_diag_set(
				diag, -ENOENT, view->dir, PUGMARK_NO_OFFSET,
				"no function in it matches '%s'",
				i < view->only.n ? patterns_text(&view->only, i)
						 : patterns_text(&view->without, i - view->only.n));
	free(seen);
	return err;
}

static int settle_times(struct trace_view *view, struct pugmark_diag *diag)
{
	const struct pugmark_recording_info *info = view->info;
	uint64_t last_ns = 0;
	view->start_ns = info->start_monotonic_ns;
	for (uint32_t i = 0; i < view->n_tasks; i++) {
		if (!info->start_monotonic_ns && (!i || view->tasks[i].first_ns < view->start_ns))
			view->start_ns = view->tasks[i].first_ns;
		if (view->tasks[i].last_ns > last_ns)
			last_ns = view->tasks[i].last_ns;
	}
	if (!view->timed)
		return 0;
	if (!info->times)
		return pugmark_diag_set(diag, -ENODATA, view->dir, PUGMARK_NO_OFFSET,
					"it was recorded without times: --from and --to have "
					"nothing to go by");
	if ((view->from.kind > WHEN_AFTER_START || view->to.kind > WHEN_AFTER_START) &&
	    (!info->start_realtime_ns || !info->start_monotonic_ns))
		return pugmark_diag_set(diag, -ENODATA, view->dir, PUGMARK_NO_OFFSET,
					"it does not say at what time of day it began: give --from "
					"and --to in seconds from its start");
	if (view->from.kind)
		view->from_ns =
			when_resolve(&view->from, view->start_ns, info->start_realtime_ns, last_ns);
	if (view->to.kind)
		view->to_ns =
			when_resolve(&view->to, view->start_ns, info->start_realtime_ns, last_ns);
	return view->from_ns <= view->to_ns
		       ? 0
		       : pugmark_diag_set(diag, -EINVAL, view->dir, PUGMARK_NO_OFFSET,
					  "--from is later than --to");
}

bool trace_view_is_whole(const struct trace_view *view, uint64_t gaps)
{
	const struct pugmark_recording_info *info = view->info;
	uint64_t n = 0;
	uint32_t n_threads = 0;
	const struct pugmark_recording_task *threads =
		view->rec ? pugmark_recording_tasks(view->rec, &n_threads) : NULL;
	for (uint32_t i = 0; i < n_threads; i++)
		n += threads[i].n_events;
	if (gaps || !view->trace) /* a packed file: it is read whole or not at all */
		return !gaps;
	return info->closed && strcmp(info->stopped, "disk") && !info->meta_damaged &&
	       !info->damaged_bytes && n >= info->events && view->n_tasks;
}

int trace_view_status(const struct trace_view *view, uint64_t gaps)
{
	if (view->trace && !view->n_tasks)
		command_say(stderr, "pugmark: ", view->dir,
			    ": nothing was recorded in it (pugmark verify says what is known)\n");
	return trace_view_is_whole(view, gaps) ? EXIT_OK : EXIT_GAPS;
}

static int open_view(struct trace_view *view, const char *dir, bool growing,
		     struct pugmark_diag *diag)
{
	view->dir = dir;
	int err = growing ? pugmark_trace_open_growing(dir, &view->trace, diag)
			  : pugmark_trace_open(dir, &view->trace, diag);
	if (err)
		return err;
	view->rec = pugmark_trace_recording(view->trace);
	view->info = pugmark_recording_info(view->rec);
	view->tasks = pugmark_recording_tasks(view->rec, &view->n_tasks);
	if (view->only_module && pugmark_trace_select(view->trace, view->only_module - 1))
		return pugmark_diag_set(diag, -ENOENT, dir, PUGMARK_NO_OFFSET, "no module %u in it",
					view->only_module - 1);
	err = find_modules(view, diag);
	if (!err && late_names_take(view->trace))
		err = trace_view_no_memory(view, diag);
	if (!err)
		err = find_threads(view, diag);
	if (!err)
		err = find_lines(view, diag);
	if (!err)
		err = find_functions(view, diag);
	return err ? err : settle_times(view, diag);
}

int trace_view_open(struct trace_view *view, const char *dir, struct pugmark_diag *diag)
{
	return open_view(view, dir, false, diag);
}

int trace_view_open_growing(struct trace_view *view, const char *dir, struct pugmark_diag *diag)
{
	return open_view(view, dir, true, diag);
}

/* Makes the heap array that is pointed to at @array, if there is one, as long as there are modules;
 * @size: bytes of each item. */
static bool grow_by_module(void *array, uint32_t from, uint32_t to, size_t size)
{
	char *at;
	memcpy(&at, array, sizeof(at));
	if (!at)
		return true;
	at = realloc(at, (to + 1) * size);
	if (!at)
		return false;
	memset(at + from * size, 0, (to + 1 - from) * size);
	memcpy(array, &at, sizeof(at));
	return true;
}

static int add_modules(struct trace_view *view, uint32_t n, struct pugmark_diag *diag)
{
	uint32_t from = view->n_modules;
	bool *seen = calloc(view->only.n + view->without.n + 1ul, sizeof(bool));
	int err = 0;
	if (!seen || !grow_by_module(&view->module_in, from, n, sizeof(*view->module_in)) ||
	    !grow_by_module(&view->funcs, from, n, sizeof(*view->funcs)) ||
	    !grow_by_module(&view->imports, from, n, sizeof(*view->imports)) ||
	    !grow_by_module(&view->plain, from, n, sizeof(*view->plain)) ||
	    !grow_by_module(&view->plain_imports, from, n, sizeof(*view->plain_imports)))
		err = trace_view_no_memory(view, diag);
	for (; !err && view->n_modules < n; view->n_modules++) {
		view->module_in[view->n_modules] = has_module_name(view, view->n_modules, NULL);
		if (view->funcs)
			err = match_module(view, view->n_modules, seen, diag);
	}
	free(seen);
	return err;
}

int trace_view_more(struct trace_view *view, struct pugmark_diag *diag)
{
	int more = pugmark_trace_more(view->trace, diag);
	if (more < 0)
		return more;
	uint32_t n;
	view->tasks = pugmark_recording_tasks(view->rec, &view->n_tasks);
	pugmark_recording_modules(view->rec, &n);
	int err = n > view->n_modules ? add_modules(view, n, diag) : 0;
	return err ? err : more;
}

bool trace_view_has_task(const struct trace_view *view, uint32_t task)
{
	for (uint32_t i = 0; i < view->n_goroutines; i++)
		if (view->goroutines[i] == trace_view_goroutine(view, task))
			return true;
	if (view->n_goroutines)
		return false;
	for (uint32_t i = 0; i < view->n_tids; i++)
		if (view->tids[i] == view->tasks[task].tid)
			return true;
	return !view->n_tids;
}

uint8_t trace_view_match(const struct trace_view *view, uint32_t module, uint32_t func,
			 const char *import)
{
	if (!view->funcs)
		return VIEW_MATCHES;
	if (func != PUGMARK_NONE)
		return view->funcs[module][func];
	if (!*import)
		return match_unnamed(view);
	return view->imports[module][import - pugmark_trace_plan(view->trace, module)->strings];
}

bool trace_view_has_callee(const struct trace_view *view, const struct pugmark_trace_event *e)
{
	uint32_t module = e->func == PUGMARK_NONE ? e->module : e->target_module;
	return trace_view_has_module(view, module) &&
	       trace_view_match(view, module, e->func, e->import) == VIEW_MATCHES;
}

int trace_view_task_failed(const struct trace_view *view, uint32_t task, int err,
			   struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, err, view->dir, PUGMARK_NO_OFFSET, "thread %d: %s",
				view->tasks[task].tid, strerror(-err));
}

/* @name, demangled and kept at place @i of @n in @plain[@module]; @name itself where it is not
 * mangled, or memory is short. */
static const char *plain_name(const struct trace_view *view, char ****plain, uint32_t module,
			      uint32_t i, uint32_t n, const char *name)
{
	if (strncmp(name, "_Z", 2) && strncmp(name, "_R", 2))
		return name;
	if (!*plain)
		*plain = calloc(view->n_modules + 1, sizeof(**plain));
	if (*plain && !(*plain)[module])
		(*plain)[module] = calloc(n, sizeof(char *));
	if (!*plain || !(*plain)[module])
		return name;
	char **kept = &(*plain)[module][i];
	if (!*kept)
		*kept = pugmark_demangle(name);
	return *kept ? *kept : name;
}

const char *trace_view_func_name(struct trace_view *view, uint32_t module, uint32_t func)
{
	const char *name = pugmark_trace_func_name(view->trace, module, func);
	const struct pugmark_plan *plan = pugmark_trace_plan(view->trace, module);
	if (!plan || func >= plan->n_funcs)
		return name;
	return plain_name(view, &view->plain, module, func, plan->n_funcs, name);
}

const char *trace_view_import_name(struct trace_view *view, uint32_t module, const char *import)
{
	const struct pugmark_plan *plan = pugmark_trace_plan(view->trace, module);
	return plain_name(view, &view->plain_imports, module, (uint32_t)(import - plan->strings),
			  plan->strings_bytes, import);
}

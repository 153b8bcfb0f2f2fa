// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_raw.c: `pugmark raw`: what a recording holds, as it is, before anything is recovered from it.
 * Without the plan an event says little: it is for those who work on Pugmark or write a reader. */
#include "user/cli/command.h"
#include "user/cli/options.h"
#include "user/values/show/captures_text.h"

#include <pugmark/plan.h>
#include <pugmark/recording.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The stack at an event, by address. */
static void print_stack(const struct pugmark_witness_event *e)
{
	printf(" stack=%" PRIx64 "+%u", e->stack_addr, 8 * e->stack_words);
	for (uint32_t i = 0; i < e->stack_words; i++)
		printf(" %" PRIx64, e->stack[i]);
}

static void print_event(const struct pugmark_recording_task *task,
			const struct pugmark_witness_event *e)
{
	static const char *const kinds[] = {"witness", "end",  "lost",	"exec",	  "attach",
					    "stop",    "fork", "pause", "signal", "diverged"};

	printf("%u %d %s %" PRIu64, task->number, task->tid,
	       e->kind < sizeof(kinds) / sizeof(*kinds) ? kinds[e->kind] : "?", e->time_ns);
	switch (e->kind) {
	case PUGMARK_EVENT_WITNESS:
		printf(" %u:%u cfa=%" PRIx64 " val=%" PRIx64, e->module, e->site,
		       pugmark_event_cfa(e), pugmark_event_val(e));
		if (e->flags & PUGMARK_EVENT_HAS_RET)
			printf(" ret=%" PRIx64, pugmark_event_ret(e));
		if (e->flags & PUGMARK_EVENT_FROM_SIGNAL)
			fputs(" signal", stdout);
		if (e->flags & PUGMARK_EVENT_IN_HANDLER)
			fputs(" in-handler", stdout);
		if (e->goroutine)
			printf(" goroutine=%" PRIu64, e->goroutine);
		for (uint8_t i = 0; i < e->n_values; i++)
			printf(" %s%" PRIx64, i ? "" : "read ", e->values[i]);
		break;
	case PUGMARK_EVENT_FORK:
		printf(" %" PRIu64, pugmark_event_child(e));
		break;
	case PUGMARK_EVENT_END:
		printf(" sp=%" PRIx64 " ip=%" PRIx64 "%s", pugmark_event_sp(e), pugmark_event_ip(e),
		       pugmark_event_stopped(e) ? " stopped" : "");
		break;
	case PUGMARK_EVENT_SIGNAL:
		printf(" sp=%" PRIx64 " ip=%" PRIx64 " handler=%" PRIx64, pugmark_event_sp(e),
		       pugmark_event_ip(e), pugmark_event_handler(e));
		printf(" bp=%" PRIx64 " caller=%" PRIx64, e->signal.bp, e->signal.caller);
		if (e->signal.alt_bytes)
			printf(" alt=%" PRIx64 "+%" PRIu64, e->signal.alt, e->signal.alt_bytes);
		break;
	case PUGMARK_EVENT_LOST:
		printf(" %" PRIu64 "%s", e->lost,
		       e->flags & PUGMARK_EVENT_DAMAGED ? " damaged" : "");
		break;
	}
	if (e->stack)
		print_stack(e);
	putchar('\n');
}

struct raw {
	const char *dir;
	bool captures, count;
};

/* Of a module: where its probes are, and which of them were named. */
struct raw_module {
	struct pugmark_plan *plan; /* NULL: the recording has none */
	bool *named;
};

static void raw_modules_free(struct raw_module *modules, uint32_t n)
{
	for (uint32_t m = 0; modules && m < n; m++) {
		free(modules[m].named);
		if (modules[m].plan)
			pugmark_plan_free(modules[m].plan);
	}
	free(modules);
}

/* NULL: out of memory. A module whose plan cannot be read has none. */
static struct raw_module *raw_modules_new(const struct pugmark_recording_module *of, uint32_t n)
{
	struct raw_module *modules = calloc(n + 1, sizeof(*modules));
	struct pugmark_diag none;

	for (uint32_t m = 0; modules && m < n; m++) {
		if (!of[m].plan || pugmark_plan_open(of[m].plan, &modules[m].plan, &none))
			continue;
		modules[m].named = calloc(modules[m].plan->n_sites + 1, sizeof(bool));
		if (!modules[m].named) {
			raw_modules_free(modules, n);
			return NULL;
		}
	}
	return modules;
}

/* Before the first event of a probe: its address, and the function. */
static void name_site(struct raw_module *modules, uint32_t n, const struct pugmark_witness_event *e)
{
	struct raw_module *m = e->module < n ? &modules[e->module] : NULL;

	if (e->kind != PUGMARK_EVENT_WITNESS || !m || !m->plan || e->site >= m->plan->n_sites ||
	    m->named[e->site])
		return;
	m->named[e->site] = true;
	uint64_t addr = m->plan->sites[e->site].addr;
	uint32_t func = pugmark_plan_func_of(m->plan, addr);
	printf("# site %u:%u at %" PRIx64 " in ", e->module, e->site, addr);
	command_say(stdout, "",
		    func == PUGMARK_NONE ? "?" : m->plan->strings + m->plan->funcs[func].name,
		    "\n");
}

static const struct option_row rows[] = {
	{.name = "captures",
	 .help = "what was captured at level values instead, one capture a line",
	 .flag = offsetof(struct raw, captures)},
	{.name = "count",
	 .help = "only how many events there are",
	 .flag = offsetof(struct raw, count)},
	{.name = "help", .letter = 'h', .help = "this text"},
};

static const struct option_table table = {
	.command = "raw",
	.usage = "usage: pugmark raw [options] DIR\n\n"
		 "Prints the witness events of the recording DIR as they were recorded, one a "
		 "line,\n"
		 "task by task; pugmark-raw(1) has their fields. `pugmark dump` has the trace.\n",
	.after = "Exit status: 0; 1 for an error, 2 for wrong usage.\n",
	.rows = rows,
	.n = sizeof(rows) / sizeof(*rows),
};
const struct command_words raw_words = {.table = &table};

/* Adds the events of task number @i to *@n_events, and prints them unless only that is asked. */
static int print_task(const struct raw *raw, struct pugmark_recording *rec, uint32_t i,
		      struct raw_module *modules, uint64_t *n_events)
{
	uint32_t n, n_modules;
	uint64_t bias;
	struct pugmark_witness_event event;
	struct pugmark_recording_iter *iter;
	const struct pugmark_recording_task *task = &pugmark_recording_tasks(rec, &n)[i];
	pugmark_recording_modules(rec, &n_modules);
	int more = pugmark_recording_iter_new(rec, i, &iter);
	if (more)
		return more;
	if (!raw->count) {
		printf("# task %u tid %d pid %d parent %u ", task->number, task->tid, task->pid,
		       task->parent);
		command_say(stdout, "", task->comm, "");
		printf(", %" PRIu64 " events\n", task->n_events);
	}
	while ((more = pugmark_recording_next(iter, &event)) == 1) {
		++*n_events;
		if (raw->count)
			continue;
		name_site(modules, n_modules, &event);
		print_event(task, &event);
	}
	if (!raw->count && pugmark_recording_bias(iter, 0, &bias))
		printf("# module 0 at %" PRIx64 "\n", bias);
	pugmark_recording_iter_free(iter);
	return more;
}

static int print_recording(const struct raw *raw, struct pugmark_diag *diag)
{
	struct pugmark_recording *rec;
	uint64_t n_events = 0;
	uint32_t n, n_modules;
	int err = pugmark_recording_open(raw->dir, &rec, diag);
	if (err)
		return err;
	const struct pugmark_recording_module *of = pugmark_recording_modules(rec, &n_modules);
	struct raw_module *modules = raw_modules_new(of, n_modules);
	err = modules ? 0 : -ENOMEM;
	pugmark_recording_tasks(rec, &n);
	for (uint32_t i = 0; !err && i < n; i++)
		err = print_task(raw, rec, i, modules, &n_events);
	raw_modules_free(modules, n_modules);
	if (err)
		pugmark_diag_set(diag, err, raw->dir, PUGMARK_NO_OFFSET, "%s", strerror(-err));
	for (uint32_t i = 0; !err && pugmark_recording_note(rec, i); i++)
		command_say(stdout, "# note: ", pugmark_recording_note(rec, i), "\n");
	if (!err && raw->count)
		printf("%" PRIu64 " events\n", n_events);
	pugmark_recording_free(rec);
	return err;
}

int cmd_raw(int argc, char **argv)
{
	struct raw raw = {0};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	int status = options_parse(&table, &raw, argc, argv);
	if (status)
		return status == OPTIONS_HELP ? EXIT_OK : status;
	if (argc - optind != 1)
		return command_usage("raw", "one recording is needed, behind all options");
	if (raw.captures && raw.count)
		return command_usage("raw", "--captures and --count exclude each other");
	raw.dir = argv[optind];
	int err = raw.captures ? captures_text_print(raw.dir, &diag) : print_recording(&raw, &diag);
	return err ? command_fail(&diag) : EXIT_OK;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_dump.c: `pugmark dump`: every event of the recovered trace, one a line. */
#include "user/command.h"

#include <pugmark/trace.h>

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const causes[] = {
	[CAUSE_NONE] = "-",	   [CAUSE_THREAD] = "thread",	    [CAUSE_CALLBACK] = "callback",
	[CAUSE_SIGNAL] = "signal", [CAUSE_ATTACH] = "attach",	    [CAUSE_LOST] = "lost",
	[CAUSE_MODEL] = "model",   [CAUSE_RECORDING] = "recording",
};

static int print_help(void)
{
	puts("usage: pugmark dump [options] DIR\n\n"
	     "      --format text    one event a line (text)\n"
	     "      --module N       only the events of module N of the recording, from 0\n"
	     "      --count          only how many there are: events, witness events, gaps\n\n"
	     "Exit status: 0, or 3 where the trace has gaps; 1 for an error, 2 for wrong usage.");
	return EXIT_OK;
}

static void print_event(const struct pugmark_trace *trace, int tid, const struct trace_event *e)
{
	const char *module = pugmark_trace_module_name(trace, e->module);
	switch (e->kind) {
	case TRACE_CALL:
	case TRACE_TAIL:
		printf("%d %s %s %llx ", tid, e->kind == TRACE_CALL ? "call" : "tail", module,
		       (unsigned long long)e->addr);
		if (e->target)
			printf("%s:%llx", pugmark_trace_module_name(trace, e->target_module),
			       (unsigned long long)e->target);
		else
			putchar('-');
		if (*e->import)
			printf(" %s", e->import);
		putchar('\n');
		break;
	case TRACE_RET:
	case TRACE_UNWIND:
		printf("%d %s %s %llx\n", tid, e->kind == TRACE_RET ? "ret" : "unwind", module,
		       (unsigned long long)e->addr);
		break;
	case TRACE_ENTER:
		printf("%d enter %s %llx %s\n", tid, module, (unsigned long long)e->addr,
		       causes[e->cause]);
		break;
	case TRACE_GAP:
		printf("%d gap %s %llu %llu %llu\n", tid, causes[e->cause],
		       (unsigned long long)e->lost, (unsigned long long)e->from_ns,
		       (unsigned long long)e->to_ns);
		break;
	}
}

struct dump_counts {
	uint64_t events, witnesses, gaps;
};

/* The events of the task at @index. Returns 0 or -errno. */
static int dump_task(const struct pugmark_trace *trace, uint32_t index, int tid, bool print,
		     struct dump_counts *counts)
{
	struct pugmark_trace_iter *it;
	const struct trace_event *e;
	int err = pugmark_trace_iter_new(trace, index, &it);
	if (err)
		return err;
	while ((err = pugmark_trace_next(it, &e)) == 1) {
		counts->gaps += e->kind == TRACE_GAP;
		counts->events +=
			e->kind == TRACE_CALL || e->kind == TRACE_TAIL || e->kind == TRACE_RET;
		if (print)
			print_event(trace, tid, e);
	}
	counts->witnesses += pugmark_trace_witnesses(it);
	pugmark_trace_iter_free(it);
	return err;
}

static int dump(const char *dir, uint32_t module, bool count)
{
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	struct pugmark_trace *trace;
	if (pugmark_trace_open(dir, &trace, &diag))
		return command_fail(&diag);
	struct dump_counts counts = {0};
	uint32_t n;
	const struct recording_task *tasks = recording_tasks(pugmark_trace_recording(trace), &n);
	int err = 0;
	if (module != PUGMARK_NONE && pugmark_trace_select(trace, module))
		err = pugmark_diag_set(&diag, -ENOENT, dir, PUGMARK_NO_OFFSET, "no module %u",
				       module);
	for (uint32_t i = 0; !err && i < n; i++) {
		err = dump_task(trace, i, tasks[i].tid, !count, &counts);
		if (err)
			pugmark_diag_set(&diag, err, dir, PUGMARK_NO_OFFSET, "task %d: %s",
					 tasks[i].tid, strerror(-err));
	}
	pugmark_trace_free(trace);
	if (err)
		return command_fail(&diag);
	if (count)
		printf("events %llu witnesses %llu gaps %llu\n", (unsigned long long)counts.events,
		       (unsigned long long)counts.witnesses, (unsigned long long)counts.gaps);
	if (fflush(stdout) || ferror(stdout)) {
		pugmark_diag_set(&diag, -errno, "standard output", PUGMARK_NO_OFFSET, "%s",
				 strerror(errno));
		return command_fail(&diag);
	}
	return counts.gaps ? EXIT_GAPS : EXIT_OK;
}

int cmd_dump(int argc, char **argv)
{
	enum { OPT_FORMAT = 256, OPT_MODULE, OPT_COUNT };
	static const struct option options[] = {
		{"format", required_argument, NULL, OPT_FORMAT},
		{"module", required_argument, NULL, OPT_MODULE},
		{"count", no_argument, NULL, OPT_COUNT},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	uint32_t module = PUGMARK_NONE;
	bool count = false;
	char *end;
	int opt;
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'h':
			return print_help();
		case OPT_FORMAT:
			if (strcmp(optarg, "text"))
				return command_usage("dump", "no format '%s' (text)", optarg);
			break;
		case OPT_MODULE:
			module = strtoul(optarg, &end, 10);
			if (end == optarg || *end)
				return command_usage("dump", "'%s' is no number", optarg);
			break;
		case OPT_COUNT:
			count = true;
			break;
		default:
			return command_usage("dump", "wrong option");
		}
	}
	if (optind + 1 != argc)
		return command_usage("dump", "which recording?");
	return dump(argv[optind], module, count);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_dump.c: `pugmark dump`: every event of the recovered trace, one a line. */
#include "user/command.h"

#include <pugmark/trace.h>

#include <stdio.h>

static const char *const causes[] = {
	[CAUSE_NONE] = "-",	   [CAUSE_THREAD] = "thread",	    [CAUSE_CALLBACK] = "callback",
	[CAUSE_SIGNAL] = "signal", [CAUSE_ATTACH] = "attach",	    [CAUSE_LOST] = "lost",
	[CAUSE_MODEL] = "model",   [CAUSE_RECORDING] = "recording",
};

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
	case TRACE_BLOCK:
		printf("%d block %s %llx\n", tid, module, (unsigned long long)e->addr);
		break;
	case TRACE_GAP:
		printf("%d gap %s %llu %llu %llu\n", tid, causes[e->cause],
		       (unsigned long long)e->lost, (unsigned long long)e->from_ns,
		       (unsigned long long)e->to_ns);
		break;
	}
}

int cmd_dump(int argc, char **argv)
{
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	struct pugmark_trace *trace;
	if (argc < 2)
		return command_usage("dump", "which recording?");
	if (pugmark_trace_open(argv[1], &trace, &diag))
		return command_fail(&diag);
	uint32_t n;
	const struct recording_task *tasks = recording_tasks(pugmark_trace_recording(trace), &n);
	for (uint32_t i = 0; i < n; i++) {
		struct pugmark_trace_iter *it;
		const struct trace_event *e;
		if (pugmark_trace_iter_new(trace, i, &it))
			return EXIT_ERROR;
		while (pugmark_trace_next(it, &e) == 1)
			print_event(trace, tasks[i].tid, e);
		pugmark_trace_iter_free(it);
	}
	pugmark_trace_free(trace);
	return EXIT_OK;
}

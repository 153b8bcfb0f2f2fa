// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_raw.c: `pugmark raw DIR`: the witness events of a recording as they are, one a line. For
 * those who work on Pugmark itself: without the plan an event says little. */
#include "user/cli/command.h"
#include "user/values/captures_text.h"

#include <pugmark/recording.h>

#include <inttypes.h>
#include <stdio.h>
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
		printf(" %u:%u cfa=%" PRIx64 " val=%" PRIx64, e->module, e->site, e->cfa, e->val);
		if (e->flags & PUGMARK_EVENT_HAS_RET)
			printf(" ret=%" PRIx64, e->ret);
		if (e->flags & PUGMARK_EVENT_FROM_SIGNAL)
			fputs(" signal", stdout);
		for (uint8_t i = 0; i < e->n_values; i++)
			printf(" %s%" PRIx64, i ? "" : "read ", e->values[i]);
		break;
	case PUGMARK_EVENT_FORK:
		printf(" %" PRIu64, e->child);
		break;
	case PUGMARK_EVENT_END:
		printf(" sp=%" PRIx64 " ip=%" PRIx64 "%s", e->sp, e->ip,
		       e->stopped ? " stopped" : "");
		break;
	case PUGMARK_EVENT_SIGNAL:
		printf(" sp=%" PRIx64 " ip=%" PRIx64 " handler=%" PRIx64, e->sp, e->ip, e->handler);
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

int cmd_raw(int argc, char **argv)
{
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	struct pugmark_witness_event event;
	struct pugmark_recording *rec;
	bool count_only = argc == 3 && !strcmp(argv[1], "--count");
	uint64_t n_events = 0;
	uint32_t n;

	if (argc == 3 && !strcmp(argv[1], "--captures"))
		return captures_text_print(argv[2], &diag) ? command_fail(&diag) : EXIT_OK;
	if (argc != 2 && !count_only)
		return command_usage("raw", "one directory is needed");
	if (pugmark_recording_open(argv[argc - 1], &rec, &diag))
		return command_fail(&diag);
	const struct pugmark_recording_task *tasks = pugmark_recording_tasks(rec, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct pugmark_recording_iter *iter;
		uint64_t bias;
		int more = pugmark_recording_iter_new(rec, i, &iter);

		if (!count_only) {
			printf("# task %u tid %d pid %d parent %u ", tasks[i].number, tasks[i].tid,
			       tasks[i].pid, tasks[i].parent);
			command_print_safe(stdout, tasks[i].comm);
			printf(", %" PRIu64 " events\n", tasks[i].n_events);
		}
		if (more) {
			pugmark_recording_free(rec);
			pugmark_diag_set(&diag, more, argv[1], PUGMARK_NO_OFFSET, "%s",
					 strerror(-more));
			return command_fail(&diag);
		}
		while ((more = pugmark_recording_next(iter, &event)) == 1) {
			n_events++;
			if (!count_only)
				print_event(&tasks[i], &event);
		}
		if (!count_only && pugmark_recording_bias(iter, 0, &bias))
			printf("# module 0 at %" PRIx64 "\n", bias);
		pugmark_recording_iter_free(iter);
	}
	for (uint32_t i = 0; pugmark_recording_note(rec, i); i++) {
		fputs("# note: ", stdout);
		command_print_safe(stdout, pugmark_recording_note(rec, i));
		putchar('\n');
	}
	if (count_only)
		printf("%" PRIu64 " events\n", n_events);
	pugmark_recording_free(rec);
	return EXIT_OK;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* rerun.c: replays a recording of level values from the start to the end of each task, and says how
 * far that went. With a FILE, what the program, or a library, gave to write() for standard output
 * is put there as the replay has it in memory: equal to what it really wrote, or the replay is
 * wrong.
 *
 *   rerun DIR [FILE]      exit 1: a gap, or a byte written that was not exact */
#include "offline/replay/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct written {
	FILE *out;
	uint64_t bytes, inexact;
};

static void copy_out(struct written *w, struct value_run *run, uint64_t addr, uint64_t len)
{
	struct value_memory *mem = value_machine_memory(value_run_machine(run));
	for (uint64_t i = 0; i < len; i++) {
		uint8_t byte = 0, quality = VALUE_UNKNOWN;
		value_memory_read(mem, addr + i, &byte, 1, &quality);
		w->inexact += quality != VALUE_EXACT;
		w->bytes++;
		if (w->out)
			fputc(byte, w->out);
	}
}

static void crossing(void *ctx, struct value_run *run, enum value_crossing what,
		     const struct capture *c, const char *import)
{
	enum { SYS_WRITE = 1 };
	(void)import;
	if (what == VALUE_CROSSING_KERNEL && c->nr == SYS_WRITE && c->args[0] == 1 && c->result > 0)
		copy_out(ctx, run, c->args[1], c->result);
}

int main(int argc, char **argv)
{
	struct pugmark_diag diag = {.text = ""};
	struct value_replay *replay;
	bool fine = true;
	if (argc < 2)
		return 2;
	if (value_replay_open(argv[1], &replay, &diag)) {
		fprintf(stderr, "%s: %s\n", argv[1], diag.text);
		return 2;
	}
	struct written written = {.out = argc > 2 ? fopen(argv[2], "w") : NULL};
	uint32_t n;
	const uint32_t *tasks = captures_tasks(value_replay_captures(replay), &n);
	for (uint32_t i = 0; i < n; i++) {
		struct value_run *run;
		if (value_run_new(replay, tasks[i], &run, &diag)) {
			printf("task %u: %s\n", tasks[i], diag.text);
			fine = false;
			continue;
		}
		value_run_crossings(run, crossing, &written);
		struct timespec from, to;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
		enum value_replay_stop stop = value_run_forward(run, UINT64_MAX, NULL);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
		double seconds = to.tv_sec - from.tv_sec + 1e-9 * (to.tv_nsec - from.tv_nsec);
		uint64_t assumed, unknown, count = value_run_count(run);
		value_machine_inexact(value_run_machine(run), &assumed, &unknown);
		printf("task %u: %lu instructions, %lu assumed, %lu unknown, %.1f M/s\n", tasks[i],
		       count, assumed, unknown, count / seconds / 1e6);
		const struct value_gap *last;
		uint64_t blind = value_run_blind(run, &last);
		if (blind)
			printf("  %lu calls not executed, the last at %lu (ip %#lx, record %lu): "
			       "%s\n",
			       blind, last->count, last->ip, last->record, last->text);
		if (stop != VALUE_REPLAY_END) {
			const struct value_gap *gap = value_run_gap(run);
			printf("  gap at %lu (ip %#lx, record %lu): %s\n", gap->count, gap->ip,
			       gap->record, gap->text);
			fine = false;
		}
		value_run_free(run);
	}
	printf("written: %lu bytes, %lu not exact\n", written.bytes, written.inexact);
	if (written.out)
		fclose(written.out);
	value_replay_free(replay);
	return !fine || written.inexact;
}

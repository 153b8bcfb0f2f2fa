// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_replay.c: any files as a recording of level values: what was captured is refused, or read to
 * its end and executed again, forwards and back. All that the code in it does, it does to memory of
 * the replay. */
#include "tests/fuzz/as_folder.h"

#include "offline/replay/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INSTRUCTIONS = 20000 };

static void read_records(const struct captures *captures, uint32_t task)
{
	struct captures_iter *iter;
	struct capture c;
	int got;

	if (captures_iter_new(captures, task, &iter))
		return;
	while ((got = captures_next(iter, &c)) == 1)
		for (uint32_t i = 0; i < c.n_ranges; i++) {
			volatile uint8_t last = 0;
			if (!c.ranges[i].unread && c.ranges[i].len)
				last = c.ranges[i].bytes[c.ranges[i].len - 1];
			(void)last;
		}
	MUST(got <= 0);
	captures_iter_free(iter);
}

static void run_again(struct value_replay *replay, uint32_t task)
{
	struct pugmark_diag diag;
	struct value_run *run;

	if (value_run_new(replay, task, &run, &diag))
		return;
	value_run_snapshot_every(run, 1000);
	value_run_forward(run, INSTRUCTIONS, NULL);
	uint64_t end = value_run_count(run);
	MUST(end <= INSTRUCTIONS);
	value_run_seek(run, end / 2);
	MUST(value_run_count(run) <= end);
	MUST(value_run_gap(run));
	value_run_free(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"captures", "meta.json", "events", "plan-0.pmp"};
	const char *dir = as_folder(data, size, names, 4);
	struct pugmark_diag diag = {.text = ""};
	struct value_replay *replay;
	uint8_t page[4096];
	uint32_t n;

	if (value_replay_open(dir, &replay, &diag)) {
		MUST(*diag.text);
		return 0;
	}
	const struct captures *captures = value_replay_captures(replay);
	const uint32_t *tasks = captures_tasks(captures, &n);
	for (uint32_t i = 0; i < n && i < 4; i++) {
		read_records(captures, tasks[i]);
		run_again(replay, tasks[i]);
	}
	const struct capture_mapping *mappings = captures_mappings(captures, &n);
	for (uint32_t i = 0; i < n && i < 64; i++)
		captures_page(captures, mappings[i].start, page);
	captures_file_bytes(captures, 0, 0, sizeof(page), page);
	captures_stub(captures, 4096);
	captures_slot(captures, 4096);
	value_replay_free(replay);
	return 0;
}

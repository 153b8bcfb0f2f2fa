// SPDX-License-Identifier: LGPL-2.1-or-later
/* values_check.c: see values_check.h. */
#include "user/values/show/values_check.h"

#include "offline/replay/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_task(struct value_replay *replay, uint32_t task, struct values_task *out,
		      struct pugmark_diag *diag)
{
	struct value_run *run;
	int err = value_run_new(replay, task, &run, diag);

	*out = (struct values_task){.task = task};
	if (err == -ENODATA) { /* it has no start: of what another process has forked, for one */
		snprintf(out->gap, sizeof(out->gap), "%.200s", diag->text);
		return 0;
	}
	if (err)
		return err;
	/* Nobody goes back. */
	value_run_snapshot_every(run, UINT64_MAX / 2);
	enum value_replay_stop stop = value_run_forward(run, UINT64_MAX / 4, NULL);
	out->instructions = value_run_count(run);
	value_machine_inexact(value_run_machine(run), &out->assumed, &out->unknown);
	out->supposed = value_run_supposed(run);
	const struct value_gap *first;
	out->blind = value_run_blind(run, &first);
	if (out->blind)
		snprintf(out->why, sizeof(out->why), "%s, at %" PRIx64, first->text, first->ip);
	out->complete = stop == VALUE_REPLAY_END;
	if (stop == VALUE_REPLAY_GAP) {
		const struct value_gap *gap = value_run_gap(run);

		snprintf(out->gap, sizeof(out->gap),
			 "after %" PRIu64 " instructions, at %" PRIx64 ", record %" PRIu64 ": %s",
			 gap->count, gap->ip, gap->record, gap->text);
	}
	value_run_free(run);
	return stop == VALUE_REPLAY_NO_MEMORY
		       ? pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory")
		       : 0;
}

int values_check(const char *dir, struct values_result *out, struct pugmark_diag *diag)
{
	struct values_result r = {.complete = true};
	struct value_replay *replay;
	int err = value_replay_open(dir, &replay, diag);

	if (err)
		return err;
	r.damaged_bytes = captures_damaged_bytes(value_replay_captures(replay));
	const uint32_t *tasks = captures_tasks(value_replay_captures(replay), &r.n);
	r.tasks = calloc(r.n + 1, sizeof(*r.tasks));
	if (!r.tasks)
		err = pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
	for (uint32_t i = 0; !err && i < r.n; i++) {
		err = check_task(replay, tasks[i], &r.tasks[i], diag);
		r.instructions += r.tasks[i].instructions;
		r.assumed += r.tasks[i].assumed;
		r.unknown += r.tasks[i].unknown;
		r.supposed += r.tasks[i].supposed;
		r.complete &= r.tasks[i].complete;
	}
	r.complete &= !r.damaged_bytes && r.n;
	value_replay_free(replay);
	if (err)
		values_check_deinit(&r);
	else
		*out = r;
	return err;
}

void values_check_deinit(struct values_result *r)
{
	free(r->tasks);
	*r = (struct values_result){0};
}

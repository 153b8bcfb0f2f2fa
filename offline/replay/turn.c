// SPDX-License-Identifier: LGPL-2.1-or-later
/* turn.c: see turn.h. What a run does while it is turned is in turned.c. */
#include "offline/replay/turn.h"

#include "offline/replay/lead/turned.h"
#include "offline/replay/run/gap.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/snapshots.h"

#include <errno.h>
#include <string.h>

/* Executes the jump, and goes to where it did not. */
static int go_the_other_way(struct value_run *run, struct value_turned *out)
{
	struct value_machine *m = run->machine;
	struct value_state *s = value_machine_state(m);
	const struct value_insn *insn = value_machine_insn(m, s->rip);
	uint64_t count = value_machine_count(m);
	if (!insn || insn->kind != VALUE_INSN_JCC)
		return -EINVAL;
	uint64_t next = insn->ip + insn->len, target = insn->target;
	if (value_machine_expect(m, 0, NULL, 0))
		return -ENOMEM;
	value_machine_supposed(m);
	for (int i = 0; i < 2 && value_machine_count(m) == count; i++) /* a place may be here */
		value_machine_run(m, count + 1, NULL);
	if (value_machine_count(m) != count + 1 || value_machine_supposed(m))
		return value_run_fail(run, "what decided the jump is not known");
	out->was_taken = s->rip == target;
	s->rip = out->was_taken ? next : target;
	return 0;
}

int value_run_turn(struct value_run *run, uint64_t instructions, value_written_fn *written,
		   void *ctx, struct value_turned *out)
{
	struct turned t = {out, written, ctx, false};
	struct value_run kept = *run;
	uint64_t count = value_run_count(run);
	*out = (struct value_turned){0};
	if (!value_run_keep_near(run))
		return -ENOMEM;
	const struct run_snapshot *here = &run->near[(run->n_near - 1) % NEAR_SNAPSHOTS];
	run->crossing = NULL;
	run->snapshot_next = UINT64_MAX;
	run->expected = 0;
	run->turned = &t;
	int stop = VALUE_REPLAY_GAP, err = 0;
	if (run->neighbours)
		value_run_fail(run, "other threads of its process may have written meanwhile");
	else if (!(err = go_the_other_way(run, out)))
		stop = value_run_forward(run, count + instructions, NULL);
	if (!err && (stop == VALUE_REPLAY_NO_MEMORY || t.no_room))
		err = -ENOMEM;
	if (stop == VALUE_REPLAY_LIMIT)
		out->end = VALUE_TURNED_LIMIT;
	else
		memcpy(out->text, run->gap.text, sizeof(out->text));
	out->instructions = value_run_count(run) - count;
	out->ip = value_machine_state(run->machine)->rip;
	run->turned = NULL;
	run->crossing = kept.crossing;
	run->snapshot_next = kept.snapshot_next;
	run->gap = kept.gap;
	run->n_variants = 0;
	return !value_run_go_back(run, here) ? -ENOMEM : err == VALUE_REPLAY_GAP ? 0 : err;
}

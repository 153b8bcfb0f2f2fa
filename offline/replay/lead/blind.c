// SPDX-License-Identifier: LGPL-2.1-or-later
/* blind.c: code of a library that cannot be executed to its end; and a function that is done at
 * once returns. */
#include "offline/replay/lead/blind.h"

#include "offline/replay/models/models.h"
#include "offline/replay/run/gap.h"
#include "offline/replay/run/places.h"
#include "offline/replay/run/run.h"

#include <stdio.h>

/* Nothing more can be executed until control is in traced code again. */
int value_run_go_blind(struct value_run *run, const char *why)
{
	const char *in = run->n_calls ? run->calls[run->n_calls - 1].import : NULL;
	if (run->turned)
		return value_run_fail(run, "%s%s%s", why, in ? ", in " : "", in ? in : "");
	if (!run->blind++) {
		run->blind_at = (struct value_gap){.count = run->count,
						   .ip = value_machine_state(run->machine)->rip,
						   .record = run->next};
		snprintf(run->blind_at.text, sizeof(run->blind_at.text), "%s%s%s", why,
			 in ? ", in " : "", in ? in : "");
		value_run_tell_crowd(run, &run->blind_at);
	}
	if (value_run_is_lost(run))
		return value_run_fail(run, "%s%s%s, whose end is watched no longer", why,
				      in ? ", in " : "", in ? in : ", in a call");
	import_clobber(run->machine);
	run->in_library = false;
	run->n_variants = 0;
	run->outside = run->unseen = true;
	return VALUE_REPLAY_LIMIT;
}

/* Back to the return address at the stack pointer. */
int value_run_return_now(struct value_run *run)
{
	struct value_state *s = value_machine_state(run->machine);
	uint8_t quality = VALUE_EXACT;
	uint64_t to;
	if (value_memory_read(&run->memory, s->gpr[VALUE_RSP], &to, 8, &quality) ||
	    quality == VALUE_UNKNOWN)
		return value_run_go_blind(run, "a return address that is not known");
	s->gpr[VALUE_RSP] += 8;
	s->rip = to;
	return VALUE_REPLAY_LIMIT;
}

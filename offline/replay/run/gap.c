// SPDX-License-Identifier: LGPL-2.1-or-later
/* gap.c: a run that goes no further says why; and whoever listens is told of crossings. */
#include "offline/replay/run/gap.h"

#include "offline/replay/run/run.h"
#include "offline/replay/run/suppose.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* By the record that would have been next. */
static bool is_crowded(const struct value_run *run)
{
	return run->crowded_from &&
	       (run->next >= run->records->n ||
		kept_records_at(run->records, run->next)->order > run->crowded_from);
}

void value_run_tell_crowd(const struct value_run *run, struct value_gap *gap)
{
	size_t len = strlen(gap->text);
	if (is_crowded(run))
		snprintf(gap->text + len, sizeof(gap->text) - len,
			 " (other threads were awake meanwhile: what they wrote is assumed, and "
			 "known with record --one-processor)");
}

static int end_in_gap(struct value_run *run)
{
	value_run_tell_crowd(run, &run->gap);
	run->gap.count = value_run_count(run);
	run->gap.ip = value_machine_state(run->machine)->rip;
	run->gap.record = run->next;
	run->ended = VALUE_REPLAY_GAP;
	return VALUE_REPLAY_GAP;
}

int value_run_fail(struct value_run *run, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(run->gap.text, sizeof(run->gap.text), format, args);
	va_end(args);
	return end_in_gap(run);
}

int value_run_fail_astray(struct value_run *run, const char *format, ...)
{
	const uint64_t agreed = run->supposition.agreed;
	va_list args;
	va_start(args, format);
	int len = vsnprintf(run->gap.text, sizeof(run->gap.text), format, args);
	va_end(args);
	if (agreed < value_run_count(run) && len > 0 && (size_t)len < sizeof(run->gap.text))
		snprintf(run->gap.text + len, sizeof(run->gap.text) - len,
			 "; of what follows instruction %lu, where a record agreed last, nothing "
			 "is exact",
			 agreed);
	value_run_strayed(run, true);
	return end_in_gap(run);
}

void value_run_tell(struct value_run *run, enum value_crossing what, const struct capture *c,
		    const char *import)
{
	if (run->crossing)
		run->crossing(run->crossing_ctx, run, what, c, import);
}

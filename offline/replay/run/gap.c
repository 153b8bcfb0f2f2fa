// SPDX-License-Identifier: LGPL-2.1-or-later
/* gap.c: a run that goes no further says why; and whoever listens is told of crossings. */
#include "offline/replay/run/gap.h"

#include "offline/replay/run/run.h"
#include "offline/replay/run/suppose.h"

#include <stdarg.h>
#include <stdio.h>

static int end_in_gap(struct value_run *run)
{
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

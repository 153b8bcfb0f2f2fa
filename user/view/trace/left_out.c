// SPDX-License-Identifier: LGPL-2.1-or-later
/* left_out.c: see left_out.h. */
#include "user/view/trace/left_out.h"

#include "user/cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

static void time_of_day(uint64_t real_ns, char out[16])
{
	time_t seconds = (time_t)(real_ns / 1000000000);
	struct tm tm;
	localtime_r(&seconds, &tm);
	strftime(out, 16, "%H:%M:%S", &tm);
}

int left_out(const struct trace_view *view, struct pugmark_diag *diag)
{
	uint64_t first_ns = UINT64_MAX, last_ns = view->start_ns;
	char from[16], to[16];
	if (!trace_view_is_whole(view, 0)) {
		if (view->n_tasks)
			command_say(stderr, "pugmark: ", view->dir,
				    ": the selection keeps none of the calls that can be read\n");
		return 0;
	}
	if (!view->trace || !view->info->times)
		return pugmark_diag_set(diag, -ENODATA, view->dir, PUGMARK_NO_OFFSET,
					"the selection keeps none of its calls");
	for (uint32_t i = 0; i < view->n_tasks; i++) {
		const struct pugmark_recording_task *task = &view->tasks[i];
		first_ns = task->first_ns < first_ns ? task->first_ns : first_ns;
		last_ns = task->last_ns > last_ns ? task->last_ns : last_ns;
	}
	first_ns = first_ns > view->start_ns ? first_ns - view->start_ns : 0;
	last_ns -= view->start_ns;
	time_of_day(view->info->start_realtime_ns + first_ns, from);
	time_of_day(view->info->start_realtime_ns + last_ns, to);
	return pugmark_diag_set(
		diag, -ENODATA, view->dir, PUGMARK_NO_OFFSET,
		"the selection keeps none of its calls (its events are of %.6f to %.6f s after its "
		"start, %s to %s)",
		(double)first_ns / 1e9, (double)last_ns / 1e9, from, to);
}

void say_none_longer(const struct trace_view *view)
{
	command_say(stderr, "pugmark: ", view->dir,
		    ": no call may have taken as long as was asked for\n");
}

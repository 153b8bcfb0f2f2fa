// SPDX-License-Identifier: LGPL-2.1-or-later
/* export_words.c: what the formats say alike: why the export failed, how a call ended, what a track
 * is called. */
#include "user/export/export.h"

#include "user/cli/printable.h"

#include <stdarg.h>

void export_fail(struct export *x, int err, const char *format, ...)
{
	if (x->err)
		return;
	char text[256];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	x->err = pugmark_diag_set(x->diag, err, x->path, PUGMARK_NO_OFFSET, "%s", text);
	x->replay.failed = true;
}

const char *export_how_word(uint8_t how)
{
	static const char *const words[] = {[PUGMARK_TRACE_CALL] = "call",
					    [PUGMARK_TRACE_TAIL] = "tail",
					    [PUGMARK_TRACE_ENTER] = "enter",
					    [PUGMARK_TRACE_GAP] = "found open"};
	return how <= PUGMARK_TRACE_GAP && words[how] ? words[how] : "other";
}

const char *export_end_word(uint8_t how)
{
	static const char *const words[] = {
		[CALL_RETURNED] = "",	    [CALL_JUMPED] = "tail call",
		[CALL_UNWOUND] = "unwound", [CALL_GIVEN_UP] = "in a gap",
		[CALL_OPEN] = "still open",
	};
	return words[how];
}

void export_comm(const struct pugmark_recording_task *task, char out[EXPORT_COMM_BYTES])
{
	printable_copy(out, EXPORT_COMM_BYTES, task->comm, PRINT_TEXT);
}

void export_track_name(const struct export *x, const struct export_track *track, char *out,
		       size_t bytes)
{
	const struct pugmark_recording_task *task = export_task(x, track->task);
	uint64_t goroutine = trace_view_goroutine(&x->replay.view, track->task);
	char comm[EXPORT_COMM_BYTES];
	export_comm(task, comm);
	if (goroutine)
		snprintf(out, bytes, "%s goroutine %llu", comm, (unsigned long long)goroutine);
	else if (track->stack)
		snprintf(out, bytes, "%s %d, stack %u", comm, task->tid, track->stack);
	else
		snprintf(out, bytes, "%s %d", comm, task->tid);
}

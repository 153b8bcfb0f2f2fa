// SPDX-License-Identifier: LGPL-2.1-or-later
/* by_goroutine.c: has what each thread of a trace did cut into lines (lines.h), and the trace tell
 * these from then on. */
#include "offline/trace/lines.h"
#include "offline/trace/trace_impl.h"

#include <errno.h>
#include <string.h>

static int cut_task(struct pugmark_trace *t, struct lines *lines, uint32_t task)
{
	struct pugmark_trace_iter *it;
	struct cutting *c = NULL;
	const struct pugmark_trace_event *events;
	uint32_t n;
	int got = pugmark_trace_iter_new(t, task, &it);
	if (got)
		return got;
	int err = lines_add_task(lines, task, &c);
	while (!err && (got = pugmark_trace_batch(it, &events, &n)) == 1)
		err = lines_cut(c, events, n);
	int end = lines_end_task(c);
	pugmark_trace_iter_free(it);
	return err ? err : got < 0 ? got : end;
}

static int cut_tasks(struct pugmark_trace *t, struct lines *lines, uint32_t n_tasks)
{
	int err = 0;
	for (uint32_t task = 0; task < n_tasks && !err; task++)
		err = cut_task(t, lines, task);
	return err ? err : lines_finish(lines);
}

int pugmark_trace_by_goroutine(struct pugmark_trace *t, struct pugmark_diag *diag)
{
	uint32_t n_tasks, n;
	struct lines *lines;
	const struct pugmark_recording *rec = pugmark_trace_recording(t);
	if (!pugmark_recording_info(rec)->times)
		return pugmark_diag_set(diag, -ENODATA, NULL, PUGMARK_NO_OFFSET,
					"recorded without times: nothing tells in which order "
					"threads ran a goroutine");
	const struct pugmark_recording_task *tasks = pugmark_recording_tasks(rec, &n_tasks);
	int err = lines_new(trace_plans(t), tasks, &lines);
	if (!err) {
		err = cut_tasks(t, lines, n_tasks);
		trace_tell_lines(t, lines);
	}
	if (err)
		return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
					"telling it by goroutine: %s", strerror(-err));
	const struct pugmark_trace_line *first = lines_list(lines, &n);
	if (!n || !first->goroutine)
		return pugmark_diag_set(diag, -ENODATA, NULL, PUGMARK_NO_OFFSET,
					"no goroutine has a number in it (it is told by thread "
					"without --by and --goroutine)");
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lines.h: a trace told by goroutine. What threads did is cut where one goes from one goroutine to
 * another; the pieces of a goroutine, in the order of time, are one line of execution. */
#ifndef OFFLINE_TRACE_LINES_H
#define OFFLINE_TRACE_LINES_H

#include <pugmark/trace.h>

struct lines;
struct cutting;
struct line_reader;

/* Events are kept in a file without a name. @plans, by module, and @tasks are borrowed until
 * lines_free(). 0 or -errno. */
int lines_new(const struct pugmark_plan *const *plans, const struct pugmark_recording_task *tasks,
	      struct lines **out);
void lines_free(struct lines *lines);
/* Begins with all that the thread at @task did: its events in their order, then the end, which
 * frees what was begun (NULL: nothing). 0, or -ENOMEM: no room, on the disk either. */
int lines_add_task(struct lines *lines, uint32_t task, struct cutting **out);
int lines_cut(struct cutting *cutting, const struct pugmark_trace_event *events, uint32_t n);
int lines_end_task(struct cutting *cutting);
/* All threads have been added. 0 or -errno. */
int lines_finish(struct lines *lines);
/* Goroutines by their numbers, then of each thread what was of none that is known. */
const struct pugmark_trace_line *lines_list(const struct lines *lines, uint32_t *n);

int line_reader_new(const struct lines *lines, uint32_t line, struct line_reader **out);
void line_reader_free(struct line_reader *reader);
/* As pugmark_trace_batch(). */
int line_reader_batch(struct line_reader *reader, const struct pugmark_trace_event **events,
		      uint32_t *n);

#endif

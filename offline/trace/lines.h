/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lines.h: a trace told by goroutine. What threads did is cut where one goes from one goroutine to
 * another; the pieces of a goroutine, in the order of time, are one line of execution. */
#ifndef OFFLINE_TRACE_LINES_H
#define OFFLINE_TRACE_LINES_H

#include <pugmark/trace.h>

struct lines;
struct line_reader;

/* Goes through all threads of @trace, whose events are kept in a file without a name. 0 and what
 * the caller frees before the trace, or -errno. */
int lines_make(const struct pugmark_trace *trace, struct lines **out);
void lines_free(struct lines *lines);
/* Goroutines by their numbers, then of each thread what was of none that is known. */
const struct pugmark_trace_line *lines_list(const struct lines *lines, uint32_t *n);

int line_reader_new(const struct lines *lines, uint32_t line, struct line_reader **out);
void line_reader_free(struct line_reader *reader);
/* As pugmark_trace_batch(). */
int line_reader_batch(struct line_reader *reader, const struct pugmark_trace_event **events,
		      uint32_t *n);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* trace_impl.h: how by_goroutine.c makes a trace tell lines. */
#ifndef OFFLINE_TRACE_TRACE_IMPL_H
#define OFFLINE_TRACE_TRACE_IMPL_H

#include <pugmark/trace.h>

struct lines;

/* By module; borrowed until the trace is freed. */
const struct pugmark_plan *const *trace_plans(const struct pugmark_trace *trace);
/* From here on iterators are of @lines, which the trace frees. */
void trace_tell_lines(struct pugmark_trace *trace, struct lines *lines);

#endif

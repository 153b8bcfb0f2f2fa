/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* deaths_text.h: the processes of a recording that died of a signal, as text and as JSON. */
#ifndef USER_DEATHS_TEXT_H
#define USER_DEATHS_TEXT_H

#include "user/cli/outbuf.h"
#include "user/view/trace/trace_view.h"

/* A line for each thread that died: "died   ...". */
void deaths_text(struct trace_view *view, struct outbuf *out);
/* A member `,"deaths":[...]`. */
void deaths_json(struct trace_view *view, struct outbuf *out);

#endif

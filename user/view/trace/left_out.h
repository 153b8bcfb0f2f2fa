/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* left_out.h: what is said where a selection has left nothing. */
#ifndef USER_VIEW_LEFT_OUT_H
#define USER_VIEW_LEFT_OUT_H

#include "user/view/trace/trace_view.h"

/* The view, which is open, shows no call and no gap of a recording that has events: -ENODATA, with
 * @diag saying so, and from when to when these are. 0 where the
 * recording is not whole, which is said: the exit status tells of that. */
int left_out(const struct trace_view *view, struct pugmark_diag *diag);
/* The same of a threshold of time, which is an answer and no error: says it on stderr. */
void say_none_longer(const struct trace_view *view);

#endif

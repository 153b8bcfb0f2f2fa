/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* left_out.h: what is said where a selection has left nothing. */
#ifndef USER_VIEW_LEFT_OUT_H
#define USER_VIEW_LEFT_OUT_H

#include "user/view/trace/trace_view.h"

/* Says on stderr that the view, which is open, shows no call of a recording that has events, and
 * from when to when these are. Nothing where nothing was recorded: trace_view_status() says that.
 */
void say_left_out(const struct trace_view *view);

#endif

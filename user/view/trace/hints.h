/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hints.h: what is known of a function without a name. It is for people to recognize it by, and no
 * part of what it is called. */
#ifndef USER_VIEW_HINTS_H
#define USER_VIEW_HINTS_H

#include "user/view/trace/trace_view.h"

enum { HINT_BYTES = 512 };

/* "near lua_pcallk; calls malloc, free; strings "cannot open %s"": the closest function of the
 * module that has a name, the first imports that it calls, and, where the recorded file is still
 * there, the first strings that it loads. Not made printable. "" where the function has a name, or
 * nothing is known of it; also for
 * @func PUGMARK_NONE. */
void func_hint(struct trace_view *view, uint32_t module, uint32_t func, char out[HINT_BYTES]);
/* Frees what func_hint() has kept in the view. */
void hints_deinit(struct trace_view *view);

#endif

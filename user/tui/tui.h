/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tui.h: `pugmark tui`: what was recorded, in a terminal (ncurses), until its user leaves. */
#ifndef USER_TUI_TUI_H
#define USER_TUI_TUI_H

#include "user/view/trace/trace_view.h"

/* Shows @view, which is open and is given back. *@gaps: how many there are. Returns 0, or -errno
 * with @diag filled (-ENOTTY: this is no terminal). */
int tui_run(struct trace_view *view, uint64_t *gaps, struct pugmark_diag *diag);

#endif

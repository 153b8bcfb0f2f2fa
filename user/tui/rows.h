/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows.h: the lines of each view: what each stands for, and its text. */
#ifndef USER_TUI_ROWS_H
#define USER_TUI_ROWS_H

#include "user/tui/facts.h"

enum tui_view { TUI_TREE, TUI_FLAT, TUI_GRAPH, TUI_SLOW, TUI_GAP, N_TUI_VIEWS };
extern const char *const tui_view_names[N_TUI_VIEWS];

struct tui_row {
	uint32_t index; /* a node, a function of the report, one of its slowest calls, or a gap */
	uint32_t depth; /* TUI_TREE */
	uint8_t role;	/* TUI_GRAPH: enum tui_role */
};
enum tui_role { TUI_CALLER, TUI_ITSELF, TUI_CALLEE };

struct tui_rows {
	struct tui_row *at; /* heap */
	uint32_t n, cap;
	enum tui_view view;
};

enum { TUI_LINE = 1024 };

/* Makes the lines of @view; @func: of which function TUI_GRAPH is. 0 or -ENOMEM. */
int tui_rows_make(struct tui_rows *rows, struct tui_facts *facts, enum tui_view view,
		  uint32_t func);
void tui_rows_deinit(struct tui_rows *rows);
/* The text of a line, and what stands above all lines. */
void tui_row_text(const struct tui_rows *rows, struct tui_facts *facts, uint32_t row,
		  char out[TUI_LINE]);
void tui_rows_heading(const struct tui_rows *rows, const struct tui_facts *facts,
		      char out[TUI_LINE]);
/* When it was, after the start; UINT64_MAX: it has no time. */
uint64_t tui_row_time(const struct tui_rows *rows, const struct tui_facts *facts, uint32_t row);
/* Which function of the report it is about; UINT32_MAX: none. */
uint32_t tui_row_func(const struct tui_rows *rows, struct tui_facts *facts, uint32_t row);

#endif

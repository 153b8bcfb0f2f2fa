/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* facts.h: all that the terminal shows, counted in two walks when it begins: memory is that of the
 * distinct stacks of calls, and of the gaps. */
#ifndef USER_TUI_FACTS_H
#define USER_TUI_FACTS_H

#include "user/export/call_tree.h"
#include "user/view/report/report.h"

enum { TUI_SPANS = 1024, TUI_GAPS_MAX = 100000, TUI_SLOWEST = 1000 };

struct tui_gap {
	struct export_gap gap;
	uint32_t task;
};

/* A node of the call tree, with what is below it. */
struct tui_node {
	uint32_t first, next; /* child, sibling: most time first; 0: none */
	uint64_t total_ns;    /* as drawn, with all that it called */
	struct time_bounds self;
	bool open; /* its children are shown */
};

struct tui_facts {
	struct export x; /* its contexts, frames, view */
	struct report report;
	struct tui_node *nodes;	   /* heap: as x.contexts->nodes */
	uint64_t spans[TUI_SPANS]; /* calls that begin in each part of the time */
	bool gap_in[TUI_SPANS];
	uint64_t end_ns;
	struct tui_gap *gaps; /* heap */
	uint32_t n_gaps;
};

/* Counts what @view shows, which facts->x.replay.view is from then on. Returns 0, or -errno with
 * @diag filled; tui_facts_deinit() either way, which leaves that view. */
int tui_facts_collect(struct tui_facts *facts, struct trace_view *view, struct pugmark_diag *diag);
void tui_facts_deinit(struct tui_facts *facts);
/* In which part of the time @at_ns is. */
uint32_t tui_span_of(const struct tui_facts *facts, uint64_t at_ns);

#endif

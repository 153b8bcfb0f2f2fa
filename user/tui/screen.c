// SPDX-License-Identifier: LGPL-2.1-or-later
/* screen.c: draws with ncurses and reads keys. A title, a strip of the time, the views' names, the
 * lines of one view, and a line for search and help. */
#include "user/tui/draw.h"
#include "user/tui/rows.h"
#include "user/tui/tui.h"

#include <errno.h>
#include <langinfo.h>
#include <ncurses.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROW_TITLE, ROW_STRIP, ROW_VIEWS, ROW_HEADING, ROW_FIRST };
enum { NOWHERE = UINT32_MAX };

struct screen {
	struct tui_facts *facts;
	struct tui_rows rows;
	uint32_t selected, top, func;
	bool utf8, whole;
	char query[128];
	char said[160]; /* in the last line, until a key is pressed */
};

static int height(void)
{
	int n = LINES - ROW_FIRST - 1;
	return n > 0 ? n : 1;
}

static void draw_title(struct screen *s)
{
	const struct trace_view *view = &s->facts->x.replay.view;
	char text[TUI_LINE], name[TUI_LINE / 2];
	printable_copy(name, sizeof(name), view->dir, PRINT_TEXT);
	snprintf(text, sizeof(text), "%s: %llu calls, %.3f s, ", name,
		 (unsigned long long)s->facts->report.calls, (double)s->facts->end_ns / 1e9);
	if (!s->facts->x.times)
		snprintf(text, sizeof(text), "%s: %llu calls, without times, ", name,
			 (unsigned long long)s->facts->report.calls);
	size_t len = strlen(text);
	snprintf(text + len, sizeof(text) - len, "%s",
		 s->whole ? "complete" : "not complete: what happened in gaps is not known");
	draw_style(s->whole ? DRAW_GOOD : DRAW_BAD, true);
	draw_text(ROW_TITLE, 0, text);
	draw_style(s->whole ? DRAW_GOOD : DRAW_BAD, false);
}

/* One column of the strip: how many calls begin there, by powers of four below the most. */
static void draw_column(struct screen *s, int x, uint64_t calls, uint64_t most, bool gap, bool here)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const signs[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
	unsigned level = calls ? 8 : 0;
	for (uint64_t m = most; level > 1 && calls <= m / 4; m /= 4)
		level--;
	if (here)
		attron(A_REVERSE);
	if (gap)
		draw_style(DRAW_BAD, true);
	draw_text(ROW_STRIP, x, gap ? "!" : (s->utf8 ? blocks : signs)[level]);
	if (gap)
		draw_style(DRAW_BAD, false);
	if (here)
		attroff(A_REVERSE);
}

static void draw_strip(struct screen *s)
{
	const struct tui_facts *f = s->facts;
	uint64_t at = tui_row_time(&s->rows, f, s->selected), most = 1;
	uint32_t here = at == UINT64_MAX ? NOWHERE : tui_span_of(f, at);
	for (int pass = 0; pass < 2; pass++)
		for (int x = 0; x < COLS; x++) {
			uint32_t from = (uint32_t)((uint64_t)x * TUI_SPANS / (unsigned)COLS);
			uint32_t to = (uint32_t)((x + 1ull) * TUI_SPANS / (unsigned)COLS);
			uint64_t calls = 0;
			bool gap = false;
			to = to > from ? to : from + 1;
			for (uint32_t i = from; i < to; i++) {
				calls += f->spans[i];
				gap |= f->gap_in[i];
			}
			if (!pass)
				most = calls > most ? calls : most;
			else
				draw_column(s, x, calls, most, gap, here >= from && here < to);
		}
}

static void draw_views(struct screen *s)
{
	int x = 0;
	char text[64];
	for (int v = 0; v < N_TUI_VIEWS && x < COLS; v++) {
		snprintf(text, sizeof(text), " %d %s ", v + 1, tui_view_names[v]);
		if (v == (int)s->rows.view)
			attron(A_REVERSE);
		draw_text(ROW_VIEWS, x, text);
		if (v == (int)s->rows.view)
			attroff(A_REVERSE);
		x += (int)strlen(text) + 1;
	}
}

static void draw(struct screen *s)
{
	char text[TUI_LINE];
	int lines = height();
	if (s->selected >= s->rows.n)
		s->selected = s->rows.n ? s->rows.n - 1 : 0;
	if (s->selected < s->top)
		s->top = s->selected;
	if (s->selected >= s->top + (unsigned)lines)
		s->top = s->selected - (unsigned)lines + 1;
	erase();
	draw_title(s);
	draw_strip(s);
	draw_views(s);
	tui_rows_heading(&s->rows, s->facts, text);
	draw_style(DRAW_DIM, true);
	draw_text(ROW_HEADING, 0, text);
	draw_style(DRAW_DIM, false);
	for (int i = 0; i < lines && s->top + (unsigned)i < s->rows.n; i++) {
		bool is_selected = s->top + (unsigned)i == s->selected;
		tui_row_text(&s->rows, s->facts, s->top + (unsigned)i, text);
		if (is_selected)
			attron(A_REVERSE);
		draw_text(ROW_FIRST + i, 0, text);
		if (is_selected)
			attroff(A_REVERSE);
	}
	if (!s->rows.n)
		draw_text(ROW_FIRST, 0, s->rows.view == TUI_GAP ? "  no gaps" : "  nothing");
	draw_text(LINES - 1, 0,
		  *s->said
			  ? s->said
			  : "arrows move  Enter opens  / search  n next  g gap  s slowest  q quit");
	refresh();
}

static int show(struct screen *s, enum tui_view view)
{
	s->selected = s->top = 0;
	return tui_rows_make(&s->rows, s->facts, view, s->func);
}

static int show_graph(struct screen *s, uint32_t func)
{
	if (func == NOWHERE) {
		snprintf(s->said, sizeof(s->said), "this is of no function");
		return 0;
	}
	s->func = func;
	int err = show(s, TUI_GRAPH);
	for (uint32_t i = 0; i < s->rows.n; i++)
		if (s->rows.at[i].role == TUI_ITSELF)
			s->selected = i;
	return err;
}

/* Opens or closes a node; elsewhere goes to the function. */
static int enter(struct screen *s, int open)
{
	if (!s->rows.n)
		return 0;
	if (s->rows.view != TUI_TREE)
		return show_graph(s, tui_row_func(&s->rows, s->facts, s->selected));
	uint32_t index = s->rows.at[s->selected].index;
	struct tui_node *node = &s->facts->nodes[index];
	node->open = open < 0 ? !node->open : open;
	return tui_rows_make(&s->rows, s->facts, TUI_TREE, 0);
}

/* The next line that has the query in it, from behind the selected one on. In the tree, what is not
 * open is looked through as well. */
static int search(struct screen *s)
{
	char text[TUI_LINE];
	const struct export_contexts *c = s->facts->x.contexts;
	if (!*s->query)
		return 0;
	if (s->rows.view == TUI_TREE) {
		for (uint32_t i = 1; i < c->n; i++)
			if (strcasestr(export_context_name(&s->facts->x, &c->nodes[i]), s->query))
				for (uint32_t p = c->nodes[i].parent; p; p = c->nodes[p].parent)
					s->facts->nodes[p].open = true;
		uint32_t at = s->rows.n ? s->rows.at[s->selected].index : 0;
		if (tui_rows_make(&s->rows, s->facts, TUI_TREE, 0))
			return -ENOMEM;
		for (uint32_t i = 0; i < s->rows.n; i++)
			if (s->rows.at[i].index == at)
				s->selected = i;
	}
	for (uint32_t i = 1; i <= s->rows.n; i++) {
		uint32_t row = (s->selected + i) % s->rows.n;
		tui_row_text(&s->rows, s->facts, row, text);
		if (!strcasestr(text, s->query))
			continue;
		s->selected = row;
		return 0;
	}
	snprintf(s->said, sizeof(s->said), "not found: %s", s->query);
	return 0;
}

static int ask(struct screen *s)
{
	return draw_ask(s->query, sizeof(s->query), NULL) ? search(s) : 0;
}

static void move_by(struct screen *s, int64_t by)
{
	int64_t to = (int64_t)s->selected + by;
	int64_t last = s->rows.n ? (int64_t)s->rows.n - 1 : 0;
	s->selected = (uint32_t)(to < 0 ? 0 : to > last ? last : to);
}

/* To the next of @view's lines: the first, where another view is shown. */
static int jump(struct screen *s, enum tui_view view)
{
	if (s->rows.view != view)
		return show(s, view);
	s->selected = s->rows.n ? (s->selected + 1) % s->rows.n : 0;
	return 0;
}

/* Returns 1: it is over; 0, or -ENOMEM. */
static int on_key(struct screen *s, int key)
{
	*s->said = 0;
	switch (key) {
	case ERR: /* the terminal is gone */
	case 'q':
		return 1;
	case 'k':
	case KEY_UP:
		move_by(s, -1);
		return 0;
	case 'j':
	case KEY_DOWN:
		move_by(s, 1);
		return 0;
	case KEY_PPAGE:
		move_by(s, -height());
		return 0;
	case ' ':
	case KEY_NPAGE:
		move_by(s, height());
		return 0;
	case KEY_HOME:
		move_by(s, INT32_MIN);
		return 0;
	case KEY_END:
		move_by(s, UINT32_MAX);
		return 0;
	case '\n':
	case '\r':
	case KEY_ENTER:
		return enter(s, -1);
	case KEY_RIGHT:
		return enter(s, 1);
	case KEY_LEFT:
		return s->rows.view == TUI_TREE ? enter(s, 0) : 0;
	case 'c':
		return show_graph(s, tui_row_func(&s->rows, s->facts, s->selected));
	case '/':
		return ask(s);
	case 'n':
		return search(s);
	case 'g':
		return jump(s, TUI_GAP);
	case 's':
		return jump(s, TUI_SLOW);
	default:
		return key >= '1' && key < '1' + N_TUI_VIEWS ? show(s, (enum tui_view)(key - '1'))
							     : 0;
	}
}

static int run_screen(struct screen *s)
{
	SCREEN *terminal = draw_begin();
	if (!terminal)
		return -ENOTTY;
	s->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	int done = show(s, TUI_TREE);
	while (!done) {
		draw(s);
		done = on_key(s, getch());
	}
	draw_end(terminal);
	return done < 0 ? done : 0;
}

int tui_run(struct trace_view *view, uint64_t *gaps, struct pugmark_diag *diag)
{
	struct tui_facts *facts = calloc(1, sizeof(*facts));
	struct screen s = {.facts = facts, .func = NOWHERE};
	if (!facts)
		return trace_view_no_memory(view, diag);
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		free(facts);
		return pugmark_diag_set(diag, -ENOTTY, NULL, PUGMARK_NO_OFFSET,
					"tui needs a terminal for input and output (for text: "
					"pugmark report)");
	}
	int err = tui_facts_collect(facts, view, diag);
	*gaps = facts->report.gaps;
	if (!err) {
		s.whole = !trace_view_status(&facts->x.replay.view, *gaps);
		err = run_screen(&s);
		if (err == -ENOTTY)
			pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
					 "no terminal whose cursor can be moved (see TERM)");
		else if (err)
			trace_view_no_memory(view, diag);
	}
	if (facts->x.replay.view.trace)
		*view = facts->x.replay.view;
	tui_rows_deinit(&s.rows);
	tui_facts_deinit(facts);
	free(facts);
	return err;
}

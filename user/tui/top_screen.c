// SPDX-License-Identifier: LGPL-2.1-or-later
/* top_screen.c: `pugmark top` on a terminal: a title, what it costs, the orders' names, the
 * functions, and a line for search and help. It looks once a second; keys are read in between, and
 * while much is to be read. */
#include "user/tui/draw.h"
#include "user/tui/top.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { ROW_TITLE, ROW_COST, ROW_ORDERS, ROW_HEADING, ROW_FIRST };
enum { LOOK_MS = 1000, READ_MS = 50, IDLE_MS = 100, BEHIND_S = 5 };
enum { NO_FUNC = UINT32_MAX };

struct screen {
	struct top *top;
	uint32_t selected, first;
	uint32_t func; /* number of the function that is selected; NO_FUNC: the first row */
	bool behind;   /* not all is read that has been written */
	char query[128];
	char said[160]; /* in the last line, until a key is pressed */
};

static uint64_t now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static uint32_t height(void)
{
	int n = LINES - ROW_FIRST - 1;
	return n > 0 ? (uint32_t)n : 1;
}

static void draw_title(const struct screen *s)
{
	const struct live *l = &s->top->live;
	char text[TOP_LINE];
	uint64_t now = now_ms() / 1000, read = l->read_ns / 1000000000;
	enum draw_colour colour = l->gaps ? DRAW_BAD : DRAW_GOOD;
	top_title(s->top, text);
	size_t len = strlen(text);
	if (s->behind && l->read_ns && now > read + BEHIND_S)
		snprintf(text + len, sizeof(text) - len, ", %llu s behind",
			 (unsigned long long)(now - read));
	draw_style(colour, true);
	draw_text(ROW_TITLE, 0, text);
	draw_style(colour, false);
	top_cost(s->top, text);
	draw_text(ROW_COST, 0, text);
}

static void draw_orders(const struct screen *s)
{
	int x = 0;
	char text[64];
	for (int i = 0; i < N_TOP_ORDERS && x < COLS; i++) {
		int len = snprintf(text, sizeof(text), " %d %s ", i + 1, top_order_names[i]);
		if (i == (int)s->top->order)
			attron(A_REVERSE);
		draw_text(ROW_ORDERS, x, text);
		if (i == (int)s->top->order)
			attroff(A_REVERSE);
		x += len + 1;
	}
}

static void draw(struct screen *s)
{
	struct top *t = s->top;
	char text[TOP_LINE];
	if (s->selected < s->first)
		s->first = s->selected;
	if (s->selected >= s->first + height())
		s->first = s->selected - height() + 1;
	erase();
	draw_title(s);
	draw_orders(s);
	top_heading(t, (unsigned)COLS, text);
	draw_style(DRAW_DIM, true);
	draw_text(ROW_HEADING, 0, text);
	draw_style(DRAW_DIM, false);
	for (uint32_t i = 0; i < height() && s->first + i < t->n_rows; i++) {
		bool is_selected = s->first + i == s->selected;
		top_row_text(t, s->first + i, (unsigned)COLS, text);
		if (is_selected)
			attron(A_REVERSE);
		draw_text(ROW_FIRST + (int)i, 0, text);
		if (is_selected)
			attroff(A_REVERSE);
	}
	if (!t->n_rows)
		draw_text(ROW_FIRST, 0, "  nothing has run yet of what is traced");
	draw_text(LINES - 1, 0,
		  *s->said ? s->said
			   : "1-4 order  arrows move  / search  n next  z durations anew  q quit");
	refresh();
}

/* Makes the rows; the selected function stays selected. */
static int make_rows(struct screen *s)
{
	struct top *t = s->top;
	if (top_rows_make(t))
		return -ENOMEM;
	if (s->func == NO_FUNC)
		s->selected = 0;
	for (uint32_t i = 0; s->func != NO_FUNC && i < t->n_rows; i++)
		if (t->rows[i].id == s->func)
			s->selected = i;
	if (s->selected >= t->n_rows)
		s->selected = t->n_rows ? t->n_rows - 1 : 0;
	return 0;
}

static void select_row(struct screen *s, int64_t to)
{
	int64_t last = (int64_t)s->top->n_rows - 1;
	to = to > last ? last : to;
	s->selected = to > 0 ? (uint32_t)to : 0;
	s->func = s->selected ? s->top->rows[s->selected].id : NO_FUNC;
}

static void search(struct screen *s)
{
	char text[TOP_LINE];
	for (uint32_t i = 1; *s->query && i <= s->top->n_rows; i++) {
		uint32_t row = (s->selected + i) % s->top->n_rows;
		top_row_text(s->top, row, 0, text);
		if (!strcasestr(text, s->query))
			continue;
		select_row(s, row);
		return;
	}
	snprintf(s->said, sizeof(s->said), "not found: %s", s->query);
}

static void ask(struct screen *s)
{
	timeout(IDLE_MS);
	if (draw_ask(s->query, sizeof(s->query), top_is_asked))
		search(s);
}

/* Returns 1: it is over; 0, or -ENOMEM. */
static int on_key(struct screen *s, int key)
{
	*s->said = 0;
	switch (key) {
	case 'q':
		return 1;
	case 'k':
	case KEY_UP:
		select_row(s, (int64_t)s->selected - 1);
		return 0;
	case 'j':
	case KEY_DOWN:
		select_row(s, (int64_t)s->selected + 1);
		return 0;
	case KEY_PPAGE:
		select_row(s, (int64_t)s->selected - height());
		return 0;
	case ' ':
	case KEY_NPAGE:
		select_row(s, (int64_t)s->selected + height());
		return 0;
	case KEY_HOME:
		select_row(s, 0);
		return 0;
	case KEY_END:
		select_row(s, UINT32_MAX);
		return 0;
	case '/':
		ask(s);
		return 0;
	case 'n':
		search(s);
		return 0;
	case 'z':
		live_forget_durations(&s->top->live);
		return 0;
	default:
		if (key >= '1' && key < '1' + N_TOP_ORDERS)
			s->top->order = (enum top_order)(key - '1');
		return make_rows(s);
	}
}

/* Takes in what was written and looks. */
static int look(struct screen *s, struct pugmark_diag *diag)
{
	live_look(&s->top->live);
	int err = live_more(&s->top->live, diag);
	if (!err && make_rows(s))
		err = trace_view_no_memory(s->top->view, diag);
	return err;
}

static int show(struct screen *s, struct pugmark_diag *diag)
{
	struct top *t = s->top;
	uint64_t next_ms = 0;
	int done = 0;
	bool changed = true;
	while (!done && !top_is_asked()) {
		uint64_t ms = now_ms();
		bool looks = ms >= next_ms;
		int err = looks ? look(s, diag) : 0;
		if (looks)
			next_ms = ms + LOOK_MS;
		int all = err ? err : live_read(&t->live, (ms + READ_MS) * 1000000, diag);
		if (all < 0)
			return all;
		changed |= looks || s->behind == !!all;
		s->behind = !all;
		if (all)
			top_release(t);
		if (all && !t->live.more)
			return 0;
		if (changed) /* what is drawn is what was looked at */
			draw(s);
		timeout(all ? IDLE_MS : 0);
		int key = getch();
		changed = key != ERR;
		done = key == ERR ? 0 : on_key(s, key);
	}
	return done < 0 ? trace_view_no_memory(t->view, diag) : 0;
}

int top_screen(struct top *top, struct pugmark_diag *diag)
{
	struct screen s = {.top = top, .func = NO_FUNC};
	top_catch_signals();
	SCREEN *terminal = draw_begin();
	if (!terminal)
		return pugmark_diag_set(diag, -ENOTTY, NULL, PUGMARK_NO_OFFSET,
					"no terminal whose cursor can be moved (see TERM)");
	int err = show(&s, diag);
	draw_end(terminal);
	return err;
}

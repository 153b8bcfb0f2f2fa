// SPDX-License-Identifier: LGPL-2.1-or-later
/* draw.c: see draw.h. */
#include "user/tui/draw.h"

#include <locale.h>
#include <stdlib.h>
#include <term.h>
#include <wchar.h>

static bool has_colour; /* of the screen that was begun last */

SCREEN *draw_begin(void)
{
	const char *no_colour = getenv("NO_COLOR");
	setlocale(LC_CTYPE, "");
	SCREEN *terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return NULL;
	if (!cursor_address) {
		draw_end(terminal);
		return NULL;
	}
	has_colour = has_colors() && !(no_colour && *no_colour);
	if (has_colour) {
		start_color();
		use_default_colors();
		init_pair(DRAW_GOOD, COLOR_GREEN, -1);
		init_pair(DRAW_BAD, COLOR_RED, -1);
		init_pair(DRAW_DIM, COLOR_CYAN, -1);
	}
	cbreak();
	noecho();
	keypad(stdscr, true);
	curs_set(0);
	set_escdelay(25);
	return terminal;
}

void draw_end(SCREEN *terminal)
{
	endwin();
	delscreen(terminal);
}

void draw_text(int y, int x, const char *text)
{
	wchar_t wide[DRAW_LINE];
	size_t n = mbstowcs(wide, text, DRAW_LINE - 1);
	int column = x;
	if (n == (size_t)-1) { /* not of this locale */
		mvaddnstr(y, x, text, COLS - x);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		int width = wcwidth(wide[i]);
		if (column + width > COLS)
			n = i;
		column += width > 0 ? width : 0;
	}
	wide[n] = 0;
	mvaddwstr(y, x, wide);
}

void draw_style(enum draw_colour colour, bool on)
{
	attr_t as = has_colour		 ? (attr_t)COLOR_PAIR(colour)
		    : colour == DRAW_BAD ? A_BOLD
		    : colour == DRAW_DIM ? A_DIM
					 : A_NORMAL;
	(on ? attron : attroff)((int)as);
}

bool draw_ask(char *query, size_t bytes, bool (*is_over)(void))
{
	size_t len = 0;
	int key;
	query[0] = 0;
	do {
		move(LINES - 1, 0);
		clrtoeol();
		draw_text(LINES - 1, 0, "/");
		draw_text(LINES - 1, 1, query);
		refresh();
		key = getch();
		if (key == 27 || (is_over ? is_over() : key == ERR))
			return false;
		if ((key == KEY_BACKSPACE || key == 127 || key == 8) && len)
			query[--len] = 0;
		else if (key >= 32 && key < 256 && len + 1 < bytes) {
			query[len++] = (char)key;
			query[len] = 0;
		}
	} while (key != '\n' && key != '\r' && key != KEY_ENTER);
	return true;
}

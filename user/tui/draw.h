/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* draw.h: what all that draws in a terminal shares: the screen, text cut to its width, colours. */
#ifndef USER_TUI_DRAW_H
#define USER_TUI_DRAW_H

#include <ncurses.h>
#include <stdbool.h>

enum draw_colour { DRAW_GOOD = 1, DRAW_BAD, DRAW_DIM };
enum { DRAW_LINE = 1024 }; /* bytes of a line at most */

/* Takes the terminal; NULL: none of that kind is known, or its cursor cannot be moved. draw_end()
 * gives it back. */
SCREEN *draw_begin(void);
void draw_end(SCREEN *terminal);
/* Writes @text, at most to the end of the line. */
void draw_text(int y, int x, const char *text);
/* What is written from here on is, or is no more, of that colour, or stands out in another way
 * where there are none. */
void draw_style(enum draw_colour colour, bool on);

/* Asks at the bottom of the screen for what is searched for, into the @bytes of @query. False: it
 * was given up, or there is no more input. Where the caller has set a timeout(), @is_over says
 * whether to give up whenever it has passed; else NULL. */
bool draw_ask(char *query, size_t bytes, bool (*is_over)(void));

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tty.h: what an output can show: is it a terminal, how wide, may it have colours. */
#ifndef USER_TTY_H
#define USER_TTY_H

#include <stdbool.h>

struct tty {
	bool is_tty;
	bool colour;	/* a terminal, TERM is not "dumb", NO_COLOR is not set (no-color.org) */
	unsigned width; /* columns; 0: not a terminal, nothing needs cutting */
};

enum tty_style { STYLE_NONE, STYLE_BOLD, STYLE_DIM, STYLE_GOOD, STYLE_WARN, STYLE_BAD, N_STYLES };

struct tty tty_of(int fd);
/* Standard output is a pipe whose reader shows it on the terminal @term. */
void tty_leads_to(const struct tty *term);
/* The escape sequence that begins @style (STYLE_NONE ends every style), or "" without colours. */
const char *tty_style(const struct tty *term, enum tty_style style);

#endif

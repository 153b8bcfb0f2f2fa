/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pager.h: what a command prints on a terminal goes through a pager. */
#ifndef USER_PAGER_H
#define USER_PAGER_H

#include <stdbool.h>

/* Takes --no-pager out of the command line's words from the third on, up to `--`. True: it was
 * there, or help is asked for: no pager. */
bool pager_is_refused(int *argc, char **argv);
/* Where standard output is a terminal: starts $PAGER (without it: less, where there is one), and
 * standard output leads to it from then on; tty_of() says of it what the terminal is. The pager is
 * a child with all that this process may do, so this comes before anything is given up. Without a
 * pager, or where it cannot be started, all stays as it is. */
void pager_start(void);
/* What was printed is handed on; returns when the user has left the pager. */
void pager_finish(void);

#endif

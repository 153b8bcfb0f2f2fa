/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* own_terminal.h: a terminal that a command of another user shares with whoever recorded it. */
#ifndef USER_PROC_OWN_TERMINAL_H
#define USER_PROC_OWN_TERMINAL_H

/* From now on this process, and what it starts, types nothing into its terminal (TIOCSTI, and
 * TIOCLINUX, which pastes): a shell would take it for its user's. Where there is no terminal
 * nothing is done. It takes CAP_SYS_ADMIN, and leaves programs that change the user what they are.
 * Returns 0 or -errno. */
int own_terminal_keep(void);

#endif

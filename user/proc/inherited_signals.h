/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* inherited_signals.h: gives signals their usual actions in this process, whatever it inherited,
 * and gives the inherited actions back to a program that it starts: that shall see no
 * difference. */
#ifndef USER_INHERITED_SIGNALS_H
#define USER_INHERITED_SIGNALS_H

/* Once, before anything else is started. */
void inherited_signals_take(void);
/* In a child, before it becomes another program; nothing where none were taken. */
void inherited_signals_restore(void);

#endif

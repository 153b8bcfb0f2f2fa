/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* inherited_signals.h: what signals do in this process, whatever they did in the one that started
 * it, and what they did there, for a program that is started in turn: it shall see no difference.
 */
#ifndef USER_INHERITED_SIGNALS_H
#define USER_INHERITED_SIGNALS_H

/* Once, before anything else is started. */
void inherited_signals_take(void);
/* In a child, before it becomes another program; nothing where none were taken. */
void inherited_signals_restore(void);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* loops.h: what loops.lib.c has for loops.c. */
#ifndef LOOPS_H
#define LOOPS_H

/* Calls @call with @data whenever @ready, if there is one, says so, until it returns 0; then
 * @destroy. */
void loop_add(int (*ready)(void *data), int (*call)(void *data), void (*destroy)(void *data),
	      void *data);
/* Until there is nothing left, or loop_quit() is called in it. Also in a loop that runs already. */
void loop_run(void);
void loop_quit(void);
int calls_interposed(int n);
int calls_by_name(const char *name, int n);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gdb_monitor.h: what gdb's command "monitor" may ask of a recording: how well it is known what gdb
 * shows, as gdb has no mark for a value that is assumed. */
#ifndef USER_VALUES_GDB_MONITOR_H
#define USER_VALUES_GDB_MONITOR_H

#include "offline/replay/replay.h"

#include <stdio.h>

/* Where a session stands. */
struct gdb_place {
	struct value_run *moved; /* of the thread that has moved last; its memory is shown */
	struct value_run *own;	 /* of the thread that is shown; NULL: it has none */
	uint32_t task;		 /* of that thread */
};

/* Answers @command to @out, in lines; an unknown one by what there is. */
void gdb_monitor_answer(const struct gdb_place *place, const char *command, FILE *out);
/* Names of the registers that are assumed, general ones, flags and "vectors", but not x87, which is
 * so in most threads: how many; "" if none. */
unsigned gdb_monitor_assumed(const struct value_machine *m, char *out, size_t room);

#endif

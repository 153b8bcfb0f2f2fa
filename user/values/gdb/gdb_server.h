/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gdb_server.h: a replayed task behind gdb's remote serial protocol, forwards and backwards. */
#ifndef USER_VALUES_GDB_SERVER_H
#define USER_VALUES_GDB_SERVER_H

#include "offline/replay/replay.h"

/* Serves @run over the descriptors @in and @out until gdb detaches, kills or hangs up. @exec: the
 * program's path for gdb, and @entry its run-time entry point. Returns 0 or -errno. */
int gdb_serve(struct value_run *run, int in, int out, const char *exec, uint64_t entry);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gdb_server.h: a replayed process behind gdb's remote serial protocol, forwards and backwards. */
#ifndef USER_VALUES_GDB_SERVER_H
#define USER_VALUES_GDB_SERVER_H

#include "user/values/gdb/gdb_threads.h"

/* Serves @threads over the descriptors @in and @out until gdb detaches, kills or hangs up; what gdb
 * has no packet for is a line on @notes. @exec: the program's path for gdb, "" for none, and
 * @entry its run-time entry point. Returns 0 or -errno. */
int gdb_serve(struct gdb_threads *threads, int in, int out, int notes, const char *exec,
	      uint64_t entry);

#endif

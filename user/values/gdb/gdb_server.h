/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gdb_server.h: a replayed process behind gdb's remote serial protocol, forwards and backwards. */
#ifndef USER_VALUES_GDB_SERVER_H
#define USER_VALUES_GDB_SERVER_H

#include "user/values/gdb/gdb_threads.h"

/* What gdb has to be told of the program. */
struct gdb_program {
	const char *path;      /* "": gdb is given none */
	uint64_t entry;	       /* run-time entry point */
	bool has_block;	       /* it has thread-local variables of its own */
	uint64_t block_offset; /* of their block, below each thread's FS base, in bytes */
};

/* Serves @threads over the descriptors @in and @out until gdb detaches, kills or hangs up; what gdb
 * has no packet for is a line on @notes. Returns 0 or -errno. */
int gdb_serve(struct gdb_threads *threads, int in, int out, int notes,
	      const struct gdb_program *program);

#endif

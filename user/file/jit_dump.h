/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* jit_dump.h: the file in which programs that make code at run time leave that code and what it is
 * called (jit-PID.dump: linux/tools/perf/Documentation/jitdump-specification.txt): a header, and a
 * record for each piece. As perf_map.h: nothing here is taken to be true. What begins a piece is
 * read (JIT_CODE_LOAD), and where one is moved to (JIT_CODE_MOVE). */
#ifndef USER_JIT_DUMP_H
#define USER_JIT_DUMP_H

#include "user/file/perf_map.h"

/* So many bytes from where a record begins have all that is read of it. */
enum { JIT_DUMP_HEAD_MAX = 56 + PERF_MAP_NAME_MAX + 1 };

/* What is between two calls; zeroed to begin with. */
struct jit_dump {
	bool begun; /* the header was read */
	bool bad;   /* it is no such file, or not one of this machine */
	/* Of the record that was taken last: */
	bool moved;	 /* a piece is moved to where `line` says, which has no name: */
	uint64_t number; /* the piece's that is moved, or that *is says the name of */
};

/* Takes the next record of a file of which @bytes are the next @len, and that has @left bytes from
 * there on. Returns how long it is, which may be more than @len; 0: it is not there whole, or
 * @dump->bad. *@is: it says what a piece of code is called, and @line borrows from @bytes.
 * @len is at least JIT_DUMP_HEAD_MAX, or @left. */
uint64_t jit_dump_next(struct jit_dump *dump, const char *bytes, size_t len, uint64_t left,
		       struct perf_map_line *line, bool *is);
/* What a record says again that has said what a piece is called; false: it does not any more. */
bool jit_dump_load(const char *bytes, size_t len, struct perf_map_line *line);

#endif

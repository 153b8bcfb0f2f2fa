/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* code_names.h: what a process says the code is called that it makes at run time: its perf map,
 * /tmp/perf-PID.map where it sees that file and by the PID that it has there, and its dump,
 * jit-PID.dump wherever it has that mapped; both are read as they grow.
 *
 * The process, and whoever owns its file systems, is a stranger. The file has to be a regular one
 * with one name, owned by the process's user, in the place itself (no links), and written to since
 * the process began; what is read of it is
 * bounded, and a file system that never answers holds up the thread that reads and nobody else
 * (user/record/write/code_watch.h). */
#ifndef USER_CODE_NAMES_H
#define USER_CODE_NAMES_H

#include "user/proc/chunk.h"

#include <stdbool.h>
#include <stdint.h>

enum { CODE_TEXT_MAX = 64 << 10 }; /* of what code_names_look() returns, in bytes */

struct code_names;

/* For process @pid. NULL: no memory. What cannot be asked about it (it has ended) is not. */
struct code_names *code_names_new(int32_t pid);
void code_names_free(struct code_names *names);
/* What they have said since the last call, as CHUNK_CODE of *@bytes bytes, borrowed until the
 * next call; or NULL: nothing more at present. The process may have ended. Where more is there than
 * is kept, the last one says so. */
const struct chunk_code *code_names_look(struct code_names *names, uint32_t *bytes);
/* Whether the last look has ended before the end of what is there: those that follow go on. */
bool code_names_more(const struct code_names *names);
/* Whether more was there than is kept (once). */
bool code_names_too_many(struct code_names *names);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* writers.h: which thread of a process has written bytes last that another one read. Records have
 * one order over all threads, so what a thread executes lies behind one of them and before another
 * one (dep.h: spans). A write comes before a read if its span ends where the read's begins or
 * before; the last writer is told where no other write lies beside the read or beside that write.
 */
#ifndef USER_WHY_WRITERS_H
#define USER_WHY_WRITERS_H

#include "offline/dep/dep.h"

enum { WRITERS_MAX = 8 }; /* threads that have written one byte */

struct writer {
	uint32_t task, def; /* the definition, of that task's trace */
	uint64_t count;	    /* instructions of the task, up to and with it */
	uint64_t from, to;
};

/* A byte that task @task has read at its instruction @count, in the span @from to @to. */
struct written_byte {
	uint64_t addr, count, from, to;
	uint32_t task;
	uint32_t known;	 /* the task that is looked through: the byte's own definition so far */
	uint32_t beside; /* a task that may have written it meanwhile; 0: none */
	uint32_t untold; /* a task whose values are not known up to there; 0: none */
	uint32_t n;
	struct writer by[WRITERS_MAX]; /* the last of each task */
};

/* The bytes must be in the order of their addresses. Looks through what @task does, to its end.
 * @build: at its start. 0 or -ENOMEM. */
int writers_look(struct dep_build *build, uint32_t task, struct written_byte *bytes, size_t n);
/* NULL: nobody has written it since the start, where *@sure, or it is not known who was last. */
const struct writer *writers_last(struct written_byte *byte, bool *sure);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* one_processor.h: all threads of a process share one processor while it is recorded, so that no
 * two execute at once. Nothing relies on that: what was executed at once is seen in the records. */
#ifndef USER_ONE_PROCESSOR_H
#define USER_ONE_PROCESSOR_H

#include <pugmark/diag.h>

#include <sys/types.h>

struct one_processor;

/* Puts the threads of @pid, which are stopped, on the processor that it may use and used last; what
 * they begin inherits that. 0, or -errno with @diag filled and all threads as they were. */
int one_processor_begin(pid_t pid, struct one_processor **out, struct pugmark_diag *diag);
/* Gives back to each thread, and to those that it has begun, in children too, where they may run,
 * but to those that have been put elsewhere since; frees @p. NULL is nothing. */
void one_processor_end(struct one_processor *p);

#endif

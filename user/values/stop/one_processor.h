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
/* The calling thread goes to that processor, when it gets a turn there: while it executes, no
 * thread does that shares it. Where the kernel refuses that, or a thread of the process is
 * scheduled in real time (chrt), it stays where it is. Behind it: back to where it might run
 * before. */
void one_processor_take(struct one_processor *p);
void one_processor_leave(struct one_processor *p);
/* Gives back to thread @tid, wherever it is found, where it may run, but to one that has been put
 * elsewhere since. */
void one_processor_give_back(struct one_processor *p, pid_t tid);
/* Gives back to each thread of the process, and to those that it has begun, in children whose
 * parents live; frees @p. NULL is nothing. Returns how many threads stay on the one processor, of
 * those before too: the kernel has refused to give them others, or their process could not be
 * looked at. */
unsigned one_processor_end(struct one_processor *p);

#endif

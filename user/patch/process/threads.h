/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* threads.h: all threads of a process, stopped. PTRACE_INTERRUPT does that, without a signal. Some
 * system calls that a thread waits in end by it, with EINTR: these it makes again. Only a timeout
 * of such a call begins anew. They are asked all at once and waited for together, so that how long
 * it takes does not grow with how many run. Until they go on they come before others: a thread that
 * sleeps has to come to a processor to stop. */
#ifndef USER_PATCH_PROCESS_THREADS_H
#define USER_PATCH_PROCESS_THREADS_H

#include "user/patch/process/tracee.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct thread {
	pid_t tid;
	int signal; /* that it was about to take; 0: none */
	int nice;
	uint64_t others; /* that came while it was stepped, bit number less 1: they come after that
			  */
	siginfo_t info;	 /* of `signal` */
};

struct threads {
	struct thread *at; /* heap */
	uint32_t n, cap;
	uint64_t since_ns; /* CLOCK_MONOTONIC, when the first was asked */
};

/* Whether one of them sleeps for long in a way that nothing interrupts, as vfork's parent does,
 * whose child runs in its memory meanwhile. */
bool threads_stuck(pid_t pid);
/* Stops those of @pid. Returns 0; -ESRCH: it has ended; -EBUSY:
 * another program traces it; -ETIMEDOUT: one has not stopped for long: it is let go when this
 * process ends, which is to be soon. In every case threads_release() is to follow. */
int threads_stop(struct threads *all, pid_t pid);
/* Has stopped thread number @i of process @t execute one instruction. What the process does with
 * SIGTRAP stays; those of a thread that steps itself come when it goes on, once for all. False: it
 * has ended, and is gone from the list. */
bool threads_step(const struct tracee *t, struct threads *all, uint32_t i);
/* All but the first go on, as below. */
void threads_release_others(struct threads *all);
/* They go on, untraced, with what signals they were about to take. */
void threads_release(struct threads *all);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* threads.h: all threads of a process, stopped. PTRACE_INTERRUPT does that, without a signal. Some
 * system calls that a thread waits in end by it, with EINTR: these it makes again. Only a timeout
 * of such a call begins anew. They are asked all at once and waited for together, so that how long
 * it takes does not grow with how many run. */
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
	bool runs;	   /* it has not stopped yet */
	bool took;	   /* a signal, since all have stopped: its handler may run */
	uint64_t arrivals; /* on processors, before it was let go on for a moment */
	siginfo_t info;	   /* of `signal` */
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
/* Those that stand where @in says go on for moments, until none does, or no more moments help: as
 * with one that waits in a call. They take their signals; @t: their memory. What they have started
 * meanwhile is stopped as well. 0 or as threads_stop(). */
int threads_come_out(struct threads *all, const struct tracee *t, pid_t pid,
		     bool (*in)(void *ctx, uint64_t ip), void *ctx);
/* All but the first go on, as below. */
void threads_release_others(struct threads *all);
/* They go on, untraced, with what signals they were about to take. */
void threads_release(struct threads *all);

#endif

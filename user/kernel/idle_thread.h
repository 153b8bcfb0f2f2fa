/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* idle_thread.h: a thread of the scheduling policy SCHED_IDLE. While other threads keep all
 * processors busy it gets almost no time. Whoever waits for a mutex that it holds would wait as
 * long; so others take each mutex that it uses with idle_thread_lock(), which gives it an ordinary
 * share of the time until it rests again, or do not wait for it.
 *
 * The policy counts among the threads of one control group, or one session with autogroups: what
 * the program does in another one does not hold the thread up. */
#ifndef USER_IDLE_THREAD_H
#define USER_IDLE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

enum { IDLE_THREAD_RUNS, IDLE_THREAD_BEGINS, IDLE_THREAD_RESTS };

struct idle_thread {
	_Atomic pid_t tid;   /* 0: there is none yet, or it never rests */
	_Atomic int resting; /* BEGINS, RESTS: it may have, has the lowest priority there is */
	_Atomic bool urgent; /* idle_thread_hurry() was called, and not idle_thread_may_rest() */
	bool never;	     /* of the thread itself: nobody could let it run again */
};

/* By the thread itself, while it holds no lock: from here on it gets the time that others leave,
 * unless it is to hurry, could not be let run again (without CAP_SYS_NICE), or was started with
 * another policy (chrt), which it keeps. */
void idle_thread_rest(struct idle_thread *thread);
/* The same, if it has rested before and idle_thread_lock() has let it run since. */
void idle_thread_rest_again(struct idle_thread *thread);
/* By others: until idle_thread_may_rest() it runs as any thread. Where it is about to rest just
 * then this is so from the second call on, if not before. @thread may be NULL, as below. */
void idle_thread_hurry(struct idle_thread *thread);
void idle_thread_may_rest(struct idle_thread *thread);
/* Locks @mutex, which the idle thread locks as well. */
void idle_thread_lock(struct idle_thread *thread, pthread_mutex_t *mutex);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* idle_thread.h: a thread that runs only while no processor has anything else to do. Whoever waits
 * for what it holds would wait as long; so others take a mutex that it uses with
 * idle_thread_lock(), which lets it run as they do until it rests again. */
#ifndef USER_IDLE_THREAD_H
#define USER_IDLE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct idle_thread {
	_Atomic pid_t tid;    /* 0: there is none yet, or it never rests */
	_Atomic bool resting; /* it has the lowest priority there is */
	_Atomic bool urgent;  /* idle_thread_hurry() was called, and not idle_thread_may_rest() */
};

/* By the thread itself, while it holds no lock: from here on it runs only when the machine is
 * idle, unless it is to hurry. */
void idle_thread_rest(struct idle_thread *thread);
/* By others: until idle_thread_may_rest() it runs as any thread. @thread may be NULL, as below. */
void idle_thread_hurry(struct idle_thread *thread);
void idle_thread_may_rest(struct idle_thread *thread);
/* Locks @mutex, which the idle thread locks as well. */
void idle_thread_lock(struct idle_thread *thread, pthread_mutex_t *mutex);

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
/* idle_thread.c: see idle_thread.h. */
#include "user/kernel/idle_thread.h"

#include <sched.h>
#include <stdint.h>
#include <unistd.h>

static bool schedule_as(pid_t tid, int policy)
{
	const struct sched_param none = {0};

	return !sched_setscheduler(tid, policy, &none);
}

static void *try_main(void *context)
{
	(void)context;
	return (void *)(intptr_t)(schedule_as(0, SCHED_IDLE) && schedule_as(0, SCHED_OTHER));
}

/* Whether this thread is an ordinary one, and could be that again after it has rested: the kernel
 * allows that with CAP_SYS_NICE, or where RLIMIT_NICE does. A thread that ends then tries it. */
static bool can_be_woken(void)
{
	void *did = NULL;
	pthread_t thread;

	return sched_getscheduler(0) == SCHED_OTHER &&
	       !pthread_create(&thread, NULL, try_main, NULL) && !pthread_join(thread, &did) && did;
}

/* Lets it run as any thread, until it rests again. One that begins to may do so behind this, and
 * then get no time to say so: it stays one that begins. */
static void wake_up(struct idle_thread *thread)
{
	pid_t tid = thread ? atomic_load(&thread->tid) : 0;
	int rests = IDLE_THREAD_RESTS;

	if (tid && (atomic_compare_exchange_strong(&thread->resting, &rests, IDLE_THREAD_RUNS) ||
		    rests == IDLE_THREAD_BEGINS))
		schedule_as(tid, SCHED_OTHER);
}

void idle_thread_rest(struct idle_thread *thread)
{
	if (!atomic_load(&thread->tid) && !thread->never && can_be_woken())
		atomic_store(&thread->tid, gettid());
	thread->never = !atomic_load(&thread->tid);
	if (thread->never || atomic_load(&thread->urgent))
		return;
	/* Also where it rests: whoever has woken it before that may have been slow. */
	atomic_store(&thread->resting, IDLE_THREAD_BEGINS);
	schedule_as(0, SCHED_IDLE);
	atomic_store(&thread->resting, IDLE_THREAD_RESTS);
	if (atomic_load(&thread->urgent)) /* since then */
		wake_up(thread);
}

void idle_thread_rest_again(struct idle_thread *thread)
{
	if (thread && atomic_load(&thread->tid) && !atomic_load(&thread->resting))
		idle_thread_rest(thread);
}

void idle_thread_hurry(struct idle_thread *thread)
{
	if (!thread)
		return;
	atomic_store(&thread->urgent, true);
	wake_up(thread);
}

void idle_thread_may_rest(struct idle_thread *thread)
{
	if (thread)
		atomic_store(&thread->urgent, false);
}

void idle_thread_lock(struct idle_thread *thread, pthread_mutex_t *mutex)
{
	if (!pthread_mutex_trylock(mutex))
		return;
	wake_up(thread);
	pthread_mutex_lock(mutex);
}

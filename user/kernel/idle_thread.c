// SPDX-License-Identifier: LGPL-2.1-or-later
/* idle_thread.c: see idle_thread.h. */
#include "user/kernel/idle_thread.h"

#include <sched.h>
#include <unistd.h>

static void schedule_as(pid_t tid, int policy)
{
	const struct sched_param none = {0};

	sched_setscheduler(tid, policy, &none);
}

/* Lets it run as any thread, until it rests again. */
static void wake_up(struct idle_thread *thread)
{
	pid_t tid = thread ? atomic_load(&thread->tid) : 0;

	if (tid && atomic_exchange(&thread->resting, false))
		schedule_as(tid, SCHED_OTHER);
}

void idle_thread_rest(struct idle_thread *thread)
{
	if (!atomic_load(&thread->tid))
		atomic_store(&thread->tid, gettid());
	if (atomic_load(&thread->urgent) || atomic_load(&thread->resting))
		return;
	schedule_as(0, SCHED_IDLE);
	atomic_store(&thread->resting, true);
	if (atomic_load(&thread->urgent)) /* since then */
		wake_up(thread);
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

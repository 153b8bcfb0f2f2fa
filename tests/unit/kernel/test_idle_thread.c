// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_idle_thread.c: claims about a thread that rests: what the kernel says of its policy is that
 * it is idle from idle_thread_rest() on, that of any thread while it is to hurry and once somebody
 * waits for a mutex that it holds, and idle again when it rests again. One that has become idle and
 * got no time to say so is let run as well. One that nobody could let run again never rests, nor
 * does one that was given another policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/kernel/idle_thread.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct idle_thread idle;
static atomic_int held, let_go;

static bool drop_nice(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return false;
	data[0].effective &= ~(1u << CAP_SYS_NICE);
	return !syscall(SYS_capset, &header, data);
}

static bool may_return(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	return !syscall(SYS_capget, &header, data) && data[0].effective & 1u << CAP_SYS_NICE;
}

/* Rests, and holds the mutex until somebody waits for it. */
static void *holds(void *context)
{
	int *policies = context;

	idle_thread_rest(&idle);
	policies[0] = sched_getscheduler(0);
	pthread_mutex_lock(&mutex);
	held = 1;
	while (!let_go)
		if (sched_getscheduler(0) == SCHED_OTHER)
			let_go = 1;
	policies[1] = sched_getscheduler(0);
	pthread_mutex_unlock(&mutex);
	idle_thread_rest_again(&idle);
	policies[2] = sched_getscheduler(0);
	idle_thread_hurry(&idle);
	idle_thread_rest(&idle);
	policies[3] = sched_getscheduler(0);
	idle_thread_may_rest(&idle);
	idle_thread_rest(&idle);
	policies[4] = sched_getscheduler(0);
	return NULL;
}

static void rests_until_somebody_waits(void **state)
{
	int policies[5] = {-1, -1, -1, -1, -1};
	pthread_t thread;

	(void)state;
	if (!may_return())
		skip();
	assert_int_equal(pthread_create(&thread, NULL, holds, policies), 0);
	while (!held)
		usleep(1000);
	idle_thread_lock(&idle, &mutex);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	static const int expected[] = {SCHED_IDLE, SCHED_OTHER, SCHED_IDLE, SCHED_OTHER,
				       SCHED_IDLE};
	assert_memory_equal(policies, expected, sizeof(expected));
}

/* As idle_thread_rest() leaves it that is interrupted behind the call by which it becomes idle. */
static void is_let_run_as_it_begins_to_rest(void **state)
{
	struct idle_thread begins = {.tid = gettid(), .resting = IDLE_THREAD_BEGINS};
	const struct sched_param none = {0};

	(void)state;
	if (!may_return())
		skip();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(sched_setscheduler(0, SCHED_IDLE, &none), 0);
		idle_thread_hurry(&begins);
		assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
	}
}

static void *cannot_return(void *context)
{
	struct idle_thread *thread = context;

	if (!drop_nice())
		return NULL;
	idle_thread_rest(thread);
	return (void *)(intptr_t)(1 + sched_getscheduler(0));
}

static void rests_only_where_it_can_return(void **state)
{
	struct idle_thread other = {0};
	struct rlimit limit;
	pthread_t thread;
	void *policy;

	(void)state;
	if (getrlimit(RLIMIT_NICE, &limit) || limit.rlim_cur)
		skip();
	assert_int_equal(pthread_create(&thread, NULL, cannot_return, &other), 0);
	pthread_join(thread, &policy);
	assert_int_equal((intptr_t)policy, 1 + SCHED_OTHER);
	assert_int_equal(atomic_load(&other.tid), 0);
}

static void *of_a_batch(void *context)
{
	const struct sched_param none = {0};

	sched_setscheduler(0, SCHED_BATCH, &none);
	idle_thread_rest(context);
	idle_thread_hurry(context);
	return (void *)(intptr_t)sched_getscheduler(0);
}

static void keeps_another_policy(void **state)
{
	struct idle_thread other = {0};
	pthread_t thread;
	void *policy;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, of_a_batch, &other), 0);
	pthread_join(thread, &policy);
	assert_int_equal((intptr_t)policy, SCHED_BATCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rests_until_somebody_waits),
		cmocka_unit_test(is_let_run_as_it_begins_to_rest),
		cmocka_unit_test(rests_only_where_it_can_return),
		cmocka_unit_test(keeps_another_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

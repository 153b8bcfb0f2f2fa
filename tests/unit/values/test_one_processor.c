// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_one_processor.c: whoever takes the processor that others share is there while it has it, and
 * is not where one of them is scheduled in real time, which would keep it waiting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/values/stop/one_processor.h"

static pid_t begin_child(void)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	return pid;
}

static void try_with(int policy, bool goes_there)
{
	struct one_processor *p;
	cpu_set_t before, its, mine;
	pid_t pid = begin_child();
	struct sched_param param = {.sched_priority = policy == SCHED_FIFO};
	struct pugmark_diag diag = {0};
	bool set = !sched_setscheduler(pid, policy, &param);

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	int err = set ? one_processor_begin(pid, &p, &diag) : 0;
	if (set && !err) {
		sched_getaffinity(pid, sizeof(its), &its);
		one_processor_take(p);
		sched_getaffinity(0, sizeof(mine), &mine);
		one_processor_leave(p);
		one_processor_end(p);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (!set)
		skip();
	assert_int_equal(err, 0);
	assert_int_equal(CPU_COUNT(&its), 1);
	assert_true(CPU_EQUAL(&mine, goes_there ? &its : &before));
	sched_getaffinity(0, sizeof(mine), &mine);
	assert_true(CPU_EQUAL(&mine, &before));
}

static void the_processor_of_ordinary_threads_is_taken(void **state)
{
	(void)state;
	try_with(SCHED_OTHER, true);
}

static void that_of_threads_in_real_time_is_not(void **state)
{
	(void)state;
	try_with(SCHED_FIFO, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_processor_of_ordinary_threads_is_taken),
		cmocka_unit_test(that_of_threads_in_real_time_is_not),
	};

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_launch.c: a command that was let go is ended, and waited for; one that has ended by itself,
 * or was waited for by others, is left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/proc/launch.h"

static pid_t begin(struct launch *launch, const char *seconds)
{
	char *argv[] = {"sleep", (char *)seconds, NULL};
	struct pugmark_diag diag;

	assert_int_equal(launch_prepare(launch, "/bin/sleep", argv, NULL, &diag), 0);
	assert_int_equal(launch_go(launch, "/bin/sleep", &diag), 0);
	return launch->pid;
}

static void test_what_runs_is_ended(void **state)
{
	(void)state;
	struct launch launch;
	pid_t pid = begin(&launch, "100");

	assert_true(launch_end(&launch));
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
	assert_false(launch_end(&launch));
	launch_cancel(&launch);
}

static void test_what_has_ended_is_left_alone(void **state)
{
	(void)state;
	for (int waited = 0; waited < 2; waited++) {
		struct launch launch;
		pid_t pid = begin(&launch, "0");
		siginfo_t info;

		assert_int_equal(waitid(P_PID, pid, &info, WEXITED | (waited ? 0 : WNOWAIT)), 0);
		assert_false(launch_end(&launch));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_runs_is_ended),
		cmocka_unit_test(test_what_has_ended_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_launch.c: a command that was let go is ended, and waited for; one that has ended by itself,
 * or was waited for by others, is left alone. A signal does not keep one from its exec. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
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

/* One that is traced from before its exec on stops by any signal, also by one that it ignores: it
 * becomes the program all the same, and the stop for that is left to who traces it. */
static void test_a_signal_before_exec_holds_nobody_up(void **state)
{
	(void)state;
	char *argv[] = {"sleep", "100", NULL};
	struct launch launch;
	struct pugmark_diag diag;
	int status;

	assert_int_equal(launch_prepare(&launch, "/bin/sleep", argv, NULL, &diag), 0);
	pid_t pid = launch.pid;
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXEC), 0);
	kill(pid, SIGWINCH);
	alarm(20);
	assert_int_equal(launch_go(&launch, "/bin/sleep", &diag), 0);
	alarm(0);
	assert_int_equal(waitpid(pid, &status, __WALL), pid);
	assert_int_equal(status >> 8, SIGTRAP | PTRACE_EVENT_EXEC << 8);
	assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
	kill(pid, SIGWINCH); /* and one that has stopped is ended */
	siginfo_t stop;
	assert_int_equal(waitid(P_PID, pid, &stop, WSTOPPED | WNOWAIT | __WALL), 0);
	assert_true(launch_end(&launch));
	assert_int_equal(kill(pid, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_runs_is_ended),
		cmocka_unit_test(test_what_has_ended_is_left_alone),
		cmocka_unit_test(test_a_signal_before_exec_holds_nobody_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_threads.c: signals that come while a thread is stopped and goes on for moments are all taken
 * when it goes on, each once, and say what they said; but what stops the process is not once
 * SIGCONT has come. What the process does with SIGTRAP stays behind steps, and flags that it pushes
 * have no trap flag. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/patch/process/threads.h"
#include "user/patch/process/tracee_call.h"
#include "user/patch/process/traps.h"

static volatile struct seen {
	int ready, first, value, second, last, changes;
} * seen;

static void on_first(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	seen->first++;
	seen->value = info->si_value.sival_int;
}
static void on_second(int signal)
{
	(void)signal;
	seen->second++;
}

static void on_last(int signal)
{
	(void)signal;
	seen->last++;
}

static void run_child(void)
{
	struct sigaction first = {.sa_sigaction = on_first, .sa_flags = SA_SIGINFO};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGUSR1, &first, NULL);
	signal(SIGUSR2, on_second);
	signal(SIGRTMAX, on_last);
	for (;;)
		seen->ready = 1;
}

static bool anywhere(void *ctx, uint64_t ip)
{
	(void)ctx, (void)ip;
	return true;
}

/* A process that does @run, stopped, whose threads are @all. */
static pid_t stop_one(void (*run)(void), struct threads *all)
{
	seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	if (!pid)
		run();
	while (!seen->ready)
		usleep(1000);
	int err = threads_stop(all, pid);
	if (err == -EBUSY) {
		kill(pid, SIGKILL);
		print_message("SKIP: no process may be traced here\n");
		skip();
	}
	assert_int_equal(err, 0);
	return pid;
}

static void test_no_signal_is_lost(void **state)
{
	(void)state;
	struct threads all = {0};
	pid_t pid = stop_one(run_child, &all);
	assert_int_equal(sigqueue(pid, SIGUSR1, (union sigval){.sival_int = 4711}), 0);
	assert_int_equal(kill(pid, SIGUSR2), 0);
	assert_int_equal(kill(pid, SIGRTMAX), 0);
	struct tracee t;
	assert_int_equal(tracee_open(&t, pid), 0);
	assert_int_equal(threads_come_out(&all, &t, pid, anywhere, NULL), 0);
	tracee_close(&t);
	threads_release(&all);
	for (int i = 0; i < 5000 && !(seen->first && seen->second && seen->last); i++)
		usleep(1000);
	assert_int_equal(seen->first, 1);
	assert_int_equal(seen->value, 4711);
	assert_int_equal(seen->second, 1);
	assert_int_equal(seen->last, 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Pushes its flags, takes its own signal mask and looks at what it does with SIGTRAP, over and
 * over. */
static void run_trapped(bool ignores, bool blocks)
{
	struct sigaction is;
	sigset_t traps, mask;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTRAP, ignores ? SIG_IGN : on_second);
	sigemptyset(&traps);
	sigaddset(&traps, SIGTRAP);
	sigprocmask(blocks ? SIG_BLOCK : SIG_UNBLOCK, &traps, NULL);
	for (;;) {
		__asm__ volatile("sub $128, %%rsp; pushfq; popfq; lea 128(%%rsp), %%rsp" ::
					 : "memory", "cc");
		sigprocmask(SIG_BLOCK, NULL, &mask);
		sigaction(SIGTRAP, NULL, &is);
		if (sigismember(&mask, SIGTRAP) != blocks ||
		    is.sa_handler != (ignores ? SIG_IGN : on_second))
			seen->changes++;
		seen->ready++;
	}
}

static void step_trapped(bool ignores, bool blocks)
{
	enum { STEPS = 3000 };
	struct threads all = {0};
	struct tracee t;
	int status;
	bool own;

	seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	if (!pid)
		run_trapped(ignores, blocks);
	while (!seen->ready)
		usleep(1000);
	int err = threads_stop(&all, pid);
	if (err == -EBUSY) {
		kill(pid, SIGKILL);
		skip();
	}
	assert_int_equal(err, 0);
	assert_int_equal(tracee_open(&t, pid), 0);
	int before = seen->ready;
	for (int i = 0; i < STEPS; i++) {
		assert_int_equal(traps_step(&t, &status, &own), 0);
		assert_false(own);
	}
	int stepped = seen->ready;
	assert_true(stepped > before + 2);
	tracee_close(&t);
	threads_release(&all);
	for (int i = 0; i < 5000 && seen->ready < stepped + 10; i++)
		usleep(1000);
	assert_true(seen->ready >= stepped + 10);
	assert_int_equal(seen->changes, 0);
	assert_int_equal(seen->second, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_a_handler_of_traps_stays(void **state)
{
	(void)state;
	step_trapped(false, false);
}

static void test_blocked_traps_stay_blocked(void **state)
{
	(void)state;
	step_trapped(false, true);
}

static void test_ignored_traps_stay_ignored(void **state)
{
	(void)state;
	step_trapped(true, false);
}

/* Where its threads cannot be looked for, it has not ended: what is patched there stays patched. */
static void test_without_descriptors_nobody_has_ended(void **state)
{
	(void)state;
	struct threads all = {0};
	struct rlimit before, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	int err = threads_stop(&all, getppid());
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(err, -EMFILE);
}

static void *sleep_long(void *arg)
{
	sleep(1000);
	return arg;
}

/* Starts threads as long as it is told to. */
static void run_starter(void)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (seen->ready = 1; seen->last < 200;)
		if (seen->changes && !pthread_create(&thread, NULL, sleep_long, NULL))
			seen->last++;
	for (;;)
		pause();
}

static void test_what_is_started_in_moments_is_as_nice(void **state)
{
	(void)state;
	struct threads all = {0};
	struct tracee t;

	pid_t pid = stop_one(run_starter, &all);
	assert_int_equal(tracee_open(&t, pid), 0);
	seen->changes = 1;
	assert_int_equal(threads_come_out(&all, &t, pid, anywhere, NULL), 0);
	seen->changes = 0;
	for (uint32_t i = 0; i < all.n; i++)
		assert_int_equal(getpriority(PRIO_PROCESS, all.at[i].tid),
				 getpriority(PRIO_PROCESS, 0));
	assert_true(all.n > 1);
	tracee_close(&t);
	threads_release(&all);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void run_counting(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0); /* in a group that is an orphan not all signals stop it */
	for (seen->ready = 1;; seen->value++)
		;
}

static bool once(void *ctx, uint64_t ip)
{
	int *asked = ctx;

	(void)ip;
	return !(*asked)++;
}

static void have_calls_made(const struct tracee *t, int calls)
{
	const uint64_t none[6] = {0};
	int64_t parent;

	for (int i = 0; i < calls; i++) {
		assert_int_equal(tracee_syscall(t, SYS_getppid, none, &parent), 0);
		assert_int_equal(parent, getpid());
	}
}

static bool goes_on(void)
{
	usleep(20000);
	int before = seen->value;
	for (int i = 0; i < 200 && seen->value < before + 1000; i++)
		usleep(1000);
	return seen->value >= before + 1000;
}

/* Whether a process goes on that stood for @signal when it was sent those of @then, and was let go
 * behind @calls made in its name, before that and after. */
static bool goes_on_behind(int signal, const int then[2], int calls)
{
	struct threads all = {0};
	struct tracee t;
	int asked = 0;

	pid_t pid = stop_one(run_counting, &all);
	assert_int_equal(tracee_open(&t, pid), 0);
	assert_int_equal(kill(pid, signal), 0);
	for (int i = 0; i < 1000 && !all.at[0].signal; i++, asked = 0)
		assert_int_equal(threads_come_out(&all, &t, pid, once, &asked), 0);
	assert_int_equal(all.at[0].signal, signal);
	have_calls_made(&t, calls);
	for (int i = 0; i < 2 && then[i]; i++)
		assert_int_equal(kill(pid, then[i]), 0);
	have_calls_made(&t, calls);
	tracee_close(&t);
	threads_release(&all);
	bool on = goes_on();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return on;
}

static void test_what_came_last_of_stop_and_continue_holds(void **state)
{
	static const int stops[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};

	(void)state;
	for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++)
		for (int calls = 0; calls < 3; calls++) {
			int signal = stops[i];

			assert_false(goes_on_behind(signal, (int[2]){0}, calls));
			assert_true(goes_on_behind(signal, (int[2]){SIGCONT}, calls));
			assert_true(goes_on_behind(signal, (int[2]){signal, SIGCONT}, calls));
			assert_false(goes_on_behind(signal, (int[2]){SIGCONT, signal}, calls));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_signal_is_lost),
		cmocka_unit_test(test_a_handler_of_traps_stays),
		cmocka_unit_test(test_blocked_traps_stay_blocked),
		cmocka_unit_test(test_ignored_traps_stay_ignored),
		cmocka_unit_test(test_without_descriptors_nobody_has_ended),
		cmocka_unit_test(test_what_is_started_in_moments_is_as_nice),
		cmocka_unit_test(test_what_came_last_of_stop_and_continue_holds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_freeze.c: a process whose first thread has ended is stopped by the threads that it has, one
 * with thousands as well as others; one that cannot be stopped is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/values/stop/freeze.h"

static volatile long *turns;

static void *go_on(void *arg)
{
	for (;;)
		++*turns;
	return arg;
}

static void run_child(bool first_ends)
{
	pthread_t t;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "a) R\nb)");
	pthread_create(&t, NULL, go_on, NULL);
	if (first_ends)
		pthread_exit(NULL);
	pause();
}

static bool is_zombie(pid_t pid)
{
	char path[32], line[256] = "";

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(line, 1, sizeof(line), f) : 0;
	if (f)
		fclose(f);
	return !n;
}

/* How many threads stand, none of which goes on. */
static int stand(void *n, const struct frozen *frozen)
{
	long before = *turns;

	*(uint32_t *)n = frozen->n;
	usleep(20000);
	return *turns == before ? 0 : -EINVAL;
}

static void test_all_that_run_are_stopped(void **state)
{
	(void)state;
	turns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int first_ends = 0; first_ends < 2; first_ends++) {
		struct pugmark_diag diag;
		uint32_t n;
		*turns = 0;
		pid_t pid = fork();
		if (!pid)
			run_child(first_ends);
		while (!*turns || (first_ends && !is_zombie(pid)))
			usleep(1000);
		assert_int_equal(freeze(pid, stand, &n, &diag), 0);
		assert_int_equal(n, first_ends ? 1 : 2);
		long before = *turns;
		while (*turns == before)
			usleep(1000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

enum { MANY = 6000, STACK = 1 << 16 };

static void *wait_long(void *arg)
{
	pause();
	return arg;
}

static void run_many(void)
{
	pthread_attr_t small;
	pthread_t t;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	while (*turns < MANY && !pthread_create(&t, &small, wait_long, NULL))
		++*turns;
	turns[1] = 1;
	pause();
}

static void test_many_are_stopped(void **state)
{
	struct pugmark_diag diag;
	uint32_t n;

	(void)state;
	turns[0] = turns[1] = 0;
	pid_t pid = fork();
	if (!pid)
		run_many();
	while (!turns[1])
		usleep(1000);
	assert_int_equal(freeze(pid, stand, &n, &diag), 0);
	assert_int_equal(n, *turns + 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Its first thread is in vfork() until the child ends; nothing interrupts that. */
static void run_vfork_parent(void)
{
	pthread_t t;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_create(&t, NULL, go_on, NULL);
	while (!*turns)
		usleep(1000);
	if (!vfork()) {
		sleep(3);
		_exit(0);
	}
	turns[1] = 1;
	pause();
}

/* And it goes on as soon as its call is over, though nothing is asked of this process any more. */
static void test_one_that_cannot_be_stopped_is_told(void **state)
{
	struct pugmark_diag diag;
	uint32_t n;

	(void)state;
	turns[0] = turns[1] = 0;
	pid_t pid = fork();
	if (!pid)
		run_vfork_parent();
	while (!*turns)
		usleep(1000);
	usleep(200000);
	assert_int_equal(freeze(pid, stand, &n, &diag), -EBUSY);
	assert_int_equal(turns[1], 0);
	assert_non_null(strstr(diag.text, "nothing interrupts"));
	long before = *turns;
	usleep(20000);
	assert_true(*turns > before);
	for (int i = 0; i < 4000 && !turns[1]; i++)
		usleep(1000);
	assert_int_equal(turns[1], 1);
	assert_int_equal(freeze(pid, stand, &n, &diag), 0);
	assert_int_equal(n, 2);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_that_run_are_stopped),
		cmocka_unit_test(test_many_are_stopped),
		cmocka_unit_test(test_one_that_cannot_be_stopped_is_told)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

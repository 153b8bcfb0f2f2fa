// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_leaf_functions.c: each row of the table is found, by its own name; no function that takes a
 * callback is in it; and no function that POSIX requires to be a cancellation point (pthreads(7))
 * raises nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "offline/base/leaf_functions.h"

static void each_row_is_found(void **context)
{
	(void)context;
	const struct leaf_function *leaf;
	uint32_t n = 0;

	for (; (leaf = leaf_function_at(n)); n++)
		if (leaf_function(leaf->name) != leaf)
			fail_msg("%s is not found: the table is not sorted", leaf->name);
	assert_in_range(n, 400, 1000);
	assert_null(leaf_function(""));
	assert_null(leaf_function("zzz"));
	assert_null(leaf_function("mallocs"));
}

static void who_takes_a_callback_is_none(void **context)
{
	(void)context;
	static const char *const names[] = {
		"atexit",	"bsearch",     "dl_iterate_phdr",
		"exit",		"fopencookie", "fts_open",
		"ftw",		"glob",	       "lfind",
		"nftw",		"on_exit",     "pthread_create",
		"pthread_once", "qsort",       "qsort_r",
		"scandir",	"tsearch",     "twalk",
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (leaf_function(names[i]))
			fail_msg("%s is no leaf", names[i]);
}

static void out_of_a_cancellation_point_a_thread_is_unwound(void **context)
{
	(void)context;
	static const char *const names[] = {
		"accept",
		"aio_suspend",
		"clock_nanosleep",
		"close",
		"connect",
		"creat",
		"fcntl",
		"fdatasync",
		"fsync",
		"getmsg",
		"getpmsg",
		"lockf",
		"mq_receive",
		"mq_send",
		"mq_timedreceive",
		"mq_timedsend",
		"msgrcv",
		"msgsnd",
		"msync",
		"nanosleep",
		"open",
		"openat",
		"pause",
		"poll",
		"pread",
		"pselect",
		"pthread_cond_timedwait",
		"pthread_cond_wait",
		"pthread_join",
		"pthread_testcancel",
		"putmsg",
		"putpmsg",
		"pwrite",
		"read",
		"readv",
		"recv",
		"recvfrom",
		"recvmsg",
		"select",
		"sem_timedwait",
		"sem_wait",
		"send",
		"sendmsg",
		"sendto",
		"sigpause",
		"sigsuspend",
		"sigtimedwait",
		"sigwait",
		"sigwaitinfo",
		"sleep",
		"system",
		"tcdrain",
		"usleep",
		"wait",
		"waitid",
		"waitpid",
		"write",
		"writev",
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct leaf_function *leaf = leaf_function(names[i]);
		if (leaf && leaf->raises_nothing)
			fail_msg("%s is a cancellation point", names[i]);
	}
	assert_true(leaf_function("strlen")->raises_nothing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_is_found),
		cmocka_unit_test(who_takes_a_callback_is_none),
		cmocka_unit_test(out_of_a_cancellation_point_a_thread_is_unwound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

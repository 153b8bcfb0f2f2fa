// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_callers_apart.c: who may call a name is told of files that others made by a child: one that
 * makes its reader fault costs that child, and the answer for that file alone. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "user/record/probed/callers_apart.h"
#include "user/sandbox/sandbox.h"

enum { PAGE = 4096 };

static struct own_name names[] = {{"a_name_that_nothing_has", 0}, {"qsort", 1}, {"zero", 2}};
static const struct own_names own = {names, 3};

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int nothing(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	(void)ctx, (void)out, (void)diag;
	return 0;
}

static void needs_a_sandbox(void)
{
	struct sandbox s = {.subject = "nothing"};
	struct pugmark_diag diag;
	void *bytes = NULL;
	size_t len;
	if (sandbox_run(&s, nothing, NULL, &bytes, &len, &diag) == -ENOSYS) {
		print_message("this kernel has no seccomp with a listener\n");
		skip();
	}
	free(bytes);
}

static void a_fault_costs_one_answer(void **state)
{
	(void)state;
	needs_a_sandbox();
	int sorted[] = {2, 1};
	qsort(sorted, 2, sizeof(int), by_value); /* so that this program needs it */
	struct caller_file files[4] = {{.err = 1}, {.err = 1}, {.err = 1}, {.err = 1}};
	void *hidden = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(hidden != MAP_FAILED);
	assert_int_equal(private_file_open("/proc/self/exe", PRIVATE_FILE_MAX, &files[0].file), 0);
	files[1].file = (struct private_file){.bytes = hidden, .len_bytes = PAGE};
	files[2].file = (struct private_file){.bytes = (const uint8_t *)"no ELF", .len_bytes = 6};
	files[3].file = files[0].file;
	callers_find(&own, files, 4);
	assert_int_equal(files[0].err, 0);
	assert_int_equal(files[0].found, 1);
	assert_int_equal(files[1].err, -EFAULT);
	assert_int_equal(files[1].found, PUGMARK_NONE);
	assert_int_equal(files[2].err, 0);
	assert_int_equal(files[2].found, PUGMARK_NONE);
	assert_int_equal(files[3].found, 1);
	/* Together, where nothing is wrong. */
	files[0].found = files[3].found = 77;
	callers_find(&own, files + 2, 2);
	assert_int_equal(files[2].found, PUGMARK_NONE);
	assert_int_equal(files[3].found, 1);
	private_file_free(&files[0].file);
	munmap(hidden, PAGE);
}

static void of_no_module_there_are_no_names(void **state)
{
	(void)state;
	struct recorder_module module = {.path = "/proc/self/exe"};
	struct own_names out;
	assert_int_equal(own_names_read(&module, 1, &out), 0);
	assert_int_equal(out.n, 0);
	own_names_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_costs_one_answer),
		cmocka_unit_test(of_no_module_there_are_no_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

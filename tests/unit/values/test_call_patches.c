// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_call_patches.c: a process in which the code for system calls was, and which executes another
 * program since, is not written to: what lies there by now is its own. Its frames have the room
 * that they are given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/patch/process/tracee.h"
#include "user/values/calls/call_frames.h"
#include "user/values/calls/call_patches.h"
#include "user/values/stop/freeze.h"

enum { BYTES = 3 * CALL_PAGE, OTHER = 0x5a };

static uint8_t *memory;

/* As it was placed where the process has something else. */
static struct call_patches patches_at(uint8_t *at)
{
	const uint64_t code = (uint64_t)at;

	return (struct call_patches){
		.code = code, .code_end = code + CALL_PAGE, .local = code + CALL_PAGE};
}

static int remove_frozen(void *ctx, const struct frozen *frozen)
{
	return call_patches_remove(ctx, frozen->tids[0], frozen->tids, frozen->n);
}

static pid_t begin_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static void leaves_what_is_not_its_own(void **state)
{
	struct call_patches patches = patches_at(memory);
	struct pugmark_diag diag = {0};
	uint8_t bytes[BYTES], others[BYTES];
	struct tracee t;
	pid_t pid = begin_child();

	(void)state;
	memset(others, OTHER, sizeof(others));
	assert_int_equal(call_patches_has(&patches, pid), 0);
	assert_int_equal(call_patches_arm(&patches, pid, CALL_ENDING), -ESRCH);
	assert_int_equal(freeze(pid, remove_frozen, &patches, &diag), -ESRCH);
	assert_int_equal(tracee_open(&t, pid), 0);
	assert_int_equal(tracee_read(&t, (uint64_t)memory, bytes, sizeof(bytes)), 0);
	assert_memory_equal(bytes, others, sizeof(bytes));
	tracee_close(&t);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* One that was never placed is in no process. */
static void is_nowhere_before(void **state)
{
	const struct call_patches patches = {.n = 0};

	(void)state;
	assert_int_equal(call_patches_has(&patches, getpid()), 0);
}

static int set_up(void **state)
{
	(void)state;
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -1;
	memset(memory, OTHER, BYTES);
	return 0;
}

static void its_frames_fit(void **state)
{
	static uint8_t code[CALL_PAGE];

	(void)state;
	memset(code, OTHER, sizeof(code));
	assert_true(call_frames_put(code, CALL_PAGE / 2));
	for (int i = 0; i < CALL_PAGE; i++)
		if (i < CALL_PAGE / 2 || i >= CALL_PAGE / 2 + CALL_FRAMES_BYTES)
			assert_int_equal(code[i], OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_what_is_not_its_own),
		cmocka_unit_test(is_nowhere_before),
		cmocka_unit_test(its_frames_fit),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}

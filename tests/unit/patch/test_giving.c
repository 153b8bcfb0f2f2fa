// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_giving.c: what stands where a traced process was given memory is written to only if it is
 * such memory. Any other file, which an accomplice may have mapped there, stays as it is. And what
 * a recorder has given that was killed at once, before it patched anything, is taken back. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/patch/given.h"

/* Opens what @fd is, and closes that. */
static int open_what(int fd)
{
	char path[32];
	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int opened = giving_open(path);
	close(fd);
	return opened;
}

static void test_other_files_are_refused(void **state)
{
	(void)state;
	int fd = open("/dev/shm", O_TMPFILE | O_RDWR, 0600); /* tmpfs has seals as well */
	if (fd >= 0)
		assert_int_equal(open_what(fd), -EPERM);
	assert_int_equal(open_what(open("/tmp", O_TMPFILE | O_RDWR, 0600)), -EPERM);
	assert_int_equal(open_what(open("/dev/zero", O_RDWR)), -EPERM);
	assert_int_equal(open_what(memfd_create("pugmarks", MFD_ALLOW_SEALING)), -EPERM);
	assert_int_equal(open_what(memfd_create("pugmark", 0)), -EPERM);
	assert_int_equal(giving_open("/nowhere/at/all"), -ENOENT);
}

static void test_what_is_given_cannot_be_cut_short(void **state)
{
	(void)state;
	struct stat st;
	int kept = memfd_create("pugmark", MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(kept, 4096), 0);
	int fd = open_what(dup(kept));
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(ftruncate(kept, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(fstat(kept, &st), 0);
	assert_int_equal(st.st_size, 8192);
	close(fd);
	close(kept);
}

static void test_what_is_given_can_be_taken_back(void **state)
{
	(void)state;
	uint64_t code = given_room();
	pid_t recorder = given_child(), child = given_child();
	struct giving g = given_what(child, recorder, code);
	given_to(&g);
	uint64_t ino = given_at(child, code);
	assert_int_equal(given_left(child, ino, &g), 2);
	/* Of a file of which a part is shared all can be: it is not that of the code. */
	assert_int_not_equal(g.record.chunks_ino, 0);
	assert_int_equal(given_at(child, g.record.shared), g.record.chunks_ino);
	assert_int_not_equal(g.record.chunks_ino, ino);
	assert_true(remains_is_recorded(child));
	assert_int_equal(remains_remove(child), -EBUSY);
	assert_int_equal(given_left(child, ino, &g), 2);

	given_end(recorder);
	assert_false(remains_is_recorded(child));
	assert_int_equal(remains_remove(child), 0);
	assert_int_equal(given_left(child, ino, &g), 0);
	assert_int_equal(kill(child, 0), 0);
	given_end(child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_files_are_refused),
		cmocka_unit_test(test_what_is_given_cannot_be_cut_short),
		cmocka_unit_test(test_what_is_given_can_be_taken_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

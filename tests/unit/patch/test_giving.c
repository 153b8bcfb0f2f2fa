// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_giving.c: what stands where a traced process was given memory is written to only if it is
 * such memory. Any other file, which an accomplice may have mapped there, stays as it is. And what
 * a recorder has given that was killed at once, before it patched anything, is taken back. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/patch/giving.h"
#include "user/patch/remains.h"

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

static uint32_t n_given(pid_t pid, uint64_t ino)
{
	struct tracee_map *maps;
	int n = tracee_maps(pid, &maps);
	uint32_t given = 0;
	for (int i = 0; i < n; i++)
		given += ino && maps[i].ino == ino;
	free(maps);
	return given;
}

/* Which memfd is mapped at @addr. */
static uint64_t what_is_at(pid_t pid, uint64_t addr)
{
	struct tracee_map *maps;
	int n = tracee_maps(pid, &maps);
	uint64_t ino = 0;
	for (int i = 0; i < n; i++)
		if (maps[i].start == addr)
			ino = maps[i].ino;
	free(maps);
	return ino;
}

static void test_what_is_given_can_be_taken_back(void **state)
{
	(void)state;
	enum { PAGES = 4 * 4096 };
	void *room = mmap(NULL, PAGES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(room, MAP_FAILED);
	assert_int_equal(munmap(room, PAGES), 0); /* as the child will have it */
	uint64_t code = (uintptr_t)room;
	pid_t recorder = fork();
	if (!recorder)
		for (;;)
			pause();
	pid_t child = fork();
	if (!child)
		for (;;)
			pause();
	struct giving g = {
		.pid = child,
		.off_record = PAGES + patch_chunks_bytes(8),
		.code = {{code, PAGES, 0}},
		.n_code = 1,
		.record = {.magic = PATCH_MAGIC,
			   .off_chunks = PAGES,
			   .chunks_bytes = patch_chunks_bytes(8),
			   .rings_bytes = PATCH_RINGS * (uint64_t)PATCH_RING_BYTES,
			   .patched_ns = UINT64_MAX,
			   .recorder = recorder,
			   .recorder_start = remains_start_of(recorder),
			   .n_regions = 1,
			   .regions = {{.code = code, .code_bytes = PAGES}}},
	};
	int err = giving_to_running(&g);
	if (err == -EBUSY || err == -EPERM || err == -EACCES) {
		kill(recorder, SIGKILL);
		kill(child, SIGKILL);
		print_message("SKIP: no process may be traced here (%s)\n", strerror(-err));
		skip();
	}
	assert_int_equal(err, 0);
	uint64_t ino = what_is_at(child, code);
	assert_int_equal(n_given(child, ino), 2);
	assert_true(remains_is_recorded(child));
	assert_int_equal(remains_remove(child), -EBUSY);
	assert_int_equal(n_given(child, ino), 2);

	kill(recorder, SIGKILL);
	waitpid(recorder, NULL, 0);
	assert_false(remains_is_recorded(child));
	assert_int_equal(remains_remove(child), 0);
	assert_int_equal(n_given(child, ino), 0);
	assert_int_equal(kill(child, 0), 0);
	kill(child, SIGKILL);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
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

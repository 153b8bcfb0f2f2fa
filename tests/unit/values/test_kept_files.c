// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_kept_files.c: a file that was written is told to have changed, also where the time when it
 * was written was put back, and where more files are mapped than are kept open; one that was only
 * removed or given other rights is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "offline/capture/capture_code.h"
#include "user/values/start/kept_files.h"

enum { PAGE = 4096, FILES = 240, TICKS_US = 30000, LEAST_OF_PIECE = 16 };

static char dir[] = "/tmp/pugmark-kept-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	char name[32];

	(void)state;
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "%d", i);
		unlink(name);
	}
	unlink("captures");
	return chdir("/") || rmdir(dir);
}

static void write_file(int i, char letter)
{
	char name[32], page[PAGE];

	snprintf(name, sizeof(name), "%d", i);
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	memset(page, letter, sizeof(page));
	assert_int_equal(write(fd, page, PAGE), PAGE);
	close(fd);
}

static void write_and_put_the_time_back(int i)
{
	char name[32];
	struct stat st;

	snprintf(name, sizeof(name), "%d", i);
	assert_int_equal(stat(name, &st), 0);
	write_file(i, 'b');
	assert_int_equal(utimensat(AT_FDCWD, name, (struct timespec[]){st.st_atim, st.st_mtim}, 0),
			 0);
}

static struct kept_files *take_all(struct capture_writer *writer)
{
	struct kept_files *files = kept_files_new(writer);

	for (int i = 0; i < FILES; i++) {
		char path[80];
		struct stat st;

		snprintf(path, sizeof(path), "%s/%d", dir, i);
		write_file(i, 'a');
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(kept_files_take(files, fd, &st, path, 0, PAGE, 0), i);
	}
	usleep(TICKS_US);
	return files;
}

static bool is_changed(struct kept_files *files, int i)
{
	json_t *list = kept_files_list(files);
	bool changed = json_is_true(json_array_get(json_array_get(list, i), 2));

	json_decref(list);
	return changed;
}

static void test_what_was_written_has_changed(void **state)
{
	const int open_one = 1, removed = 2, others = 3, closed_one = FILES - 1;
	struct capture_writer *writer;
	struct pugmark_diag diag;

	(void)state;
	assert_int_equal(capture_writer_open(open("captures", O_RDWR | O_CREAT | O_TRUNC, 0600), 1,
					     &writer, &diag),
			 0);
	struct kept_files *files = take_all(writer);
	assert_false(kept_files_changed(files));
	assert_int_equal(unlink("2"), 0);
	assert_int_equal(chmod("3", 0400), 0);
	assert_false(kept_files_changed(files));
	write_and_put_the_time_back(open_one);
	write_and_put_the_time_back(closed_one);
	assert_true(kept_files_changed(files));
	assert_true(is_changed(files, open_one));
	assert_true(is_changed(files, closed_one));
	assert_false(is_changed(files, removed));
	assert_false(is_changed(files, others));
	assert_false(is_changed(files, closed_one - 1));
	kept_files_free(files);
	assert_int_equal(capture_writer_close(writer, NULL, NULL), 0);
}

/* The file was longer when it was looked at than it is when it is read, as when what reads it from
 * a disk fails: what was read ends in the midst of a piece, and is not taken for the rest. */
static void test_what_cannot_be_read_is_not_kept(void **state)
{
	enum { BYTES = 6000, LONGER = 3 * 4096 };
	struct capture_writer *writer;
	struct pugmark_diag diag;
	struct stat st;
	char bytes[BYTES];
	uint64_t written[2];

	(void)state;
	memset(bytes, 'a', sizeof(bytes));
	for (int longer = 0; longer < 2; longer++) {
		int fd = open("long", O_RDWR | O_CREAT | O_TRUNC, 0600);

		assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
		assert_int_equal(fstat(fd, &st), 0);
		st.st_size = longer ? LONGER : st.st_size;
		assert_int_equal(
			capture_writer_open(open("captures", O_RDWR | O_CREAT | O_TRUNC, 0600), 1,
					    &writer, &diag),
			0);
		struct kept_files *files = kept_files_new(writer);
		assert_int_equal(kept_files_take(files, fd, &st, "long", 0, LONGER, 0), 0);
		kept_files_free(files);
		assert_int_equal(capture_writer_close(writer, NULL, &written[longer]), 0);
	}
	assert_true(written[1] < written[0]);
	unlink("long");
}

/* As the code of libLLVM is, so that without it all that it writes would be assumed. */
static void test_code_of_a_hundred_megabytes_is_kept(void **state)
{
	const uint64_t bytes = 100u << 20, begins = 1u << 20;
	struct capture_writer *writer;
	struct pugmark_diag diag;
	struct stat st;
	uint64_t written;
	int fd = open("long", O_RDWR | O_CREAT | O_TRUNC, 0600);

	(void)state;
	assert_int_equal(ftruncate(fd, begins + bytes), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(capture_writer_open(open("captures", O_RDWR | O_CREAT | O_TRUNC, 0600), 1,
					     &writer, &diag),
			 0);
	struct kept_files *files = kept_files_new(writer);
	assert_int_equal(kept_files_take(files, fd, &st, "long", begins, bytes, 0), 0);
	kept_files_free(files);
	assert_int_equal(capture_writer_close(writer, NULL, &written), 0);
	assert_true(written > bytes / CAPTURE_FILE_BYTES * LEAST_OF_PIECE);
	unlink("long");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_written_has_changed),
		cmocka_unit_test(test_what_cannot_be_read_is_not_kept),
		cmocka_unit_test(test_code_of_a_hundred_megabytes_is_kept),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

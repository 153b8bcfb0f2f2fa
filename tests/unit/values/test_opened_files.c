// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_opened_files.c: a file that a process opened by name is looked for in that process's root:
 * its links never lead into another one's. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/values/write/opened_files.h"

enum { GONE = 1 << 30 }; /* no process has that number */

static char dir[] = "/tmp/pugmark-opened-XXXXXX";
static struct name_folders folders;
static dev_t device;

static uint64_t make(const char *name, const char *text)
{
	struct stat st;
	int fd = openat(folders.root, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	device = st.st_dev;
	return st.st_ino;
}

static int set_up(void **state)
{
	(void)state;
	char path[64];
	if (!mkdtemp(dir) || chdir(dir) || mkdir("sub", 0700))
		return -1;
	folders.root = open(dir, O_PATH | O_DIRECTORY);
	snprintf(path, sizeof(path), "%s/sub", dir);
	folders.cwd = open(path, O_PATH | O_DIRECTORY);
	return folders.root < 0 || folders.cwd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	char command[64];
	name_folders_deinit(&folders);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return chdir("/") || system(command);
}

static int open_it(const char *path, uint64_t inode, uint64_t size)
{
	struct mapped_file file = {.pid = GONE,
				   .inode = inode,
				   .size = size,
				   .device = device,
				   .path = path,
				   .dir_fd = AT_FDCWD};
	struct stat st;
	int fd = opened_files_open(&file, &folders, &st);
	if (fd < 0)
		return fd;
	close(fd);
	return st.st_ino == inode ? 0 : -1;
}

static void test_links_lead_within_the_root(void **state)
{
	(void)state;
	struct stat passwd;
	uint64_t inode = make("file", "four");
	assert_int_equal(symlink("/file", "link"), 0);
	assert_int_equal(symlink("/etc/passwd", "out"), 0);
	assert_int_equal(stat("/etc/passwd", &passwd), 0);
	assert_int_equal(open_it("/file", inode, 4), 0);
	assert_int_equal(open_it("/link", inode, 4), 0);
	assert_int_equal(open_it("../link", inode, 4), 0);
	assert_int_equal(open_it("link", inode, 4), -ENOENT);
	assert_int_equal(open_it("/file", inode, 5), -ESTALE);
	assert_int_equal(open_it("/out", passwd.st_ino, (uint64_t)passwd.st_size), -ENOENT);
}

/* Who makes a file of his own with another one's number and size does not get that read. */
static void test_another_device_is_another_file(void **state)
{
	(void)state;
	uint64_t inode = make("secret", "four");
	assert_int_equal(open_it("/secret", inode, 4), 0);
	device++;
	assert_int_equal(open_it("/secret", inode, 4), -ESTALE);
	device--;
	assert_int_equal(open_it("/secret", inode, 4), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_links_lead_within_the_root),
		cmocka_unit_test(test_another_device_is_another_file),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_safe_files.c: offline/base's open_regular, private_file, folder and digest, each against
 * what somebody else would put in its way. */
#include "offline/base/digest.h"
#include "offline/base/folder.h"
#include "offline/base/open_regular.h"
#include "offline/base/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/pugmark-files-XXXXXX";

static void put(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static char *get(const char *name)
{
	static char text[64];
	FILE *f = fopen(name, "r");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	return text;
}

static void only_files_are_opened(void **state)
{
	(void)state;
	struct stat st;
	put("file", "text");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(symlink("file", "to-file"), 0);
	assert_int_equal(symlink("/dev/null", "to-null"), 0);
	int fd = open_regular("to-file", &st);
	assert_true(fd >= 0 && st.st_size == 4);
	close(fd);
	assert_int_equal(open_regular("fifo", NULL), -ENXIO); /* and does not wait */
	assert_int_equal(open_regular("to-null", NULL), -ENXIO);
	assert_int_equal(open_regular("/dev/null", NULL), -ENXIO);
	assert_int_equal(open_regular(".", NULL), -EISDIR);
	assert_int_equal(open_regular("none", NULL), -ENOENT);
	int here = open(".", O_PATH | O_DIRECTORY);
	assert_int_equal(open_regular_at(here, "to-file", NULL), -ELOOP);
	fd = open_regular_at(here, "file", NULL);
	assert_true(fd >= 0);
	close(fd);
	close(here);
}

static void what_is_read_stays(void **state)
{
	(void)state;
	struct private_file file;
	put("file", "before");
	assert_int_equal(private_file_open("file", 100, &file), 0);
	put("file", "behind");
	assert_int_equal(truncate("file", 0), 0);
	assert_int_equal(file.len_bytes, 6);
	assert_memory_equal(file.bytes, "before", 6);
	private_file_free(&file);
	assert_int_equal(private_file_open("file", 100, &file), 0);
	assert_true(!file.len_bytes && !file.bytes);
	private_file_free(&file);
	assert_int_equal(truncate("file", 101), 0);
	assert_int_equal(private_file_open("file", 100, &file), -EFBIG);
	/* What is in it is not known then, nor of one that is being written to; of no other kind it
	 * is. */
	assert_true(private_file_unknown(-EFBIG) && private_file_unknown(-EBUSY));
	assert_false(private_file_unknown(-ENOENT) || private_file_unknown(-ENXIO) ||
		     private_file_unknown(0));
	/* Holes: two GiB of zeros, with a word behind them. */
	int fd = open("holes", O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(pwrite(fd, "word", 4, 2ll << 30), 4);
	close(fd);
	assert_int_equal(private_file_open("holes", PRIVATE_FILE_MAX, &file), 0);
	assert_memory_equal(file.bytes + (2ll << 30), "word", 4);
	assert_int_equal(file.bytes[12345678], 0);
	private_file_free(&file);
	/* A copy has them too: who hands over a file of gigabytes has not to write them. */
	struct stat st;
	char word[5] = "";
	fd = open("holes", O_RDONLY);
	int copy = private_file_copy(fd, PRIVATE_FILE_MAX);
	close(fd);
	assert_true(copy >= 0 && !fstat(copy, &st));
	assert_int_equal(st.st_size, (2ll << 30) + 4);
	assert_true(st.st_blocks < 1 << 14);
	assert_int_equal(pread(copy, word, 4, 2ll << 30), 4);
	assert_string_equal(word, "word");
	assert_int_equal(pwrite(copy, "x", 1, 0), -1);
	assert_int_equal(ftruncate(copy, 0), -1);
	close(copy);
	put("file", "text");
	fd = open("file", O_RDONLY);
	assert_int_equal(private_file_copy(fd, 3), -EFBIG);
	close(fd);
}

static void folders_are_not_left(void **state)
{
	(void)state;
	char name[FOLDER_NAME_MAX];
	char last[FOLDER_NAME_MAX];
	struct stat st;
	umask(0);
	assert_int_equal(mkdir("victim", 0755), 0);
	put("victim/meta", "precious");
	int parent = folder_parent("./run", FOLDER_OWN, last);
	assert_true(parent >= 0);
	assert_string_equal(last, "run");
	int fd = folder_make_new(parent, "run.", FOLDER_OWN, name);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_true(folder_is_ours(fd, FOLDER_OWN));
	/* A link in the place of what is written is replaced, and not followed. */
	assert_int_equal(symlinkat("../victim/meta", fd, "meta"), 0);
	assert_int_equal(folder_create(fd, "meta", FOLDER_OWN), -EEXIST);
	assert_int_equal(folder_write(fd, "meta", "new", 3, FOLDER_OWN, true), 0);
	assert_string_equal(get("victim/meta"), "precious");
	assert_int_equal(fstatat(fd, "meta", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISREG(st.st_mode) && (st.st_mode & 07777) == 0600);
	/* A link in the place of the folder is refused; so is what others may write. */
	assert_int_equal(symlink("victim", "run"), 0);
	assert_true(folder_open(parent, "run") < 0);
	assert_int_equal(folder_make(parent, "run", FOLDER_OWN), -EEXIST);
	int victim = folder_open(parent, "victim");
	assert_true(folder_is_ours(victim, FOLDER_OWN));
	assert_int_equal(chmod("victim", 0777), 0);
	assert_false(folder_is_ours(victim, FOLDER_OWN));
	close(victim);
	close(fd);
	close(parent);
}

/* Links of root and of the user are followed, those of others are not; all lead where realpath()
 * says. */
static void links_of_others_are_not_followed(void **state)
{
	static const char *const paths[] = {"own/x", "./own/../own/x", "to-last", "own//x/",
					    "chain/x"};
	(void)state;
	char name[FOLDER_NAME_MAX];
	assert_int_equal(mkdir("there", 0755), 0);
	assert_int_equal(symlink("there", "own"), 0);
	assert_int_equal(symlink("own", "chain"), 0);
	assert_int_equal(symlink("own/x", "to-last"), 0);
	struct stat there, st;
	assert_int_equal(stat("there", &there), 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		int fd = folder_parent(paths[i], FOLDER_OWN, name);
		assert_true(fd >= 0 && !fstat(fd, &st));
		assert_true(st.st_ino == there.st_ino);
		assert_string_equal(name, "x");
		close(fd);
	}
	assert_int_equal(folder_parent("none/x", FOLDER_OWN, name), -ENOENT);
	assert_int_equal(folder_parent("own/..", FOLDER_OWN, name), -EINVAL);
	assert_int_equal(folder_parent("/", FOLDER_OWN, name), -EINVAL);
	assert_int_equal(symlink("loop", "loop"), 0);
	assert_int_equal(folder_parent("loop/x", FOLDER_OWN, name), -ELOOP);
	if (geteuid())
		return;
	assert_int_equal(lchown("own", 65534, 65534), 0);
	assert_int_equal(folder_parent("own/x", FOLDER_OWN, name), -EPERM);
	assert_int_equal(folder_parent("to-last", FOLDER_OWN, name), -EPERM);
	int fd = folder_parent("own/x", (struct folder_owner){65534, 65534}, name);
	assert_true(fd >= 0);
	close(fd);
}

static void digests_are_known(void **state)
{
	(void)state;
	/* FIPS 180-4's example of one block, without the count that digest_add() puts before. */
	struct digest d;
	uint8_t raw[DIGEST_BYTES];
	static const uint8_t expected[4] = {0xba, 0x78, 0x16, 0xbf};
	digest_init(&d);
	sha256_update(&d.sha256, 3, (const uint8_t *)"abc");
	digest_end(&d, raw);
	assert_memory_equal(raw, expected, sizeof(expected));
	char a[DIGEST_HEX], b[DIGEST_HEX];
	digest_init(&d);
	digest_add_text(&d, "ab");
	digest_add_text(&d, "c");
	digest_hex(&d, a);
	digest_init(&d);
	digest_add_text(&d, "a");
	digest_add_text(&d, "bc");
	digest_hex(&d, b);
	assert_string_not_equal(a, b);
}

static int enter(void **state)
{
	(void)state;
	return mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int leave(void **state)
{
	char command[64];
	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return chdir("/") || system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_files_are_opened),
		cmocka_unit_test(what_is_read_stays),
		cmocka_unit_test(folders_are_not_left),
		cmocka_unit_test(links_of_others_are_not_followed),
		cmocka_unit_test(digests_are_known),
	};
	return cmocka_run_group_tests(tests, enter, leave);
}

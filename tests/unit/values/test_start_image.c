// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_start_image.c: of a process that runs memory is told as it is, also where it may not read
 * that itself at the moment; what nobody can read is told to be unknown. Of a file that is mapped
 * later the bytes are kept, if it is that file by its number and its file system, in whichever
 * order parts are shown. What is written to a file when the process has gone on is told. A module
 * is mapped where a file of its number and its file system is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "offline/capture/captures.h"
#include "user/values/write/capture_writer.h"
#include "user/values/start/start_image.h"

enum { PAGE = 4096, PAGES = 8, HIDDEN = 2, GUARD = 4, WIPED = 6 };

#define GUARD_INSTALL 102 /* MADV_GUARD_INSTALL, since Linux 6.13 */
#define RESERVED ((size_t)1 << 40)

static char dir[] = "/tmp/pugmark-start-XXXXXX";
static uint8_t *pages;
static volatile int *ready; /* 1, or 2: there is a guard */

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	unlink("captures");
	return chdir("/") || rmdir(dir);
}

static void run_child(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < PAGES; i++)
		memset(pages + i * PAGE, 'a' + i, PAGE);
	mprotect(pages + HIDDEN * PAGE, PAGE, PROT_NONE);
	madvise(pages + WIPED * PAGE, PAGE, MADV_WIPEONFORK);
	/* As runtimes do; it takes no time. */
	mmap(NULL, RESERVED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	*ready = madvise(pages + GUARD * PAGE, PAGE, GUARD_INSTALL) ? 1 : 2;
	for (;;)
		pause();
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* @then is called between the memory is read and the files. @ends: the recorder is not killed. */
static void write_image(pid_t pid, void (*then)(void), bool ends)
{
	const struct start_options options = {0};
	struct capture_writer *writer;
	struct pugmark_diag diag;
	int fd = open("captures", O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(capture_writer_open(fd, 1, &writer, &diag), 0);
	struct start_image *image = start_image_new(&options, writer);
	uint64_t stood_ns = now_ns();
	assert_int_equal(start_image_memory(image, pid, &diag), 0);
	if (then)
		then();
	start_image_write(image, pid, stood_ns);
	json_t *table =
		json_pack("{s:i,s:i,s:b,s:[],s:[],s:o,s:o}", "version", 1, "whole", 1, "final", 0,
			  "modules", "places", "mappings", start_image_mappings(image), "files",
			  kept_files_list(start_image_files(image)));
	char *text = json_dumps(table, 0);
	capture_writer_table(writer, text, strlen(text));
	start_image_free(image);
	if (ends)
		capture_writer_table_final(writer, 0);
	assert_int_equal(capture_writer_close(writer, NULL, NULL), 0);
	json_decref(table);
	free(text);
}

static const struct capture_mapping *mapping_at(const struct captures *captures, const void *at)
{
	uint32_t n;
	const struct capture_mapping *maps = captures_mappings(captures, &n);

	for (uint32_t i = 0; i < n; i++)
		if ((uintptr_t)at >= maps[i].start && (uintptr_t)at < maps[i].end)
			return &maps[i];
	return NULL;
}

static pid_t child;

static void end_child(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Also those of a process that ends as soon as it goes on. */
static void test_pages_are_told_as_they_are(void **state)
{
	(void)state;
	uint8_t bytes[PAGE], same[PAGE];
	struct captures *captures;
	struct pugmark_diag diag;

	ready = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	child = fork();
	if (!child)
		run_child();
	while (!*ready)
		usleep(1000);
	write_image(child, end_child, true);
	assert_int_equal(captures_open(".", &captures, &diag), 0);
	for (int i = 0; i < PAGES; i++) {
		const struct capture_mapping *m = mapping_at(captures, pages + i * PAGE);
		bool unread = i == GUARD && *ready == 2;

		assert_non_null(m);
		assert_int_equal(m->file, unread ? CAPTURE_UNKNOWN : CAPTURE_NONE);
		assert_int_equal(m->wiped, i == WIPED);
		if (unread)
			continue;
		memset(same, 'a' + i, PAGE);
		assert_int_equal(captures_page(captures, (uintptr_t)pages + i * PAGE, bytes), 0);
		assert_memory_equal(bytes, same, PAGE);
	}
	struct rlimit limit;
	const struct capture_mapping *stack = mapping_at(captures, bytes);
	assert_int_equal(getrlimit(RLIMIT_STACK, &limit), 0);
	assert_int_equal(mapping_at(captures, pages)->grows_to, 0);
	assert_true(stack->grows_to && stack->grows_to <= stack->start);
	if (limit.rlim_cur < stack->end)
		assert_int_equal(stack->grows_to, stack->end - limit.rlim_cur);
	captures_free(captures);
}

/* A process with so much memory of its own is not stopped where there is no room for it. */
static void test_what_there_is_no_room_for_is_told_before(void **state)
{
	(void)state;
	enum { MIB = 1 << 20, OWN = 64 };
	const struct start_options options[] = {{0}, {.no_memory = "*"}};
	struct capture_writer *writer;
	struct pugmark_diag diag;
	unsigned long long told = 0;

	uint8_t *own =
		mmap(NULL, OWN * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(own, 1, OWN * MIB);
	for (int i = 0; i < 2; i++) {
		int fd = open("captures", O_RDWR | O_CREAT | O_TRUNC, 0600);
		assert_int_equal(capture_writer_open(fd, 1, &writer, &diag), 0);
		struct start_image *image = start_image_new(&options[i], writer);
		assert_int_equal(start_image_room(image, getpid(), 0, &diag), 0);
		assert_int_equal(start_image_room(image, getpid(), OWN / 2 * MIB, &diag),
				 i ? 0 : -ENOMEM);
		start_image_free(image);
		assert_int_equal(capture_writer_close(writer, NULL, NULL), 0);
	}
	munmap(own, OWN * MIB);
	assert_int_equal(sscanf(strstr(diag.text, "has "), "has %llu MiB", &told), 1);
	assert_in_range(told, OWN, 2 * OWN);
	assert_non_null(strstr(diag.text, "the 32 MiB of --max-memory"));
}

/* A file of this process, of FILE_PAGES pages, each of one letter, which is mapped as a whole. */
enum { FILE_PAGES = 4 };

static struct mapped_file map_file(struct stat *st)
{
	uint8_t page[PAGE];
	int fd = memfd_create("file", 0); /* of a file system whose device is that of its files */

	for (int i = 0; i < FILE_PAGES; i++) {
		memset(page, 'A' + i, PAGE);
		assert_int_equal(write(fd, page, PAGE), PAGE);
	}
	assert_int_equal(fstat(fd, st), 0);
	void *at = mmap(NULL, FILE_PAGES * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(at != MAP_FAILED);
	close(fd);
	return (struct mapped_file){.pid = getpid(),
				    .addr = (uintptr_t)at,
				    .len = FILE_PAGES * PAGE,
				    .inode = st->st_ino,
				    .size = st->st_size,
				    .device = st->st_dev};
}

/* One mapping shows a part behind what another one shows first, and a third one all. */
static void test_parts_of_a_file_are_kept_once_each(void **state)
{
	(void)state;
	const struct start_options options = {0};
	struct {
		int first, n;
	} shown[] = {{2, 1}, {0, 1}, {0, FILE_PAGES}, {1, 2}};
	struct capture_writer *writer;
	struct captures *captures;
	struct pugmark_diag diag;
	struct stat st;
	uint8_t bytes[PAGE], same[PAGE];
	struct mapped_file f = map_file(&st);
	int fd = open("captures", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (access("/proc/self/map_files", R_OK | X_OK))
		skip();
	assert_int_equal(capture_writer_open(fd, 1, &writer, &diag), 0);
	struct start_image *image = start_image_new(&options, writer);
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
		struct mapped_file part = f;
		part.addr += shown[i].first * PAGE;
		part.off = shown[i].first * PAGE;
		part.len = shown[i].n * PAGE;
		assert_int_equal(start_image_file_of(image, &part), 0);
	}
	json_t *table =
		json_pack("{s:i,s:i,s:[],s:[],s:[],s:o}", "version", 1, "whole", 1, "modules",
			  "places", "mappings", "files", kept_files_list(start_image_files(image)));
	char *text = json_dumps(table, 0);
	capture_writer_table(writer, text, strlen(text));
	start_image_free(image);
	assert_int_equal(capture_writer_close(writer, NULL, NULL), 0);
	json_decref(table);
	free(text);
	assert_int_equal(captures_open(".", &captures, &diag), 0);
	for (int i = 0; i < FILE_PAGES; i++) {
		memset(same, 'A' + i, PAGE);
		assert_int_equal(captures_file_bytes(captures, 0, i * PAGE, PAGE, bytes), 0);
		assert_memory_equal(bytes, same, PAGE);
	}
	captures_free(captures);
	munmap((void *)f.addr, f.len);
}

/* As packers, ld -N and text relocations have it. */
static void test_code_that_may_be_written_is_told_as_it_is(void **state)
{
	(void)state;
	struct captures *captures;
	struct pugmark_diag diag;
	struct stat st;
	uint8_t bytes[PAGE], same[PAGE];

	if (access("/proc/self/map_files", R_OK | X_OK))
		skip();
	struct mapped_file f = map_file(&st);
	uint8_t *at = (uint8_t *)f.addr;
	assert_int_equal(mprotect(at, f.len, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	memset(at + PAGE, 'w', PAGE);
	pid_t pid = fork();
	if (!pid)
		pause();
	write_image(pid, NULL, true);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	munmap(at, f.len);
	assert_int_equal(captures_open(".", &captures, &diag), 0);
	assert_int_equal(captures_page(captures, f.addr, bytes), -ENOENT);
	memset(same, 'w', PAGE);
	assert_int_equal(captures_page(captures, f.addr + PAGE, bytes), 0);
	assert_memory_equal(bytes, same, PAGE);
	captures_free(captures);
}

/* A copy of this program in a file system of its own. */
static void copy_itself(const char *folder, const char *path)
{
	uint8_t bytes[1 << 16];
	ssize_t n;

	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(mount("none", folder, "tmpfs", 0, NULL), 0);
	int from = open("/proc/self/exe", O_RDONLY);
	int to = open(path, O_WRONLY | O_CREAT, 0700);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(to, bytes, n), n);
	close(from);
	close(to);
}

static void test_a_module_is_its_file_systems(void **state)
{
	(void)state;
	const struct start_options options = {0};
	struct stat st[2];
	struct capture_writer *writer;
	struct pugmark_diag diag;
	uint64_t bias;

	if (access("/proc/self/map_files", R_OK | X_OK) || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip();
	copy_itself("one", "one/copy");
	copy_itself("other", "other/copy");
	assert_int_equal(stat("one/copy", &st[0]) | stat("other/copy", &st[1]), 0);
	assert_int_equal(st[0].st_ino, st[1].st_ino);
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("one/copy", "copy", "waits", NULL);
		_exit(1);
	}
	int fd = open("captures", O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(capture_writer_open(fd, 1, &writer, &diag), 0);
	struct start_image *image = start_image_new(&options, writer);
	for (int i = 0; i < 1000 && !start_image_bias(image, "one/copy", &bias); i++) {
		usleep(1000);
		assert_int_equal(start_image_memory(image, pid, &diag), 0);
	}
	assert_true(start_image_bias(image, "one/copy", &bias));
	assert_false(start_image_bias(image, "other/copy", &bias));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	start_image_free(image);
	assert_int_equal(capture_writer_close(writer, NULL, NULL), 0);
	umount("one");
	umount("other");
	assert_int_equal(rmdir("one") | rmdir("other"), 0);
}

static int two_files[2];

static void write_to_the_second(void)
{
	assert_int_equal(pwrite(two_files[1], "z", 1, 0), 1);
}

/* Of two files that a process has mapped one is written when it has gone on. If the recorder is
 * killed, nobody knows of either. */
static void test_a_file_is_as_it_was_when_the_process_stood(void **state)
{
	(void)state;
	struct captures *captures;
	struct pugmark_diag diag;
	struct stat st;
	void *at[2];
	uint32_t n;

	if (access("/proc/self/map_files", R_OK | X_OK))
		skip();
	for (int i = 0; i < 2; i++) {
		struct mapped_file f = map_file(&st);
		char link[80];

		at[i] = (void *)f.addr;
		snprintf(link, sizeof(link), "/proc/self/map_files/%lx-%lx", (long)f.addr,
			 (long)(f.addr + f.len));
		two_files[i] = open(link, O_RDWR);
		assert_true(two_files[i] >= 0);
	}
	usleep(30000); /* as files are told the time */
	pid_t pid = fork();
	if (!pid)
		pause();
	for (int ends = 1; ends >= 0; ends--) {
		write_image(pid, ends ? write_to_the_second : NULL, ends);
		assert_int_equal(captures_open(".", &captures, &diag), 0);
		const struct capture_file *files = captures_files(captures, &n);
		for (int i = 0; i < 2; i++) {
			assert_true(mapping_at(captures, at[i])->file < n);
			uint32_t file = mapping_at(captures, at[i])->file;
			assert_int_equal(files[file].changed, i && ends);
			assert_int_equal(captures_may_change(captures, file, false, PROT_READ),
					 i || !ends);
			assert_int_equal(captures_may_change(captures, file, false, PROT_EXEC),
					 i && ends);
		}
		captures_free(captures);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 2; i++) {
		munmap(at[i], FILE_PAGES * PAGE);
		close(two_files[i]);
	}
}

static void test_a_file_is_its_file_systems(void **state)
{
	(void)state;
	const struct start_options options = {0};
	struct capture_writer *writer;
	struct pugmark_diag diag;
	struct stat st;
	struct mapped_file f = map_file(&st);
	int fd = open("captures", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (access("/proc/self/map_files", R_OK | X_OK))
		skip();
	assert_int_equal(capture_writer_open(fd, 1, &writer, &diag), 0);
	struct start_image *image = start_image_new(&options, writer);
	f.device++;
	assert_int_equal(start_image_file_of(image, &f), CAPTURE_UNKNOWN);
	assert_int_equal(kept_files_count(start_image_files(image)), 0);
	f.device--;
	assert_int_equal(start_image_file_of(image, &f), 0);
	start_image_free(image);
	assert_int_equal(capture_writer_close(writer, NULL, NULL), 0);
	munmap((void *)f.addr, f.len);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) /* test_a_module_is_its_file_systems() */
		return pause();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages_are_told_as_they_are),
		cmocka_unit_test(test_a_file_is_its_file_systems),
		cmocka_unit_test(test_a_file_is_as_it_was_when_the_process_stood),
		cmocka_unit_test(test_code_that_may_be_written_is_told_as_it_is),
		cmocka_unit_test(test_a_module_is_its_file_systems),
		cmocka_unit_test(test_what_there_is_no_room_for_is_told_before),
		cmocka_unit_test(test_parts_of_a_file_are_kept_once_each),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

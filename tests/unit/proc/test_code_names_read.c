// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_code_names_read.c: what a process says in its perf map is read once, as it grows; from the
 * beginning where it is written anew, longer or shorter than before; and not where it was written
 * before the process began. Of a dump so much at once as takes no time. The process is this one. */
#include "user/proc/code_names.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];

static void put(const char *text, int flags)
{
	int fd = open(path, O_WRONLY | O_CREAT | flags, 0600);
	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void expect(struct code_names *n, const char *text)
{
	uint32_t bytes = 0;
	const struct chunk_code *c = code_names_look(n, &bytes);
	assert_int_equal(c != NULL, text != NULL);
	if (!c)
		return;
	assert_int_equal(bytes - sizeof(*c), strlen(text));
	assert_memory_equal(c->text, text, strlen(text));
	assert_null(code_names_look(n, &bytes));
}

static int prepare(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	return 0;
}

static int clean(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static void as_it_grows(void **state)
{
	(void)state;
	struct code_names *n = code_names_new(getpid());
	assert_non_null(n);
	expect(n, NULL);
	put("1000 10 a\n2000 1", O_TRUNC);
	expect(n, "1000 10 a\n");
	put("0 b\n", O_APPEND);
	expect(n, "2000 10 b\n");
	code_names_free(n);
}

static void as_it_is_written_anew(void **state)
{
	(void)state;
	struct code_names *n = code_names_new(getpid());
	assert_non_null(n);
	put("1000 10 a\n2000 10 b\n", O_TRUNC);
	expect(n, "1000 10 a\n2000 10 b\n");
	put("3000 10 c\n", O_TRUNC);
	expect(n, "3000 10 c\n");
	put("4000 10 de\n5000 10 f\n6000 10 g\n", O_TRUNC);
	expect(n, "4000 10 de\n5000 10 f\n6000 10 g\n");
	code_names_free(n);
}

static void not_of_one_before(void **state)
{
	(void)state;
	struct code_names *n = code_names_new(getpid());
	const struct timespec before[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	assert_non_null(n);
	put("1000 10 a\n", O_TRUNC);
	assert_int_equal(utimensat(AT_FDCWD, path, before, 0), 0);
	expect(n, NULL);
	put("1000 10 b\n", O_TRUNC);
	expect(n, "1000 10 b\n");
	code_names_free(n);
}

/* What is behind that may have taken the place of what was read. */
static void more_than_is_kept(void **state)
{
	(void)state;
	uint32_t bytes;
	struct code_names *n = code_names_new(getpid());
	assert_non_null(n);
	expect(n, NULL);
	put("1000 10 a\n", O_TRUNC);
	assert_int_equal(truncate(path, 65 << 20), 0);
	const struct chunk_code *c = code_names_look(n, &bytes);
	assert_true(c && bytes - sizeof(*c) == strlen("1000 10 a\n"));
	uint64_t since_ns = c->since_ns;
	assert_false(code_names_too_many(n));
	c = code_names_look(n, &bytes);
	assert_true(c && bytes == sizeof(*c) && c->since_ns == since_ns && since_ns);
	assert_true(code_names_too_many(n));
	assert_null(code_names_look(n, &bytes));
	code_names_free(n);
}

static void put_record(FILE *f, uint32_t id, const void *body, uint32_t len)
{
	const struct {
		uint32_t id, bytes;
		uint64_t time;
	} head = {id, (uint32_t)sizeof(head) + len, 1};
	fwrite(&head, sizeof(head), 1, f);
	fwrite(body, len, 1, f);
}

/* Of a dump with @n records that name nothing and one behind them that does: how many looks find
 * nothing before that is found. */
static int looks_before(struct code_names *names, uint32_t n, const char *dump)
{
	const uint32_t header[] = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid(), 0, 0, 0, 0};
	const struct {
		uint32_t pid, tid;
		uint64_t vma, addr, size, index;
		char name[8];
	} load = {.addr = 0x1000, .size = 16, .name = "late"};
	uint32_t bytes;
	int looks = 0;
	FILE *f = fopen(dump, "we");
	assert_non_null(f);
	fwrite(header, sizeof(header), 1, f);
	for (uint32_t i = 0; i < n; i++)
		put_record(f, 9, "", 0);
	put_record(f, 0, &load, sizeof(load));
	fclose(f);
	int fd = open(dump, O_RDONLY | O_CLOEXEC);
	void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_true(page != MAP_FAILED);
	const struct chunk_code *c;
	while (!(c = code_names_look(names, &bytes)) && code_names_more(names))
		looks++;
	assert_non_null(c);
	if (bytes > sizeof(*c))
		assert_memory_equal(c->text, "1000 10 late\n", bytes - sizeof(*c));
	munmap(page, 4096);
	unlink(dump);
	return looks;
}

/* One look takes no more than 4096 records that name nothing, one process no more than a million.
 */
static void of_a_dump_in_parts(void **state)
{
	(void)state;
	if (geteuid()) {
		print_message("SKIP: a dump is opened by root alone\n");
		return;
	}
	char dump[64];
	snprintf(dump, sizeof(dump), "/tmp/jit-%d.dump", getpid());
	struct code_names *n = code_names_new(getpid());
	assert_non_null(n);
	assert_int_equal(looks_before(n, 10000, dump), 2);
	assert_false(code_names_too_many(n));
	code_names_free(n);
	n = code_names_new(getpid());
	assert_non_null(n);
	assert_int_equal(looks_before(n, (1 << 20) + 10, dump), 256);
	assert_true(code_names_too_many(n));
	code_names_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(as_it_grows, prepare, clean),
		cmocka_unit_test_setup_teardown(as_it_is_written_anew, prepare, clean),
		cmocka_unit_test_setup_teardown(not_of_one_before, prepare, clean),
		cmocka_unit_test_setup_teardown(more_than_is_kept, prepare, clean),
		cmocka_unit_test(of_a_dump_in_parts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_maps_watch.c: what a process has mapped is told when it is first seen, and again when it is
 * its turn and something has come. The process is this one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/proc/maps_watch.h"

#define MS 1000000ull
enum { SAME_SLOT = 1024 * 5000, MAPPED = 8192 }; /* a process of that number cannot be */

static void *mapped[MAPPED];
static uint32_t n_mapped;

/* Neighbours would be one line: so each is apart. */
static void map_more(void)
{
	char *at = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(mprotect(at + 4096, 4096, PROT_READ | PROT_EXEC), 0);
	mapped[n_mapped++] = at;
}

static int unmap_all(void **context)
{
	(void)context;
	while (n_mapped)
		munmap(mapped[--n_mapped], 3 * 4096);
	return 0;
}

/* The lines of executable mappings, by another way than the watch's. */
static char *truth(void)
{
	char line[4096], perms[5], *text = calloc(1, 1 << 20), *end = text;
	FILE *f = fopen("/proc/self/maps", "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %4s", perms) == 1 && strchr(perms, 'x'))
			end = stpcpy(end, line);
	fclose(f);
	return text;
}

static void expect_told(struct maps_watch *w, uint32_t execs, uint64_t time_ns)
{
	uint32_t bytes = 0;
	const struct chunk_text *told = maps_watch_look(w, getpid(), execs, time_ns, &bytes);
	assert_non_null(told);
	char *is = truth();
	assert_int_equal(told->kind, CHUNK_MAPS);
	assert_int_equal(told->pid, getpid());
	assert_int_equal(told->time_ns, time_ns);
	assert_int_equal(bytes, sizeof(*told) + strlen(is));
	assert_memory_equal(told->text, is, strlen(is));
	free(is);
}

static void expect_nothing(struct maps_watch *w, uint32_t execs, uint64_t time_ns)
{
	uint32_t bytes;
	assert_null(maps_watch_look(w, getpid(), execs, time_ns, &bytes));
}

static void it_is_told_when_it_is_news(void **context)
{
	(void)context;
	struct maps_watch *w = maps_watch_new();
	uint64_t at = 1000 * MS;
	expect_told(w, 0, at);
	expect_nothing(w, 0, at + 5 * MS); /* its turn, but nothing has come */
	map_more();
	expect_told(w, 0, at + 25 * MS);
	munmap(mapped[--n_mapped], 3 * 4096);
	expect_told(w, 0, at + 105 * MS);
	maps_watch_free(w);
}

/* 5 ms after the first time, and each time four times later, up to 5 s or so. */
static void it_is_looked_at_ever_more_rarely(void **context)
{
	(void)context;
	struct maps_watch *w = maps_watch_new();
	uint64_t at = 0, wait = 5 * MS;
	expect_told(w, 0, at);
	for (int i = 0; i < 9; i++) {
		map_more();
		expect_nothing(w, 0, at + wait - 1);
		expect_told(w, 0, at += wait);
		if (wait < 5000 * MS)
			wait *= 4;
	}
	assert_int_equal(wait, 5120 * MS);
	maps_watch_free(w);
}

static void an_exec_or_another_process_is_new(void **context)
{
	(void)context;
	struct maps_watch *w = maps_watch_new();
	uint32_t bytes;
	expect_told(w, 0, 0);
	expect_told(w, 1, 1);
	expect_nothing(w, 1, 2);
	assert_null(maps_watch_look(w, getpid() + SAME_SLOT, 1, 3, &bytes));
	expect_told(w, 1, 4); /* the other had its place */
	maps_watch_free(w);
}

/* More than there is room for: whole lines, as many as fit. */
static void there_is_a_limit(void **context)
{
	(void)context;
	struct maps_watch *w = maps_watch_new();
	uint32_t bytes = 0;
	while (n_mapped < MAPPED)
		map_more();
	const struct chunk_text *told = maps_watch_look(w, getpid(), 0, 0, &bytes);
	char *is = truth();
	assert_non_null(told);
	assert_in_range(bytes, MAPS_MAX_BYTES - 100, MAPS_MAX_BYTES);
	assert_memory_equal(told->text, is, bytes - sizeof(*told));
	assert_int_equal(is[bytes - sizeof(*told) - 1], '\n');
	free(is);
	maps_watch_free(w);
}

static void all_that_were_seen_are_listed(void **context)
{
	(void)context;
	struct maps_watch *w = maps_watch_new();
	int32_t pids[8];
	uint32_t bytes;
	assert_int_equal(maps_watch_processes(w, pids, 8), 0);
	for (int i = 0; i < 5; i++)
		maps_watch_look(w, SAME_SLOT + 10 * i, 0, 0, &bytes);
	assert_int_equal(maps_watch_processes(w, pids, 8), 5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(pids[i], SAME_SLOT + 10 * i);
	assert_int_equal(maps_watch_processes(w, pids, 3), 3);
	maps_watch_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(it_is_told_when_it_is_news, unmap_all),
		cmocka_unit_test_teardown(it_is_looked_at_ever_more_rarely, unmap_all),
		cmocka_unit_test(an_exec_or_another_process_is_new),
		cmocka_unit_test_teardown(there_is_a_limit, unmap_all),
		cmocka_unit_test(all_that_were_seen_are_listed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

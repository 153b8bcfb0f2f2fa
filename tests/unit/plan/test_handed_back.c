// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_handed_back.c: a plan owns memory of its own, wherever its bytes came from: what a sandbox
 * hands back lies in the heap, what a file has is mapped, and either may begin at the start of a
 * page or in the middle of one. Freeing the plan gives its own pages back, all of them and no
 * other; the bytes that it was made from stay as they are, and it stays when they go. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "offline/plan/plan_build.h"
#include "offline/plan/plan_file.h"
#include "tests/support/random_program.h"
#include "user/plan/planning.h"

enum { PAGE = 4096, PROGRAMS = 40 };

static const size_t offsets[] = {0, 1, 8, 16, 100, PAGE / 2, PAGE - 16, PAGE - 1, PAGE};

/* A whole plan file of the heap. */
static void *some_plan(uint64_t seed, size_t *len)
{
	struct program *prog = random_program(seed);
	struct choice choice;
	struct pugmark_plan *plan;
	uint32_t unresolved = 0;
	void *bytes;
	int err = choose_witnesses(prog, MODE_BEST, &choice, &unresolved);
	assert_true(!err || err == -EDOM);
	assert_int_equal(plan_build(prog, &choice, MODE_BEST, NULL, &plan), 0);
	assert_int_equal(plan_encode(plan, &bytes, len), 0);
	pugmark_plan_free(plan);
	choice_deinit(&choice);
	program_free(prog);
	return bytes;
}

static bool is_mapped(const void *at)
{
	unsigned char in;
	void *page = (void *)((uintptr_t)at & ~(uintptr_t)(PAGE - 1));
	return !mincore(page, 1, &in);
}

static void is_the_plan(const struct pugmark_plan *plan, const void *bytes, size_t len)
{
	void *again;
	size_t len_again;
	assert_int_equal(plan_encode(plan, &again, &len_again), 0);
	assert_int_equal(len_again, len);
	assert_memory_equal(again, bytes, len);
	free(again);
}

/* Frees @plan: its own pages are gone, those beside them are as they were. */
static void give_back(struct pugmark_plan *plan)
{
	uint8_t *own = plan->storage;
	size_t pages = (plan->storage_bytes + PAGE - 1) / PAGE * PAGE;
	assert_non_null(own);
	assert_int_equal((uintptr_t)own % PAGE, 0);
	bool before = is_mapped(own - 1), behind = is_mapped(own + pages);
	assert_true(is_mapped(own) && is_mapped(own + pages - 1));
	pugmark_plan_free(plan);
	assert_false(is_mapped(own) || is_mapped(own + pages - 1));
	assert_int_equal(is_mapped(own - 1), before);
	assert_int_equal(is_mapped(own + pages), behind);
}

struct room {
	uint8_t *at;
	size_t len;
	bool mapped;
};

static struct room make_room(size_t len, bool mapped)
{
	struct room r = {.len = (len + PAGE - 1) / PAGE * PAGE, .mapped = mapped};
	r.at = mapped ? mmap(NULL, r.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0)
		      : aligned_alloc(PAGE, r.len);
	assert_true(r.at && r.at != MAP_FAILED);
	memset(r.at, 0xa5, r.len);
	return r;
}

static void free_room(struct room *r)
{
	if (r->mapped)
		munmap(r->at, r->len);
	else
		free(r->at);
}

static void take_from(const void *bytes, size_t len, size_t offset, bool mapped)
{
	struct room r = make_room(offset + len + 1, mapped);
	struct planning_result first = {0}, second = {0};
	struct pugmark_diag diag;
	uint8_t *from = r.at + offset;
	memcpy(from, bytes, len);
	assert_int_equal(planning_take_plan((char *)from, len, "it", &first, &diag), 0);
	assert_int_equal(planning_take_plan((char *)from, len, "it", &second, &diag), 0);
	is_the_plan(first.plan, bytes, len);
	give_back(first.plan);
	assert_true(is_mapped(r.at) && is_mapped(r.at + r.len - 1));
	assert_memory_equal(from, bytes, len);
	assert_true(!offset || from[-1] == 0xa5);
	assert_int_equal(from[len], 0xa5);
	free_room(&r);
	is_the_plan(second.plan, bytes, len);
	give_back(second.plan);
}

static void of_heap_and_mapping(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		size_t len;
		void *bytes = some_plan(seed, &len);
		for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
			for (int mapped = 0; mapped < 2; mapped++) {
				take_from(bytes, len, offsets[i], mapped);
				/* Up to the last byte of a page. */
				take_from(bytes, len, -len % PAGE, mapped);
			}
		free(bytes);
	}
}

/* What is none is given back as well: nothing is left, nothing else is gone. */
static void of_what_is_no_plan(void **state)
{
	(void)state;
	size_t len;
	char *bytes = some_plan(1, &len);
	for (size_t cut = 0; cut < len; cut += len / 50 + 1) {
		struct planning_result out = {0};
		struct pugmark_diag diag;
		struct room r = make_room(len, cut % 2);
		memcpy(r.at, bytes, cut);
		assert_true(planning_take_plan((char *)r.at, cut, "it", &out, &diag) < 0);
		assert_null(out.plan);
		assert_memory_equal(r.at, bytes, cut);
		free_room(&r);
	}
	free(bytes);
}

static void of_a_file(void **state)
{
	(void)state;
	char path[] = "/tmp/pugmark-plan-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		struct pugmark_plan *plan;
		struct pugmark_diag diag;
		size_t len;
		void *bytes = some_plan(seed, &len);
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, bytes, len, 0), len);
		assert_int_equal(pugmark_plan_open(path, &plan, &diag), 0);
		is_the_plan(plan, bytes, len);
		give_back(plan);
		free(bytes);
	}
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_heap_and_mapping),
		cmocka_unit_test(of_what_is_no_plan),
		cmocka_unit_test(of_a_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

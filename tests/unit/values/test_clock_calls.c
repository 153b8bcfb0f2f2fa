// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_clock_calls.c: the copy of the kernel's image of clock functions does what the image does,
 * wherever it lies, and what its callers note is what they were told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include <cmocka.h>

#include "user/values/clock/clock_code.h"
#include "user/values/clock/clock_image.h"
#include "user/values/clock/clock_record.h"

static uint8_t *area;

/* As clock_calls.c lays it out, in this process. */
static bool make_area(void)
{
	struct clock_image image;
	uint64_t base = getauxval(AT_SYSINFO_EHDR);

	if (!(getauxval(AT_HWCAP2) & 2) || !clock_image_own(&image))
		return false;
	for (uint64_t at = base + (64 << 20); !area && at < base + (1ull << 30); at += 64 << 20) {
		area = mmap((void *)at, CLOCK_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			    0);
		area = area == MAP_FAILED ? NULL : area;
	}
	if (!area || !clock_image_move(&image, base, (uint64_t)area, area))
		return false;
	memcpy(area + CLOCK_CODE, clock_code, (size_t)(clock_code_end - clock_code));
	for (int f = 0; f < CLOCK_FUNCTIONS; f++) {
		uint64_t to = (uint64_t)area + image.functions[f];
		memcpy(area + CLOCK_CODE + clock_code_places[f].calls, &to, sizeof(to));
	}
	return true;
}

static void *function(int f)
{
	return area + CLOCK_CODE + clock_code_places[f].begin;
}

static void notes_what_it_is_told(void **state)
{
	int (*get)(clockid_t, struct timespec *) = function(CLOCK_GETTIME);
	struct timespec before, told, after;
	uint64_t self;

	(void)state;
	__asm__("rdfsbase %0" : "=r"(self));
	const struct clock_slot *slot = (void *)(area + clock_slot_of(self));
	const struct clock_entry *entries = (void *)(slot + 1);
	for (uint64_t i = 0; i < CLOCK_ENTRIES + 10; i++) { /* the ring goes round */
		struct clock_asked asked = {0};
		struct capture_range ranges[2];
		struct capture c = {0};
		bool broken;

		clock_gettime(CLOCK_MONOTONIC, &before);
		assert_int_equal(get(CLOCK_MONOTONIC, &told), 0);
		clock_gettime(CLOCK_MONOTONIC, &after);
		uint64_t ns[] = {before.tv_sec * 1000000000ull + before.tv_nsec,
				 told.tv_sec * 1000000000ull + told.tv_nsec,
				 after.tv_sec * 1000000000ull + after.tv_nsec};
		assert_true(ns[0] <= ns[1] && ns[1] <= ns[2]);
		assert_int_equal(slot->owner, self);
		assert_int_equal(slot->n, i + 1);
		assert_true(
			clock_record(&entries[i % CLOCK_ENTRIES], i, &asked, &c, ranges, &broken));
		assert_int_equal(c.nr, SYS_clock_gettime);
		assert_int_equal(c.n_ranges, 1);
		assert_int_equal(ranges[0].addr, (uint64_t)&told);
		assert_memory_equal(ranges[0].bytes, &told, sizeof(told));
		assert_false(clock_record(&entries[i % CLOCK_ENTRIES], i + 1, &asked, &c, ranges,
					  &broken));
		assert_true(broken);
	}
}

static void fails_as_the_image_does(void **state)
{
	int (*get)(clockid_t, struct timespec *) = function(CLOCK_GETTIME);
	int (*day)(struct timeval *, struct timezone *) = function(CLOCK_GETTIMEOFDAY);
	time_t (*seconds)(time_t *) = function(CLOCK_TIME);
	struct timespec t = {1, 2};
	time_t kept = 0;

	(void)state;
	assert_int_equal(get(1234, &t), -22);
	assert_true(t.tv_sec == 1 && t.tv_nsec == 2);
	assert_int_equal(day(NULL, NULL), 0);
	time_t told = seconds(&kept);
	assert_int_equal(told, kept);
	assert_true(kept > 1600000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_what_it_is_told),
		cmocka_unit_test(fails_as_the_image_does),
	};

	if (!make_area()) {
		print_message("SKIP: no vDSO that can be moved, or no FSGSBASE\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* The evaluated memory against a flat array of the same bytes and qualities: random reads, writes
 * and snapshots, over page boundaries, with what went before a snapshot coming back with it. */
#include "offline/eval/machine.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PAGES = 5, SIZE = PAGES * VALUE_PAGE, SNAPSHOTS = 6, STEPS = 20000 };
#define BASE ((uint64_t)0x7ffff000 << 16)

struct model {
	uint8_t bytes[SIZE], quality[SIZE];
};

static int fill(void *ctx, const struct value_region *region, uint64_t addr, uint8_t *bytes,
		uint8_t *quality)
{
	const struct model *start = ctx;
	assert_int_equal(addr % VALUE_PAGE, 0);
	assert_int_equal(region->source, 1);
	memcpy(bytes, start->bytes + (addr - BASE), VALUE_PAGE);
	memcpy(quality, start->quality + (addr - BASE), VALUE_PAGE);
	return 0;
}

static void is_a_flat_memory_with_snapshots(void **state)
{
	struct model *start = malloc(sizeof(*start)), *now = malloc(sizeof(*now));
	struct model *kept = malloc(SNAPSHOTS * sizeof(*kept));
	struct value_snapshot snapshots[SNAPSHOTS] = {0};
	bool taken[SNAPSHOTS] = {false};
	struct value_memory mem;
	(void)state;
	srand(3);
	for (int i = 0; i < SIZE; i++) {
		start->bytes[i] = rand();
		start->quality[i] = i / VALUE_PAGE % 2 ? rand() % 3 : 0;
	}
	*now = *start;
	assert_int_equal(value_memory_init(&mem, fill, start), 0);
	struct value_region region = {.start = BASE, .end = BASE + SIZE, .source = 1, .prot = 3};
	assert_int_equal(value_memory_map(&mem, &region), 0);
	for (int step = 0; step < STEPS; step++) {
		uint8_t bytes[300], quality[300], worst;
		size_t len = 1 + rand() % sizeof(bytes), at = rand() % (SIZE - len);
		int k = rand() % SNAPSHOTS;
		switch (rand() % 8) {
		case 0:
		case 1:
		case 2:
			for (size_t i = 0; i < len; i++)
				bytes[i] = rand();
			memcpy(now->bytes + at, bytes, len);
			memset(now->quality + at, step % 3, len);
			assert_int_equal(value_memory_write(&mem, BASE + at, bytes, len, step % 3),
					 0);
			break;
		case 3:
			if (taken[k])
				value_memory_forget(&mem, &snapshots[k]);
			snapshots[k] = value_memory_snapshot(&mem);
			kept[k] = *now;
			taken[k] = true;
			break;
		case 4:
			if (!taken[k])
				break;
			value_memory_restore(&mem, &snapshots[k]);
			*now = kept[k];
			break;
		default:
			assert_int_equal(value_memory_read(&mem, BASE + at, bytes, len, &worst), 0);
			assert_int_equal(value_memory_read_qualities(&mem, BASE + at, quality, len),
					 0);
			assert_memory_equal(bytes, now->bytes + at, len);
			assert_memory_equal(quality, now->quality + at, len);
			for (size_t i = 0; i < len; i++)
				assert_true(quality[i] <= worst);
		}
	}
	for (int k = 0; k < SNAPSHOTS; k++)
		if (taken[k])
			value_memory_forget(&mem, &snapshots[k]);
	uint8_t byte;
	assert_int_equal(value_memory_read(&mem, BASE + SIZE, &byte, 1, NULL), -EFAULT);
	assert_int_equal(value_memory_unmap(&mem, BASE + VALUE_PAGE, BASE + 2 * VALUE_PAGE), 0);
	assert_int_equal(value_memory_read(&mem, BASE + VALUE_PAGE, &byte, 1, NULL), -EFAULT);
	assert_int_equal(value_memory_read(&mem, BASE + 2 * VALUE_PAGE, &byte, 1, NULL), 0);
	value_memory_deinit(&mem);
	assert_int_equal(mem.pages_held, 0);
	free(start);
	free(now);
	free(kept);
}

/* mov [rdi], rax; mov rcx, [rsi]: of two pages that have the same place in them. */
static void a_store_makes_nothing_else_certain_while_others_write(void **state)
{
	static const uint8_t code[] = {0x48, 0x89, 0x07, 0x48, 0x8b, 0x0e};
	const uint64_t text = 0x400000, one = 0x500080, other = 0x501080;
	struct value_region regions[] = {{.start = text, .end = text + VALUE_PAGE, .prot = 7},
					 {.start = 0x500000, .end = 0x502000, .prot = 3}};
	struct value_memory mem;
	(void)state;
	assert_int_equal(value_memory_init(&mem, NULL, NULL), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(value_memory_map(&mem, &regions[i]), 0);
	assert_int_equal(value_memory_write(&mem, text, code, sizeof(code), VALUE_EXACT), 0);
	assert_int_equal(value_memory_protect(&mem, text, text + VALUE_PAGE, 5, false), 0);
	struct value_machine *m = value_machine_new(&mem);
	assert_non_null(m);
	assert_int_equal(value_machine_code(m, text, text + sizeof(code)), 0);
	for (int turn = 0; turn < 4; turn++) {
		value_memory_crowd(&mem, turn < 3);
		value_set_gpr(m, VALUE_RDI, one, VALUE_EXACT);
		value_set_gpr(m, VALUE_RSI, other, VALUE_EXACT);
		value_set_gpr(m, VALUE_RAX, turn, VALUE_EXACT);
		value_machine_state(m)->rip = text;
		assert_int_equal(value_machine_run(m, value_machine_count(m) + 2, NULL),
				 VALUE_STOP_LIMIT);
		assert_int_equal(value_quality(m, (uint64_t)1 << VALUE_RCX),
				 turn < 3 ? VALUE_ASSUMED : VALUE_EXACT);
	}
	/* When nobody else writes any more, what is written is exact again. */
	uint8_t quality;
	uint64_t word;
	assert_int_equal(value_memory_read(&mem, one, &word, 8, &quality), 0);
	assert_int_equal(quality, VALUE_EXACT);
	value_machine_free(m);
	value_memory_deinit(&mem);
}

/* A page that the snapshot has not is compared with what it would have been filled with. */
static void is_as_it_was_until_a_byte_is_another(void **state)
{
	struct model *start = calloc(1, sizeof(*start));
	struct value_region regions[] = {
		{.start = BASE, .end = BASE + SIZE, .source = 1, .prot = 3},
		{.start = 0x500000, .end = 0x502000, .prot = 3}};
	uint64_t places[] = {BASE, BASE + VALUE_PAGE, 0x500000, 0x501000};
	struct value_memory mem;
	uint8_t byte, other;
	(void)state;
	memset(start->bytes, 7, SIZE);
	assert_int_equal(value_memory_init(&mem, fill, start), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(value_memory_map(&mem, &regions[i]), 0);
	assert_int_equal(value_memory_read(&mem, BASE, &byte, 1, NULL), 0);
	assert_int_equal(value_memory_read(&mem, 0x500000, &byte, 1, NULL), 0);
	struct value_snapshot then = value_memory_snapshot(&mem);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(value_memory_read(&mem, places[i], &byte, 1, NULL), 0);
		assert_true(value_memory_is_as(&mem, &then));
		other = byte + 1;
		assert_int_equal(value_memory_write(&mem, places[i], &other, 1, VALUE_EXACT), 0);
		assert_false(value_memory_is_as(&mem, &then));
		assert_int_equal(value_memory_write(&mem, places[i], &byte, 1, VALUE_EXACT), 0);
		assert_true(value_memory_is_as(&mem, &then));
	}
	value_memory_forget(&mem, &then);
	value_memory_deinit(&mem);
	free(start);
}

static uint8_t quality_at(struct value_memory *mem, uint64_t addr)
{
	uint8_t byte, quality;
	assert_int_equal(value_memory_read(mem, addr, &byte, 1, &quality), 0);
	return quality;
}

/* Two pages, of which one is touched before: both are doubted that were writable when somebody may
 * have written, and neither for what happens while they are not. */
static void protection_takes_no_doubt_away(void **state)
{
	const uint64_t start = 0x500000, other = start + VALUE_PAGE, end = other + VALUE_PAGE;
	const struct value_region region = {.start = start, .end = end, .prot = 3};
	struct value_memory mem;
	uint8_t byte = 1;
	(void)state;
	assert_int_equal(value_memory_init(&mem, NULL, NULL), 0);
	for (int doubted = 0; doubted < 2; doubted++) {
		assert_int_equal(value_memory_map(&mem, &region), 0);
		assert_int_equal(quality_at(&mem, start), VALUE_EXACT);
		if (doubted)
			value_memory_assume_all(&mem);
		assert_int_equal(value_memory_protect(&mem, start, end, VALUE_READ, false), 0);
		value_memory_assume_all(&mem);
		struct value_snapshot then = value_memory_snapshot(&mem);
		for (int turn = 0; turn < 2; turn++) {
			uint8_t is = doubted ? VALUE_ASSUMED : VALUE_EXACT;
			assert_int_equal(quality_at(&mem, start), is);
			assert_int_equal(quality_at(&mem, other), is);
			value_memory_restore(&mem, &then);
		}
		value_memory_forget(&mem, &then);
	}
	/* Where others write at any time, a page that was read before is theirs as well then. */
	assert_int_equal(value_memory_map(&mem, &region), 0);
	assert_int_equal(value_memory_protect(&mem, start, end, VALUE_READ, false), 0);
	value_memory_crowd(&mem, true);
	assert_int_equal(value_memory_write(&mem, start, &byte, 1, VALUE_EXACT), 0);
	assert_int_equal(quality_at(&mem, start), VALUE_EXACT);
	assert_int_equal(value_memory_protect(&mem, start, end, VALUE_READ | VALUE_WRITE, false),
			 0);
	assert_int_equal(quality_at(&mem, start), VALUE_ASSUMED);
	value_memory_deinit(&mem);
}

/* What somebody has written past all protections was, perhaps, to a page that may only be read,
 * touched before or not; not to what is mapped later, nor, as is taken for true, to code. */
static void no_protection_holds_against_force(void **state)
{
	const uint64_t start = 0x500000, untouched = start + VALUE_PAGE,
		       code = untouched + VALUE_PAGE;
	const uint64_t later = code + VALUE_PAGE;
	struct value_region data = {.start = start, .end = code, .prot = VALUE_READ};
	const struct value_region text = {
		.start = code, .end = later, .prot = VALUE_READ | VALUE_EXEC};
	struct value_memory mem;
	(void)state;
	assert_int_equal(value_memory_init(&mem, NULL, NULL), 0);
	assert_int_equal(value_memory_map(&mem, &data), 0);
	assert_int_equal(value_memory_map(&mem, &text), 0);
	assert_int_equal(quality_at(&mem, start), VALUE_EXACT);
	struct value_snapshot before = value_memory_snapshot(&mem);
	value_memory_assume_forced(&mem);
	struct value_snapshot behind = value_memory_snapshot(&mem);
	data.start = later;
	data.end = later + VALUE_PAGE;
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(value_memory_map(&mem, &data), 0);
		if (turn) /* it is doubted as what it was */
			assert_int_equal(value_memory_protect(&mem, untouched, code,
							      VALUE_READ | VALUE_EXEC, false),
					 0);
		assert_int_equal(quality_at(&mem, start), VALUE_ASSUMED);
		assert_int_equal(quality_at(&mem, untouched), VALUE_ASSUMED);
		assert_int_equal(quality_at(&mem, code), VALUE_EXACT);
		assert_int_equal(quality_at(&mem, later), VALUE_EXACT);
		value_memory_restore(&mem, &before);
		assert_int_equal(quality_at(&mem, untouched), VALUE_EXACT);
		value_memory_restore(&mem, &behind);
	}
	value_memory_forget(&mem, &before);
	value_memory_forget(&mem, &behind);
	value_memory_deinit(&mem);
}

static void what_is_changed_goes_on_behind_a_hole(void **state)
{
	const uint64_t hole = BASE + 2 * VALUE_PAGE, behind = hole + VALUE_PAGE;
	const struct value_region all = {.start = BASE, .end = BASE + 8 * VALUE_PAGE, .prot = 3};
	struct value_memory mem;
	(void)state;
	assert_int_equal(value_memory_init(&mem, NULL, NULL), 0);
	assert_int_equal(value_memory_map(&mem, &all), 0);
	assert_int_equal(value_memory_unmap(&mem, hole, behind), 0);
	const uint64_t end = behind + VALUE_PAGE;
	assert_int_equal(value_memory_protect(&mem, BASE + VALUE_PAGE, end, 1, false), 0);
	assert_int_equal(value_memory_region(&mem, BASE)->prot, 3);
	assert_int_equal(value_memory_region(&mem, BASE + VALUE_PAGE)->prot, 1);
	assert_int_equal(value_memory_region(&mem, behind)->prot, 1);
	assert_int_equal(value_memory_region(&mem, end)->prot, 3);
	assert_int_equal(value_memory_wiped_in_child(&mem, BASE, end, true), 0);
	assert_int_equal(value_memory_region(&mem, behind)->prot, 1 | VALUE_WIPED);
	assert_int_equal(value_memory_region(&mem, end)->prot, 3);
	assert_int_equal(value_memory_protect(&mem, BASE, UINT64_MAX >> 16, 5, false), 0);
	assert_int_equal(value_memory_region(&mem, behind)->prot, 5 | VALUE_WIPED);
	assert_int_equal(value_memory_region(&mem, end)->prot, 5);
	assert_null(value_memory_region(&mem, hole));
	value_memory_deinit(&mem);
}

static void a_stack_grows_as_far_as_it_may(void **state)
{
	const struct value_region stack = {.start = BASE + 4 * VALUE_PAGE,
					   .end = BASE + 5 * VALUE_PAGE,
					   .prot = 3,
					   .grows_to = BASE + 2 * VALUE_PAGE};
	struct value_memory mem;
	uint8_t byte = 1;
	(void)state;
	assert_int_equal(value_memory_init(&mem, NULL, NULL), 0);
	assert_int_equal(value_memory_map(&mem, &stack), 0);
	assert_int_equal(value_memory_write(&mem, stack.grows_to, &byte, 1, VALUE_EXACT), 0);
	assert_int_equal(quality_at(&mem, stack.grows_to + 1), VALUE_EXACT);
	assert_int_equal(value_memory_read(&mem, stack.grows_to - 1, &byte, 1, NULL), -EFAULT);
	value_memory_deinit(&mem);
}

/* A call that has failed may have taken the permission to write, or given it. */
static void what_may_be_protected_may_be_written(void **state)
{
	const uint64_t start = 0x500000, end = start + VALUE_PAGE;
	const struct value_region region = {.start = start, .end = end, .prot = 3};
	struct value_memory mem;
	(void)state;
	assert_int_equal(value_memory_init(&mem, NULL, NULL), 0);
	for (int given = 0; given < 2; given++) {
		assert_int_equal(value_memory_map(&mem, &region), 0);
		if (given)
			assert_int_equal(value_memory_protect(&mem, start, end, 1, false), 0);
		assert_int_equal(quality_at(&mem, start), VALUE_EXACT);
		assert_int_equal(value_memory_protect(&mem, start, end, given ? 3 : 1, true), 0);
		value_memory_assume_all(&mem);
		assert_int_equal(quality_at(&mem, start), VALUE_ASSUMED);
	}
	value_memory_deinit(&mem);
}

/* Over the end of a page. */
static void doubt_makes_nothing_known(void **state)
{
	const uint64_t start = 0x500000, last = start + VALUE_PAGE - 1;
	const struct value_region region = {
		.start = start, .end = start + 2 * VALUE_PAGE, .prot = 3};
	struct value_memory mem;
	(void)state;
	assert_int_equal(value_memory_init(&mem, NULL, NULL), 0);
	assert_int_equal(value_memory_map(&mem, &region), 0);
	assert_int_equal(value_memory_set_quality(&mem, last, 2, VALUE_UNKNOWN), 0);
	assert_int_equal(value_memory_limit_quality(&mem, last - 1, 4, VALUE_ASSUMED), 0);
	assert_int_equal(quality_at(&mem, last - 2), VALUE_EXACT);
	assert_int_equal(quality_at(&mem, last - 1), VALUE_ASSUMED);
	assert_int_equal(quality_at(&mem, last), VALUE_UNKNOWN);
	assert_int_equal(quality_at(&mem, last + 1), VALUE_UNKNOWN);
	assert_int_equal(quality_at(&mem, last + 2), VALUE_ASSUMED);
	assert_int_equal(quality_at(&mem, last + 3), VALUE_EXACT);
	value_memory_deinit(&mem);
}

static uint32_t same_source(uint32_t source)
{
	return source;
}

/* As large as it is, it has the pages that were touched; what is known of the others goes along. */
static void what_is_moved_is_what_it_was(void **state)
{
	const uint64_t len = (uint64_t)8 << 30, from = (uint64_t)1 << 40, to = (uint64_t)1 << 44;
	const struct value_region region = {.start = from, .end = from + len, .prot = 3};
	const uint64_t far = len - 2 * VALUE_PAGE;
	struct value_memory mem;
	uint8_t byte = 0;
	(void)state;
	assert_int_equal(value_memory_init(&mem, NULL, NULL), 0);
	assert_int_equal(value_memory_map(&mem, &region), 0);
	value_memory_assume_all(&mem);
	assert_int_equal(value_memory_write(&mem, from + far, "ab", 2, VALUE_EXACT), 0);
	assert_int_equal(value_memory_set_quality(&mem, from + far + 1, 1, VALUE_UNKNOWN), 0);
	struct value_snapshot before = value_memory_snapshot(&mem);
	assert_int_equal(value_memory_remap(&mem, from, from + VALUE_PAGE, len, same_source),
			 -EINVAL);
	assert_int_equal(value_memory_remap(&mem, from, to, len, same_source), 0);
	assert_int_equal(value_memory_read(&mem, from + far, &byte, 1, NULL), -EFAULT);
	assert_int_equal(value_memory_read(&mem, to + far, &byte, 1, NULL), 0);
	assert_int_equal(byte, 'a');
	assert_int_equal(quality_at(&mem, to + far), VALUE_EXACT);
	assert_int_equal(quality_at(&mem, to + far + 1), VALUE_UNKNOWN);
	assert_int_equal(quality_at(&mem, to), VALUE_ASSUMED);
	assert_true(mem.pages_held < 10);
	value_memory_restore(&mem, &before);
	assert_int_equal(value_memory_read(&mem, to + far, &byte, 1, NULL), -EFAULT);
	assert_int_equal(value_memory_read(&mem, from + far, &byte, 1, NULL), 0);
	assert_int_equal(byte, 'a');
	value_memory_forget(&mem, &before);
	value_memory_deinit(&mem);
}

/* Of six pages two are mapped: the other four are what is asked for, and these stay what they are.
 */
static void holes_alone_are_mapped(void **state)
{
	(void)state;
	enum { PAGES = 6, OTHERS = 7 };
	const uint64_t start = 0x500000;
	struct value_memory mem;
	assert_int_equal(value_memory_init(&mem, NULL, NULL), 0);
	for (unsigned i = 1; i < PAGES; i += 3) {
		struct value_region page = {.start = start + i * VALUE_PAGE,
					    .end = start + (i + 1) * VALUE_PAGE,
					    .prot = VALUE_READ};
		assert_int_equal(value_memory_map(&mem, &page), 0);
	}
	const struct value_region all = {.start = start,
					 .end = start + PAGES * VALUE_PAGE,
					 .off = VALUE_PAGE,
					 .prot = VALUE_READ | VALUE_WRITE,
					 .source = OTHERS};
	assert_int_equal(value_memory_map_holes(&mem, &all), 0);
	for (unsigned i = 0; i < PAGES; i++) {
		const uint64_t addr = start + i * VALUE_PAGE;
		const struct value_region *at = value_memory_region(&mem, addr);
		assert_non_null(at);
		assert_int_equal(at->source, i % 3 == 1 ? VALUE_SOURCE_ZEROS : OTHERS);
		if (i % 3 != 1)
			assert_int_equal(at->off + addr - at->start, (i + 1) * VALUE_PAGE);
	}
	assert_null(value_memory_region(&mem, start - 1));
	assert_null(value_memory_region(&mem, all.end));
	value_memory_deinit(&mem);
}

/* Of two pages every fifth byte is unknown, in the second one alone. Whatever range is read, and
 * whatever was written meanwhile, each byte is unknown or assumed. */
static void no_range_is_exact_while_others_write(void **state)
{
	enum { ROUNDS = 3000, MOST = 300 };
	const uint64_t start = 0x500000, second = start + VALUE_PAGE, end = second + VALUE_PAGE;
	const struct value_region region = {.start = start, .end = end, .prot = 3};
	uint8_t bytes[MOST] = {0}, qualities[MOST], worst;
	struct value_memory mem;
	(void)state;
	srand(3);
	assert_int_equal(value_memory_init(&mem, NULL, NULL), 0);
	assert_int_equal(value_memory_map(&mem, &region), 0);
	for (uint64_t at = second; at < end; at += 5)
		assert_int_equal(value_memory_set_quality(&mem, at, 1, VALUE_UNKNOWN), 0);
	value_memory_crowd(&mem, true);
	for (int i = 0; i < ROUNDS; i++) {
		const size_t len = 1 + rand() % MOST;
		const uint64_t at = start + rand() % (2 * VALUE_PAGE - len + 1);
		uint8_t is = VALUE_ASSUMED;
		assert_int_equal(value_memory_read_qualities(&mem, at, qualities, len), 0);
		assert_int_equal(value_memory_read(&mem, at, bytes, len, &worst), 0);
		for (size_t k = 0; k < len; k++) {
			bool known = at + k < second || (at + k - second) % 5;
			assert_int_equal(qualities[k], known ? VALUE_ASSUMED : VALUE_UNKNOWN);
			is = known ? is : VALUE_UNKNOWN;
		}
		assert_int_equal(worst, is);
		assert_non_null(value_memory_lookup(&mem, at, rand() % 2));
	}
	value_memory_deinit(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_a_flat_memory_with_snapshots),
		cmocka_unit_test(is_as_it_was_until_a_byte_is_another),
		cmocka_unit_test(a_stack_grows_as_far_as_it_may),
		cmocka_unit_test(protection_takes_no_doubt_away),
		cmocka_unit_test(a_store_makes_nothing_else_certain_while_others_write),
		cmocka_unit_test(no_protection_holds_against_force),
		cmocka_unit_test(what_is_changed_goes_on_behind_a_hole),
		cmocka_unit_test(what_may_be_protected_may_be_written),
		cmocka_unit_test(doubt_makes_nothing_known),
		cmocka_unit_test(what_is_moved_is_what_it_was),
		cmocka_unit_test(holes_alone_are_mapped),
		cmocka_unit_test(no_range_is_exact_while_others_write),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

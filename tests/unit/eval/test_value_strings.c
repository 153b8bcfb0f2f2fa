// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_value_strings.c: which memory a traced string instruction has touched, in both directions:
 * what it wrote is compared with the bytes that have changed, what it read with the manual. */
#include "offline/eval/machine.h"
#include "offline/eval/insn/string_ranges.h"
#include "tests/support/one_machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { RDI = DATA + 0x800, RSI = DATA + 0x200, MIDDLE = DATA + 0x500 };

struct expected {
	uint8_t code[4];
	uint64_t count, turns;
	uint64_t read[2], write; /* 0: none */
	unsigned size;
};

/* The scas and cmps: rax is 0x22, and so is the fourth element from rdi on, both ways; at rsi all
 * is zero. */
static const struct expected all[] = {
	{{0xf3, 0x48, 0xab}, 5, 5, {0}, RDI, 8}, /* rep stosq */
	{{0xf3, 0xa4}, 6, 6, {RSI}, RDI, 1},	 /* rep movsb */
	{{0x66, 0xa5}, 9, 1, {RSI}, RDI, 2},	 /* movsw */
	{{0xf2, 0xae}, 90, 4, {RDI}, 0, 1},	 /* repne scasb */
	{{0xf3, 0xa6}, 90, 4, {RSI, RDI}, 0, 1}, /* repe cmpsb */
	{{0x48, 0xad}, 9, 1, {RSI}, 0, 8},	 /* lodsq */
	{{0xf3, 0xaa}, 0, 0, {0}, 0, 1},	 /* rep stosb, no turn */
	{{0xf2, 0xae}, 0, 0, {0}, 0, 1},	 /* repne scasb, no turn */
};

static void fill_data(void)
{
	static uint8_t zeros[SIZE];
	const uint8_t found = 0x22;
	assert_int_equal(value_memory_write(&memory, DATA, zeros, SIZE, VALUE_EXACT), 0);
	assert_int_equal(value_memory_write(&memory, RDI + 3, &found, 1, VALUE_EXACT), 0);
	assert_int_equal(value_memory_write(&memory, RDI - 3, &found, 1, VALUE_EXACT), 0);
}

/* Executes it; its trace is in @at. */
static const struct value_insn *execute(const struct expected *e, bool down, uint64_t at[3])
{
	struct value_state *state = value_machine_state(machine);
	uint32_t blocks[256];
	uint64_t results[256], addresses[256];
	struct value_trace trace = {.blocks = blocks,
				    .addresses = addresses,
				    .results = results,
				    .max_blocks = 256,
				    .max_addresses = 256,
				    .max_results = 256};
	state->rip = CODE;
	state->df = down;
	state->gpr[VALUE_RAX] = 0x22;
	state->gpr[VALUE_RCX] = e->count;
	state->gpr[VALUE_RDI] = RDI;
	state->gpr[VALUE_RSI] = RSI;
	assert_int_equal(value_machine_run(machine, value_machine_count(machine) + 1, &trace),
			 VALUE_STOP_LIMIT);
	assert_int_equal(trace.n_addresses, 3);
	memcpy(at, addresses, 3 * sizeof(*at));
	return &value_machine_block(machine, blocks[0])->insns[0];
}

/* The bytes of all turns of which the first is at @first. */
static void check_range(const struct value_range *r, const struct expected *e, bool down,
			uint64_t first)
{
	uint64_t lowest = down ? first - (e->turns - 1) * e->size : first;
	assert_int_equal(r->addr, lowest);
	assert_int_equal(r->len, e->turns * e->size);
}

static void check_changes(const struct value_range *r, const uint8_t *before)
{
	uint8_t after[SIZE];
	assert_int_equal(value_memory_read(&memory, DATA, after, SIZE, NULL), 0);
	for (unsigned i = 0; i < SIZE; i++)
		if (before[i] != after[i])
			assert_in_range(DATA + i, r->addr, r->addr + r->len - 1);
}

static void check(const struct expected *e, bool down)
{
	struct value_range ranges[2];
	uint64_t at[3];
	uint8_t before[SIZE];
	unsigned reads = 0, writes = 0;
	fill_data();
	assert_int_equal(value_memory_read(&memory, DATA, before, SIZE, NULL), 0);
	const struct value_insn *insn = execute(e, down, at);
	unsigned n = value_string_ranges(insn, at, down, ranges);
	for (unsigned i = 0; i < n; i++) {
		if (ranges[i].write) {
			check_range(&ranges[i], e, down, e->write);
			check_changes(&ranges[i], before);
			writes++;
			continue;
		}
		assert_true(ranges[i].read);
		bool first = (ranges[i].addr < MIDDLE) == (e->read[0] < MIDDLE);
		check_range(&ranges[i], e, down, e->read[!first]);
		reads++;
	}
	assert_int_equal(reads, (e->read[0] != 0) + (e->read[1] != 0));
	assert_int_equal(writes, e->write != 0);
}

static void ranges(void **s)
{
	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (int down = 0; down < 2; down++) {
			one_machine_end(s);
			assert_int_equal(one_machine_begin(s), 0);
			assert_int_equal(value_memory_write(&memory, CODE, all[i].code,
							    sizeof(all[i].code), VALUE_EXACT),
					 0);
			check(&all[i], down);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ranges, one_machine_begin, one_machine_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_value_made.c: code that writes to itself, against the processor: random stores to the
 * numbers of additions before and behind them, in one piece and in turns. What is executed is what
 * stands there then, also when the memory goes back, or is changed by somebody else. */
#include "tests/support/small_machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define CODE ((uint64_t)0x410000)
#define DATA ((uint64_t)0x500000)
enum { PIECES = 24, RUNS = 400, TURNS = 3, STORE = 10, ADD = 5 };

static void put32(uint8_t *to, uint32_t n)
{
	memcpy(to, &n, sizeof(n));
}

/* Stores (movl $n, d(%rip)) and additions (add $n, %eax) in random order, from @start on; then dec
 * %ecx; jnz back; ret. Returns how long it is. */
static size_t make(uint8_t *out)
{
	size_t at[PIECES], n = 0;
	bool stores[PIECES];
	for (int i = 0; i < PIECES; i++) {
		stores[i] = rand() % 2;
		at[i] = n;
		n += stores[i] ? STORE : ADD;
	}
	for (int i = 0; i < PIECES; i++) {
		uint8_t *p = out + at[i];
		if (!stores[i]) {
			*p = 0x05;
			put32(p + 1, (uint32_t)rand());
			continue;
		}
		int to = rand() % PIECES; /* of a store, its number is changed */
		size_t number = at[to] + (stores[to] ? 6 : 1);
		memcpy(p, "\xc7\x05", 2);
		put32(p + 2, (uint32_t)(number - (at[i] + STORE)));
		put32(p + 6, (uint32_t)rand());
	}
	memcpy(out + n, "\xff\xc9\x0f\x85", 4);
	put32(out + n + 4, (uint32_t) - (n + 8));
	out[n + 8] = 0xc3;
	return n + 9;
}

static uint64_t by_processor(uint8_t *code)
{
	uint64_t rax = 0, rcx = TURNS;
	__asm__ volatile("call *%2" : "+a"(rax), "+c"(rcx) : "r"(code) : "memory", "cc");
	return rax;
}

static uint64_t by_machine(struct value_machine *m, uint64_t code)
{
	const uint64_t out = 0;
	assert_int_equal(value_memory_write(value_machine_memory(m), DATA, &out, 8, VALUE_EXACT),
			 0);
	value_set_gpr(m, VALUE_RSP, DATA, VALUE_EXACT);
	value_set_gpr(m, VALUE_RAX, 0, VALUE_EXACT);
	value_set_gpr(m, VALUE_RCX, TURNS, VALUE_EXACT);
	value_machine_state(m)->rip = code;
	value_machine_side(m, VALUE_SIDE_LIBRARY);
	assert_int_equal(value_machine_run(m, value_machine_count(m) + 10000, NULL),
			 VALUE_STOP_OUTSIDE);
	assert_int_equal(value_quality(m, 1 << VALUE_RAX), VALUE_EXACT);
	return value_machine_state(m)->gpr[VALUE_RAX];
}

static void what_stands_there_is_executed(void **state)
{
	struct value_memory memory;
	struct value_machine *m =
		small_machine(&memory, CODE - VALUE_PAGE, 3 * VALUE_PAGE, DATA, true);
	uint8_t *real = mmap(NULL, VALUE_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)state;
	assert_non_null(m);
	assert_ptr_not_equal(real, MAP_FAILED);
	assert_int_equal(value_machine_made(m, CODE - VALUE_PAGE, CODE + 2 * VALUE_PAGE), 0);
	srand(5);
	for (int run = 0; run < RUNS; run++) {
		uint8_t code[VALUE_PAGE];
		/* Within a page, or over the end of one. */
		const uint64_t start =
			CODE + (run % 2 ? VALUE_PAGE - 40 : 8 * (uint64_t)(rand() % 9));
		size_t n = make(code);
		memcpy(real, code, n);
		uint64_t want = by_processor(real), again = by_processor(real);
		assert_int_equal(value_memory_write(&memory, start, code, n, VALUE_EXACT), 0);
		struct value_snapshot before = value_memory_snapshot(&memory);
		assert_int_equal(by_machine(m, start), want);
		assert_int_equal(by_machine(m, start), again);
		value_memory_restore(&memory, &before);
		assert_int_equal(by_machine(m, start), want);
		value_memory_forget(&memory, &before);
	}
	munmap(real, VALUE_PAGE);
	value_machine_free(m);
	value_memory_deinit(&memory);
}

/* One byte of it is not known any more, or all that may be written is assumed, or others are awake,
 * who may make it writable: it is no code. */
static void what_is_not_exact_is_not_executed(void **state)
{
	static const uint8_t code[] = {0xb8, 1, 0, 0, 0, 0xff, 0xc9, 0x75, 0xf7, 0xc3};
	(void)state;
	for (int how = 0; how < 4; how++) {
		struct value_memory memory;
		struct value_machine *m = small_machine(&memory, CODE, VALUE_PAGE, DATA, true);
		assert_non_null(m);
		assert_int_equal(value_machine_made(m, CODE, CODE + VALUE_PAGE), 0);
		assert_int_equal(value_memory_write(&memory, CODE, code, sizeof(code), VALUE_EXACT),
				 0);
		assert_int_equal(by_machine(m, CODE), 1);
		if (how == 0)
			value_memory_set_quality(&memory, CODE + 2, 1, VALUE_UNKNOWN);
		else if (how == 1)
			value_memory_assume_all(&memory);
		else if (how == 3)
			assert_int_equal(value_memory_protect(&memory, CODE, CODE + VALUE_PAGE,
							      VALUE_READ | VALUE_EXEC, false),
					 0);
		if (how >= 2)
			value_memory_crowd(&memory, true);
		value_machine_state(m)->rip = CODE;
		assert_int_equal(value_machine_run(m, value_machine_count(m) + 100, NULL),
				 VALUE_STOP_TRAP);
		assert_int_equal(value_machine_state(m)->rip, CODE);
		value_machine_free(m);
		value_memory_deinit(&memory);
	}
}

/* A return with data behind it that is not exact; one that is not exact itself. */
static void code_ends_where_bytes_are_not_exact(void **state)
{
	static const uint8_t code[] = {0xb8, 1, 0, 0, 0, 0xff, 0xc9, 0x75, 0xf7, 0xc3};
	const uint64_t ends[] = {CODE + sizeof(code), CODE + VALUE_PAGE};
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct value_memory memory;
		struct value_machine *m = small_machine(&memory, CODE, 2 * VALUE_PAGE, DATA, true);
		const uint64_t start = ends[i] - sizeof(code);
		assert_non_null(m);
		assert_int_equal(value_machine_made(m, CODE, CODE + 2 * VALUE_PAGE), 0);
		assert_int_equal(
			value_memory_write(&memory, start, code, sizeof(code), VALUE_EXACT), 0);
		value_memory_set_quality(&memory, ends[i], 1, VALUE_ASSUMED);
		assert_int_equal(by_machine(m, start), 1);
		value_memory_set_quality(&memory, ends[i] - 1, 1, VALUE_ASSUMED);
		value_machine_state(m)->rip = ends[i] - 1;
		assert_int_equal(value_machine_run(m, value_machine_count(m) + 100, NULL),
				 VALUE_STOP_TRAP);
		value_machine_free(m);
		value_memory_deinit(&memory);
	}
}

/* The store of which is refused at first, as it is to the page of its own code. */
static void a_place_is_met_once(void **state)
{
	static const uint8_t code[] = {0xc7, 0x05, 0x10, 0, 0, 0, 1, 0, 0, 0, 0xc3};
	struct value_memory memory;
	struct value_machine *m = small_machine(&memory, CODE, VALUE_PAGE, DATA, true);
	(void)state;
	assert_non_null(m);
	assert_int_equal(value_machine_made(m, CODE, CODE + VALUE_PAGE), 0);
	assert_int_equal(value_memory_write(&memory, CODE, code, sizeof(code), VALUE_EXACT), 0);
	assert_int_equal(value_machine_place(m, CODE), 0);
	value_set_gpr(m, VALUE_RSP, DATA, VALUE_EXACT);
	value_machine_state(m)->rip = CODE;
	value_machine_side(m, VALUE_SIDE_LIBRARY);
	assert_int_equal(value_machine_run(m, 100, NULL), VALUE_STOP_PLACE);
	assert_int_equal(value_machine_state(m)->rip, CODE);
	assert_int_equal(value_machine_run(m, 100, NULL), VALUE_STOP_OUTSIDE);
	assert_int_equal(value_machine_count(m), 2);
	value_machine_free(m);
	value_memory_deinit(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_stands_there_is_executed),
		cmocka_unit_test(what_is_not_exact_is_not_executed),
		cmocka_unit_test(code_ends_where_bytes_are_not_exact),
		cmocka_unit_test(a_place_is_met_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* What a function leaves in registers that was not executed: its code is walked along all ways that
 * its arguments leave open. Code is written by hand here, with the ends told beside it. */
#include "offline/replay/libraries/residue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define CODE ((uint64_t)0x400000)
#define DATA ((uint64_t)0x500ff8) /* its sixteen bytes are of two pages */
#define STACK ((uint64_t)0x7ff000)

struct fixture {
	struct value_memory memory;
	struct value_machine *machine;
	struct residues residues;
	struct residue_walker *walker;
};

/* Of the registers that a call may change r8 and r9 are 88 and 99, and rdi and rsi lead to data. */
static void begin(struct fixture *f, const uint8_t *code, size_t n)
{
	struct value_region text = {.start = CODE, .end = CODE + VALUE_PAGE, .prot = 5};
	struct value_region data = {.start = DATA & ~(uint64_t)4095,
				    .end = (DATA & ~(uint64_t)4095) + 2 * VALUE_PAGE,
				    .prot = 3};
	*f = (struct fixture){0};
	assert_int_equal(value_memory_init(&f->memory, NULL, NULL), 0);
	assert_int_equal(value_memory_map(&f->memory, &text), 0);
	assert_int_equal(value_memory_map(&f->memory, &data), 0);
	assert_int_equal(value_memory_write(&f->memory, CODE, code, n, VALUE_EXACT), 0);
	for (uint8_t i = 1; i <= 16; i++)
		assert_int_equal(value_memory_write(&f->memory, DATA + i - 1, &i, 1, VALUE_EXACT),
				 0);
	f->machine = value_machine_new(&f->memory);
	f->walker = value_residue_walker_new(&f->memory);
	assert_true(f->machine && f->walker);
	value_set_gpr(f->machine, VALUE_RSP, STACK, VALUE_EXACT);
	value_set_gpr(f->machine, VALUE_RDI, DATA + 64, VALUE_EXACT);
	value_set_gpr(f->machine, VALUE_RSI, DATA, VALUE_EXACT);
	value_set_gpr(f->machine, 8, 88, VALUE_EXACT);
	value_set_gpr(f->machine, 9, 99, VALUE_EXACT);
}

static void end(struct fixture *f)
{
	value_residue_walker_free(f->walker);
	value_machine_free(f->machine);
	value_memory_deinit(&f->memory);
}

/* A call with that third argument, of which nobody knows what it left. */
static void call(struct fixture *f, uint64_t rdx, uint8_t quality)
{
	struct residue_call c;
	value_set_gpr(f->machine, VALUE_RDX, rdx, quality);
	value_residue_begin(&c, f->machine, CODE);
	value_forget(f->machine, 0x0fc7, VALUE_UNKNOWN);
	value_set_gpr(f->machine, VALUE_RAX, 1, VALUE_EXACT);
	value_residue_end(&f->residues, f->machine, &c);
}

static bool recalls(struct fixture *f, unsigned reg, uint64_t *value)
{
	return value_residue_recall(&f->residues, f->walker, reg,
				    value_machine_known(f->machine)->said[reg], value);
}

/* cmp rdx, 8; jb less; mov rcx, [rsi+rdx-8]; mov [rdi], rcx; mov r10, [rsi]; ret
 * less: movzx ecx, byte [rsi]; mov r8d, 7; ret */
static const uint8_t copies[] = {0x48, 0x83, 0xfa, 0x08, 0x72, 0x0c, 0x48, 0x8b, 0x4c, 0x16,
				 0xf8, 0x48, 0x89, 0x0f, 0x4c, 0x8b, 0x16, 0xc3, 0x0f, 0xb6,
				 0x0e, 0x41, 0xb8, 0x07, 0x00, 0x00, 0x00, 0xc3};

static void arguments_decide_the_way(void **state)
{
	(void)state;
	struct fixture f;
	uint64_t value;
	begin(&f, copies, sizeof(copies));
	call(&f, 12, VALUE_EXACT);
	assert_true(recalls(&f, 8, &value));
	assert_int_equal(value, 88);
	assert_true(recalls(&f, VALUE_RCX, &value));
	assert_int_equal(value, 0x0c0b0a0908070605);
	/* Behind a store nothing is known of memory. */
	assert_false(recalls(&f, 10, &value));
	end(&f);
	begin(&f, copies, sizeof(copies));
	call(&f, 3, VALUE_EXACT);
	assert_true(recalls(&f, 8, &value));
	assert_int_equal(value, 7);
	assert_true(recalls(&f, VALUE_RCX, &value));
	assert_int_equal(value, 1);
	end(&f);
}

static void what_is_the_same_on_all_ways_is_known(void **state)
{
	(void)state;
	struct fixture f;
	uint64_t value;
	begin(&f, copies, sizeof(copies));
	call(&f, 12, VALUE_ASSUMED);
	assert_false(recalls(&f, 8, &value)); /* 88, or 7 */
	assert_false(recalls(&f, VALUE_RCX, &value));
	assert_true(recalls(&f, 9, &value));
	assert_int_equal(value, 99);
	assert_true(recalls(&f, VALUE_RSI, &value));
	assert_int_equal(value, DATA);
	end(&f);
}

static void what_an_earlier_call_left_is_left_by_the_next_one(void **state)
{
	(void)state;
	struct fixture f;
	uint64_t value;
	begin(&f, copies, sizeof(copies));
	for (int i = 0; i < RESIDUE_CALLS; i++) {
		value_set_gpr(f.machine, VALUE_RSI, DATA, VALUE_EXACT);
		call(&f, 12, VALUE_EXACT);
	}
	assert_true(recalls(&f, 9, &value));
	assert_int_equal(value, 99);
	/* One that the ring has no more leaves nothing. */
	for (int i = 0; i < RESIDUE_CALLS + 1; i++)
		call(&f, 12, VALUE_EXACT);
	assert_false(recalls(&f, 9, &value));
	end(&f);
}

/* more: cmp byte [rdi], 0; je done; inc rdi; jmp more; done: ret */
static void a_loop_whose_end_is_not_known_comes_to_one(void **state)
{
	(void)state;
	static const uint8_t code[] = {0x80, 0x3f, 0x00, 0x74, 0x05, 0x48,
				       0xff, 0xc7, 0xeb, 0xf6, 0xc3};
	struct fixture f;
	uint64_t value;
	begin(&f, code, sizeof(code));
	call(&f, 0, VALUE_EXACT);
	assert_false(recalls(&f, VALUE_RDI, &value));
	assert_true(recalls(&f, 8, &value));
	assert_int_equal(value, 88);
	end(&f);
}

/* movq xmm0, rdi; more: cmp byte [rdi], 0; je done; inc rdi; movq xmm0, rdi; jmp more
 * done: movq r8, xmm0; ret: what r8 is, is not among the general registers that tell ways apart. */
static void vector_registers_are_no_way_around(void **state)
{
	(void)state;
	static const uint8_t code[] = {0x66, 0x48, 0x0f, 0x6e, 0xc7, 0x80, 0x3f, 0x00, 0x74,
				       0x0a, 0x48, 0xff, 0xc7, 0x66, 0x48, 0x0f, 0x6e, 0xc7,
				       0xeb, 0xf1, 0x66, 0x49, 0x0f, 0x7e, 0xc0, 0xc3};
	struct fixture f;
	uint64_t value;
	begin(&f, code, sizeof(code));
	call(&f, 0, VALUE_EXACT);
	assert_false(recalls(&f, 8, &value));
	assert_true(recalls(&f, 9, &value));
	end(&f);
}

/* call rax; ret: and push r8; pop r9; ret: their ends are not looked for. */
static void a_function_that_uses_the_stack_tells_nothing(void **state)
{
	(void)state;
	static const uint8_t calls[] = {0xff, 0xd0, 0xc3},
			     pushes[] = {0x41, 0x50, 0x41, 0x59, 0xc3};
	struct fixture f;
	uint64_t value;
	begin(&f, calls, sizeof(calls));
	call(&f, 0, VALUE_EXACT);
	assert_false(recalls(&f, 8, &value));
	end(&f);
	begin(&f, pushes, sizeof(pushes));
	call(&f, 0, VALUE_EXACT);
	assert_false(recalls(&f, 8, &value));
	end(&f);
}

/* What somebody else has said of a register since is not of the call. */
static void what_was_said_since_counts(void **state)
{
	(void)state;
	struct fixture f;
	uint64_t value;
	begin(&f, copies, sizeof(copies));
	call(&f, 12, VALUE_EXACT);
	value_doubt(f.machine, 1 << 8);
	assert_false(recalls(&f, 8, &value));
	value_forget(f.machine, 1 << 9, VALUE_UNKNOWN);
	assert_false(recalls(&f, 9, &value));
	end(&f);
}

static bool may_be(struct fixture *f, uint64_t ip, uint64_t rdx, uint64_t rcx)
{
	struct residue_call c;
	struct residue_moment there = {.ip = CODE + ip,
				       .known = 1 << VALUE_RDX | 1 << VALUE_RCX | 1 << VALUE_RSP};
	there.regs[VALUE_RDX] = rdx;
	there.regs[VALUE_RCX] = rcx;
	there.regs[VALUE_RSP] = STACK;
	value_residue_begin(&c, f->machine, CODE);
	return value_residue_may_come_by(f->walker, &c, &there);
}

/* Of two calls that are alike, which one was left in its midst. */
static void what_is_in_registers_tells_calls_apart(void **state)
{
	(void)state;
	enum { BEHIND_LOAD = 11, LESS = 18 };
	struct fixture f;
	begin(&f, copies, sizeof(copies));
	value_set_gpr(f.machine, VALUE_RDX, 12, VALUE_EXACT);
	value_set_gpr(f.machine, VALUE_RCX, 5, VALUE_EXACT);
	assert_true(may_be(&f, 0, 12, 5));
	assert_false(may_be(&f, 0, 12, 6));
	assert_false(may_be(&f, 0, 11, 5));
	assert_true(may_be(&f, BEHIND_LOAD, 12, 0x0c0b0a0908070605));
	assert_false(may_be(&f, LESS, 12, 5)); /* as 12 is not less than 8 */
	/* What is not known tells nothing, and leads everywhere. */
	value_set_gpr(f.machine, VALUE_RDX, 12, VALUE_UNKNOWN);
	assert_true(may_be(&f, LESS, 3, 5));
	assert_false(may_be(&f, LESS, 3, 6));
	end(&f);
	/* Behind what is not walked it may be anywhere. */
	static const uint8_t calls[] = {0xff, 0xd0, 0xc3};
	begin(&f, calls, sizeof(calls));
	assert_true(may_be(&f, sizeof(calls) - 1, 1, 2));
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_decide_the_way),
		cmocka_unit_test(what_is_the_same_on_all_ways_is_known),
		cmocka_unit_test(what_an_earlier_call_left_is_left_by_the_next_one),
		cmocka_unit_test(a_loop_whose_end_is_not_known_comes_to_one),
		cmocka_unit_test(vector_registers_are_no_way_around),
		cmocka_unit_test(a_function_that_uses_the_stack_tells_nothing),
		cmocka_unit_test(what_was_said_since_counts),
		cmocka_unit_test(what_is_in_registers_tells_calls_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

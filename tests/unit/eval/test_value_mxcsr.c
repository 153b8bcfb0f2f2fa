// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_value_mxcsr.c: whatever MXCSR and the x87 area of a state have (a file may say anything),
 * what the processor executes of it neither faults nor changes the evaluator's own MXCSR. */
#include "offline/eval/machine.h"
#include "tests/support/one_machine.h"

#include <immintrin.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Runs @n instructions of @code; the evaluator's MXCSR is afterwards what it was, but for
 * exceptions that were. */
static enum value_stop run(const void *code, size_t len, unsigned n)
{
	struct value_state *state = value_machine_state(machine);
	unsigned before = _mm_getcsr() & ~0x3fu;
	assert_int_equal(value_memory_write(&memory, CODE, code, len, VALUE_EXACT), 0);
	state->rip = CODE;
	enum value_stop stop = value_machine_run(machine, value_machine_count(machine) + n, NULL);
	unsigned after = _mm_getcsr() & ~0x3fu;
	_mm_setcsr(before);
	assert_int_equal(after, before);
	return stop;
}

static const uint8_t addsd[] = {0xf2, 0x0f, 0x58, 0xc1};
static const uint8_t fld1_fadd[] = {0xd9, 0xe8, 0xd9, 0xe8, 0xde, 0xc1};
static const uint32_t wrong[] = {0xffff1f80, 0xffffffff, 0x10000 | 0x1f80};

/* No processor has such an MXCSR: what is computed with it is not known. */
static void reserved_bits(void **s)
{
	struct value_state *state = value_machine_state(machine);
	(void)s;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		state->mxcsr = wrong[i];
		assert_int_equal(run(addsd, sizeof(addsd), 1), VALUE_STOP_LIMIT);
		assert_int_equal(value_quality(machine, (uint64_t)1 << VALUE_BIT_VEC),
				 VALUE_UNKNOWN);
		*value_machine_known(machine) = (struct value_known){0};
	}
}

/* MXCSR in the x87 area is nobody's. */
static void in_the_x87_area(void **s)
{
	struct value_state *state = value_machine_state(machine);
	const uint32_t words[] = {0, 0x1f80, 0xffff, 0xffff1f80, 0xffffffff};
	(void)s;
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		for (unsigned status = 0; status < 2; status++) {
			memset(state->fx, status ? 0xff : 0, sizeof(state->fx));
			const uint16_t control = 0x37f;
			memcpy(state->fx, &control, 2);
			memcpy(state->fx + 24, &words[i], 4);
			assert_int_equal(run(fld1_fadd, sizeof(fld1_fadd), 3), VALUE_STOP_LIMIT);
		}
}

/* The processor would fault. */
static void loaded(void **s)
{
	static const uint8_t ldmxcsr[] = {0x0f, 0xae, 0x13}; /* [rbx] */
	struct value_state *state = value_machine_state(machine);
	const uint32_t fine = 0x9fc0;
	(void)s;
	state->mxcsr = 0x1f80;
	state->gpr[VALUE_RBX] = DATA;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(value_memory_write(&memory, DATA, &wrong[i], 4, VALUE_EXACT), 0);
		assert_int_equal(run(ldmxcsr, sizeof(ldmxcsr), 1), VALUE_STOP_FAULT);
		assert_int_equal(state->mxcsr, 0x1f80);
	}
	assert_int_equal(value_memory_write(&memory, DATA, &fine, 4, VALUE_EXACT), 0);
	assert_int_equal(run(ldmxcsr, sizeof(ldmxcsr), 1), VALUE_STOP_LIMIT);
	assert_int_equal(state->mxcsr, fine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reserved_bits, one_machine_begin, one_machine_end),
		cmocka_unit_test_setup_teardown(in_the_x87_area, one_machine_begin,
						one_machine_end),
		cmocka_unit_test_setup_teardown(loaded, one_machine_begin, one_machine_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

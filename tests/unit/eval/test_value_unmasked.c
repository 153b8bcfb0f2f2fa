// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_value_unmasked.c: floating point whose exceptions are not masked, against the processor:
 * what it computes is computed, and of what ends there in SIGFPE nothing is known. */
#include "offline/eval/machine.h"
#include "tests/support/one_machine.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { CONTROL, LEFT = 8, RIGHT = 16, RESULT = 24, CONTROL_AFTER = 32, BYTES = 40 };

static const double numbers[] = {
	1.0,	       3.0,	 -0.0,	    0x1p-1022, 0x1p-1074,  0x1.8p-1030, 0x1p-600,
	-0x1.234p-500, 0x1p1023, 1.0 / 0.0, 0x1p-538,  0x1.5p-511, 0x1p600,	-7.25,
};
enum { NUMBERS = sizeof(numbers) / sizeof(*numbers) };

static sigjmp_buf trapped;

static void on_fpe(int sig)
{
	(void)sig;
	siglongjmp(trapped, 1);
}

/* The processor executes @code on @area, to which rbx leads. False: an exception came of it. */
static bool by_processor(void (*code)(void *area), void *area)
{
	struct sigaction fpe = {.sa_handler = on_fpe}, was;
	volatile bool fine = true;
	sigaction(SIGFPE, &fpe, &was);
	if (sigsetjmp(trapped, 1))
		fine = false;
	else
		code(area);
	const uint32_t usual = 0x1f80;
	__asm__ volatile("fninit; ldmxcsr %0" : : "m"(usual));
	sigaction(SIGFPE, &was, NULL);
	return fine;
}

/* The evaluator executes @n instructions of @len bytes at @at, where nothing else has been. False:
 * what is stored at RESULT is not known. */
static bool by_evaluator(uint64_t at, const void *code, size_t len, unsigned n, uint8_t area[BYTES])
{
	struct value_state *state = value_machine_state(machine);
	uint8_t q[8];
	*state = value_state_fresh();
	state->gpr[VALUE_RBX] = DATA;
	state->rip = at;
	*value_machine_known(machine) = (struct value_known){0};
	assert_int_equal(value_memory_write(&memory, at, code, len, VALUE_EXACT), 0);
	assert_int_equal(value_memory_write(&memory, DATA, area, BYTES, VALUE_EXACT), 0);
	uint64_t until = value_machine_count(machine) + n;
	assert_int_equal(value_machine_run(machine, until, NULL), VALUE_STOP_LIMIT);
	value_memory_read_qualities(&memory, DATA + RESULT, q, sizeof(q));
	for (unsigned i = 0; i < sizeof(q); i++)
		if (q[i] != VALUE_EXACT)
			return false;
	assert_int_equal(value_memory_read(&memory, DATA, area, BYTES, NULL), 0);
	return true;
}

/* One operation: SSE, and x87. Both ways of it load the control word, and store it once more. */
#define OPERATION(name, sse, x87)                                                                  \
	__asm__(".pushsection .rodata\n" #name "_sse: ldmxcsr (%rbx); movsd 8(%rbx), %xmm1\n" sse  \
		" 16(%rbx), %xmm1; movsd %xmm1, 24(%rbx); stmxcsr 32(%rbx)\n" #name                \
		"_sse_end: .popsection");                                                          \
	__asm__(".pushsection .rodata\n" #name "_x87: fninit; fldcw (%rbx); fldl 8(%rbx)\n" x87    \
		" 16(%rbx); fstpl 24(%rbx); fnstcw 32(%rbx)\n" #name "_x87_end: .popsection");     \
	extern const uint8_t name##_sse[], name##_sse_end[], name##_x87[], name##_x87_end[];       \
	static void name##_by_sse(void *area)                                                      \
	{                                                                                          \
		__asm__ volatile("ldmxcsr (%%rbx); movsd 8(%%rbx), %%xmm1\n" sse                   \
				 " 16(%%rbx), %%xmm1; movsd %%xmm1, 24(%%rbx); stmxcsr 32(%%rbx)"  \
				 :                                                                 \
				 : "b"(area)                                                       \
				 : "xmm1", "memory");                                              \
	}                                                                                          \
	static void name##_by_x87(void *area)                                                      \
	{                                                                                          \
		__asm__ volatile("fninit; fldcw (%%rbx); fldl 8(%%rbx)\n" x87                      \
				 " 16(%%rbx); fstpl 24(%%rbx); fwait; fnstcw 32(%%rbx)"            \
				 :                                                                 \
				 : "b"(area)                                                       \
				 : "st", "memory");                                                \
	}
/* clang-format off */
OPERATION(add, "addsd", "faddl")
OPERATION(multiply, "mulsd", "fmull")
OPERATION(divide, "divsd", "fdivl")
/* clang-format on */

#define ROW(name)                                                                                  \
	{                                                                                          \
		name##_sse, name##_sse_end, name##_x87, name##_x87_end, name##_by_sse,             \
			name##_by_x87                                                              \
	}
static const struct operation {
	const uint8_t *sse, *sse_end, *x87, *x87_end;
	void (*by_sse)(void *area);
	void (*by_x87)(void *area);
} operations[] = {ROW(add), ROW(multiply), ROW(divide)};

/* Every pair of numbers. Of what is computed all is as the processor has it, and of what traps
 * nothing. Returns how often the processor computed what the evaluator did not. */
static unsigned compare(const struct operation *o, bool x87, uint32_t control)
{
	const uint64_t at = CODE + 64 * (uint64_t)(o - operations);
	unsigned refused = 0;
	for (unsigned i = 0; i < NUMBERS * NUMBERS; i++) {
		uint8_t real[BYTES] = {0}, ours[BYTES];
		memcpy(real + CONTROL, &control, sizeof(control));
		memcpy(real + LEFT, &numbers[i / NUMBERS], 8);
		memcpy(real + RIGHT, &numbers[i % NUMBERS], 8);
		memcpy(ours, real, sizeof(ours));
		bool came = by_processor(x87 ? o->by_x87 : o->by_sse, real);
		bool known = x87 ? by_evaluator(at, o->x87, o->x87_end - o->x87, 6, ours)
				 : by_evaluator(at, o->sse, o->sse_end - o->sse, 5, ours);
		assert_true(came || !known);
		if (came && known)
			assert_memory_equal(ours, real, sizeof(real));
		refused += came && !known;
	}
	return refused;
}

enum { INVALID = 1, DENORMAL = 2, ZERO = 4, OVERFLOW = 8, UNDERFLOW = 16, PRECISION = 32 };
static const uint32_t unmasked[] = {INVALID | ZERO | OVERFLOW, DENORMAL, UNDERFLOW, PRECISION, 63};

static void sse(void **s)
{
	(void)s;
	for (unsigned k = 0; k < sizeof(unmasked) / sizeof(*unmasked); k++)
		for (unsigned o = 0; o < 3; o++)
			assert_int_equal(
				compare(&operations[o], false, 0x1f80 & ~(unmasked[k] << 7)), 0);
}

/* Zeros for what is tiny, and for what was denormal before. With an underflow that is not masked
 * the first is refused. */
static void sse_of_zeros(void **s)
{
	enum { FLUSH = 1 << 15, DENORMALS_ARE_ZEROS = 1 << 6 };
	(void)s;
	for (unsigned o = 0; o < 3; o++) {
		uint32_t invalid = 0x1f80 & ~(INVALID << 7), tiny = 0x1f80 & ~(UNDERFLOW << 7);
		assert_int_equal(compare(&operations[o], false, invalid | FLUSH), 0);
		assert_int_equal(compare(&operations[o], false, invalid | DENORMALS_ARE_ZEROS), 0);
		assert_int_equal(compare(&operations[o], false, tiny | DENORMALS_ARE_ZEROS), 0);
		compare(&operations[o], false, tiny | FLUSH);
	}
}

/* Underflow alone is refused. */
static void x87(void **s)
{
	(void)s;
	for (unsigned k = 0; k < sizeof(unmasked) / sizeof(*unmasked); k++)
		for (unsigned o = 0; o < 3; o++) {
			unsigned refused = compare(&operations[o], true, 0x37f & ~unmasked[k]);
			if (!(unmasked[k] & UNDERFLOW))
				assert_int_equal(refused, 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sse, one_machine_begin, one_machine_end),
		cmocka_unit_test_setup_teardown(sse_of_zeros, one_machine_begin, one_machine_end),
		cmocka_unit_test_setup_teardown(x87, one_machine_begin, one_machine_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

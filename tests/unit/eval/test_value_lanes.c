// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_value_lanes.c: instructions of AVX-512 with a mask, at the end of memory, against the
 * processor: lanes that the mask leaves out need not be there; of those that it names all must be.
 */
#include "offline/eval/machine.h"
#include "tests/support/one_machine.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static uint8_t *page; /* the processor's: one that is there, and one that is not */
static sigjmp_buf trapped;

static int begin(void **s)
{
	if (one_machine_begin(s))
		return -1;
	page = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return page != MAP_FAILED && !munmap(page + SIZE, SIZE) ? 0 : -1;
}

static int end(void **s)
{
	munmap(page, SIZE);
	return one_machine_end(s);
}

static void on_fault(int sig)
{
	(void)sig;
	siglongjmp(trapped, 1);
}

/* zmm1 of 64 bytes at rsi, k1 as rdx, the instruction at rdi, and zmm1 back. */
#define INSTRUCTION(name, text)                                                                    \
	__asm__(".text\n" #name ": vmovdqu64 (%rsi), %zmm1; kmovq %rdx, %k1\n" #name               \
		"_code: " text "\n" #name "_end: vmovdqu64 %zmm1, (%rsi); vzeroupper; ret");       \
	extern const uint8_t name##_code[], name##_end[];                                          \
	void name(void *at, void *vector, uint64_t mask)
INSTRUCTION(load_bytes, "vmovdqu8 (%rdi), %zmm1{%k1}");
INSTRUCTION(load_zeroing, "vmovdqu16 (%rdi), %zmm1{%k1}{z}");
INSTRUCTION(load_words, "vmovups (%rdi), %zmm1{%k1}");
INSTRUCTION(add, "vpaddq (%rdi), %zmm1, %zmm1{%k1}");
INSTRUCTION(store_bytes, "vmovdqu8 %zmm1, (%rdi){%k1}");
INSTRUCTION(store_words, "vmovdqu32 %zmm1, (%rdi){%k1}");

#define ROW(name)                                                                                  \
	{                                                                                          \
		name##_code, name##_end, name                                                      \
	}
static const struct instruction {
	const uint8_t *code, *end;
	void (*run)(void *at, void *vector, uint64_t mask);
} instructions[] = {
	ROW(load_bytes), ROW(load_zeroing), ROW(load_words),
	ROW(add),	 ROW(store_bytes),  ROW(store_words),
};

static bool by_processor(const struct instruction *i, unsigned at, uint8_t vector[64],
			 uint64_t mask)
{
	struct sigaction fault = {.sa_handler = on_fault}, was;
	volatile bool fine = true;
	sigaction(SIGSEGV, &fault, &was);
	if (sigsetjmp(trapped, 1))
		fine = false;
	else
		i->run(page + at, vector, mask);
	sigaction(SIGSEGV, &was, NULL);
	return fine;
}

static bool by_evaluator(const struct instruction *i, unsigned at, uint8_t vector[64],
			 uint64_t mask)
{
	const uint64_t code = CODE + 64 * (uint64_t)(i - instructions);
	struct value_state *state = value_machine_state(machine);
	*state = value_state_fresh();
	state->gpr[VALUE_RDI] = DATA + at;
	state->rip = code;
	memcpy(state->vec[1], vector, VALUE_ROW);
	memcpy(state->vec[VALUE_TOPS + 1], vector + VALUE_ROW, VALUE_ROW);
	memcpy(&state->vec[VALUE_MASKS][8], &mask, sizeof(mask));
	value_memory_write(&memory, code, i->code, i->end - i->code, VALUE_EXACT);
	uint64_t until = value_machine_count(machine) + 1;
	if (value_machine_run(machine, until, NULL) != VALUE_STOP_LIMIT)
		return false;
	assert_int_equal(value_quality(machine, VALUE_BITS_ALL), VALUE_EXACT);
	memcpy(vector, state->vec[1], VALUE_ROW);
	memcpy(vector + VALUE_ROW, state->vec[VALUE_TOPS + 1], VALUE_ROW);
	return true;
}

static void at_the_end_of_memory(void **s)
{
	static const uint64_t masks[] = {0, 1, 3, 0xff, 0x8001, 0xffff, 0x5a5a5a, UINT64_MAX};
	static uint8_t ours[SIZE];
	(void)s;
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("avx512bw")) {
		puts("SKIP: this processor has no AVX-512");
		skip();
	}
	for (unsigned k = 0; k < sizeof(instructions) / sizeof(*instructions); k++)
		for (unsigned m = 0; m < sizeof(masks) / sizeof(*masks); m++)
			for (unsigned left = 1; left <= 72; left++) {
				uint8_t real[64], vector[64];
				for (unsigned b = 0; b < SIZE; b++)
					page[b] = b * 7 + left;
				for (unsigned b = 0; b < 64; b++)
					real[b] = vector[b] = 200 - b;
				assert_int_equal(
					value_memory_write(&memory, DATA, page, SIZE, VALUE_EXACT),
					0);
				bool came =
					by_processor(&instructions[k], SIZE - left, real, masks[m]);
				assert_int_equal(by_evaluator(&instructions[k], SIZE - left, vector,
							      masks[m]),
						 came);
				value_memory_read(&memory, DATA, ours, SIZE, NULL);
				assert_memory_equal(ours, page, SIZE);
				if (came)
					assert_memory_equal(vector, real, 64);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(at_the_end_of_memory, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

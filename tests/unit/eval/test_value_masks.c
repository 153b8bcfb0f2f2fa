// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_value_masks.c: what a mask leaves out of an instruction of AVX-512 does not matter. Bytes of
 * lanes that are not chosen are not known, or not there at all: the result is exact, and is the
 * processor's. With one byte of a chosen lane that is not known it is not exact. What the lanes of
 * random forms touch at the end of memory is what the processor touches. */
#include "offline/eval/machine.h"
#include "tests/support/processor.h"
#include "tests/support/random_forms.h"
#include "tests/support/small_machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { CODE = 0x400000, CODE_BYTES = 1 << 16, SLOT = 16, WIDE = 64, TURNS = 300, FORMS = 4000 };
enum { RDI = 7, SSE_AT = 160, AVX_AT = 576 };

static struct value_memory memory;
static struct value_machine *machine;
static struct processor *processor;
static uint8_t *page; /* of both: it is there, and the next one is not */
static uint64_t seed = 20261130;

static bool begin_or_skip(void)
{
	processor = processor_new();
	if (!processor || !processor_wide(processor).there) {
		puts("SKIP: this processor has no AVX-512");
		return false;
	}
	page = mmap(NULL, 2 * VALUE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	assert_true(page != MAP_FAILED && !munmap(page + VALUE_PAGE, VALUE_PAGE));
	machine = small_machine(&memory, CODE, CODE_BYTES, (uintptr_t)page, true);
	assert_non_null(machine);
	return true;
}

static void end(void)
{
	munmap(page, VALUE_PAGE);
	value_machine_free(machine);
	value_memory_deinit(&memory);
	processor_free(processor);
}

/* Of zmm1, zmm2, k1 and memory at rdi. */
#define INSTRUCTION(name, text)                                                                    \
	__asm__(".section .rodata\n" #name ": " text "\n" #name "_end:\n.text");                   \
	extern const uint8_t name[], name##_end[];
#define EACH(DO)                                                                                   \
	DO(load_bytes, "vmovdqu8 (%rdi), %zmm1{%k1}", 1, 1, 64, false)                             \
	DO(load_words, "vmovdqu16 (%rdi), %zmm1{%k1}{z}", 2, 2, 32, false)                         \
	DO(add_in_memory, "vpaddd (%rdi), %zmm2, %zmm1{%k1}", 4, 4, 16, false)                     \
	DO(add_zeroing, "vaddpd (%rdi), %zmm2, %zmm1{%k1}{z}", 8, 8, 8, false)                     \
	DO(least, "vpminub (%rdi), %zmm2, %zmm1{%k1}{z}", 1, 1, 64, false)                         \
	DO(widened, "vpmovzxbw (%rdi), %zmm1{%k1}", 2, 1, 32, false)                               \
	DO(converted, "vcvtdq2pd (%rdi), %zmm1{%k1}{z}", 8, 4, 8, false)                           \
	DO(compared, "vpcmpub $4, (%rdi), %zmm2, %k2{%k1}", 1, 1, 64, true)                        \
	DO(compared_quads, "vpcmpeqq (%rdi), %zmm2, %k2{%k1}", 8, 8, 8, true)                      \
	DO(compared_floats, "vcmpltps (%rdi), %zmm2, %k2{%k1}", 4, 4, 16, true)                    \
	DO(tested, "vptestnmw (%rdi), %zmm2, %k2{%k1}", 2, 2, 32, true)                            \
	DO(scalar, "vmovss (%rdi), %xmm1{%k1}{z}", 4, 4, 1, false)
#define DEFINE(name, text, size, read, n, compares) INSTRUCTION(name, text)
#define ROW(name, text, size, read, n, compares) {name, name##_end, size, read, n, compares},
EACH(DEFINE)
static const struct instruction {
	const uint8_t *code, *end;
	unsigned size, read; /* bytes of a lane, in the result and in memory */
	unsigned n;	     /* lanes */
	bool compares;
} instructions[] = {EACH(ROW)};

static uint8_t *of_row(struct processor_state *s, unsigned row, unsigned b)
{
	const struct processor_wide wide = processor_wide(processor);
	return row >= VALUE_MASKS  ? s->xsave + wide.masks + VALUE_ROW * (row - VALUE_MASKS) + b
	       : row >= VALUE_TOPS ? s->xsave + wide.tops + VALUE_ROW * (row - VALUE_TOPS) + b
				   : s->xsave + (b < 16 ? SSE_AT + b : AVX_AT + b - 16) + 16 * row;
}

/* The same random bytes in both. */
static void choose(struct processor_state *s, uint64_t mask, unsigned at)
{
	struct value_state *v = value_machine_state(machine);
	const uint32_t mxcsr = 0x1f80;
	memset(s, 0, sizeof(*s));
	*v = value_state_fresh();
	for (unsigned row = 0; row < VALUE_MORE; row++)
		for (unsigned b = 0; b < VALUE_ROW; b++)
			*of_row(s, row, b) = v->vec[row][b] = random_form_next(&seed);
	for (unsigned b = 0; b < VALUE_PAGE; b++)
		page[b] = random_form_below(&seed, 3) ? random_form_next(&seed) : 0;
	memcpy(of_row(s, VALUE_MASKS, 8), &mask, sizeof(mask));
	memcpy(&v->vec[VALUE_MASKS][8], &mask, sizeof(mask));
	memcpy(s->xsave + 24, &mxcsr, sizeof(mxcsr));
	s->xsave[0] = 0x7f, s->xsave[1] = 3;
	s->rflags = 0x202;
	s->gpr[RDI] = s->gpr[VALUE_RBX] = (uintptr_t)page + at;
	v->gpr[VALUE_RDI] = v->gpr[VALUE_RBX] = (uintptr_t)page + at;
	value_machine_known(machine)->inexact = 0;
	assert_int_equal(
		value_memory_write(&memory, (uintptr_t)page, page, VALUE_PAGE, VALUE_EXACT), 0);
}

static bool step(uint64_t ip)
{
	value_machine_state(machine)->rip = ip;
	return value_machine_run(machine, value_machine_count(machine) + 1, NULL) ==
	       VALUE_STOP_LIMIT;
}

/* Lanes of zmm2 and memory that are not chosen are not known, nor chosen ones of zmm1. */
static void forget_left_out(const struct instruction *i, uint64_t mask, unsigned at)
{
	struct value_known *k = value_machine_known(machine);
	memset(k->vec, VALUE_EXACT, sizeof(k->vec));
	k->inexact = (uint64_t)1 << VALUE_BIT_WIDE | (uint64_t)6 << VALUE_BIT_VEC |
		     (uint64_t)6 << VALUE_BIT_HIGH;
	for (unsigned b = 0; b < WIDE; b++) {
		const unsigned top = b / VALUE_ROW * VALUE_TOPS, in = b % VALUE_ROW;
		const bool chosen = mask >> b / i->size & 1;
		k->vec[2 + top][in] = chosen ? VALUE_EXACT : VALUE_UNKNOWN;
		k->vec[1 + top][in] = chosen ? VALUE_UNKNOWN : VALUE_EXACT;
	}
	for (unsigned b = 0; b < i->n * i->read && at + b < VALUE_PAGE; b++)
		if (!(mask >> b / i->read & 1))
			value_memory_set_quality(&memory, (uintptr_t)page + at + b, 1,
						 VALUE_UNKNOWN);
}

enum { RESULTS = 4 };
static const unsigned results[RESULTS] = {1, VALUE_TOPS + 1, VALUE_MASKS, VALUE_MASKS + 1};

/* Whether zmm1, where it is written, and mask registers are exact. */
static bool is_exact(const struct instruction *i)
{
	const struct value_known *k = value_machine_known(machine);
	bool exact = true;
	for (unsigned r = i->compares ? 2 : 0; r < RESULTS; r++)
		for (unsigned b = 0; b < VALUE_ROW; b++) {
			unsigned row = results[r], bit = row >= VALUE_TOPS ? VALUE_BIT_WIDE
							 : b < 16	   ? VALUE_BIT_VEC + 1
									   : VALUE_BIT_HIGH + 1;
			exact &= !(k->inexact >> bit & 1) || !k->vec[row][b] ||
				 value_has_no_top(value_machine_state(machine), row);
		}
	return exact;
}

static void compare(struct processor_state *s)
{
	const struct value_state *v = value_machine_state(machine);
	for (unsigned r = 0; r < RESULTS; r++)
		for (unsigned b = 0; b < VALUE_ROW; b++)
			assert_int_equal(value_has_no_top(v, results[r]) ? 0
									 : v->vec[results[r]][b],
					 *of_row(s, results[r], b));
}

static void one(const struct instruction *i, uint64_t ip)
{
	struct processor_state *s = processor_state(processor);
	const unsigned n = i->n, len = n * i->read;
	uint64_t mask = (uint64_t)random_form_next(&seed) << 32 | random_form_next(&seed);
	const uint64_t all = n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
	/* Half of the time some lanes are behind the end. */
	unsigned there = random_form_below(&seed, 2) ? n : random_form_below(&seed, n);
	mask &= there < 64 ? ((uint64_t)1 << there) - 1 : UINT64_MAX;
	const unsigned at = VALUE_PAGE - there * i->read;
	choose(s, mask, at);
	forget_left_out(i, mask, at);
	assert_true(step(ip));
	assert_true(is_exact(i));
	assert_true(processor_run(processor, i->code, i->end - i->code));
	compare(s);
	if (!(mask & all))
		return;
	choose(s, mask, VALUE_PAGE - len);
	const unsigned lane = (unsigned)__builtin_ctzll(mask & all);
	value_memory_set_quality(&memory, (uintptr_t)page + VALUE_PAGE - len + lane * i->read, 1,
				 VALUE_UNKNOWN);
	assert_true(step(ip));
	assert_false(is_exact(i));
}

static void lanes_that_are_left_out_do_not_matter(void **state)
{
	(void)state;
	if (!begin_or_skip())
		skip();
	for (unsigned i = 0; i < sizeof(instructions) / sizeof(*instructions); i++) {
		const struct instruction *at = &instructions[i];
		assert_int_equal(value_memory_write(&memory, CODE + i * SLOT, at->code,
						    at->end - at->code, VALUE_EXACT),
				 0);
		for (unsigned turn = 0; turn < TURNS; turn++)
			one(at, CODE + (uint64_t)i * SLOT);
	}
	end();
}

/* Of the operand in memory some bytes are behind the end. */
static void random_forms_touch_what_the_processor_touches(void **state)
{
	unsigned n = 0, faults = 0;
	static uint8_t ours[VALUE_PAGE];
	(void)state;
	if (!begin_or_skip())
		skip();
	struct processor_state *s = processor_state(processor);
	for (uint64_t ip = CODE; n < FORMS;) {
		uint8_t bytes[RANDOM_FORM_BYTES];
		random_form(&seed, bytes);
		if (bytes[0] != 0x62)
			continue;
		ip += SLOT;
		if (ip == CODE + CODE_BYTES) { /* what was translated there is of other forms */
			value_machine_no_code(machine, CODE, CODE + CODE_BYTES);
			assert_int_equal(value_machine_code(machine, CODE, CODE + CODE_BYTES), 0);
			ip = CODE;
		}
		assert_int_equal(value_memory_write(&memory, ip, bytes, SLOT, VALUE_EXACT), 0);
		const struct value_insn *insn = value_machine_insn(machine, ip);
		if (!random_form_is_fit(insn, WIDE) || !insn->n_mem || !insn->lanes.mask)
			continue;
		const uint8_t number = insn->lanes.mask;
		const uint64_t bits = random_form_next(&seed) >> random_form_below(&seed, 32);
		choose(s, 0, VALUE_PAGE - 1 - random_form_below(&seed, insn->mem[0].len));
		memcpy(of_row(s, VALUE_MASKS + number / 4, number % 4 * 8), &bits, sizeof(bits));
		memcpy(&value_machine_state(machine)->vec[VALUE_MASKS + number / 4][number % 4 * 8],
		       &bits, sizeof(bits));
		bool here = step(ip), came = processor_run(processor, bytes, insn->len);
		if (here != came)
			printf("%s %s: mask %lx, %lu bytes\n",
			       ZydisMnemonicGetString(insn->mnemonic), came ? "is done" : "faults",
			       bits, VALUE_PAGE - (s->gpr[VALUE_RBX] - (uintptr_t)page));
		assert_int_equal(here, came);
		value_memory_read(&memory, (uintptr_t)page, ours, VALUE_PAGE, NULL);
		assert_memory_equal(ours, page, VALUE_PAGE);
		faults += !came;
		n++;
	}
	printf("%u forms, %u faults\n", n, faults);
	assert_true(faults > n / 8 && faults < n - n / 8);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lanes_that_are_left_out_do_not_matter),
		cmocka_unit_test(random_forms_touch_what_the_processor_touches),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* Which bytes and bits of a result are called exact: random integer instructions, of registers and
 * memory of which random bytes are not known, or only some of their bits, are executed a second
 * time with others in the place of those, all exact. What the first run has called exact is the
 * same in the second. */
#include "offline/eval/machine.h"
#include "tests/support/small_machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CODE ((uint64_t)0x400000)
#define DATA ((uint64_t)0x500000)
enum { FORMS = 4096, TURNS = 40, SLOT = 16, CODE_BYTES = FORMS * SLOT };

struct inputs {
	uint64_t gpr[16], memory;
	uint8_t quality[16][8], of_memory[8];
	uint8_t bits[16][8], bits_of_memory[8]; /* that are exact, of bytes that are not */
	uint64_t flags;
	uint8_t of_flags;
	uint16_t flags_exact; /* the flags that are exact all the same */
};

static const uint16_t all_flags[] = {VALUE_CF, VALUE_PF, VALUE_AF, VALUE_ZF, VALUE_SF, VALUE_OF};

static uint64_t any(void)
{
	uint64_t n = 0;
	for (int i = 0; i < 4; i++)
		n = n << 16 ^ (uint64_t)rand();
	return n;
}

/* Two operands, one, or a number: of 8 to 64 bits; a register, or memory at rbx; what may leave its
 * destination as it was, or some flags. */
static size_t make(uint8_t *out)
{
	static const uint8_t pairs[] = {0x00, 0x08, 0x10, 0x18, 0x20, 0x28, 0x30, 0x38};
	size_t n = 0;
	bool memory = rand() % 4 == 0, wide = rand() % 2, by = false;
	uint8_t reg = rand() % 8, rm = memory ? VALUE_RBX : rand() % 8;
	if (rand() % 4 == 0)
		out[n++] = 0x66;
	if (rand() % 2)
		out[n++] = 0x40 | (rand() % 2 ? 8 : 0) | (rand() % 2 ? 4 : 0);
	uint8_t mod = memory ? 0 : 0xc0;
	switch (rand() % 8) {
	case 0:
	case 1:
		out[n++] = pairs[rand() % 8] + 2 * (rand() % 2) + wide;
		break;
	case 2: /* by a byte */
		out[n++] = wide ? 0x83 : 0x80;
		out[n++] = mod | reg << 3 | rm;
		out[n++] = rand() % 3 ? rand() : rand() % 2 ? 0 : 0xff;
		return n;
	case 3: /* not, neg */
		out[n++] = 0xf6 + wide;
		reg = 2 + rand() % 2;
		break;
	case 4: /* inc, dec */
		out[n++] = 0xfe + wide;
		reg = rand() % 2;
		break;
	case 5: /* cmov, setcc, bsf, bsr, bt and its like by a number */
		out[n++] = 0x0f;
		out[n] = rand() % 3 ? 0x40 + rand() % 16 : 0xbc + wide;
		by = rand() % 4 == 0;
		out[n] = by ? 0xba : rand() % 4 ? out[n] : 0x90 + rand() % 16;
		reg = by ? 4 + rand() % 4 : reg;
		n++;
		break;
	case 6: /* shifts and rotations by 1, by cl, or by a number */
		by = rand() % 2;
		out[n++] = by ? 0xc0 + wide : 0xd0 + wide + 2 * (rand() % 2);
		break;
	default: /* xchg, test, mov, movzx, movsx */
		if (rand() % 3 == 0)
			out[n++] = 0x0f;
		if (n && out[n - 1] == 0x0f)
			out[n++] = (rand() % 2 ? 0xb6 : 0xbe) + wide;
		else
			out[n++] = (uint8_t[]){0x84, 0x86, 0x88}[rand() % 3] + wide;
	}
	out[n++] = mod | reg << 3 | rm;
	if (by)
		out[n++] = rand() % 72;
	return n;
}

static void choose(struct inputs *in)
{
	static const uint8_t telling[] = {0, 0xff, 0x80, 1};
	for (int i = 0; i < 16; i++)
		in->gpr[i] = any();
	in->gpr[VALUE_RBX] = DATA;
	in->memory = any();
	memset(in->quality, 0, sizeof(in->quality));
	memset(in->of_memory, 0, sizeof(in->of_memory));
	in->flags = any() & 0x8d5;
	in->of_flags = rand() % 3 ? VALUE_EXACT : VALUE_UNKNOWN;
	in->flags_exact = 0;
	for (int i = 0; in->of_flags && i < 6; i++)
		in->flags_exact |= rand() % 2 ? all_flags[i] : 0;
	if (in->flags_exact == VALUE_FLAGS)
		in->of_flags = VALUE_EXACT;
	for (int i = 0; i < 17; i++) {
		uint8_t *bytes = i < 16 ? (uint8_t *)&in->gpr[i] : (uint8_t *)&in->memory;
		uint8_t *quality = i < 16 ? in->quality[i] : in->of_memory;
		uint8_t *bits = i < 16 ? in->bits[i] : in->bits_of_memory;
		for (int k = 0; i != VALUE_RBX && k < 8; k++) {
			if (rand() % 2)
				bytes[k] = telling[rand() % 4];
			if (rand() % 3 == 0)
				quality[k] = rand() % 2 ? VALUE_ASSUMED : VALUE_UNKNOWN;
			bits[k] = rand() % 2 ? rand() : 0;
		}
	}
}

/* Executes the instruction at @ip; @known: as @in says, else all is exact. */
static void execute(struct value_machine *m, uint64_t ip, const struct inputs *in, bool known)
{
	struct value_memory *memory = value_machine_memory(m);
	for (unsigned i = 0; i < 16; i++) {
		value_set_gpr(m, i, in->gpr[i], VALUE_EXACT);
		uint8_t worst = 0;
		for (int k = 0; known && k < 8; k++)
			worst |= in->quality[i][k];
		if (!worst)
			continue;
		value_forget(m, (uint64_t)1 << i, worst);
		memcpy(value_machine_known(m)->gpr[i], in->quality[i], 8);
		memcpy(value_machine_known(m)->gpr_bits[i], in->bits[i], 8);
	}
	value_set_rflags(value_machine_state(m), in->flags);
	value_forget(m, (uint64_t)1 << VALUE_BIT_FLAGS, known ? in->of_flags : VALUE_EXACT);
	if (known)
		value_machine_known(m)->flags_exact = in->flags_exact;
	assert_int_equal(value_memory_write(memory, DATA, &in->memory, 8, VALUE_EXACT), 0);
	if (known) {
		assert_int_equal(value_memory_write_qualities(memory, DATA, in->of_memory, 8), 0);
		value_memory_write_bits(memory, DATA, in->bits_of_memory, 8);
	}
	value_machine_state(m)->rip = ip;
	assert_int_equal(value_machine_run(m, value_machine_count(m) + 1, NULL), VALUE_STOP_LIMIT);
}

struct outcome {
	struct value_state state;
	struct value_known known;
	uint8_t memory[8], bits[8];
};

static void keep(struct value_machine *m, struct outcome *out)
{
	struct value_memory *memory = value_machine_memory(m);
	out->state = *value_machine_state(m);
	out->known = *value_machine_known(m);
	assert_int_equal(value_memory_read(memory, DATA, out->memory, 8, NULL), 0);
	assert_int_equal(value_memory_read_bits(memory, DATA, out->bits, 8), 0);
}

/* Flags as rflags has them. */
static uint64_t as_rflags(uint16_t flags)
{
	const struct value_state state = {.flags = flags};
	return value_rflags(&state) & 0x8d5;
}

/* How many bytes that the first run calls exact there are; all of them are those of the second. */
static unsigned agree(const struct outcome *first, const struct outcome *second, uint16_t undefined)
{
	unsigned exact = 0;
	for (int i = 0; i < 16; i++)
		for (int k = 0; k < 8; k++) {
			bool known = !(first->known.inexact >> i & 1) || !first->known.gpr[i][k];
			uint8_t bits = known ? 0xff : first->known.gpr_bits[i][k];
			exact += known;
			assert_int_equal(first->state.gpr[i] >> 8 * k & bits,
					 second->state.gpr[i] >> 8 * k & bits);
		}
	for (int k = 0; k < 8; k++)
		assert_int_equal(first->memory[k] & first->bits[k],
				 second->memory[k] & first->bits[k]);
	uint64_t differ = value_rflags(&first->state) ^ value_rflags(&second->state);
	if (!(first->known.inexact >> VALUE_BIT_FLAGS & 1))
		assert_int_equal(differ & 0xcd5 & ~as_rflags(undefined), 0);
	else
		assert_int_equal(differ & as_rflags(first->known.flags_exact & ~undefined), 0);
	return exact;
}

static struct value_machine *begin(struct value_memory *memory, const uint8_t *code, size_t n)
{
	struct value_machine *m = small_machine(memory, CODE, CODE_BYTES, DATA, false);
	assert_non_null(m);
	assert_int_equal(value_memory_write(memory, CODE, code, n, VALUE_EXACT), 0);
	return m;
}

static void what_is_called_exact_does_not_depend_on_what_is_not(void **state)
{
	(void)state;
	uint8_t *code = malloc(CODE_BYTES);
	struct value_memory memory;
	unsigned exact = 0, forms = 0;
	memset(code, 0x90, CODE_BYTES);
	srand(23);
	for (int i = 0; i < FORMS; i++)
		make(code + i * SLOT);
	struct value_machine *m = begin(&memory, code, CODE_BYTES);
	for (int i = 0; i < FORMS; i++) {
		uint64_t ip = CODE + i * SLOT;
		const struct value_insn *insn = value_machine_insn(m, ip);
		if (!insn || !insn->computed || insn->kind != VALUE_INSN_PLAIN)
			continue;
		forms++;
		for (int turn = 0; turn < TURNS; turn++) {
			struct inputs in;
			struct outcome first, second;
			choose(&in);
			execute(m, ip, &in, true);
			keep(m, &first);
			for (int r = 0; r < 17; r++)
				for (int k = 0; k < 8; k++) {
					uint8_t *byte = r < 16 ? (uint8_t *)&in.gpr[r] + k
							       : (uint8_t *)&in.memory + k;
					uint8_t bits =
						r < 16 ? in.bits[r][k] : in.bits_of_memory[k];
					if (r < 16 ? in.quality[r][k] : in.of_memory[k])
						*byte = (*byte & bits) | (rand() & ~bits);
				}
			if (in.of_flags)
				in.flags ^= any() & 0x8d5 & ~as_rflags(in.flags_exact);
			execute(m, ip, &in, false);
			keep(m, &second);
			exact += agree(&first, &second, insn->undefined);
		}
	}
	assert_true(forms > FORMS / 2 && exact > forms * TURNS);
	value_machine_free(m);
	value_memory_deinit(&memory);
	free(code);
}

/* sete sil; or esi, r9d; or sil, r9b: of two registers whose lowest bytes alone are known. */
static void a_byte_is_known_beside_others_that_are_not(void **state)
{
	(void)state;
	static const uint8_t code[] = {0x44, 0x09, 0xce, 0x44, 0x08, 0xce, 0x83, 0xe6, 0x7f};
	struct value_memory memory;
	struct value_machine *m = begin(&memory, code, sizeof(code));
	for (unsigned reg = 6; reg <= 9; reg += 3) {
		value_set_gpr(m, reg, 0x1230000000000001 + reg, VALUE_UNKNOWN);
		value_machine_known(m)->gpr[reg][0] = VALUE_EXACT;
	}
	value_machine_state(m)->rip = CODE;
	assert_int_equal(value_machine_run(m, 2, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(value_machine_known(m)->gpr[6][0], VALUE_EXACT);
	assert_int_equal(value_machine_known(m)->gpr[6][1], VALUE_UNKNOWN);
	assert_int_equal(value_quality(m, (uint64_t)1 << VALUE_BIT_FLAGS), VALUE_EXACT);
	/* and esi, 0x7f leaves nothing that is not known. */
	assert_int_equal(value_machine_run(m, 3, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(value_quality(m, (uint64_t)1 << 6), VALUE_EXACT);
	value_machine_free(m);
	value_memory_deinit(&memory);
}

/* shl edx, 7, of a register whose lowest byte alone is known: the same of what comes out, and what
 * was moved out of the register decides flags. Then shr edx, 7 and movsx ecx, dl. */
static void a_shift_moves_what_is_known(void **state)
{
	(void)state;
	static const uint8_t code[] = {0xc1, 0xe2, 0x07, 0xc1, 0xea, 0x07, 0x0f, 0xbe, 0xca};
	struct value_memory memory;
	struct value_machine *m = begin(&memory, code, sizeof(code));
	const uint8_t(*known)[8] = value_machine_known(m)->gpr;
	value_set_gpr(m, VALUE_RDX, 0x1230000000000001, VALUE_UNKNOWN);
	value_machine_known(m)->gpr[VALUE_RDX][0] = VALUE_EXACT;
	value_machine_state(m)->rip = CODE;
	assert_int_equal(value_machine_run(m, 1, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(known[VALUE_RDX][0], VALUE_EXACT);
	assert_int_equal(known[VALUE_RDX][1], VALUE_UNKNOWN);
	assert_int_equal(known[VALUE_RDX][4], VALUE_EXACT);
	assert_int_equal(value_quality(m, (uint64_t)1 << VALUE_BIT_FLAGS), VALUE_UNKNOWN);
	assert_int_equal(value_machine_run(m, 2, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(known[VALUE_RDX][0], VALUE_EXACT);
	assert_int_equal(known[VALUE_RDX][7], VALUE_EXACT);
	value_set_gpr(m, VALUE_RDX, 0x1230000000000081, VALUE_UNKNOWN);
	value_machine_known(m)->gpr[VALUE_RDX][0] = VALUE_EXACT;
	assert_int_equal(value_machine_run(m, 3, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(value_quality(m, (uint64_t)1 << VALUE_RCX), VALUE_EXACT);
	assert_int_equal(value_machine_state(m)->gpr[VALUE_RCX], 0xffffff81);
	value_machine_free(m);
	value_memory_deinit(&memory);
}

/* bt eax, 1; dec ecx; setb dl; setz dh; sets r8b: of flags that nothing is known of each tells
 * those that it has set. */
static void a_flag_is_known_beside_others_that_are_not(void **state)
{
	(void)state;
	static const uint8_t code[] = {0x0f, 0xba, 0xe0, 0x01, 0xff, 0xc9, 0x0f, 0x92, 0xc2,
				       0x0f, 0x94, 0xc6, 0x45, 0x0f, 0x98, 0xc0, 0x0f, 0xca};
	struct value_memory memory;
	struct value_machine *m = begin(&memory, code, sizeof(code));
	const uint8_t(*known)[8] = value_machine_known(m)->gpr;
	value_set_gpr(m, VALUE_RAX, 2, VALUE_EXACT);
	value_set_gpr(m, VALUE_RCX, 1, VALUE_EXACT);
	value_forget(m, (uint64_t)1 << VALUE_BIT_FLAGS, VALUE_UNKNOWN);
	value_machine_state(m)->rip = CODE;
	assert_int_equal(value_machine_run(m, 1, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(value_machine_known(m)->flags_exact, VALUE_CF);
	assert_int_equal(value_quality(m, (uint64_t)1 << VALUE_BIT_FLAGS), VALUE_UNKNOWN);
	assert_int_equal(value_machine_run(m, 2, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(value_quality(m, (uint64_t)1 << VALUE_BIT_FLAGS), VALUE_EXACT);
	/* Of what is not known dec leaves a carry that is. */
	value_set_gpr(m, VALUE_RCX, 1, VALUE_UNKNOWN);
	value_machine_state(m)->rip = CODE + 4;
	assert_int_equal(value_machine_run(m, 6, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(known[VALUE_RDX][0], VALUE_EXACT);
	assert_int_equal(known[VALUE_RDX][1], VALUE_UNKNOWN);
	assert_int_equal(known[8][0], VALUE_UNKNOWN);
	assert_int_equal(value_machine_state(m)->gpr[VALUE_RDX] & 0xff, 1);
	value_forget(m, (uint64_t)1 << VALUE_BIT_FLAGS, VALUE_UNKNOWN);
	assert_int_equal(value_machine_known(m)->flags_exact, 0);
	value_machine_free(m);
	value_memory_deinit(&memory);
}

/* A word that nobody has set, as the members of one bit in it are set and asked: and
 * dword [rbx], ~0x300; or dword [rbx], 0x100; mov esi, [rbx]; mov [rbx + 8], esi; push
 * [rbx + 8]; pop rdx; shr edx, 8; test dl, 1; then test dl, 2; test dl, 4; cmp edx, 2; and cmp
 * edx, 1. */
static void a_bit_is_known_beside_others_that_are_not(void **state)
{
	(void)state;
	static const uint8_t code[] = {0x81, 0x23, 0xff, 0xfc, 0xff, 0xff, 0x81, 0x0b, 0x00, 0x01,
				       0x00, 0x00, 0x8b, 0x33, 0x89, 0x73, 0x08, 0xff, 0x73, 0x08,
				       0x5a, 0xc1, 0xea, 0x08, 0xf6, 0xc2, 0x01, 0xf6, 0xc2, 0x02,
				       0xf6, 0xc2, 0x04, 0x83, 0xfa, 0x02, 0x83, 0xfa, 0x01};
	const uint64_t word = 0x5a5a5a5a;
	struct value_memory memory;
	struct value_machine *m = begin(&memory, code, sizeof(code));
	const struct value_known *known = value_machine_known(m);
	uint8_t bits[4];
	value_set_gpr(m, VALUE_RBX, DATA, VALUE_EXACT);
	value_set_gpr(m, VALUE_RSP, DATA + 64, VALUE_EXACT);
	assert_int_equal(value_memory_write(&memory, DATA, &word, 8, VALUE_UNKNOWN), 0);
	value_machine_state(m)->rip = CODE;
	assert_int_equal(value_machine_run(m, 2, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(value_memory_read_bits(&memory, DATA, bits, 4), 0);
	assert_memory_equal(bits, ((uint8_t[]){0, 3, 0, 0}), 4);
	struct value_snapshot before = value_memory_snapshot(&memory);
	assert_int_equal(value_machine_run(m, 8, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(known->flags_exact & VALUE_ZF, VALUE_ZF);
	assert_int_equal(value_rflags(value_machine_state(m)) >> 6 & 1, 0);
	assert_int_equal(value_machine_run(m, 9, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(known->flags_exact & VALUE_ZF, VALUE_ZF);
	assert_int_equal(value_rflags(value_machine_state(m)) >> 6 & 1, 1);
	assert_int_equal(value_machine_run(m, 10, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(known->flags_exact & VALUE_ZF, 0);
	/* What differs in one bit is not equal; without one nobody knows. */
	assert_int_equal(value_machine_run(m, 11, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(known->flags_exact, VALUE_ZF);
	assert_int_equal(value_machine_run(m, 12, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(known->flags_exact, 0);
	/* What is said of the bytes as a whole is said of their bits. */
	value_memory_limit_quality(&memory, DATA, 2, VALUE_ASSUMED);
	assert_int_equal(value_memory_read_bits(&memory, DATA, bits, 4), 0);
	assert_int_equal(bits[1], 0);
	value_memory_restore(&memory, &before);
	assert_int_equal(value_memory_read_bits(&memory, DATA, bits, 4), 0);
	assert_int_equal(bits[1], 3);
	value_memory_assume_all(&memory);
	assert_int_equal(value_memory_read_bits(&memory, DATA, bits, 4), 0);
	assert_int_equal(bits[1], 0);
	value_memory_forget(&memory, &before);
	value_machine_free(m);
	value_memory_deinit(&memory);
}

/* What a vectorised strcasecmp() does at the end of a text behind which nothing is known: bytes are
 * compared, one of those that are known differs, and the first that does is looked for.
 * movlpd (%rbx), %xmm1; pxor %xmm0, %xmm0; pcmpeqb %xmm1, %xmm0; psubb %xmm0, %xmm1;
 * pandn %xmm2, %xmm1 (of ones); pmovmskb %xmm1, %edx; shr %cl, %edx; sub $0x40, %edx;
 * bsf %edx, %esi; tzcnt %edx, %edi */
static void the_first_of_some_bits_is_found_before_what_is_not_known(void **state)
{
	(void)state;
	static const uint8_t code[] = {0x66, 0x0f, 0x12, 0x0b, 0x66, 0x0f, 0xef, 0xc0, 0x66,
				       0x0f, 0x74, 0xc1, 0x66, 0x0f, 0xf8, 0xc8, 0x66, 0x0f,
				       0xdf, 0xca, 0x66, 0x0f, 0xd7, 0xd1, 0xd3, 0xea, 0x83,
				       0xea, 0x40, 0x0f, 0xbc, 0xf2, 0xf3, 0x0f, 0xbc, 0xfa};
	const uint8_t text[8] = {0xfe, 0xfd, 0xfc, 0, 'g', 'a', 'r', 'b'};
	struct value_memory memory;
	struct value_machine *m = begin(&memory, code, sizeof(code));
	const struct value_known *known = value_machine_known(m);
	struct value_state *s = value_machine_state(m);
	value_set_gpr(m, VALUE_RBX, DATA, VALUE_EXACT);
	value_set_gpr(m, VALUE_RCX, 1, VALUE_EXACT);
	memset(s->vec[2], 0xff, 16);
	value_set_vec(m, 2, s->vec[2], VALUE_EXACT);
	assert_int_equal(value_memory_write(&memory, DATA, text, 8, VALUE_UNKNOWN), 0);
	assert_int_equal(value_memory_set_quality(&memory, DATA, 5, VALUE_EXACT), 0);
	s->rip = CODE;
	assert_int_equal(value_machine_run(m, 8, NULL), VALUE_STOP_LIMIT);
	/* The lowest bits are those of bytes 1 to 4, whatever comes behind. */
	assert_int_equal(known->gpr_bits[VALUE_RDX][0] & 0xf, 0xf);
	assert_int_equal(value_quality(m, (uint64_t)1 << VALUE_RDX), VALUE_UNKNOWN);
	assert_int_equal(value_machine_run(m, 10, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(value_quality(m, (uint64_t)1 << VALUE_RSI), VALUE_EXACT);
	assert_int_equal(value_quality(m, (uint64_t)1 << VALUE_RDI), VALUE_EXACT);
	assert_int_equal(s->gpr[VALUE_RSI], s->gpr[VALUE_RDI]);
	assert_true(s->gpr[VALUE_RSI] < 4);
	assert_int_equal(known->flags_exact & VALUE_ZF, VALUE_ZF);
	value_machine_free(m);
	value_memory_deinit(&memory);
}

/* --- string instructions ---------------------------------------------------------------------- */

enum { AREA = 96, NEAR = 24, STRINGS = 20000 };

struct string_inputs {
	uint8_t bytes[AREA], quality[AREA], rax[8], of_rax[8];
	uint64_t rsi, rdi, rcx, df;
};

/* Of its ranges some lie over each other, and in all of them is what is not known. */
static void choose_string(struct string_inputs *in)
{
	memset(in, 0, sizeof(*in));
	bool many = rand() % 2;
	for (int i = 0; i < AREA; i++) {
		in->bytes[i] = rand() % 3 ? 7 : rand();
		in->quality[i] = rand() % (many ? 3 : 40) ? VALUE_EXACT : VALUE_UNKNOWN;
	}
	for (int i = 0; i < 8; i++) {
		in->rax[i] = rand() % 2 ? 7 : rand();
		in->of_rax[i] = rand() % 3 ? VALUE_EXACT : VALUE_UNKNOWN;
	}
	in->df = rand() % 2;
	in->rsi = DATA + AREA / 2 - NEAR / 2 + rand() % NEAR;
	in->rdi = DATA + AREA / 2 - NEAR / 2 + rand() % NEAR;
	in->rcx = rand() % 4;
}

static void execute_string(struct value_machine *m, uint64_t ip, const struct string_inputs *in,
			   bool known)
{
	struct value_memory *memory = value_machine_memory(m);
	uint64_t rax;
	memcpy(&rax, in->rax, 8);
	value_forget(m, VALUE_BITS_ALL, VALUE_EXACT);
	value_set_gpr(m, VALUE_RAX, rax, known ? VALUE_UNKNOWN : VALUE_EXACT);
	memcpy(value_machine_known(m)->gpr[VALUE_RAX], in->of_rax, 8);
	value_set_gpr(m, VALUE_RSI, in->rsi, VALUE_EXACT);
	value_set_gpr(m, VALUE_RDI, in->rdi, VALUE_EXACT);
	value_set_gpr(m, VALUE_RCX, in->rcx, VALUE_EXACT);
	value_set_rflags(value_machine_state(m), in->df << 10);
	assert_int_equal(value_memory_write(memory, DATA, in->bytes, AREA, VALUE_EXACT), 0);
	if (known)
		assert_int_equal(value_memory_write_qualities(memory, DATA, in->quality, AREA), 0);
	value_machine_state(m)->rip = ip;
	assert_int_equal(value_machine_run(m, value_machine_count(m) + 1, NULL), VALUE_STOP_LIMIT);
}

/* Returns how many bytes of memory the first run has called exact. */
static unsigned compare_strings(struct value_machine *m, uint64_t ip, struct string_inputs *in)
{
	struct value_memory *memory = value_machine_memory(m);
	const struct value_state *state = value_machine_state(m);
	uint8_t first[AREA], quality[AREA], second[AREA];
	unsigned exact = 0;
	execute_string(m, ip, in, true);
	const struct value_state was = *state;
	const struct value_known known = *value_machine_known(m);
	assert_int_equal(value_memory_read(memory, DATA, first, AREA, NULL), 0);
	assert_int_equal(value_memory_read_qualities(memory, DATA, quality, AREA), 0);
	for (int i = 0; i < AREA; i++)
		if (in->quality[i])
			in->bytes[i] = rand();
	for (int i = 0; i < 8; i++)
		if (in->of_rax[i])
			in->rax[i] = rand();
	execute_string(m, ip, in, false);
	assert_int_equal(value_memory_read(memory, DATA, second, AREA, NULL), 0);
	for (int i = 0; i < AREA; i++) {
		exact += !quality[i];
		if (!quality[i])
			assert_int_equal(first[i], second[i]);
	}
	for (unsigned r = 0; r < 16; r++)
		for (int k = 0; k < 8; k++)
			if (!(known.inexact >> r & 1) || !known.gpr[r][k])
				assert_int_equal(was.gpr[r] >> 8 * k & 0xff,
						 state->gpr[r] >> 8 * k & 0xff);
	if (!(known.inexact >> VALUE_BIT_FLAGS & 1))
		assert_int_equal(value_rflags(&was), value_rflags(state));
	return exact;
}

static void strings_are_known_byte_by_byte(void **state)
{
	(void)state;
	static const uint8_t ops[] = {0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf},
			     prefixes[] = {0x90, 0xf2, 0xf3}, widths[] = {0x90, 0x66, 0x48};
	enum { FORMS_OF_STRINGS = sizeof(ops) * 9 };
	uint8_t code[FORMS_OF_STRINGS * SLOT];
	struct value_memory memory;
	unsigned exact = 0;
	memset(code, 0x90, sizeof(code));
	srand(25);
	for (unsigned i = 0; i < FORMS_OF_STRINGS; i++) {
		uint8_t *at = code + i * SLOT;
		size_t n = 0;
		if (prefixes[i % 3] != 0x90)
			at[n++] = prefixes[i % 3];
		if (widths[i / 3 % 3] != 0x90)
			at[n++] = widths[i / 3 % 3];
		at[n] = ops[i / 9];
	}
	struct value_machine *m = begin(&memory, code, sizeof(code));
	for (unsigned i = 0; i < STRINGS; i++) {
		struct string_inputs in;
		choose_string(&in);
		exact += compare_strings(m, CODE + i % FORMS_OF_STRINGS * SLOT, &in);
	}
	assert_true(exact > STRINGS * AREA / 2);
	value_machine_free(m);
	value_memory_deinit(&memory);
}

/* rep movsq of three, of which one byte of the second is not known: that byte alone is not; a copy
 * that lies before its source, by less than it is long; and movsq of eight bytes. */
static void a_copy_keeps_what_is_known(void **state)
{
	(void)state;
	static const uint8_t code[] = {0xf3, 0x48, 0xa5, 0x48, 0xa5};
	struct value_memory memory;
	struct value_machine *m = begin(&memory, code, sizeof(code));
	uint8_t bytes[48], quality[48] = {0}, got[48];
	for (int i = 0; i < 48; i++)
		bytes[i] = i;
	quality[17] = quality[40] = VALUE_UNKNOWN;
	assert_int_equal(value_memory_write(&memory, DATA, bytes, 48, VALUE_EXACT), 0);
	assert_int_equal(value_memory_write_qualities(&memory, DATA, quality, 48), 0);
	value_set_gpr(m, VALUE_RSI, DATA + 8, VALUE_EXACT);
	value_set_gpr(m, VALUE_RDI, DATA, VALUE_EXACT);
	value_set_gpr(m, VALUE_RCX, 3, VALUE_EXACT);
	value_machine_state(m)->rip = CODE;
	assert_int_equal(value_machine_run(m, 1, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(value_memory_read(&memory, DATA, got, 24, NULL), 0);
	assert_memory_equal(got, bytes + 8, 24);
	assert_int_equal(value_memory_read_qualities(&memory, DATA, got, 24), 0);
	for (int i = 0; i < 24; i++)
		assert_int_equal(got[i], i == 9 ? VALUE_UNKNOWN : VALUE_EXACT);
	assert_int_equal(value_quality(m, 1 << VALUE_RCX | 1 << VALUE_RSI | 1 << VALUE_RDI), 0);
	value_set_gpr(m, VALUE_RSI, DATA + 40, VALUE_EXACT);
	assert_int_equal(value_machine_run(m, 2, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(value_memory_read_qualities(&memory, DATA + 24, got, 8), 0);
	assert_int_equal(got[0], VALUE_UNKNOWN);
	assert_int_equal(got[1], VALUE_EXACT);
	value_machine_free(m);
	value_memory_deinit(&memory);
}

/* lea ecx, [r9d + 1], of an address of 32 bits: ecx is known where r9d is. */
static void an_address_of_32_bits_is_computed(void **state)
{
	(void)state;
	static const uint8_t code[] = {0x67, 0x41, 0x8d, 0x49, 0x01};
	struct value_memory memory;
	struct value_machine *m = begin(&memory, code, sizeof(code));
	value_set_gpr(m, 9, 0x12300000fff, VALUE_EXACT);
	value_machine_state(m)->rip = CODE;
	assert_int_equal(value_machine_run(m, 1, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(value_quality(m, 1 << VALUE_RCX), VALUE_EXACT);
	assert_int_equal(value_machine_state(m)->gpr[VALUE_RCX], 0x1000);
	value_machine_free(m);
	value_memory_deinit(&memory);
}

/* vpcmpeqw ymm6,ymm6,ymm6; psubb xmm3,xmm3; vpandn xmm4,xmm9,xmm9; pcmpeqq xmm5,xmm5: of no input.
 */
static void what_a_register_is_with_itself_is_known(void **state)
{
	(void)state;
	static const uint8_t code[] = {0xc5, 0xcd, 0x75, 0xf6, 0x66, 0x0f, 0xf8, 0xdb, 0xc4,
				       0xc1, 0x31, 0xdf, 0xe1, 0x66, 0x0f, 0x38, 0x29, 0xed};
	static const uint8_t regs[] = {6, 3, 4, 5}, byte[] = {0xff, 0, 0, 0xff};
	struct value_memory memory;
	struct value_machine *m = begin(&memory, code, sizeof(code));
	value_forget(m, (uint64_t)0xffff << VALUE_BIT_VEC, VALUE_UNKNOWN);
	value_machine_state(m)->rip = CODE;
	assert_int_equal(value_machine_run(m, 4, NULL), VALUE_STOP_LIMIT);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(value_quality(m, (uint64_t)1 << (VALUE_BIT_VEC + regs[i])), 0);
		assert_int_equal(value_machine_state(m)->vec[regs[i]][15], byte[i]);
	}
	value_machine_free(m);
	value_memory_deinit(&memory);
}

/* What flags were before a string instruction does not matter once it has compared, if it is known
 * that it has. */
static void flags_before_a_comparison_do_not_matter(void **state)
{
	static const uint8_t code[][2] = {{0xf3, 0xa6}, {0xf2, 0xae}}; /* repe cmpsb, repne scasb */
	static const uint8_t counts[] = {3, 0, 3},
			     known[] = {VALUE_EXACT, VALUE_EXACT, VALUE_UNKNOWN};
	const uint8_t bytes[8] = {1, 2, 3, 0, 1, 2, 9, 0};
	(void)state;
	for (unsigned c = 0; c < 2; c++)
		for (unsigned k = 0; k < 3; k++) {
			struct value_memory memory;
			struct value_machine *m = begin(&memory, code[c], sizeof(code[c]));
			assert_int_equal(value_memory_write(&memory, DATA, bytes, 8, VALUE_EXACT),
					 0);
			value_set_gpr(m, VALUE_RSI, DATA, VALUE_EXACT);
			value_set_gpr(m, VALUE_RDI, DATA + 4, VALUE_EXACT);
			value_set_gpr(m, VALUE_RAX, 9, VALUE_EXACT);
			value_set_gpr(m, VALUE_RCX, counts[k], known[k]);
			value_forget(m, (uint64_t)1 << VALUE_BIT_FLAGS, VALUE_UNKNOWN);
			value_machine_state(m)->rip = CODE;
			value_machine_run(m, 1, NULL);
			assert_int_equal(value_machine_count(m), 1);
			assert_int_equal(value_quality(m, (uint64_t)1 << VALUE_BIT_FLAGS),
					 k ? VALUE_UNKNOWN : VALUE_EXACT);
			value_machine_free(m);
			value_memory_deinit(&memory);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flags_before_a_comparison_do_not_matter),
		cmocka_unit_test(what_is_called_exact_does_not_depend_on_what_is_not),
		cmocka_unit_test(a_byte_is_known_beside_others_that_are_not),
		cmocka_unit_test(a_shift_moves_what_is_known),
		cmocka_unit_test(a_flag_is_known_beside_others_that_are_not),
		cmocka_unit_test(a_bit_is_known_beside_others_that_are_not),
		cmocka_unit_test(the_first_of_some_bits_is_found_before_what_is_not_known),
		cmocka_unit_test(strings_are_known_byte_by_byte),
		cmocka_unit_test(a_copy_keeps_what_is_known),
		cmocka_unit_test(an_address_of_32_bits_is_computed),
		cmocka_unit_test(what_a_register_is_with_itself_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

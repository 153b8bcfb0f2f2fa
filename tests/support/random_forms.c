// SPDX-License-Identifier: LGPL-2.1-or-later
/* random_forms.c: an opcode of a map, prefixes before it, operands behind: most such bytes are an
 * instruction. */
#include "tests/support/random_forms.h"

#include <string.h>

uint32_t random_form_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005 + 1442695040888963407;
	return *seed >> 32;
}

unsigned random_form_below(uint64_t *seed, unsigned n)
{
	return random_form_next(seed) % n;
}

/* ModRM of a register, or of memory at rbx, and a number behind it, if one is taken. */
static void put_operands(uint64_t *seed, uint8_t *out, bool memory_too)
{
	size_t n = 0;
	bool in_memory = memory_too && random_form_below(seed, 3) == 0;
	out[n++] = in_memory ? (random_form_next(seed) & 0x38) | VALUE_RBX
			     : 0xc0 | random_form_next(seed);
	for (int i = 0; i < 4; i++)
		out[n++] = random_form_next(seed);
}

static void make_legacy(uint64_t *seed, uint8_t *out)
{
	static const uint8_t prefixes[] = {0, 0x66, 0xf2, 0xf3},
			     maps[] = {0, 0, 0, 0x38, 0x38, 0x3a};
	size_t n = 0;
	uint8_t prefix = prefixes[random_form_below(seed, 4)],
		map = maps[random_form_below(seed, 6)];
	if (prefix)
		out[n++] = prefix;
	if (random_form_below(seed, 2))
		out[n++] = 0x40 | (random_form_next(seed) & 0xd);
	out[n++] = 0x0f;
	if (map)
		out[n++] = map;
	out[n++] = random_form_next(seed);
	put_operands(seed, out + n, true);
}

static void make_vex(uint64_t *seed, uint8_t *out)
{
	size_t n = 0;
	out[n++] = 0xc4;
	out[n++] = (random_form_next(seed) & 0xe0) | 0x40 | (1 + random_form_below(seed, 3));
	out[n++] = random_form_next(seed);
	out[n++] = random_form_next(seed);
	put_operands(seed, out + n, true);
}

/* Half of them without a mask, and without what a broadcast or a rounding of its own is. */
static void make_evex(uint64_t *seed, uint8_t *out)
{
	size_t n = 0;
	out[n++] = 0x62;
	out[n++] = (random_form_next(seed) & 0xf0) | (1 + random_form_below(seed, 3));
	out[n++] = random_form_next(seed) | 4;
	out[n++] = random_form_next(seed) & (random_form_below(seed, 2) ? 0x68 : 0xff);
	out[n++] = random_form_next(seed);
	put_operands(seed, out + n, true);
}

static void make_x87(uint64_t *seed, uint8_t *out)
{
	out[0] = 0xd8 + random_form_below(seed, 8);
	put_operands(seed, out + 1, true);
}

static void make_integer(uint64_t *seed, uint8_t *out)
{
	size_t n = 0;
	if (random_form_below(seed, 4) == 0)
		out[n++] = 0x66;
	if (random_form_below(seed, 2))
		out[n++] = 0x40 | (random_form_next(seed) & 0xd);
	if (random_form_below(seed, 2))
		out[n++] = 0x0f;
	out[n++] = random_form_next(seed);
	put_operands(seed, out + n, true);
}

/* Changes what decides how others compute, or is another thing on another processor. */
static bool changes_control(uint16_t mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_LDMXCSR:
	case ZYDIS_MNEMONIC_VLDMXCSR:
	case ZYDIS_MNEMONIC_FLDCW:
	case ZYDIS_MNEMONIC_FLDENV:
	case ZYDIS_MNEMONIC_FRSTOR:
	case ZYDIS_MNEMONIC_NOP:     /* prefetchw of a register */
	case ZYDIS_MNEMONIC_CLFLUSH: /* needs an address that is mapped */
	case ZYDIS_MNEMONIC_CLFLUSHOPT:
	case ZYDIS_MNEMONIC_CLWB:
	case ZYDIS_MNEMONIC_WRFSBASE:
	case ZYDIS_MNEMONIC_WRGSBASE:
	case ZYDIS_MNEMONIC_FNSTENV: /* what points to the last instruction is another's */
	case ZYDIS_MNEMONIC_FNSAVE:
		return true;
	default:
		return false;
	}
}

bool random_form_is_fit(const struct value_insn *insn, unsigned data_bytes)
{
	if (!insn || !insn->computed || insn->kind != VALUE_INSN_PLAIN ||
	    changes_control(insn->mnemonic) || insn->n_mem > 1)
		return false;
	if (insn->n_mem && (insn->mem[0].base != VALUE_RBX || insn->mem[0].index != VALUE_ZERO ||
			    insn->mem[0].disp || insn->mem[0].segment ||
			    insn->mem[0].len > data_bytes || insn->mem[0].bits))
		return false;
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		if (a->kind == VALUE_ACCESS_GPR &&
		    (a->reg == VALUE_RSP || (a->reg == VALUE_RBX && a->write)))
			return false;
	}
	return true;
}

void random_form(uint64_t *seed, uint8_t bytes[RANDOM_FORM_BYTES])
{
	static void (*const makers[])(uint64_t *, uint8_t *) = {
		make_legacy, make_legacy, make_vex,  make_vex, make_vex,
		make_evex,   make_evex,	  make_evex, make_x87, make_integer};
	memset(bytes, 0x90, RANDOM_FORM_BYTES);
	makers[random_form_below(seed, sizeof(makers) / sizeof(*makers))](seed, bytes);
}

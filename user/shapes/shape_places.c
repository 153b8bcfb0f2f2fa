// SPDX-License-Identifier: LGPL-2.1-or-later
/* shape_places.c: variants of an instruction that keep its shape: other registers, and
 * displacements and immediates such that it stays within the window of memory and the `hlt`s around
 * it. */
#include "user/shapes/shape_places.h"

#include "offline/code/shape.h"

#include <string.h>

enum { PAGE = 4096, SLOT_BYTES = 64, BEFORE = 24, FIRST_SLOT = 4, HLT = 0xf4, FARTHEST = 20 };

static uint64_t next_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static bool decode(const uint8_t *bytes, size_t len, ZydisDecodedInstruction *insn)
{
	ZydisDecoder decoder;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, len, insn));
}

/* Changes the bits @mask of byte @at, where that leaves the same shape. */
static void vary(uint8_t *bytes, ZydisDecodedInstruction *insn, uint8_t at, uint8_t mask,
		 uint64_t *seed)
{
	ZydisDecodedInstruction changed;
	uint8_t before = bytes[at];
	bytes[at] = (uint8_t)((before & ~mask) | (next_random(seed) & mask));
	if (decode(bytes, insn->length, &changed) && changed.length == insn->length &&
	    shape_of(&changed) == shape_of(insn) && changed.mnemonic == insn->mnemonic)
		*insn = changed;
	else
		bytes[at] = before;
}

static void vary_registers(uint8_t *bytes, ZydisDecodedInstruction *insn, uint64_t *seed)
{
	bool has_sib = insn->attributes & ZYDIS_ATTRIB_HAS_SIB;
	if (insn->attributes & ZYDIS_ATTRIB_HAS_REX)
		vary(bytes, insn, insn->raw.rex.offset, 6, seed);
	if (insn->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX) {
		uint8_t last = insn->raw.vex.offset + insn->raw.vex.size - 1;
		vary(bytes, insn, last, 0x78, seed);
		vary(bytes, insn, insn->raw.vex.offset + 1, insn->raw.vex.size == 3 ? 0xc0 : 0x80,
		     seed);
	}
	if (insn->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
		vary(bytes, insn, insn->raw.evex.offset + 1, 0xd0, seed);
		vary(bytes, insn, insn->raw.evex.offset + 2, 0x78, seed);
		vary(bytes, insn, insn->raw.evex.offset + 3, 0x07, seed);
	}
	if (!(insn->attributes & ZYDIS_ATTRIB_HAS_MODRM))
		return;
	vary(bytes, insn, insn->raw.modrm.offset, 0x38, seed);
	vary(bytes, insn, insn->raw.modrm.offset, 0x07, seed);
	if (has_sib) {
		vary(bytes, insn, insn->raw.sib.offset, 0x07, seed);
		vary(bytes, insn, insn->raw.sib.offset, 0x38, seed);
		vary(bytes, insn, insn->raw.sib.offset, 0xc0, seed);
	}
}

static void put(uint8_t *bytes, uint8_t at, uint8_t bits, uint64_t value)
{
	for (uint8_t i = 0; i < bits / 8; i++)
		bytes[at + i] = (uint8_t)(value >> 8 * i);
}

static uint64_t in_window(uint64_t *seed)
{
	return LAB_WINDOW + 6144 + (next_random(seed) & 4032);
}

static void set_displacement(uint8_t *bytes, const ZydisDecodedInstruction *insn, uint64_t ip,
			     uint64_t *seed)
{
	uint64_t value = (next_random(seed) & 127) - 64;
	bool modrm = insn->attributes & ZYDIS_ATTRIB_HAS_MODRM;
	if (!insn->raw.disp.size)
		return;
	if (!modrm) /* the address of a mov between memory and rax */
		value = in_window(seed);
	else if (insn->raw.modrm.mod == 0)
		value = in_window(seed) -
			(insn->attributes & ZYDIS_ATTRIB_HAS_SIB ? 0 : ip + insn->length);
	put(bytes, insn->raw.disp.offset, insn->raw.disp.size, value);
}

static void set_immediates(uint8_t *bytes, const ZydisDecodedInstruction *insn, uint64_t *seed)
{
	for (int i = 0; i < 2; i++) {
		uint64_t value = next_random(seed);
		if (!insn->raw.imm[i].size)
			continue;
		if (insn->raw.imm[i].is_relative) {
			/* To a `hlt` before or behind; never into itself. */
			uint8_t len = insn->length;
			value = value % 2 ? value / 2 % FARTHEST
					  : -(uint64_t)(len + value / 2 % (FARTHEST - len) + 1);
		} else if (insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && insn->opcode == 0xc8) {
			value &= i ? 1 : 0xf8; /* enter */
		}
		put(bytes, insn->raw.imm[i].offset, insn->raw.imm[i].size, value);
	}
}

/* Registers that make an address must lie in the window, an index must be small, so must a count.
 */
static uint16_t small_registers(const ZydisDecodedInstruction *insn, unsigned variant,
				uint64_t *seed)
{
	/* The kernel's order of registers in a signal frame, by their number in an instruction. */
	static const uint8_t place[16] = {13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7};
	bool rep = insn->attributes &
		   (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
	uint16_t small = variant % 2 ? (uint16_t)next_random(seed) : 0;
	bool memory = insn->attributes & ZYDIS_ATTRIB_HAS_MODRM && insn->raw.modrm.mod != 3;
	if (!memory) {
		/* What string instructions, xlat, leave, enter and maskmov point with. */
		small &=
			(uint16_t) ~(1 << place[7] | 1 << place[6] | 1 << place[3] | 1 << place[5]);
	} else if (insn->attributes & ZYDIS_ATTRIB_HAS_SIB) {
		for (unsigned high = 0; high < 2; high++) {
			small |= (uint16_t)(1 << place[insn->raw.sib.index | high << 3]);
			small &= (uint16_t) ~(1 << place[insn->raw.sib.base | high << 3]);
		}
	} else {
		for (unsigned high = 0; high < 2; high++)
			small &= (uint16_t) ~(1 << place[insn->raw.modrm.rm | high << 3]);
	}
	return rep || insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT ? small | 1 << place[1] : small;
}

void shape_places_write(const struct shape_case *c, uint8_t *code, uint64_t address, uint64_t *seed,
			struct shape_place places[PLACES_PER_CASE])
{
	memset(code, HLT, CASE_BYTES);
	for (unsigned i = 0; i < PLACES_PER_CASE; i++) {
		ZydisDecodedInstruction insn;
		uint8_t bytes[15];
		uint32_t offset = (FIRST_SLOT + i) * SLOT_BYTES + BEFORE;
		memcpy(bytes, c->bytes, sizeof(bytes));
		if (i == PLACE_ACROSS)
			offset = PAGE - (c->len > 1 ? 1 + next_random(seed) % (c->len - 1u) : 1);
		else if (i == PLACE_AT_END)
			offset = HOLE_AT - c->len;
		else if (i >= PLACE_TRAP)
			offset += PAGE;
		places[i] = (struct shape_place){.offset = offset};
		if (decode(bytes, c->len, &insn)) {
			if (i % 8) /* one of each kind as it was found */
				vary_registers(bytes, &insn, seed);
			set_displacement(bytes, &insn, address + offset, seed);
			set_immediates(bytes, &insn, seed);
			places[i].small_registers = small_registers(&insn, i, seed);
		}
		memcpy(code + offset, bytes, c->len);
	}
}

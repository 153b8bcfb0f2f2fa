// SPDX-License-Identifier: LGPL-2.1-or-later
/* shape.c: see shape.h. */
#include "offline/code/shape.h"

#include <stdbool.h>

struct packer {
	uint64_t value;
	uint8_t at;
};

static void pack(struct packer *p, uint64_t value, uint8_t bits)
{
	p->value |= (value & ((1ull << bits) - 1)) << p->at;
	p->at += bits;
}

/* Whether ModRM.reg selects the operation. */
static bool is_group(const ZydisDecodedInstruction *insn)
{
	uint8_t op = insn->opcode;
	switch (insn->opcode_map) {
	case ZYDIS_OPCODE_MAP_DEFAULT:
		return (op >= 0x80 && op <= 0x83) || op == 0x8e || op == 0x8f || op == 0xc0 ||
		       op == 0xc1 || op == 0xc6 || op == 0xc7 || (op >= 0xd0 && op <= 0xd3) ||
		       (op >= 0xd8 && op <= 0xdf) || op == 0xf6 || op == 0xf7 || op >= 0xfe;
	case ZYDIS_OPCODE_MAP_0F:
		return op <= 0x01 || op == 0x0d || (op >= 0x18 && op <= 0x1f) ||
		       (op >= 0x71 && op <= 0x73) || op == 0xae || op == 0xb9 || op == 0xba ||
		       op == 0xc7 || op == 0xff;
	case ZYDIS_OPCODE_MAP_0F38:
		return op == 0xc6 || op == 0xc7 || op == 0xd8 || op == 0xf3;
	case ZYDIS_OPCODE_MAP_0F3A:
		return op == 0xf0;
	default:
		return insn->opcode_map != ZYDIS_OPCODE_MAP_0F0F;
	}
}

/* Whether ModRM.rm selects the operation too, in the register form. */
static bool is_whole_modrm(const ZydisDecodedInstruction *insn)
{
	uint8_t op = insn->opcode;
	if (insn->raw.modrm.mod != 3)
		return false;
	if (insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT)
		return (op >= 0xd8 && op <= 0xdf) || op == 0xc6 || op == 0xc7;
	return insn->opcode_map == ZYDIS_OPCODE_MAP_0F &&
	       (op == 0x01 || op == 0x1e || op == 0xae || op == 0xc7);
}

static void pack_prefixes(struct packer *p, const ZydisDecodedInstruction *insn)
{
	static const uint8_t groups[] = {0x66, 0x67, 0xf2, 0xf3, 0xf0};
	static const uint8_t segments[] = {0, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65};
	uint8_t seen[5] = {0}, segment = 0, n_segments = 0;
	for (uint8_t i = 0; i < insn->raw.prefix_count; i++) {
		uint8_t value = insn->raw.prefixes[i].value;
		for (uint8_t g = 0; g < sizeof(groups); g++)
			seen[g] += value == groups[g];
		for (uint8_t s = 1; s < sizeof(segments); s++)
			if (value == segments[s]) {
				/* Of several segment overrides, one that the kernel refuses
				 * counts. */
				segment = segment && segment < 5 ? segment : s;
				n_segments++;
			}
	}
	bool repeated = n_segments > 1 || seen[2] + seen[3] > 1;
	for (uint8_t g = 0; g < sizeof(groups); g++) {
		pack(p, seen[g] > 0, 1);
		repeated |= seen[g] > 1;
	}
	pack(p, segment, 3);
	pack(p, repeated, 1);
}

static void pack_operands(struct packer *p, const ZydisDecodedInstruction *insn)
{
	uint8_t form = SHAPE_NO_MODRM;
	bool has = insn->attributes & ZYDIS_ATTRIB_HAS_MODRM;
	bool sib = insn->attributes & ZYDIS_ATTRIB_HAS_SIB;
	if (has) {
		uint8_t mod = insn->raw.modrm.mod;
		form = mod == 3	  ? SHAPE_REGISTER
		       : mod == 2 ? SHAPE_DISP32
		       : mod == 1 ? SHAPE_DISP8
				  : SHAPE_MEMORY;
		if (mod == 0 && insn->raw.disp.size)
			form = sib ? SHAPE_ABSOLUTE : SHAPE_RIP;
	}
	pack(p, form, 3);
	pack(p, sib, 1);
	pack(p, has && is_group(insn) ? insn->raw.modrm.reg : 0, 3);
	pack(p, has && is_whole_modrm(insn) ? insn->raw.modrm.rm : 0, 3);
	pack(p, (insn->raw.imm[0].size + insn->raw.imm[1].size) / 8, 4);
}

uint64_t shape_of(const ZydisDecodedInstruction *insn)
{
	struct packer p = {0};
	bool legacy = insn->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY ||
		      insn->encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW;
	pack(&p, insn->opcode, 8);
	pack(&p, insn->opcode_map, 4);
	pack(&p, insn->encoding, 3);
	if (legacy) {
		const ZydisDecodedInstructionRawRex *rex = &insn->raw.rex;
		pack(&p, rex->W | rex->B << 1, 2);
	} else if (insn->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX) {
		const ZydisDecodedInstructionRawVex *vex = &insn->raw.vex;
		pack(&p, vex->W | vex->B << 1, 2);
	} else if (insn->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
		pack(&p, insn->raw.evex.W, 2);
	} else {
		pack(&p, insn->raw.xop.W, 2);
	}
	pack(&p, legacy && insn->attributes & ZYDIS_ATTRIB_HAS_REX ? 1 : 0, 1);
	pack_prefixes(&p, insn);
	pack_operands(&p, insn);
	if (insn->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX) {
		pack(&p, insn->raw.vex.L, 2);
		pack(&p, insn->raw.vex.pp, 2);
	} else if (insn->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
		pack(&p, insn->raw.evex.L2 << 1 | insn->raw.evex.L, 2);
		pack(&p, insn->raw.evex.pp, 2);
		pack(&p, insn->raw.evex.z | insn->raw.evex.b << 1 | (insn->raw.evex.aaa ? 4 : 0),
		     3);
	}
	return p.value;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* insn_lanes.c: the lanes of what an instruction with EVEX writes, and which bytes of what it reads
 * each of them is of. What is not certain to go lane by lane counts for every lane. */
#include "offline/eval/insn/insn.h"

enum { LANES_MAX = 64, BITS = 8 };

/* Which lanes the mask names decides as well from where the others come, or where they go. */
static bool packs(uint16_t mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_VPCOMPRESSB:
	case ZYDIS_MNEMONIC_VPCOMPRESSW:
	case ZYDIS_MNEMONIC_VPCOMPRESSD:
	case ZYDIS_MNEMONIC_VPCOMPRESSQ:
	case ZYDIS_MNEMONIC_VCOMPRESSPS:
	case ZYDIS_MNEMONIC_VCOMPRESSPD:
	case ZYDIS_MNEMONIC_VPEXPANDB:
	case ZYDIS_MNEMONIC_VPEXPANDW:
	case ZYDIS_MNEMONIC_VPEXPANDD:
	case ZYDIS_MNEMONIC_VPEXPANDQ:
	case ZYDIS_MNEMONIC_VEXPANDPS:
	case ZYDIS_MNEMONIC_VEXPANDPD:
		return true;
	default:
		return false;
	}
}

/* Whether the destination as it was is an operand, which Zydis does not say where it may stay. */
static bool accumulates(uint16_t mnemonic)
{
	static const struct {
		uint16_t first, last;
	} ranges[] = {
		{ZYDIS_MNEMONIC_VDPBF16PS, ZYDIS_MNEMONIC_VDPBF16PS},
		{ZYDIS_MNEMONIC_VFIXUPIMMPD, ZYDIS_MNEMONIC_VFIXUPIMMSS},
		{ZYDIS_MNEMONIC_VFMADD132PD, ZYDIS_MNEMONIC_VFNMSUB231SS},
		{ZYDIS_MNEMONIC_VPDPBUSD, ZYDIS_MNEMONIC_VPDPWSSDS},
		{ZYDIS_MNEMONIC_VPERMI2B, ZYDIS_MNEMONIC_VPERMI2W},
		{ZYDIS_MNEMONIC_VPERMT2B, ZYDIS_MNEMONIC_VPERMT2W},
		{ZYDIS_MNEMONIC_VPMADD52HUQ, ZYDIS_MNEMONIC_VPMADD52LUQ},
		{ZYDIS_MNEMONIC_VPSHLDVD, ZYDIS_MNEMONIC_VPSHLDVW},
		{ZYDIS_MNEMONIC_VPSHRDVD, ZYDIS_MNEMONIC_VPSHRDVW},
		{ZYDIS_MNEMONIC_VPTERNLOGD, ZYDIS_MNEMONIC_VPTERNLOGQ},
	};
	for (unsigned i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (mnemonic >= ranges[i].first && mnemonic <= ranges[i].last)
			return true;
	return false;
}

/* Exception types of the manual (volume 2, 2.8) that suppress faults of single elements: of these
 * a lane has nothing of another lane's elements. */
static bool goes_by_lanes(const ZydisDecodedInstruction *zi)
{
	if (zi->mnemonic == ZYDIS_MNEMONIC_VDBPSADBW) /* E4NF in the manual, E4 in Zydis */
		return false;
	switch (zi->meta.exception_class) {
	case ZYDIS_EXCEPTION_CLASS_E1:
	case ZYDIS_EXCEPTION_CLASS_E2:
	case ZYDIS_EXCEPTION_CLASS_E3:
	case ZYDIS_EXCEPTION_CLASS_E4:
	case ZYDIS_EXCEPTION_CLASS_E5:
	case ZYDIS_EXCEPTION_CLASS_E6:
	case ZYDIS_EXCEPTION_CLASS_E10:
	case ZYDIS_EXCEPTION_CLASS_E11:
		return true;
	default:
		return false;
	}
}

static bool is_scalar(const ZydisDecodedInstruction *zi)
{
	return zi->meta.isa_set == ZYDIS_ISA_SET_AVX512F_SCALAR ||
	       zi->meta.isa_set == ZYDIS_ISA_SET_AVX512DQ_SCALAR ||
	       zi->meta.exception_class == ZYDIS_EXCEPTION_CLASS_E10;
}

static bool is_mask(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_MASK;
}

/* Of a mask register Zydis counts bits; lanes are those of what is compared. */
static unsigned lanes_compared(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops)
{
	unsigned n = 0;
	for (int i = 1; i < zi->operand_count_visible; i++)
		if (ops[i].type != ZYDIS_OPERAND_TYPE_IMMEDIATE && !is_mask(&ops[i]) &&
		    ops[i].element_count > n)
			n = ops[i].element_count;
	return n;
}

static bool is_vector(const ZydisDecodedOperand *op)
{
	switch (ZydisRegisterGetClass(op->reg.value)) {
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		return true;
	default:
		return false;
	}
}

void value_insn_lanes(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
		      struct value_insn *out)
{
	const ZydisDecodedOperand *to = &ops[0];
	const bool memory = to->type == ZYDIS_OPERAND_TYPE_MEMORY, mask = is_mask(to);
	const bool vector = to->type == ZYDIS_OPERAND_TYPE_REGISTER && is_vector(to);
	struct value_lanes lanes = {
		.n = is_scalar(zi) ? 1
		     : mask	   ? lanes_compared(zi, ops)
				   : to->element_count,
		.size = mask ? 0 : to->element_size / BITS,
		.mask = zi->avx.mask.reg ? ZydisRegisterGetId(zi->avx.mask.reg) : 0,
		.scalar = is_scalar(zi),
	};
	bool apart = memory ? to->mem.type == ZYDIS_MEMOP_TYPE_MEM : vector || mask;
	if (!apart || !(to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) || packs(zi->mnemonic) ||
	    !lanes.n || lanes.n > LANES_MAX || (!mask && !lanes.size)) {
		out->flow = VALUE_FLOW_ALL;
		return;
	}
	lanes.forgiving = lanes.mask && goes_by_lanes(zi);
	out->lanes = lanes;
}

/* Bytes that each lane has of the operand; 0: all. */
static uint8_t lane_of(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op,
		       const struct value_insn *insn)
{
	bool apart = goes_by_lanes(zi) && op->element_count == insn->lanes.n && !is_mask(op);
	return apart ? op->element_size / BITS : 0;
}

void value_insn_lanes_read(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op,
			   unsigned first, struct value_insn *out)
{
	const ZydisMaskMode mode = zi->avx.mask.mode;
	const bool old = op->id == 0, merges = mode == ZYDIS_MASK_MODE_MERGING;
	uint8_t use = VALUE_LANES_CHOSEN, lane = lane_of(zi, op, out);
	if (old && merges) {
		bool both = accumulates(zi->mnemonic);
		use = both ? VALUE_LANES_ALL : VALUE_LANES_LEFT;
		lane = both && !goes_by_lanes(zi) ? 0 : out->lanes.size;
	} else if (op->encoding == ZYDIS_OPERAND_ENCODING_MASK) {
		use = VALUE_LANES_MASK;
	} else if (op->encoding == ZYDIS_OPERAND_ENCODING_NDSNDD &&
		   mode == ZYDIS_MASK_MODE_CONTROL) {
		use = VALUE_LANES_LEFT; /* vblendm: of the other source */
	}
	for (unsigned i = first; i < out->n_access; i++) {
		struct value_access *a = &out->access[i];
		if (a->address)
			continue;
		a->use = use;
		a->lane = lane;
	}
}

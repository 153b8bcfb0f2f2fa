// SPDX-License-Identifier: LGPL-2.1-or-later
/* lower_vector.c: moves of vector registers without VEX; see lowering.h. All other vector
 * instructions are stubs. */
#include "offline/eval/lowering.h"

static int vec(const ZydisDecodedOperand *op)
{
	return is_reg(op) && ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_XMM
		       ? ZydisRegisterGetId(op->reg.value)
		       : -1;
}

/* Moves without VEX, and pxor of a register with itself. True: done. */
bool value_lower_vector(struct lowering *l)
{
	const ZydisDecodedOperand *d = &l->ops[0], *s = &l->ops[1];
	if (l->zi->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY ||
	    l->zi->operand_count_visible != 2)
		return false;
	int to = vec(d), from = vec(s), size = 0;
	switch (l->zi->mnemonic) {
	case ZYDIS_MNEMONIC_MOVAPS:
	case ZYDIS_MNEMONIC_MOVAPD:
	case ZYDIS_MNEMONIC_MOVUPS:
	case ZYDIS_MNEMONIC_MOVUPD:
	case ZYDIS_MNEMONIC_MOVDQA:
	case ZYDIS_MNEMONIC_MOVDQU:
		size = 16;
		break;
	case ZYDIS_MNEMONIC_MOVQ:
		size = 8;
		break;
	case ZYDIS_MNEMONIC_MOVD:
		size = 4;
		break;
	case ZYDIS_MNEMONIC_MOVSS:
	case ZYDIS_MNEMONIC_MOVSD:
		if (to >= 0 && from >= 0)
			return false;
		size = l->zi->mnemonic == ZYDIS_MNEMONIC_MOVSS ? 4 : 8;
		break;
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
		if (to < 0 || to != from)
			return false;
		value_emit(l, OP_vzero_16)->a = to;
		return true;
	default:
		return false;
	}
	unsigned k = size == 16 ? 0 : size == 8 ? 1 : 2;
	struct value_op *op;
	if (to >= 0 && is_mem(s)) {
		op = value_emit_mem(l, OP_vload_16 + k, 0);
		op->a = to;
	} else if (is_mem(d) && from >= 0) {
		op = value_emit_mem(l, OP_vstore_16 + k, 0);
		op->b = from;
	} else if (to >= 0 && from >= 0 && size == 16) {
		op = value_emit(l, OP_vmov_16);
		op->a = to;
		op->b = from;
	} else if (to >= 0 && is_reg(s) && value_offset_of(s->reg.value) != 0xff) {
		op = value_emit(l, size == 8 ? OP_vfrom_64 : OP_vfrom_32);
		op->a = to;
		op->b = value_gpr_of(l, s);
	} else if (from >= 0 && is_reg(d) && value_offset_of(d->reg.value) != 0xff) {
		op = value_emit(l, size == 8 ? OP_vto_64 : OP_vto_32);
		op->b = from;
		op->a = value_gpr_of(l, d);
	} else {
		return false;
	}
	return true;
}

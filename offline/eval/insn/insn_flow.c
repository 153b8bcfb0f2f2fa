// SPDX-License-Identifier: LGPL-2.1-or-later
/* insn_flow.c: by mnemonic, which bytes of what an instruction reads a byte of its result is of.
 * What is not listed is of all of them. */
#include "offline/eval/insn/insn.h"

/* xor of a register with itself, and its like. */
static bool is_of_itself(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_PANDN:
	case ZYDIS_MNEMONIC_ANDNPS:
	case ZYDIS_MNEMONIC_ANDNPD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VPXORD:
	case ZYDIS_MNEMONIC_VPXORQ:
	case ZYDIS_MNEMONIC_VXORPS:
	case ZYDIS_MNEMONIC_VXORPD:
	case ZYDIS_MNEMONIC_VPANDN:
	case ZYDIS_MNEMONIC_VPANDND:
	case ZYDIS_MNEMONIC_VPANDNQ:
	case ZYDIS_MNEMONIC_VANDNPS:
	case ZYDIS_MNEMONIC_VANDNPD:
	case ZYDIS_MNEMONIC_PSUBB:
	case ZYDIS_MNEMONIC_PSUBW:
	case ZYDIS_MNEMONIC_PSUBD:
	case ZYDIS_MNEMONIC_PSUBQ:
	case ZYDIS_MNEMONIC_VPSUBB:
	case ZYDIS_MNEMONIC_VPSUBW:
	case ZYDIS_MNEMONIC_VPSUBD:
	case ZYDIS_MNEMONIC_VPSUBQ:
	case ZYDIS_MNEMONIC_PCMPEQB:
	case ZYDIS_MNEMONIC_PCMPEQW:
	case ZYDIS_MNEMONIC_PCMPEQD:
	case ZYDIS_MNEMONIC_PCMPEQQ:
	case ZYDIS_MNEMONIC_VPCMPEQB:
	case ZYDIS_MNEMONIC_VPCMPEQW:
	case ZYDIS_MNEMONIC_VPCMPEQD:
	case ZYDIS_MNEMONIC_VPCMPEQQ:
	case ZYDIS_MNEMONIC_PCMPGTB:
	case ZYDIS_MNEMONIC_PCMPGTW:
	case ZYDIS_MNEMONIC_PCMPGTD:
	case ZYDIS_MNEMONIC_PCMPGTQ:
	case ZYDIS_MNEMONIC_VPCMPGTB:
	case ZYDIS_MNEMONIC_VPCMPGTW:
	case ZYDIS_MNEMONIC_VPCMPGTD:
	case ZYDIS_MNEMONIC_VPCMPGTQ:
	case ZYDIS_MNEMONIC_KXORB:
	case ZYDIS_MNEMONIC_KXORW:
	case ZYDIS_MNEMONIC_KXORD:
	case ZYDIS_MNEMONIC_KXORQ:
	case ZYDIS_MNEMONIC_KXNORB:
	case ZYDIS_MNEMONIC_KXNORW:
	case ZYDIS_MNEMONIC_KXNORD:
	case ZYDIS_MNEMONIC_KXNORQ:
		return true;
	default:
		return false;
	}
}

/* xor r,r and its like: a value that does not depend on what they read. */
static bool is_zeroing(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops)
{
	int last = zi->operand_count_visible - 1;
	if (zi->mnemonic == ZYDIS_MNEMONIC_VPTERNLOGD || zi->mnemonic == ZYDIS_MNEMONIC_VPTERNLOGQ)
		return ops[last].imm.value.u == 0 || (ops[last].imm.value.u & 0xff) == 0xff;
	return is_of_itself(zi->mnemonic) && last >= 1 &&
	       ops[last].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ops[last - 1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ops[last].reg.value == ops[last - 1].reg.value;
}

/* Where a byte of the result is not of all bytes that are read. */
static uint8_t flow_of_bytes(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_PAND:
	case ZYDIS_MNEMONIC_VPAND:
	case ZYDIS_MNEMONIC_ANDPS:
	case ZYDIS_MNEMONIC_ANDPD:
		return VALUE_FLOW_AND;
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_POR:
	case ZYDIS_MNEMONIC_VPOR:
	case ZYDIS_MNEMONIC_ORPS:
	case ZYDIS_MNEMONIC_ORPD:
		return VALUE_FLOW_OR;
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_NOT:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
		return VALUE_FLOW_BITS;
	case ZYDIS_MNEMONIC_PCMPEQB:
	case ZYDIS_MNEMONIC_PCMPGTB:
	case ZYDIS_MNEMONIC_PADDB:
	case ZYDIS_MNEMONIC_PSUBB:
	case ZYDIS_MNEMONIC_PMINUB:
	case ZYDIS_MNEMONIC_PMAXUB:
	case ZYDIS_MNEMONIC_PANDN:
		return VALUE_FLOW_BYTES;
	case ZYDIS_MNEMONIC_BSF:
	case ZYDIS_MNEMONIC_TZCNT:
		return VALUE_FLOW_LOWEST;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_NEG:
		return VALUE_FLOW_CARRY;
	default:
		return VALUE_FLOW_ALL;
	}
}

/* Bytes are moved as the instruction says, and no byte is changed or decides on another. */
static bool moves_bytes(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_BSWAP:
	case ZYDIS_MNEMONIC_PINSRB:
	case ZYDIS_MNEMONIC_PINSRW:
	case ZYDIS_MNEMONIC_PINSRD:
	case ZYDIS_MNEMONIC_PINSRQ:
	case ZYDIS_MNEMONIC_PEXTRB:
	case ZYDIS_MNEMONIC_PEXTRW:
	case ZYDIS_MNEMONIC_PEXTRD:
	case ZYDIS_MNEMONIC_PEXTRQ:
	case ZYDIS_MNEMONIC_PUNPCKLBW:
	case ZYDIS_MNEMONIC_PUNPCKLWD:
	case ZYDIS_MNEMONIC_PUNPCKLDQ:
	case ZYDIS_MNEMONIC_PUNPCKLQDQ:
	case ZYDIS_MNEMONIC_PUNPCKHBW:
	case ZYDIS_MNEMONIC_PUNPCKHWD:
	case ZYDIS_MNEMONIC_PUNPCKHDQ:
	case ZYDIS_MNEMONIC_PUNPCKHQDQ:
	case ZYDIS_MNEMONIC_PSHUFD:
	case ZYDIS_MNEMONIC_PSHUFLW:
	case ZYDIS_MNEMONIC_PSHUFHW:
	case ZYDIS_MNEMONIC_PSLLDQ:
	case ZYDIS_MNEMONIC_PSRLDQ:
	case ZYDIS_MNEMONIC_PALIGNR:
	case ZYDIS_MNEMONIC_PSHUFB: /* where what says how is exact (worth.c) */
	case ZYDIS_MNEMONIC_MOVHLPS:
	case ZYDIS_MNEMONIC_MOVLHPS:
	case ZYDIS_MNEMONIC_UNPCKLPS:
	case ZYDIS_MNEMONIC_UNPCKLPD:
	case ZYDIS_MNEMONIC_UNPCKHPS:
	case ZYDIS_MNEMONIC_UNPCKHPD:
	case ZYDIS_MNEMONIC_SHUFPS:
	case ZYDIS_MNEMONIC_SHUFPD:
		return true;
	default:
		return false;
	}
}

/* Each bit of the result is one of those that are read, or 0, and how far they go is known. */
static bool moves_bits(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops)
{
	int last = zi->operand_count_visible - 1;
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_SHL: /* by cl too, where that is exact (worth.c) */
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
		return true;
	case ZYDIS_MNEMONIC_RORX:
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		return last > 0 && ops[last].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_CBW:
	case ZYDIS_MNEMONIC_CWDE:
	case ZYDIS_MNEMONIC_CDQE:
	case ZYDIS_MNEMONIC_PMOVMSKB:
		return true;
	default:
		return false;
	}
}

uint8_t value_insn_flow(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops)
{
	for (int i = 0; i < zi->operand_count_visible; i++)
		if (ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    ZydisRegisterGetClass(ops[i].reg.value) == ZYDIS_REGCLASS_MMX)
			return VALUE_FLOW_ALL; /* the stack that they are in is known as a whole */
	bool evex = zi->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
	if (evex && zi->avx.mask.mode != ZYDIS_MASK_MODE_DISABLED)
		return VALUE_FLOW_LANES; /* the mask chooses */
	if (zi->meta.category == ZYDIS_CATEGORY_CMOV)
		return VALUE_FLOW_SELECT;
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_XCHG:
		return VALUE_FLOW_SWAP;
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_POP:
		return VALUE_FLOW_COPY;
	case ZYDIS_MNEMONIC_MOVAPS:
	case ZYDIS_MNEMONIC_MOVAPD:
	case ZYDIS_MNEMONIC_MOVUPS:
	case ZYDIS_MNEMONIC_MOVUPD:
	case ZYDIS_MNEMONIC_MOVDQA:
	case ZYDIS_MNEMONIC_MOVDQU:
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_MOVD:
	case ZYDIS_MNEMONIC_VMOVAPS:
	case ZYDIS_MNEMONIC_VMOVAPD:
	case ZYDIS_MNEMONIC_VMOVUPS:
	case ZYDIS_MNEMONIC_VMOVUPD:
	case ZYDIS_MNEMONIC_VMOVDQA:
	case ZYDIS_MNEMONIC_VMOVDQU:
	case ZYDIS_MNEMONIC_VMOVDQU8:
	case ZYDIS_MNEMONIC_VMOVDQU16:
	case ZYDIS_MNEMONIC_VMOVDQU32:
	case ZYDIS_MNEMONIC_VMOVDQU64:
	case ZYDIS_MNEMONIC_VMOVDQA32:
	case ZYDIS_MNEMONIC_VMOVDQA64:
		return VALUE_FLOW_COPY;
	case ZYDIS_MNEMONIC_MOVHPS: /* a half of a register, from memory */
	case ZYDIS_MNEMONIC_MOVHPD:
	case ZYDIS_MNEMONIC_MOVLPS:
	case ZYDIS_MNEMONIC_MOVLPD:
		return ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER ? VALUE_FLOW_COPY
								  : VALUE_FLOW_ALL;
	case ZYDIS_MNEMONIC_MOVZX: /* the rest is zeros, and exact */
		return VALUE_FLOW_COPY;
	default:
		if (is_zeroing(zi, ops))
			return VALUE_FLOW_FRESH;
		if (evex)
			return VALUE_FLOW_LANES;
		return moves_bytes(zi->mnemonic) || moves_bits(zi, ops)
			       ? VALUE_FLOW_MOVED
			       : flow_of_bytes(zi->mnemonic);
	}
}

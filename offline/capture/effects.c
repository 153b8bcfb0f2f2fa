// SPDX-License-Identifier: LGPL-2.1-or-later
/* effects.c: see effects.h. */
#include "offline/capture/effects.h"

static bool is_untold(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_RDTSC:
	case ZYDIS_MNEMONIC_RDTSCP:
	case ZYDIS_MNEMONIC_RDRAND:
	case ZYDIS_MNEMONIC_RDSEED:
	case ZYDIS_MNEMONIC_CPUID:
	case ZYDIS_MNEMONIC_XGETBV:
	case ZYDIS_MNEMONIC_RDPID:
		return true;
	default:
		return false;
	}
}

/* Of the general register that @reg is a part of; else 0. */
static uint16_t bit_of(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15
		       ? 1u << (whole - ZYDIS_REGISTER_RAX)
		       : 0;
}

static void note_store(const ZydisDecodedOperand *op, struct effects *out)
{
	bool plain = !out->memory && op->mem.index == ZYDIS_REGISTER_NONE &&
		     op->mem.segment != ZYDIS_REGISTER_FS && op->mem.segment != ZYDIS_REGISTER_GS;

	out->memory = true;
	out->at = op->mem.disp.value;
	out->bytes = op->size / 8;
	out->store = !plain				  ? STORE_ANYWHERE
		     : op->mem.base == ZYDIS_REGISTER_RIP ? STORE_STATIC
		     : op->mem.base == ZYDIS_REGISTER_RSP ? STORE_STACK
							  : STORE_ANYWHERE;
}

bool effects_of(const ZydisDecoder *decoder, const uint8_t *bytes, size_t len_bytes,
		struct effects *out)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

	if (ZYAN_FAILED(ZydisDecoderDecodeFull(decoder, bytes, len_bytes, &insn, op)))
		return false;
	*out = (struct effects){
		.untold = is_untold(insn.mnemonic),
		.kernel = insn.mnemonic == ZYDIS_MNEMONIC_SYSCALL,
	};
	for (uint8_t i = 0; i < insn.operand_count; i++) {
		bool written = op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
		bool read =
			op[i].size < 32 || op[i].actions & ~(unsigned)ZYDIS_OPERAND_ACTION_WRITE;

		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
			if (written)
				note_store(&op[i], out);
			out->reads |= bit_of(op[i].mem.base) | bit_of(op[i].mem.index);
		} else if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER) {
			out->writes |= written ? bit_of(op[i].reg.value) : 0;
			out->reads |= read ? bit_of(op[i].reg.value) : 0;
		}
	}
	return true;
}

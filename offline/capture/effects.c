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
		if (!(op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			out->memory = true;
		if (op[i].type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
								       op[i].reg.value);
		if (whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15)
			out->writes |= 1u << (whole - ZYDIS_REGISTER_RAX);
	}
	return true;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* one_to_one.c: see one_to_one.h. */
#include "offline/slice/one_to_one.h"

#include <Zydis/Zydis.h>

static const ZydisMnemonic mnemonics[] = {
	ZYDIS_MNEMONIC_MOV,	 ZYDIS_MNEMONIC_MOVZX,	  ZYDIS_MNEMONIC_MOVSX,
	ZYDIS_MNEMONIC_MOVSXD,	 ZYDIS_MNEMONIC_LEA,	  ZYDIS_MNEMONIC_ADD,
	ZYDIS_MNEMONIC_SUB,	 ZYDIS_MNEMONIC_XOR,	  ZYDIS_MNEMONIC_NEG,
	ZYDIS_MNEMONIC_NOT,	 ZYDIS_MNEMONIC_INC,	  ZYDIS_MNEMONIC_DEC,
	ZYDIS_MNEMONIC_PUSH,	 ZYDIS_MNEMONIC_POP,	  ZYDIS_MNEMONIC_XCHG,
	ZYDIS_MNEMONIC_BSWAP,	 ZYDIS_MNEMONIC_CDQE,	  ZYDIS_MNEMONIC_CWDE,
	ZYDIS_MNEMONIC_MOVD,	 ZYDIS_MNEMONIC_MOVQ,	  ZYDIS_MNEMONIC_MOVAPS,
	ZYDIS_MNEMONIC_MOVUPS,	 ZYDIS_MNEMONIC_MOVAPD,	  ZYDIS_MNEMONIC_MOVDQA,
	ZYDIS_MNEMONIC_MOVDQU,	 ZYDIS_MNEMONIC_MOVSS,	  ZYDIS_MNEMONIC_MOVSD,
	ZYDIS_MNEMONIC_CVTSI2SD, ZYDIS_MNEMONIC_CVTSS2SD,
};

bool slice_one_to_one(const struct dep_block *b, unsigned i)
{
	const struct dep_insn *d = &b->insns[i];
	for (unsigned k = 0; !d->string && k < sizeof(mnemonics) / sizeof(*mnemonics); k++)
		if (b->block->insns[i].mnemonic == mnemonics[k])
			return true;
	return false;
}

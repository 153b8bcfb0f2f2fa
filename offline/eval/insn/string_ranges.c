// SPDX-License-Identifier: LGPL-2.1-or-later
/* string_ranges.c: see string_ranges.h. movs, stos and the like write at rdi; scas and the second
 * operand of cmps read there. The first turn is at the register, the others lie behind it, or, with
 * the direction flag, before it. */
#include "offline/eval/insn/string_ranges.h"

unsigned value_string_ranges(const struct value_insn *insn, const uint64_t at[3], bool down,
			     struct value_range out[2])
{
	unsigned n = 0;
	for (int i = 0; at[2] && i < insn->n_mem; i++) {
		const struct value_place *p = &insn->mem[i];
		uint64_t first = at[p->base == VALUE_RDI ? 0 : 1], len = at[2] * p->len;
		out[n++] = (struct value_range){.addr = down ? first - len + p->len : first,
						.len = len,
						.read = p->read,
						.write = p->write};
	}
	return n;
}

bool value_insn_down(const struct value_insn *insn, bool down)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_STD ||
	       (down && insn->mnemonic != ZYDIS_MNEMONIC_CLD);
}

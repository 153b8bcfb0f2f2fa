// SPDX-License-Identifier: LGPL-2.1-or-later
/* insn_bits.c: which registers an instruction reads and which it defines as a whole, as sets of
 * bits (state.h), from the accesses that insn.c found. */
#include "offline/eval/insn/insn.h"

/* The bits of the registers that @a touches. */
static uint64_t bits_of(const struct value_access *a)
{
	const uint64_t one = 1;
	switch (a->kind) {
	case VALUE_ACCESS_GPR:
		return one << a->reg;
	case VALUE_ACCESS_VEC:
		if (a->reg >= VALUE_VECS)
			return one << VALUE_BIT_WIDE;
		return (a->off < 16 ? one << (VALUE_BIT_VEC + a->reg) : 0) |
		       (a->off + a->len > 16 ? one << (VALUE_BIT_HIGH + a->reg) : 0);
	case VALUE_ACCESS_FLAGS:
		return one << VALUE_BIT_FLAGS;
	case VALUE_ACCESS_X87:
		return one << VALUE_BIT_X87;
	case VALUE_ACCESS_MXCSR:
		return one << VALUE_BIT_MXCSR;
	case VALUE_ACCESS_DF:
		return one << VALUE_BIT_DF;
	case VALUE_ACCESS_STICKY:
		return one << VALUE_BIT_STICKY;
	default:
		return 0;
	}
}

/* Whether @a leaves nothing of what the registers of bits_of() were. */
static bool defines_whole(const struct value_access *a)
{
	if (!a->write || a->conditional)
		return false;
	switch (a->kind) {
	case VALUE_ACCESS_GPR:
		return a->len == 8;
	case VALUE_ACCESS_VEC:
		return a->reg < VALUE_VECS && (a->len == 16 || a->len == 32);
	case VALUE_ACCESS_FLAGS:
		return a->mask == VALUE_FLAGS;
	case VALUE_ACCESS_X87:
		return false;
	default:
		return true;
	}
}

uint64_t value_insn_reads(const struct value_insn *insn)
{
	uint64_t bits = 0;
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		/* What is written in part is read as well: the rest of it stays. Exceptions that
		 * are added are of no use to what adds them. */
		bool adds = a->kind == VALUE_ACCESS_STICKY && a->conditional;
		if (a->read || (a->write && !defines_whole(a) && !adds))
			bits |= bits_of(a);
	}
	return bits;
}

uint64_t value_insn_defines(const struct value_insn *insn)
{
	uint64_t bits = 0;
	for (int i = 0; i < insn->n_access; i++)
		if (defines_whole(&insn->access[i]))
			bits |= bits_of(&insn->access[i]);
	return bits;
}

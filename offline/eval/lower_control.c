// SPDX-License-Identifier: LGPL-2.1-or-later
/* lower_control.c: jumps, calls, what depends on a condition, and what leaves the evaluator; see
 * lowering.h. */
#include "offline/eval/lowering.h"

/* Condition codes in the processor's order. */
static int condition(ZydisMnemonic mnemonic, const uint16_t codes[16])
{
	for (int i = 0; i < 16; i++)
		if (codes[i] == mnemonic)
			return i;
	return -1;
}

#define CONDITIONS(prefix)                                                                         \
	{                                                                                          \
		ZYDIS_MNEMONIC_##prefix##O, ZYDIS_MNEMONIC_##prefix##NO,                           \
			ZYDIS_MNEMONIC_##prefix##B, ZYDIS_MNEMONIC_##prefix##NB,                   \
			ZYDIS_MNEMONIC_##prefix##Z, ZYDIS_MNEMONIC_##prefix##NZ,                   \
			ZYDIS_MNEMONIC_##prefix##BE, ZYDIS_MNEMONIC_##prefix##NBE,                 \
			ZYDIS_MNEMONIC_##prefix##S, ZYDIS_MNEMONIC_##prefix##NS,                   \
			ZYDIS_MNEMONIC_##prefix##P, ZYDIS_MNEMONIC_##prefix##NP,                   \
			ZYDIS_MNEMONIC_##prefix##L, ZYDIS_MNEMONIC_##prefix##NL,                   \
			ZYDIS_MNEMONIC_##prefix##LE, ZYDIS_MNEMONIC_##prefix##NLE                  \
	}
static const uint16_t jcc_codes[16] = CONDITIONS(J);
static const uint16_t set_codes[16] = CONDITIONS(SET);
static const uint16_t cmov_codes[16] = CONDITIONS(CMOV);

/* True: it was one of them. */
static bool conditional(struct lowering *l)
{
	ZydisMnemonic mnemonic = l->zi->mnemonic;
	int code = condition(mnemonic, jcc_codes);
	if (code >= 0 || mnemonic == ZYDIS_MNEMONIC_JRCXZ || mnemonic == ZYDIS_MNEMONIC_JECXZ) {
		struct value_op *op = value_emit(l, code >= 0 ? OP_jo + code
						    : mnemonic == ZYDIS_MNEMONIC_JRCXZ ? OP_jrcxz
										       : OP_jecxz);
		op->imm = l->insn->target;
		op->disp = op->next;
		return true;
	}
	if (mnemonic == ZYDIS_MNEMONIC_LOOP || mnemonic == ZYDIS_MNEMONIC_LOOPE ||
	    mnemonic == ZYDIS_MNEMONIC_LOOPNE) {
		struct value_op *op = value_emit(l, mnemonic == ZYDIS_MNEMONIC_LOOP    ? OP_loop
						    : mnemonic == ZYDIS_MNEMONIC_LOOPE ? OP_loope
										       : OP_loopne);
		op->imm = l->insn->target;
		op->disp = op->next;
		l->failed |= l->zi->address_width != 64;
		return true;
	}
	code = condition(mnemonic, set_codes);
	if (code >= 0) {
		if (is_mem(&l->ops[0]))
			value_emit_mem(l, OP_seto_M + code, 0);
		else
			value_emit(l, OP_seto_R + code)->a = value_gpr_of(l, &l->ops[0]);
		return true;
	}
	code = condition(mnemonic, cmov_codes);
	if (code < 0)
		return false;
	const ZydisDecodedOperand *d = &l->ops[0], *s = &l->ops[1];
	if (d->size != 32 && d->size != 64)
		return false;
	unsigned id = d->size == 32 ? is_mem(s) ? OP_cmovo_32_M : OP_cmovo_32_R
		      : is_mem(s)   ? OP_cmovo_64_M
				    : OP_cmovo_64_R;
	struct value_op *op =
		is_mem(s) ? value_emit_mem(l, id + code, 0) : value_emit(l, id + code);
	op->a = value_gpr_of(l, d);
	if (is_reg(s))
		op->b = value_gpr_of(l, s);
	return true;
}

bool value_lower_control(struct lowering *l)
{
	const struct value_insn *insn = l->insn;
	const ZydisDecodedOperand *s = &l->ops[0];
	switch (insn->kind) {
	case VALUE_INSN_JUMP:
		value_emit(l, OP_jmp)->imm = insn->target;
		return true;
	case VALUE_INSN_CALL:
		value_emit_mem(l, OP_call, 0)->imm = insn->target;
		return true;
	case VALUE_INSN_JUMP_IND:
		if (is_mem(s))
			value_emit_mem(l, OP_jmp_M, 0);
		else
			value_emit(l, OP_jmp_R)->b = value_gpr_of(l, s);
		return true;
	case VALUE_INSN_CALL_IND:
		if (is_mem(s)) {
			value_emit_mem(l, OP_load_scratch, 0);
			value_emit_mem(l, OP_call_scratch, 1);
		} else {
			value_emit_mem(l, OP_call_R, 0)->b = value_gpr_of(l, s);
		}
		return true;
	case VALUE_INSN_RET:
		value_emit_mem(l, OP_ret, 0)->imm = is_imm(s) ? s->imm.value.u : 0;
		l->failed |= l->zi->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
		return true;
	case VALUE_INSN_SYSCALL:
		value_emit(l, OP_syscall);
		return true;
	case VALUE_INSN_CHANCE:
		value_emit(l, OP_chance);
		return true;
	case VALUE_INSN_TRAP:
		value_emit(l, OP_trap);
		return true;
	case VALUE_INSN_STRING: {
		struct value_op *op = value_emit(l, OP_string);
		op->imm = insn->mnemonic;
		op->a = l->ops[0].size / 8 ? insn->mem[0].len : 0;
		op->b = l->zi->attributes & ZYDIS_ATTRIB_HAS_REPNE			     ? 2
			: l->zi->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE) ? 1
											     : 0;
		l->failed |= l->zi->address_width != 64 || insn->mem[0].segment;
		return true;
	}
	default:
		return conditional(l);
	}
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* lower.c: from an instruction to operations (ops.def): the frequent ones have operations of their
 * own (lowering.h), all others that only compute become a stub (stub.h). */
#include "offline/eval/lowering.h"

#include <string.h>

static bool controls_x87(uint16_t mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_FLDCW:
	case ZYDIS_MNEMONIC_FNSTCW:
	case ZYDIS_MNEMONIC_FLDENV:
	case ZYDIS_MNEMONIC_FNSTENV:
	case ZYDIS_MNEMONIC_FRSTOR:
	case ZYDIS_MNEMONIC_FNSAVE:
	case ZYDIS_MNEMONIC_FNINIT:
		return true;
	default:
		return false;
	}
}

/* Not a conversion to half precision, which may be tiny whatever MXCSR says, nor an approximation,
 * which is flushed but raises nothing. */
static bool flushes(uint16_t mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_VCVTPS2PH:
	case ZYDIS_MNEMONIC_VRCP14PS:
	case ZYDIS_MNEMONIC_VRCP14PD:
	case ZYDIS_MNEMONIC_VRCP14SS:
	case ZYDIS_MNEMONIC_VRCP14SD:
	case ZYDIS_MNEMONIC_VRSQRT14PS:
	case ZYDIS_MNEMONIC_VRSQRT14PD:
	case ZYDIS_MNEMONIC_VRSQRT14SS:
	case ZYDIS_MNEMONIC_VRSQRT14SD:
		return false;
	default:
		return true;
	}
}

/* Of memory whose lanes are chosen by a mask the others need not be there. */
static void see_lanes(const struct value_insn *insn, struct value_stub_use *use)
{
	if (!insn->lanes.forgiving)
		return;
	use->mask = insn->lanes.mask;
	use->lanes = insn->lanes.n;
	for (int i = 0; i < insn->n_access; i++)
		if (insn->access[i].kind == VALUE_ACCESS_MEMORY)
			use->lane = insn->access[i].lane;
}

static void stub(struct lowering *l)
{
	value_stub_fn *fn = value_stub(l->m->stubs, l->zi, l->ops, l->bytes);
	struct value_stub_use *use = fn ? value_arena(l->m, sizeof(*use)) : NULL;
	if (!use) {
		l->failed = true;
		return;
	}
	*use = (struct value_stub_use){.fn = fn};
	const struct value_insn *insn = l->insn;
	for (int i = 0; i < insn->n_access; i++) {
		use->x87 |= insn->access[i].kind == VALUE_ACCESS_X87;
		use->mxcsr |= insn->access[i].kind == VALUE_ACCESS_MXCSR;
		if (insn->access[i].kind == VALUE_ACCESS_VEC && insn->access[i].reg >= VALUE_TOPS &&
		    insn->access[i].reg < VALUE_MORE)
			use->tops |= 1 << (insn->access[i].reg - VALUE_TOPS);
	}
	use->x87 |= l->zi->meta.isa_ext == ZYDIS_ISA_EXT_X87 ||
		    l->zi->meta.isa_ext == ZYDIS_ISA_EXT_MMX;
	use->points = value_insn_points(insn);
	use->controls = controls_x87(insn->mnemonic);
	use->flushes = flushes(insn->mnemonic);
	see_lanes(insn, use);
	if (insn->n_mem) {
		use->len = insn->mem[0].len;
		use->load = true; /* also what is only written: perhaps not all of it */
		use->store = insn->mem[0].write;
	}
	struct value_op *op = insn->n_mem ? value_emit_mem(l, OP_stub, 0) : value_emit(l, OP_stub);
	op->next = (uintptr_t)use;
}

/* What touches nothing that is looked at here. */
static bool does_nothing(const ZydisDecodedInstruction *zi)
{
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_ENDBR64:
	case ZYDIS_MNEMONIC_ENDBR32:
	case ZYDIS_MNEMONIC_PAUSE:
	case ZYDIS_MNEMONIC_LFENCE:
	case ZYDIS_MNEMONIC_MFENCE:
	case ZYDIS_MNEMONIC_SFENCE:
	case ZYDIS_MNEMONIC_PREFETCH:
	case ZYDIS_MNEMONIC_PREFETCHNTA:
	case ZYDIS_MNEMONIC_PREFETCHT0:
	case ZYDIS_MNEMONIC_PREFETCHT1:
	case ZYDIS_MNEMONIC_PREFETCHT2:
	case ZYDIS_MNEMONIC_PREFETCHW:
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_CLFLUSHOPT:
	case ZYDIS_MNEMONIC_CLWB:
	case ZYDIS_MNEMONIC_FWAIT:
		return true;
	default:
		return false;
	}
}

static void segment_base(struct lowering *l, uint8_t base)
{
	struct value_op *op = value_emit(l, l->ops[0].size == 64 ? OP_mov_64_RR : OP_mov_32_RR);
	op->a = 8 * base;
	op->b = value_gpr_of(l, &l->ops[0]);
}

static bool special(struct lowering *l)
{
	switch (l->zi->mnemonic) {
	case ZYDIS_MNEMONIC_VZEROUPPER:
		value_emit(l, OP_vzeroupper);
		return true;
	case ZYDIS_MNEMONIC_VZEROALL:
		value_emit(l, OP_vzeroall);
		return true;
	case ZYDIS_MNEMONIC_LDMXCSR:
	case ZYDIS_MNEMONIC_VLDMXCSR:
		value_emit_mem(l, OP_ldmxcsr, 0);
		return true;
	case ZYDIS_MNEMONIC_STMXCSR:
	case ZYDIS_MNEMONIC_VSTMXCSR:
		value_emit_mem(l, OP_stmxcsr, 0);
		return true;
	case ZYDIS_MNEMONIC_CLD:
		value_emit(l, OP_cld);
		return true;
	case ZYDIS_MNEMONIC_STD:
		value_emit(l, OP_std);
		return true;
	case ZYDIS_MNEMONIC_PUSHFQ:
		value_emit_mem(l, OP_pushfq, 0);
		return true;
	case ZYDIS_MNEMONIC_POPFQ:
		value_emit_mem(l, OP_popfq, 0);
		return true;
	case ZYDIS_MNEMONIC_WRFSBASE:
	case ZYDIS_MNEMONIC_WRGSBASE:
		segment_base(l, l->zi->mnemonic == ZYDIS_MNEMONIC_WRFSBASE ? VALUE_FS : VALUE_GS);
		return true;
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTC:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTS:
		if (!l->insn->n_mem || !l->insn->mem[0].bits)
			return false;
		value_emit(l, OP_bits)->imm = l->zi->mnemonic;
		return true;
	default:
		return false;
	}
}

/* What a trace is told after the instruction's last operation. */
static uint8_t log_of(const struct value_insn *insn)
{
	if (!insn->n_results)
		return LOG_NOTHING;
	if (insn->n_results > 1)
		return LOG_ALL;
	for (int i = 0; i < insn->n_access; i++)
		if (value_insn_result(insn, &insn->access[i]))
			return insn->access[i].kind == VALUE_ACCESS_GPR
				       ? LOG_GPR + insn->access[i].reg * 4
				       : LOG_ALL;
	return LOG_NOTHING;
}

/* Whether memory is addressed in 32 bits; the stack never is, and lea() sees to itself. */
static bool has_narrow_address(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops)
{
	if (zi->mnemonic == ZYDIS_MNEMONIC_LEA)
		return false;
	for (unsigned i = 0; zi->address_width != 64 && i < zi->operand_count; i++)
		if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    !(ops[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
		      ops[i].mem.base == ZYDIS_REGISTER_RSP))
			return true;
	return false;
}

unsigned value_lower(struct value_machine *m, const ZydisDecodedInstruction *zi,
		     const ZydisDecodedOperand *ops, const uint8_t *bytes,
		     const struct value_insn *insn, bool quiet, struct value_op *out)
{
	struct lowering l = {m, zi, ops, bytes, insn, quiet, out, 0, false};
	bool narrow = has_narrow_address(zi, ops);
	if (does_nothing(zi))
		value_emit(&l, OP_nop);
	else if (narrow)
		l.failed = true;
	else if (!special(&l) && !value_lower_control(&l) && !value_lower_vector(&l) &&
		 !value_lower_integer(&l))
		l.failed = true;
	if (l.failed && !narrow && insn->kind == VALUE_INSN_PLAIN) {
		l.n = 0;
		l.failed = false;
		stub(&l);
	}
	if (l.failed)
		return 0;
	out[l.n - 1].log = log_of(insn);
	return l.n;
}

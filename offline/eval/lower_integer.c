// SPDX-License-Identifier: LGPL-2.1-or-later
/* lower_integer.c: instructions on general registers, by a table of mnemonics; see lowering.h. */
#include "offline/eval/lowering.h"

/* Forms of two-operand instructions, in the order of ops.def. */
enum form { RR, RI, RM, MR, MI, FORMS, NO_FORM = -1 };

static enum form form_of(const ZydisDecodedOperand *d, const ZydisDecodedOperand *s)
{
	if (is_reg(d))
		return is_reg(s) ? RR : is_imm(s) ? RI : is_mem(s) ? RM : NO_FORM;
	return !is_mem(d) ? NO_FORM : is_reg(s) ? MR : is_imm(s) ? MI : NO_FORM;
}

/* @first is the operation's RR form for 8 bits. */
static void two_operands(struct lowering *l, unsigned first)
{
	const ZydisDecodedOperand *d = &l->ops[0], *s = &l->ops[1];
	enum form form = form_of(d, s);
	int size = value_size_index(d->size);
	if (form == NO_FORM || size < 0) {
		l->failed = true;
		return;
	}
	unsigned id = first + FORMS * size + form;
	struct value_op *op = form == RM || form == MR || form == MI ? value_emit_mem(l, id, 0)
								     : value_emit(l, id);
	if (is_reg(d))
		op->a = value_gpr_of(l, d);
	if (is_reg(s))
		op->b = value_gpr_of(l, s);
	if (is_imm(s))
		op->imm = s->imm.value.u;
}

/* @first: R, M for 8 bits, then for 16 and so on. */
static void one_operand(struct lowering *l, unsigned first)
{
	const ZydisDecodedOperand *d = &l->ops[0];
	int size = value_size_index(d->size);
	if (size < 0)
		l->failed = true;
	else if (is_mem(d))
		value_emit_mem(l, first + 2 * size + 1, 0);
	else
		value_emit(l, first + 2 * size)->a = value_gpr_of(l, d);
}

/* A shift of a register by a number or by cl. Those by a number have forms without flags. */
static void shift(struct lowering *l, unsigned first)
{
	unsigned quiet_first = first == OP_shl_8_RI   ? OP_qshl_8_RI
			       : first == OP_shr_8_RI ? OP_qshr_8_RI
						      : 0;
	const ZydisDecodedOperand *d = &l->ops[0], *s = &l->ops[1];
	int size = value_size_index(d->size);
	unsigned count = is_imm(s) ? s->imm.value.u & (d->size == 64 ? 63 : 31) : 0;
	if (!is_reg(d) || size < 0 || (is_imm(s) && (!count || count >= d->size))) {
		l->failed = true;
		return;
	}
	struct value_op *op;
	if (is_imm(s) && l->quiet && quiet_first)
		op = value_emit(l, quiet_first + size);
	else
		op = value_emit(l, first + 2 * size + (is_imm(s) ? 0 : 1));
	op->a = value_gpr_of(l, d);
	op->imm = count;
}

static void extend(struct lowering *l)
{
	const ZydisDecodedOperand *d = &l->ops[0], *s = &l->ops[1];
	bool sign = l->zi->mnemonic != ZYDIS_MNEMONIC_MOVZX;
	unsigned id = 0;
	if (s->size == 8)
		id = d->size == 16   ? sign ? OP_movsx_8_16_R : OP_movzx_8_16_R
		     : d->size == 32 ? sign ? OP_movsx_8_32_R : OP_movzx_8_32_R
		     : sign	     ? OP_movsx_8_64_R
				     : OP_movzx_8_64_R;
	else if (s->size == 16 && d->size >= 32)
		id = d->size == 32 ? sign ? OP_movsx_16_32_R : OP_movzx_16_32_R
		     : sign	   ? OP_movsx_16_64_R
				   : OP_movzx_16_64_R;
	else if (s->size == 32 && d->size == 64)
		id = OP_movsx_32_64_R;
	else
		l->failed = true;
	if (l->failed)
		return;
	struct value_op *op = is_mem(s) ? value_emit_mem(l, id + 1, 0) : value_emit(l, id);
	op->a = value_gpr_of(l, d);
	if (is_reg(s))
		op->b = value_gpr_of(l, s);
}

static void lea(struct lowering *l)
{
	const ZydisDecodedOperand *d = &l->ops[0], *s = &l->ops[1];
	unsigned id = d->size == 64 ? OP_lea_64 : d->size == 32 ? OP_lea_32 : OP_lea_16;
	struct value_op *op = value_emit(l, id);
	op->a = value_gpr_of(l, d);
	op->base = op->index = VALUE_ZERO;
	uint8_t number, off, len;
	if (value_gpr_place(s->mem.base, &number, &off, &len))
		op->base = number;
	if (value_gpr_place(s->mem.index, &number, &off, &len))
		op->index = number;
	for (unsigned scale = s->mem.scale; scale > 1; scale /= 2)
		op->shift++;
	op->disp = s->mem.disp.has_displacement ? s->mem.disp.value : 0;
	if (s->mem.base == ZYDIS_REGISTER_RIP)
		op->disp += l->insn->ip + l->insn->len;
	/* 32-bit addresses: their sum is cut, which only a 32-bit result is anyway. */
	l->failed |= l->zi->address_width != 64 && d->size == 64;
}

static void imul(struct lowering *l)
{
	const ZydisDecodedInstruction *zi = l->zi;
	const ZydisDecodedOperand *ops = l->ops;
	if (zi->operand_count_visible == 1) {
		unsigned size = ops[0].size;
		l->failed |= size != 32 && size != 64;
		if (l->failed)
			return;
		bool sign = zi->mnemonic == ZYDIS_MNEMONIC_IMUL;
		unsigned id = size == 32 ? sign ? OP_imul1_32_R : OP_mul_32_R
			      : sign	 ? OP_imul1_64_R
					 : OP_mul_64_R;
		struct value_op *op =
			is_mem(&ops[0]) ? value_emit_mem(l, id + 1, 0) : value_emit(l, id);
		op->a = 8 * VALUE_RAX;
		if (is_reg(&ops[0]))
			op->b = value_gpr_of(l, &ops[0]);
		return;
	}
	int size = value_size_index(ops[0].size);
	bool by_imm = zi->operand_count_visible == 3;
	if (size < 1) {
		l->failed = true;
		return;
	}
	unsigned id = OP_imul_16_RR + 4 * (size - 1) + (by_imm ? 2 : 0);
	struct value_op *op = is_mem(&ops[1]) ? value_emit_mem(l, id + 1, 0) : value_emit(l, id);
	op->a = value_gpr_of(l, &ops[0]);
	if (is_reg(&ops[1]))
		op->b = value_gpr_of(l, &ops[1]);
	if (by_imm)
		op->imm = ops[2].imm.value.u;
}

static void divide(struct lowering *l)
{
	const ZydisDecodedOperand *s = &l->ops[0];
	int size = value_size_index(s->size);
	if (size < 0) {
		l->failed = true;
		return;
	}
	unsigned id = OP_div_8_R + 2 * size;
	struct value_op *op = is_mem(s) ? value_emit_mem(l, id + 1, 0) : value_emit(l, id);
	op->imm = l->zi->mnemonic == ZYDIS_MNEMONIC_IDIV;
	if (is_reg(s))
		op->b = value_gpr_of(l, s);
}

static void push(struct lowering *l)
{
	const ZydisDecodedOperand *s = &l->ops[0];
	bool wide = l->insn->mem[l->insn->n_mem - 1].len == 8;
	if (!wide || (is_reg(s) && value_offset_of(s->reg.value) == 0xff)) {
		l->failed = true;
	} else if (is_mem(s)) {
		value_emit_mem(l, OP_load_scratch, 0);
		value_emit_mem(l, OP_push_scratch, 1);
	} else {
		struct value_op *op = value_emit_mem(l, is_reg(s) ? OP_push_R : OP_push_I, 0);
		if (is_reg(s))
			op->b = value_gpr_of(l, s);
		else
			op->imm = s->imm.value.s;
	}
}

static void pop(struct lowering *l)
{
	const ZydisDecodedOperand *d = &l->ops[0];
	if (l->insn->mem[0].len != 8 || (is_reg(d) && value_offset_of(d->reg.value) == 0xff)) {
		l->failed = true;
	} else if (is_mem(d)) {
		/* The stack pointer moves when both memory accesses are done. */
		value_emit_mem(l, OP_load_scratch, 0);
		value_emit_mem(l, OP_store_scratch, 1);
		value_emit(l, OP_drop);
		l->failed |= l->insn->mem[1].segment;
	} else {
		value_emit_mem(l, OP_pop_R, 0)->a = value_gpr_of(l, d);
	}
}

static void leave(struct lowering *l)
{
	if (l->insn->n_mem == 1)
		value_emit_mem(l, OP_leave, 0)->base = VALUE_RBP;
	else
		l->failed = true;
}

static void exchange(struct lowering *l)
{
	int size = value_size_index(l->ops[0].size);
	if (!is_reg(&l->ops[0]) || !is_reg(&l->ops[1]) || size < 0) {
		l->failed = true;
		return;
	}
	struct value_op *op = value_emit(l, OP_xchg_8_RR + size);
	op->a = value_gpr_of(l, &l->ops[0]);
	op->b = value_gpr_of(l, &l->ops[1]);
}

static void plain(struct lowering *l, unsigned id)
{
	value_emit(l, id);
}

/* How a mnemonic is lowered: by a function of its own, or by one of its form, which is told the
 * first of the operations that differ by size and operands alone. @quiet: the same where nobody
 * reads the flags; 0: the same as the other. */
struct integer_row {
	void (*own)(struct lowering *l);
	void (*form)(struct lowering *l, unsigned first);
	uint16_t first, quiet;
};

#define ROW(name, ...) [ZYDIS_MNEMONIC_##name] = {__VA_ARGS__}
static const struct integer_row integer_rows[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {
	ROW(ADD, .form = two_operands, .first = OP_add_8_RR, .quiet = OP_qadd_8_RR),
	ROW(OR, .form = two_operands, .first = OP_or_8_RR, .quiet = OP_qor_8_RR),
	ROW(AND, .form = two_operands, .first = OP_and_8_RR, .quiet = OP_qand_8_RR),
	ROW(SUB, .form = two_operands, .first = OP_sub_8_RR, .quiet = OP_qsub_8_RR),
	ROW(XOR, .form = two_operands, .first = OP_xor_8_RR, .quiet = OP_qxor_8_RR),
	ROW(ADC, .form = two_operands, .first = OP_adc_8_RR),
	ROW(SBB, .form = two_operands, .first = OP_sbb_8_RR),
	ROW(CMP, .form = two_operands, .first = OP_cmp_8_RR),
	ROW(TEST, .form = two_operands, .first = OP_test_8_RR),
	ROW(MOV, .form = two_operands, .first = OP_mov_8_RR),
	ROW(INC, .form = one_operand, .first = OP_inc_8_R),
	ROW(DEC, .form = one_operand, .first = OP_dec_8_R),
	ROW(NEG, .form = one_operand, .first = OP_neg_8_R),
	ROW(NOT, .form = one_operand, .first = OP_not_8_R),
	ROW(SHL, .form = shift, .first = OP_shl_8_RI),
	ROW(SHR, .form = shift, .first = OP_shr_8_RI),
	ROW(SAR, .form = shift, .first = OP_sar_8_RI),
	ROW(ROL, .form = shift, .first = OP_rol_8_RI),
	ROW(ROR, .form = shift, .first = OP_ror_8_RI),
	ROW(CWDE, .form = plain, .first = OP_cwde),
	ROW(CDQE, .form = plain, .first = OP_cdqe),
	ROW(CDQ, .form = plain, .first = OP_cdq),
	ROW(CQO, .form = plain, .first = OP_cqo),
	ROW(MOVZX, .own = extend),
	ROW(MOVSX, .own = extend),
	ROW(MOVSXD, .own = extend),
	ROW(LEA, .own = lea),
	ROW(MUL, .own = imul),
	ROW(IMUL, .own = imul),
	ROW(DIV, .own = divide),
	ROW(IDIV, .own = divide),
	ROW(PUSH, .own = push),
	ROW(POP, .own = pop),
	ROW(LEAVE, .own = leave),
	ROW(XCHG, .own = exchange),
};

bool value_lower_integer(struct lowering *l)
{
	const struct integer_row *row = &integer_rows[l->zi->mnemonic];
	if (row->own)
		row->own(l);
	else if (row->form)
		row->form(l, l->quiet && row->quiet ? row->quiet : row->first);
	return row->own || row->form;
}

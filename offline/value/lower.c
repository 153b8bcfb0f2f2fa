// SPDX-License-Identifier: LGPL-2.1-or-later
/* lower.c: from an instruction to operations (ops.def): the frequent ones have operations of their
 * own, all others that only compute become a stub (stub.h). */
#include "offline/value/machine_impl.h"

#include <string.h>

struct lowering {
	struct value_machine *m;
	const ZydisDecodedInstruction *zi;
	const ZydisDecodedOperand *ops;
	const uint8_t *bytes;
	const struct value_insn *insn;
	bool quiet;
	struct value_op *out;
	unsigned n;
	bool failed;
};

/* Forms of two-operand instructions, in the order of ops.def. */
enum form { RR, RI, RM, MR, MI, FORMS, NO_FORM = -1 };

static bool is_reg(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER;
}

static bool is_mem(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

static bool is_imm(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

/* The byte offset of a general register; 0xff: it is none. */
static uint8_t offset_of(ZydisRegister reg)
{
	uint8_t number, off, len;
	return value_gpr_place(reg, &number, &off, &len) ? 8 * number + off : 0xff;
}

static uint8_t gpr(struct lowering *l, const ZydisDecodedOperand *op)
{
	uint8_t off = is_reg(op) ? offset_of(op->reg.value) : 0xff;
	l->failed |= off == 0xff;
	return off;
}

static struct value_op *emit(struct lowering *l, unsigned id)
{
	struct value_op *op = &l->out[l->n++];
	memset(op, 0, sizeof(*op));
	op->id = id;
	op->base = op->index = VALUE_ZERO;
	op->next = l->insn->ip + l->insn->len;
	return op;
}

/* The same place for @op; a segment's base is added by an operation before it. */
static void address(struct lowering *l, struct value_op *op, const struct value_place *p)
{
	op->base = p->base;
	op->index = p->index;
	op->shift = p->shift;
	op->disp = p->disp;
	if (!p->segment)
		return;
	if (p->index == VALUE_ZERO) {
		op->index = p->seg;
		op->shift = 0;
	} else if (p->base == VALUE_ZERO) {
		op->base = p->seg;
	} else {
		op[1] = op[0];
		l->n++;
		op->id = OP_segment_base;
		op->b = p->seg;
		op[1].base = VALUE_SCRATCH;
	}
}

static struct value_op *emit_mem(struct lowering *l, unsigned id, unsigned place)
{
	struct value_op *op = emit(l, id);
	address(l, op, &l->insn->mem[place]);
	return &l->out[l->n - 1];
}

static int size_index(unsigned bits)
{
	return bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : bits == 64 ? 3 : -1;
}

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
	int size = size_index(d->size);
	if (form == NO_FORM || size < 0) {
		l->failed = true;
		return;
	}
	unsigned id = first + FORMS * size + form;
	struct value_op *op =
		form == RM || form == MR || form == MI ? emit_mem(l, id, 0) : emit(l, id);
	if (is_reg(d))
		op->a = gpr(l, d);
	if (is_reg(s))
		op->b = gpr(l, s);
	if (is_imm(s))
		op->imm = s->imm.value.u;
}

/* @first: R, M for 8 bits, then for 16 and so on. */
static void one_operand(struct lowering *l, unsigned first)
{
	const ZydisDecodedOperand *d = &l->ops[0];
	int size = size_index(d->size);
	if (size < 0)
		l->failed = true;
	else if (is_mem(d))
		emit_mem(l, first + 2 * size + 1, 0);
	else
		emit(l, first + 2 * size)->a = gpr(l, d);
}

/* A shift of a register by a number or by cl; @quiet_first: RI without flags, 0: none. */
static void shift(struct lowering *l, unsigned first, unsigned quiet_first)
{
	const ZydisDecodedOperand *d = &l->ops[0], *s = &l->ops[1];
	int size = size_index(d->size);
	unsigned count = is_imm(s) ? s->imm.value.u & (d->size == 64 ? 63 : 31) : 0;
	if (!is_reg(d) || size < 0 || (is_imm(s) && (!count || count >= d->size))) {
		l->failed = true;
		return;
	}
	struct value_op *op;
	if (is_imm(s) && l->quiet && quiet_first)
		op = emit(l, quiet_first + size);
	else
		op = emit(l, first + 2 * size + (is_imm(s) ? 0 : 1));
	op->a = gpr(l, d);
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
	struct value_op *op = is_mem(s) ? emit_mem(l, id + 1, 0) : emit(l, id);
	op->a = gpr(l, d);
	if (is_reg(s))
		op->b = gpr(l, s);
}

static void lea(struct lowering *l)
{
	const ZydisDecodedOperand *d = &l->ops[0], *s = &l->ops[1];
	unsigned id = d->size == 64 ? OP_lea_64 : d->size == 32 ? OP_lea_32 : OP_lea_16;
	struct value_op *op = emit(l, id);
	op->a = gpr(l, d);
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
		struct value_op *op = is_mem(&ops[0]) ? emit_mem(l, id + 1, 0) : emit(l, id);
		op->a = 8 * VALUE_RAX;
		if (is_reg(&ops[0]))
			op->b = gpr(l, &ops[0]);
		return;
	}
	int size = size_index(ops[0].size);
	bool by_imm = zi->operand_count_visible == 3;
	if (size < 1) {
		l->failed = true;
		return;
	}
	unsigned id = OP_imul_16_RR + 4 * (size - 1) + (by_imm ? 2 : 0);
	struct value_op *op = is_mem(&ops[1]) ? emit_mem(l, id + 1, 0) : emit(l, id);
	op->a = gpr(l, &ops[0]);
	if (is_reg(&ops[1]))
		op->b = gpr(l, &ops[1]);
	if (by_imm)
		op->imm = ops[2].imm.value.u;
}

static void divide(struct lowering *l)
{
	const ZydisDecodedOperand *s = &l->ops[0];
	int size = size_index(s->size);
	if (size < 0) {
		l->failed = true;
		return;
	}
	unsigned id = OP_div_8_R + 2 * size;
	struct value_op *op = is_mem(s) ? emit_mem(l, id + 1, 0) : emit(l, id);
	op->imm = l->zi->mnemonic == ZYDIS_MNEMONIC_IDIV;
	if (is_reg(s))
		op->b = gpr(l, s);
}

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
		struct value_op *op = emit(l, code >= 0				 ? OP_jo + code
					      : mnemonic == ZYDIS_MNEMONIC_JRCXZ ? OP_jrcxz
										 : OP_jecxz);
		op->imm = l->insn->target;
		op->disp = op->next;
		return true;
	}
	code = condition(mnemonic, set_codes);
	if (code >= 0) {
		if (is_mem(&l->ops[0]))
			emit_mem(l, OP_seto_M + code, 0);
		else
			emit(l, OP_seto_R + code)->a = gpr(l, &l->ops[0]);
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
	struct value_op *op = is_mem(s) ? emit_mem(l, id + code, 0) : emit(l, id + code);
	op->a = gpr(l, d);
	if (is_reg(s))
		op->b = gpr(l, s);
	return true;
}

static void push(struct lowering *l)
{
	const ZydisDecodedOperand *s = &l->ops[0];
	bool wide = l->insn->mem[l->insn->n_mem - 1].len == 8;
	if (!wide || (is_reg(s) && offset_of(s->reg.value) == 0xff)) {
		l->failed = true;
	} else if (is_mem(s)) {
		emit_mem(l, OP_load_scratch, 0);
		emit_mem(l, OP_push_scratch, 1);
	} else {
		struct value_op *op = emit_mem(l, is_reg(s) ? OP_push_R : OP_push_I, 0);
		if (is_reg(s))
			op->b = gpr(l, s);
		else
			op->imm = s->imm.value.s;
	}
}

static void pop(struct lowering *l)
{
	const ZydisDecodedOperand *d = &l->ops[0];
	if (l->insn->mem[0].len != 8 || (is_reg(d) && offset_of(d->reg.value) == 0xff)) {
		l->failed = true;
	} else if (is_mem(d)) {
		/* Two memory accesses: the second may fail with rsp moved already. Rare: not done.
		 */
		l->failed = true;
	} else {
		emit_mem(l, OP_pop_R, 0)->a = gpr(l, d);
	}
}

static bool control(struct lowering *l)
{
	const struct value_insn *insn = l->insn;
	const ZydisDecodedOperand *s = &l->ops[0];
	switch (insn->kind) {
	case VALUE_INSN_JUMP:
		emit(l, OP_jmp)->imm = insn->target;
		return true;
	case VALUE_INSN_CALL:
		emit_mem(l, OP_call, 0)->imm = insn->target;
		return true;
	case VALUE_INSN_JUMP_IND:
		if (is_mem(s))
			emit_mem(l, OP_jmp_M, 0);
		else
			emit(l, OP_jmp_R)->b = gpr(l, s);
		return true;
	case VALUE_INSN_CALL_IND:
		if (is_mem(s)) {
			emit_mem(l, OP_load_scratch, 0);
			emit_mem(l, OP_call_scratch, 1);
		} else {
			emit_mem(l, OP_call_R, 0)->b = gpr(l, s);
		}
		return true;
	case VALUE_INSN_RET:
		emit_mem(l, OP_ret, 0)->imm = is_imm(s) ? s->imm.value.u : 0;
		l->failed |= l->zi->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
		return true;
	case VALUE_INSN_SYSCALL:
		emit(l, OP_syscall);
		return true;
	case VALUE_INSN_CHANCE:
		emit(l, OP_chance);
		return true;
	case VALUE_INSN_TRAP:
		emit(l, OP_trap);
		return true;
	case VALUE_INSN_STRING: {
		struct value_op *op = emit(l, OP_string);
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

/* --- vector moves -------------------------------------------------------------------------- */

static int vec(const ZydisDecodedOperand *op)
{
	return is_reg(op) && ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_XMM
		       ? ZydisRegisterGetId(op->reg.value)
		       : -1;
}

/* Moves without VEX, and pxor of a register with itself. True: done. */
static bool vector_move(struct lowering *l)
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
		emit(l, OP_vzero_16)->a = to;
		return true;
	default:
		return false;
	}
	unsigned k = size == 16 ? 0 : size == 8 ? 1 : 2;
	struct value_op *op;
	if (to >= 0 && is_mem(s)) {
		op = emit_mem(l, OP_vload_16 + k, 0);
		op->a = to;
	} else if (is_mem(d) && from >= 0) {
		op = emit_mem(l, OP_vstore_16 + k, 0);
		op->b = from;
	} else if (to >= 0 && from >= 0 && size == 16) {
		op = emit(l, OP_vmov_16);
		op->a = to;
		op->b = from;
	} else if (to >= 0 && is_reg(s) && offset_of(s->reg.value) != 0xff) {
		op = emit(l, size == 8 ? OP_vfrom_64 : OP_vfrom_32);
		op->a = to;
		op->b = gpr(l, s);
	} else if (from >= 0 && is_reg(d) && offset_of(d->reg.value) != 0xff) {
		op = emit(l, size == 8 ? OP_vto_64 : OP_vto_32);
		op->b = from;
		op->a = gpr(l, d);
	} else {
		return false;
	}
	return true;
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
	}
	use->x87 |= l->zi->meta.isa_ext == ZYDIS_ISA_EXT_X87 ||
		    l->zi->meta.isa_ext == ZYDIS_ISA_EXT_MMX;
	if (insn->n_mem) {
		use->len = insn->mem[0].len;
		use->load = true; /* also what is only written: perhaps not all of it */
		use->store = insn->mem[0].write;
	}
	struct value_op *op = insn->n_mem ? emit_mem(l, OP_stub, 0) : emit(l, OP_stub);
	op->next = (uintptr_t)use;
}

/* --- the table ----------------------------------------------------------------------------- */

static bool general(struct lowering *l)
{
	bool quiet = l->quiet;
	switch (l->zi->mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
		two_operands(l, quiet ? OP_qadd_8_RR : OP_add_8_RR);
		break;
	case ZYDIS_MNEMONIC_OR:
		two_operands(l, quiet ? OP_qor_8_RR : OP_or_8_RR);
		break;
	case ZYDIS_MNEMONIC_AND:
		two_operands(l, quiet ? OP_qand_8_RR : OP_and_8_RR);
		break;
	case ZYDIS_MNEMONIC_SUB:
		two_operands(l, quiet ? OP_qsub_8_RR : OP_sub_8_RR);
		break;
	case ZYDIS_MNEMONIC_XOR:
		two_operands(l, quiet ? OP_qxor_8_RR : OP_xor_8_RR);
		break;
	case ZYDIS_MNEMONIC_ADC:
		two_operands(l, OP_adc_8_RR);
		break;
	case ZYDIS_MNEMONIC_SBB:
		two_operands(l, OP_sbb_8_RR);
		break;
	case ZYDIS_MNEMONIC_CMP:
		two_operands(l, OP_cmp_8_RR);
		break;
	case ZYDIS_MNEMONIC_TEST:
		two_operands(l, OP_test_8_RR);
		break;
	case ZYDIS_MNEMONIC_MOV:
		two_operands(l, OP_mov_8_RR);
		break;
	case ZYDIS_MNEMONIC_INC:
		one_operand(l, OP_inc_8_R);
		break;
	case ZYDIS_MNEMONIC_DEC:
		one_operand(l, OP_dec_8_R);
		break;
	case ZYDIS_MNEMONIC_NEG:
		one_operand(l, OP_neg_8_R);
		break;
	case ZYDIS_MNEMONIC_NOT:
		one_operand(l, OP_not_8_R);
		break;
	case ZYDIS_MNEMONIC_SHL:
		shift(l, OP_shl_8_RI, OP_qshl_8_RI);
		break;
	case ZYDIS_MNEMONIC_SHR:
		shift(l, OP_shr_8_RI, OP_qshr_8_RI);
		break;
	case ZYDIS_MNEMONIC_SAR:
		shift(l, OP_sar_8_RI, 0);
		break;
	case ZYDIS_MNEMONIC_ROL:
		shift(l, OP_rol_8_RI, 0);
		break;
	case ZYDIS_MNEMONIC_ROR:
		shift(l, OP_ror_8_RI, 0);
		break;
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		extend(l);
		break;
	case ZYDIS_MNEMONIC_LEA:
		lea(l);
		break;
	case ZYDIS_MNEMONIC_MUL:
	case ZYDIS_MNEMONIC_IMUL:
		imul(l);
		break;
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
		divide(l);
		break;
	case ZYDIS_MNEMONIC_CWDE:
		emit(l, OP_cwde);
		break;
	case ZYDIS_MNEMONIC_CDQE:
		emit(l, OP_cdqe);
		break;
	case ZYDIS_MNEMONIC_CDQ:
		emit(l, OP_cdq);
		break;
	case ZYDIS_MNEMONIC_CQO:
		emit(l, OP_cqo);
		break;
	case ZYDIS_MNEMONIC_PUSH:
		push(l);
		break;
	case ZYDIS_MNEMONIC_POP:
		pop(l);
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		if (l->insn->n_mem == 1)
			emit_mem(l, OP_leave, 0)->base = VALUE_RBP;
		else
			l->failed = true;
		break;
	case ZYDIS_MNEMONIC_XCHG:
		if (is_reg(&l->ops[0]) && is_reg(&l->ops[1]) && size_index(l->ops[0].size) >= 0) {
			struct value_op *op = emit(l, OP_xchg_8_RR + size_index(l->ops[0].size));
			op->a = gpr(l, &l->ops[0]);
			op->b = gpr(l, &l->ops[1]);
		} else {
			l->failed = true;
		}
		break;
	default:
		return false;
	}
	return true;
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

static bool special(struct lowering *l)
{
	switch (l->zi->mnemonic) {
	case ZYDIS_MNEMONIC_VZEROUPPER:
		emit(l, OP_vzeroupper);
		return true;
	case ZYDIS_MNEMONIC_VZEROALL:
		emit(l, OP_vzeroall);
		return true;
	case ZYDIS_MNEMONIC_LDMXCSR:
	case ZYDIS_MNEMONIC_VLDMXCSR:
		emit_mem(l, OP_ldmxcsr, 0);
		return true;
	case ZYDIS_MNEMONIC_STMXCSR:
	case ZYDIS_MNEMONIC_VSTMXCSR:
		emit_mem(l, OP_stmxcsr, 0);
		return true;
	case ZYDIS_MNEMONIC_CLD:
		emit(l, OP_cld);
		return true;
	case ZYDIS_MNEMONIC_STD:
		emit(l, OP_std);
		return true;
	case ZYDIS_MNEMONIC_PUSHFQ:
		emit_mem(l, OP_pushfq, 0);
		return true;
	case ZYDIS_MNEMONIC_POPFQ:
		emit_mem(l, OP_popfq, 0);
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

unsigned value_lower(struct value_machine *m, const ZydisDecodedInstruction *zi,
		     const ZydisDecodedOperand *ops, const uint8_t *bytes,
		     const struct value_insn *insn, bool quiet, struct value_op *out)
{
	struct lowering l = {m, zi, ops, bytes, insn, quiet, out, 0, false};
	bool narrow = zi->address_width != 64 && insn->n_mem;
	if (does_nothing(zi))
		emit(&l, OP_nop);
	else if (narrow)
		l.failed = true;
	else if (!special(&l) && !control(&l) && !vector_move(&l) && !general(&l))
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

// SPDX-License-Identifier: LGPL-2.1-or-later
/* insn.c: what an instruction reads and writes, from Zydis' operands: explicit, implicit and hidden
 * ones alike. */
#include "offline/eval/insn/insn.h"

#include <assert.h>
#include <string.h>

bool value_gpr_place(ZydisRegister reg, uint8_t *number, uint8_t *off, uint8_t *len)
{
	*off = 0;
	if (reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH) {
		*number = reg - ZYDIS_REGISTER_AH;
		*off = 1;
		*len = 1;
		return true;
	}
	ZydisRegisterClass class = ZydisRegisterGetClass(reg);
	*len = class == ZYDIS_REGCLASS_GPR64   ? 8
	       : class == ZYDIS_REGCLASS_GPR32 ? 4
	       : class == ZYDIS_REGCLASS_GPR16 ? 2
	       : class == ZYDIS_REGCLASS_GPR8  ? 1
					       : 0;
	if (!*len)
		return false;
	*number = ZydisRegisterGetId(
		ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg));
	return true;
}

static uint16_t flags_of(uint32_t rflags)
{
	return (rflags & 0xd5) << 8 | (rflags >> 11 & 1);
}

static struct value_access *add(struct value_insn *insn, uint8_t kind, uint8_t reg, uint8_t off,
				uint8_t len)
{
	assert(insn->n_access < VALUE_ACCESSES); /* Zydis has at most ten operands */
	struct value_access *a = &insn->access[insn->n_access++];
	*a = (struct value_access){.kind = kind, .reg = reg, .off = off, .len = len};
	return a;
}

static void add_address_register(struct value_insn *insn, ZydisRegister reg)
{
	uint8_t number, off, len;
	if (reg == ZYDIS_REGISTER_RIP || !value_gpr_place(reg, &number, &off, &len))
		return;
	struct value_access *a = add(insn, VALUE_ACCESS_GPR, number, off, len);
	a->read = true;
	a->address = true;
}

static uint8_t address_register(ZydisRegister reg)
{
	uint8_t number, off, len;
	return value_gpr_place(reg, &number, &off, &len) ? number : VALUE_ZERO;
}

static bool is_read(const ZydisDecodedOperand *op)
{
	return op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
}

static bool is_written(const ZydisDecodedOperand *op)
{
	return op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
}

/* Instructions that name memory and neither read nor write it. */
static bool only_names(const ZydisDecodedInstruction *zi)
{
	return zi->meta.category == ZYDIS_CATEGORY_NOP ||
	       zi->meta.category == ZYDIS_CATEGORY_WIDENOP ||
	       zi->meta.category == ZYDIS_CATEGORY_PREFETCH ||
	       zi->mnemonic == ZYDIS_MNEMONIC_CLFLUSH ||
	       zi->mnemonic == ZYDIS_MNEMONIC_CLFLUSHOPT || zi->mnemonic == ZYDIS_MNEMONIC_CLWB;
}

int64_t value_bits_offset(const struct value_place *p, uint64_t bit)
{
	int64_t n = p->len == 8 ? (int64_t)bit : p->len == 4 ? (int32_t)bit : (int16_t)bit;
	return (n >> (p->len == 8 ? 6 : p->len == 4 ? 5 : 4)) * p->len;
}

/* The register that bt and its like take the number of a bit of memory from, plus 1; 0: it is none.
 */
static uint8_t bit_register(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops)
{
	uint8_t number, off, len;
	bool bits = zi->mnemonic == ZYDIS_MNEMONIC_BT || zi->mnemonic == ZYDIS_MNEMONIC_BTC ||
		    zi->mnemonic == ZYDIS_MNEMONIC_BTR || zi->mnemonic == ZYDIS_MNEMONIC_BTS;
	return bits && ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			       value_gpr_place(ops[1].reg.value, &number, &off, &len)
		       ? number + 1
		       : 0;
}

/* Stores of the elements that a mask chooses. */
static bool writes_in_part(const ZydisDecodedInstruction *zi)
{
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_VMASKMOVPS:
	case ZYDIS_MNEMONIC_VMASKMOVPD:
	case ZYDIS_MNEMONIC_VPMASKMOVD:
	case ZYDIS_MNEMONIC_VPMASKMOVQ:
	case ZYDIS_MNEMONIC_MASKMOVQ:
	case ZYDIS_MNEMONIC_MASKMOVDQU:
	case ZYDIS_MNEMONIC_VMASKMOVDQU:
		return true;
	default:
		return false;
	}
}

static bool repeats(const ZydisDecodedInstruction *zi)
{
	return zi->attributes &
	       (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

/* Whether only the elements that a mask register chooses are written, and the others stay. */
static bool merges(const ZydisDecodedInstruction *zi)
{
	return zi->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX &&
	       zi->avx.mask.mode == ZYDIS_MASK_MODE_MERGING;
}

static void add_memory(struct value_insn *insn, const ZydisDecodedInstruction *zi,
		       const ZydisDecodedOperand *ops, const ZydisDecodedOperand *op)
{
	if (only_names(zi))
		return;
	add_address_register(insn, op->mem.base);
	if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB) { /* as many places as the index has elements */
		insn->scatters = is_written(op);
		return;
	}
	add_address_register(insn, op->mem.index);
	if (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN || insn->n_mem == 2)
		return;
	struct value_place *p = &insn->mem[insn->n_mem];
	*p = (struct value_place){
		.base = address_register(op->mem.base),
		.index = address_register(op->mem.index),
		.disp = op->mem.disp.has_displacement ? op->mem.disp.value : 0,
		.len = op->size / 8,
		.read = is_read(op),
		.write = is_written(op),
	};
	for (unsigned scale = op->mem.scale; scale > 1; scale /= 2)
		p->shift++;
	if (op->mem.base == ZYDIS_REGISTER_RIP)
		p->disp += insn->ip + insn->len;
	p->segment = op->mem.segment == ZYDIS_REGISTER_FS || op->mem.segment == ZYDIS_REGISTER_GS;
	p->seg = op->mem.segment == ZYDIS_REGISTER_FS ? VALUE_FS : VALUE_GS;
	p->bits = bit_register(zi, ops);
	if (p->bits)
		add_address_register(insn, ops[1].reg.value);
	struct value_access *a = add(insn, VALUE_ACCESS_MEMORY, insn->n_mem++, 0, 0);
	a->read = p->read;
	a->write = p->write;
	a->conditional = p->write && !(op->actions & ZYDIS_OPERAND_ACTION_WRITE);
	/* The rest stays; what a string instruction does not come to is no operand of it. */
	if ((a->conditional && !repeats(zi)) || writes_in_part(zi) || (p->write && merges(zi)))
		a->read = p->read = true;
}

/* Loads of one element, and moves from general registers, clear the rest of the low half. */
static bool clears_rest(const ZydisDecodedInstruction *zi)
{
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_MOVSS:
	case ZYDIS_MNEMONIC_MOVSD:
		return zi->raw.modrm.mod != 3;
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_MOVD:
		return true;
	default:
		return false;
	}
}

/* Bytes of the first operand that an instruction without VEX writes, of one element of it alone,
 * whatever was there; the rest stays. 0: it is no such instruction. */
static uint8_t scalar_bytes(const ZydisDecodedInstruction *zi)
{
	if (zi->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return 0;
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_CVTSI2SD:
	case ZYDIS_MNEMONIC_CVTSS2SD:
	case ZYDIS_MNEMONIC_SQRTSD:
	case ZYDIS_MNEMONIC_ROUNDSD:
		return 8;
	case ZYDIS_MNEMONIC_CVTSI2SS:
	case ZYDIS_MNEMONIC_CVTSD2SS:
	case ZYDIS_MNEMONIC_SQRTSS:
	case ZYDIS_MNEMONIC_RCPSS:
	case ZYDIS_MNEMONIC_RSQRTSS:
	case ZYDIS_MNEMONIC_ROUNDSS:
		return 4;
	default:
		return 0;
	}
}

static bool takes_high(const ZydisDecodedInstruction *zi)
{
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_PUNPCKHBW:
	case ZYDIS_MNEMONIC_PUNPCKHWD:
	case ZYDIS_MNEMONIC_PUNPCKHDQ:
	case ZYDIS_MNEMONIC_PUNPCKHQDQ:
	case ZYDIS_MNEMONIC_UNPCKHPS:
	case ZYDIS_MNEMONIC_UNPCKHPD:
		return true;
	default:
		return false;
	}
}

/* Whether the operand is the upper half of its register. */
static bool is_high_half(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op)
{
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_MOVHPS:
	case ZYDIS_MNEMONIC_MOVHPD:
		return true;
	case ZYDIS_MNEMONIC_VMOVHPS:
	case ZYDIS_MNEMONIC_VMOVHPD:
		return zi->operand_count_visible == 2;
	case ZYDIS_MNEMONIC_MOVLHPS:
		return is_written(op);
	case ZYDIS_MNEMONIC_MOVHLPS:
		return !is_written(op);
	default:
		return false;
	}
}

/* @off and @len of row @row, read and written. */
static void add_row(struct value_insn *insn, unsigned row, unsigned off, unsigned len, bool read,
		    bool write)
{
	struct value_access *a = add(insn, VALUE_ACCESS_VEC, row, off, len);
	a->read = read;
	a->write = write;
}

/* A vector register of an instruction with EVEX, which reads it as a whole and writes all of it:
 * what is above the operand becomes zeros. */
static void add_wide(struct value_insn *insn, const ZydisDecodedInstruction *zi,
		     const ZydisDecodedOperand *op, unsigned bytes)
{
	unsigned id = ZydisRegisterGetId(op->reg.value);
	bool lower = id < VALUE_VECS, whole = bytes == 2 * VALUE_ROW;
	unsigned row = lower ? id : VALUE_MORE + id - VALUE_VECS, top = row + VALUE_TOPS;
	if (is_read(op) || merges(zi)) {
		add_row(insn, row, 0, whole ? VALUE_ROW : bytes, true, false);
		if (whole)
			add_row(insn, top, 0, VALUE_ROW, true, false);
	}
	if (!is_written(op))
		return;
	add_row(insn, row, 0, VALUE_ROW, false, true);
	if (whole || !lower)
		add_row(insn, top, 0, VALUE_ROW, false, true);
	else
		insn->no_tops |= 1 << id;
}

/* A mask register. Number 0 as a mask is none. */
static void add_mask(struct value_insn *insn, const ZydisDecodedOperand *op)
{
	enum { BYTES = 8, OF_ROW = VALUE_ROW / BYTES };
	unsigned id = ZydisRegisterGetId(op->reg.value);
	if (id || op->encoding != ZYDIS_OPERAND_ENCODING_MASK)
		add_row(insn, VALUE_MASKS + id / OF_ROW, id % OF_ROW * BYTES, BYTES, is_read(op),
			is_written(op));
}

static void add_register(struct value_insn *insn, const ZydisDecodedInstruction *zi,
			 const ZydisDecodedOperand *op)
{
	ZydisRegister reg = op->reg.value;
	ZydisRegisterClass class = ZydisRegisterGetClass(reg);
	uint8_t number, off, len;
	struct value_access *a = NULL;
	if (value_gpr_place(reg, &number, &off, &len)) {
		/* What is written perhaps may be what it was. A write of 32 bits clears the rest,
		 * so it defines the whole register. */
		bool perhaps = is_written(op) && !(op->actions & ZYDIS_OPERAND_ACTION_WRITE);
		bool stays = is_read(op) || perhaps;
		bool whole = len == 4 && is_written(op) && !stays;
		/* cmpxchg leaves all of a register that it does not write; cmov clears the rest. */
		bool all = perhaps && zi->meta.category != ZYDIS_CATEGORY_CMOV;
		a = add(insn, VALUE_ACCESS_GPR, number, off, whole || (all && len == 4) ? 8 : len);
		if (len == 4 && is_written(op) && stays) {
			a->read = true;
			a = add(insn, VALUE_ACCESS_GPR, number, 0, 8);
			a->write = true;
			a->conditional = perhaps;
			return;
		}
	} else if (class == ZYDIS_REGCLASS_XMM || class == ZYDIS_REGCLASS_YMM ||
		   class == ZYDIS_REGCLASS_ZMM) {
		uint8_t size = class == ZYDIS_REGCLASS_XMM ? 16 : 32;
		if (zi->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
			add_wide(insn, zi, op, class == ZYDIS_REGCLASS_ZMM ? 64 : size);
			return;
		}
		/* A read of fewer bytes than the register has: movss, movq and their like. */
		uint8_t used = op->size && op->size / 8 < size ? op->size / 8 : size;
		if (is_written(op) && !is_read(op) && used < 16 && clears_rest(zi))
			used = 16;
		if (takes_high(zi)) /* Zydis tells how much it reads, and not from where */
			used = size;
		uint8_t off = is_high_half(zi, op) && used <= 8 ? 8 : 0;
		if (scalar_bytes(zi) && op->id == 0) {
			add(insn, VALUE_ACCESS_VEC, ZydisRegisterGetId(reg), 0, scalar_bytes(zi))
				->write = true;
			return;
		}
		bool upper = zi->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY && is_written(op);
		insn->no_tops |= upper ? 1 << ZydisRegisterGetId(reg) : 0;
		a = add(insn, VALUE_ACCESS_VEC, ZydisRegisterGetId(reg), off, used);
		if (upper && is_read(op)) {
			a->read = true;
			a = add(insn, VALUE_ACCESS_VEC, ZydisRegisterGetId(reg), 0, 32);
			a->write = true;
			return;
		}
		if (upper)
			a->len = 32;
	} else if (class == ZYDIS_REGCLASS_MASK) {
		add_mask(insn, op);
		return;
	} else if (class == ZYDIS_REGCLASS_X87 || class == ZYDIS_REGCLASS_MMX ||
		   reg == ZYDIS_REGISTER_X87CONTROL || reg == ZYDIS_REGISTER_X87STATUS ||
		   reg == ZYDIS_REGISTER_X87TAG) {
		a = add(insn, VALUE_ACCESS_X87, 0, 0, 1);
		a->read = true; /* the stack is known or not as a whole */
		a->write = is_written(op);
		return;
	} else if (reg == ZYDIS_REGISTER_MXCSR) {
		a = add(insn, VALUE_ACCESS_STICKY, 0, 0, 1);
		a->read = is_read(op);
		a->write = is_written(op);
		a = add(insn, VALUE_ACCESS_MXCSR, 0, 0, 1);
	} else {
		return;
	}
	a->write = is_written(op);
	a->conditional = a->write && !(op->actions & ZYDIS_OPERAND_ACTION_WRITE);
	a->read = is_read(op) || a->conditional;
}

bool value_insn_rounds(const ZydisDecodedInstruction *zi)
{
	switch (zi->meta.exception_class) { /* with floating-point exceptions */
	case ZYDIS_EXCEPTION_CLASS_SSE2:
	case ZYDIS_EXCEPTION_CLASS_SSE3:
	case ZYDIS_EXCEPTION_CLASS_AVX2:
	case ZYDIS_EXCEPTION_CLASS_AVX3:
	case ZYDIS_EXCEPTION_CLASS_AVX11:
	case ZYDIS_EXCEPTION_CLASS_E2:
	case ZYDIS_EXCEPTION_CLASS_E2NF:
	case ZYDIS_EXCEPTION_CLASS_E3:
	case ZYDIS_EXCEPTION_CLASS_E3NF:
	case ZYDIS_EXCEPTION_CLASS_E11:
	case ZYDIS_EXCEPTION_CLASS_E11NF:
		return true;
	default:
		break;
	}
	switch (zi->mnemonic) { /* of MMX registers; and what takes denormals as MXCSR says */
	case ZYDIS_MNEMONIC_VRCP14PS:
	case ZYDIS_MNEMONIC_VRCP14PD:
	case ZYDIS_MNEMONIC_VRCP14SS:
	case ZYDIS_MNEMONIC_VRCP14SD:
	case ZYDIS_MNEMONIC_VRSQRT14PS:
	case ZYDIS_MNEMONIC_VRSQRT14PD:
	case ZYDIS_MNEMONIC_VRSQRT14SS:
	case ZYDIS_MNEMONIC_VRSQRT14SD:
	case ZYDIS_MNEMONIC_VFPCLASSPS:
	case ZYDIS_MNEMONIC_VFPCLASSPD:
	case ZYDIS_MNEMONIC_VFPCLASSSS:
	case ZYDIS_MNEMONIC_VFPCLASSSD:
	case ZYDIS_MNEMONIC_CVTPI2PS:
	case ZYDIS_MNEMONIC_CVTPI2PD:
	case ZYDIS_MNEMONIC_CVTPS2PI:
	case ZYDIS_MNEMONIC_CVTPD2PI:
	case ZYDIS_MNEMONIC_CVTTPS2PI:
	case ZYDIS_MNEMONIC_CVTTPD2PI:
		return true;
	default:
		return false;
	}
}

/* Zydis does not say it. */
static void add_rounding(struct value_insn *insn, const ZydisDecodedInstruction *zi)
{
	if (!value_insn_rounds(zi))
		return;
	add(insn, VALUE_ACCESS_MXCSR, 0, 0, 1)->read = true;
	struct value_access *a = add(insn, VALUE_ACCESS_STICKY, 0, 0, 1);
	a->write = true;
	a->conditional = true;
}

static bool shifts(const ZydisDecodedInstruction *zi)
{
	return zi->meta.category == ZYDIS_CATEGORY_SHIFT ||
	       zi->meta.category == ZYDIS_CATEGORY_ROTATE || zi->mnemonic == ZYDIS_MNEMONIC_SHLD ||
	       zi->mnemonic == ZYDIS_MNEMONIC_SHRD;
}

/* By 0 places nothing changes, and no flag. */
static bool shifts_by_zero(const ZydisDecodedInstruction *zi)
{
	return shifts(zi) && zi->raw.imm[0].size && !(zi->raw.imm[0].value.u & 31);
}

static void add_flags(struct value_insn *insn, const ZydisDecodedInstruction *zi)
{
	if (zi->mnemonic == ZYDIS_MNEMONIC_SYSCALL) { /* r11 is what they were */
		struct value_access *a = add(insn, VALUE_ACCESS_FLAGS, 0, 0, 1);
		a->mask = VALUE_FLAGS;
		a->read = true;
	}
	const ZydisAccessedFlags *f = zi->cpu_flags;
	if (!f)
		return;
	insn->undefined = flags_of(f->undefined);
	uint32_t written = f->modified | f->set_0 | f->set_1 | f->undefined;
	/* A string instruction looks at flags behind a turn, at those that the turn has set. */
	if (flags_of(f->tested) && insn->kind != VALUE_INSN_STRING) {
		struct value_access *a = add(insn, VALUE_ACCESS_FLAGS, 0, 0, 1);
		a->mask = flags_of(f->tested);
		a->read = true;
	}
	if (flags_of(written)) {
		struct value_access *a = add(insn, VALUE_ACCESS_FLAGS, 0, 0, 1);
		a->mask = flags_of(written);
		a->write = true;
		a->conditional = shifts_by_zero(zi) || (insn->kind == VALUE_INSN_STRING &&
							repeats(zi)); /* perhaps no turn */
		/* By cl, it may be by 0. */
		for (int i = 0; shifts(zi) && i < insn->n_access; i++)
			if (insn->access[i].kind == VALUE_ACCESS_GPR &&
			    insn->access[i].reg == VALUE_RCX && insn->access[i].len == 1)
				a->conditional = true;
		/* What is not written stays. */
		a->read = a->conditional || a->mask != VALUE_FLAGS;
	}
	if (f->tested & ZYDIS_CPUFLAG_DF)
		add(insn, VALUE_ACCESS_DF, 0, 0, 1)->read = true;
	if ((f->set_0 | f->set_1 | f->modified) & ZYDIS_CPUFLAG_DF)
		add(insn, VALUE_ACCESS_DF, 0, 0, 1)->write = true;
}

bool value_insn_result(const struct value_insn *insn, const struct value_access *a)
{
	if (!a->write || a->kind == VALUE_ACCESS_FLAGS || a->kind == VALUE_ACCESS_X87 ||
	    a->kind == VALUE_ACCESS_MXCSR || a->kind == VALUE_ACCESS_DF ||
	    a->kind == VALUE_ACCESS_STICKY)
		return false;
	bool stack = insn->kind == VALUE_INSN_CALL || insn->kind == VALUE_INSN_CALL_IND ||
		     insn->kind == VALUE_INSN_RET || insn->mnemonic == ZYDIS_MNEMONIC_PUSH ||
		     insn->mnemonic == ZYDIS_MNEMONIC_POP;
	if (a->kind == VALUE_ACCESS_GPR)
		return !(stack && a->reg == VALUE_RSP) && insn->kind != VALUE_INSN_STRING;
	return a->kind == VALUE_ACCESS_VEC ||
	       (insn->flow != VALUE_FLOW_COPY && !stack && insn->kind != VALUE_INSN_STRING);
}

static void count_trace(struct value_insn *insn)
{
	insn->n_addresses = insn->kind == VALUE_INSN_STRING ? 3 : insn->n_mem;
	for (int i = 0; i < insn->n_access; i++)
		if (value_insn_result(insn, &insn->access[i]))
			insn->n_results += insn->access[i].kind == VALUE_ACCESS_VEC ? 4 : 1;
}

/* rsi and rdi move, which Zydis does not say of cmps, lods and scas. */
static void add_moves(struct value_insn *insn, const ZydisDecodedInstruction *zi)
{
	for (int m = 0; m < insn->n_mem; m++) {
		bool listed = false;
		for (int i = 0; i < insn->n_access; i++)
			listed |= insn->access[i].kind == VALUE_ACCESS_GPR &&
				  insn->access[i].reg == insn->mem[m].base && insn->access[i].write;
		if (listed)
			continue;
		struct value_access *a = add(insn, VALUE_ACCESS_GPR, insn->mem[m].base, 0, 8);
		a->read = a->write = true;
		a->conditional = repeats(zi);
	}
}

void value_insn_describe(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
			 uint64_t ip, struct value_access *access, struct value_insn *out)
{
	memset(out, 0, sizeof(*out));
	out->ip = ip;
	out->len = zi->length;
	out->mnemonic = zi->mnemonic;
	out->access = access;
	out->kind = value_insn_kind(zi, ops);
	out->flow = value_insn_flow(zi, ops);
	out->condition = zi->opcode & 15;
	if (out->flow == VALUE_FLOW_LANES)
		value_insn_lanes(zi, ops, out);
	for (int i = 0; i < zi->operand_count; i++) {
		unsigned first = out->n_access;
		if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			add_memory(out, zi, ops, &ops[i]);
		else if (ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER)
			add_register(out, zi, &ops[i]);
		else if (ops[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
			out->imm = ops[i].imm.value.u;
			out->has_imm = true;
		}
		if (out->lanes.n)
			value_insn_lanes_read(zi, &ops[i], first, out);
	}
	if (out->kind == VALUE_INSN_STRING)
		add_moves(out, zi);
	add_flags(out, zi);
	add_rounding(out, zi);
	if (zi->mnemonic == ZYDIS_MNEMONIC_BSF || zi->mnemonic == ZYDIS_MNEMONIC_BSR)
		access[0].read = access[0].conditional = true; /* of 0 it is what was there */
	if (out->flow == VALUE_FLOW_FRESH)
		for (int i = 0; i < out->n_access; i++)
			out->access[i].read =
				out->access[i].kind == VALUE_ACCESS_FLAGS && out->access[i].read;
	if (out->kind == VALUE_INSN_JUMP || out->kind == VALUE_INSN_JCC ||
	    out->kind == VALUE_INSN_CALL)
		ZydisCalcAbsoluteAddress(zi, &ops[0], ip, &out->target);
	if (zi->mnemonic == ZYDIS_MNEMONIC_POP && out->n_mem == 2) {
		/* In the order of access; the destination is addressed with rsp as it is then. */
		struct value_place to = out->mem[0];
		out->mem[0] = out->mem[1];
		out->mem[1] = to;
		if (to.base == VALUE_RSP)
			out->mem[1].disp += out->mem[0].len;
		for (int i = 0; i < out->n_access; i++)
			if (access[i].kind == VALUE_ACCESS_MEMORY)
				access[i].reg = !access[i].reg;
	}
	if (zi->mnemonic == ZYDIS_MNEMONIC_SBB && zi->operand_count >= 2 &&
	    ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER && ops[0].reg.value == ops[1].reg.value)
		for (int i = 0; i < out->n_access; i++) /* 0 or -1, of the carry alone */
			if (access[i].kind == VALUE_ACCESS_GPR)
				access[i].read = false;
	if (zi->mnemonic == ZYDIS_MNEMONIC_LEAVE)
		out->mem[0].base = VALUE_RBP;
	count_trace(out);
	/* Where the stack pointer moves before the store, the operand's address is the new one. */
	if (zi->mnemonic == ZYDIS_MNEMONIC_PUSH || zi->mnemonic == ZYDIS_MNEMONIC_CALL ||
	    zi->mnemonic == ZYDIS_MNEMONIC_PUSHFQ)
		for (int i = 0; i < out->n_mem; i++)
			if (out->mem[i].write && out->mem[i].base == VALUE_RSP)
				out->mem[i].disp -= out->mem[i].len;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* naive_insn.c: what an instruction reads and writes, byte by byte, from Zydis' operands: the plain
 * way, for naive_slices.c. */
#include "tests/value/naive_insn.h"

#include <Zydis/Zydis.h>

static void add(struct list *l, int id)
{
	for (int i = 0; i < l->n; i++)
		if (l->at[i] == id)
			return;
	if (l->n < LIST)
		l->at[l->n++] = id;
}

static void add_range(struct list *l, int from, int n)
{
	for (int i = 0; i < n; i++)
		add(l, from + i);
}

/* The bytes of a general register; false: it is none. */
static bool general(ZydisRegister reg, int *from, int *n)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
		return false;
	*from = 8 * (whole - ZYDIS_REGISTER_RAX);
	*n = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg) / 8;
	if (reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH)
		++*from;
	return true;
}

static bool is_stack(const ZydisDecodedInstruction *zi)
{
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_CALL:
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_LEAVE:
	case ZYDIS_MNEMONIC_PUSHFQ:
	case ZYDIS_MNEMONIC_POPFQ:
		return true;
	default:
		return false;
	}
}

static bool zeroes(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op)
{
	static const uint16_t which[] = {
		ZYDIS_MNEMONIC_XOR,	 ZYDIS_MNEMONIC_SUB,	  ZYDIS_MNEMONIC_PXOR,
		ZYDIS_MNEMONIC_XORPS,	 ZYDIS_MNEMONIC_XORPD,	  ZYDIS_MNEMONIC_VPXOR,
		ZYDIS_MNEMONIC_VXORPS,	 ZYDIS_MNEMONIC_VXORPD,	  ZYDIS_MNEMONIC_PCMPEQB,
		ZYDIS_MNEMONIC_PCMPEQW,	 ZYDIS_MNEMONIC_PCMPEQD,  ZYDIS_MNEMONIC_PCMPEQQ,
		ZYDIS_MNEMONIC_PANDN,	 ZYDIS_MNEMONIC_ANDNPS,	  ZYDIS_MNEMONIC_ANDNPD,
		ZYDIS_MNEMONIC_VPXORD,	 ZYDIS_MNEMONIC_VPXORQ,	  ZYDIS_MNEMONIC_VPANDN,
		ZYDIS_MNEMONIC_VPANDND,	 ZYDIS_MNEMONIC_VPANDNQ,  ZYDIS_MNEMONIC_VANDNPS,
		ZYDIS_MNEMONIC_VANDNPD,	 ZYDIS_MNEMONIC_PSUBB,	  ZYDIS_MNEMONIC_PSUBW,
		ZYDIS_MNEMONIC_PSUBD,	 ZYDIS_MNEMONIC_PSUBQ,	  ZYDIS_MNEMONIC_VPSUBB,
		ZYDIS_MNEMONIC_VPSUBW,	 ZYDIS_MNEMONIC_VPSUBD,	  ZYDIS_MNEMONIC_VPSUBQ,
		ZYDIS_MNEMONIC_VPCMPEQB, ZYDIS_MNEMONIC_VPCMPEQW, ZYDIS_MNEMONIC_VPCMPEQD,
		ZYDIS_MNEMONIC_VPCMPEQQ, ZYDIS_MNEMONIC_PCMPGTB,  ZYDIS_MNEMONIC_PCMPGTW,
		ZYDIS_MNEMONIC_PCMPGTD,	 ZYDIS_MNEMONIC_PCMPGTQ,  ZYDIS_MNEMONIC_VPCMPGTB,
		ZYDIS_MNEMONIC_VPCMPGTW, ZYDIS_MNEMONIC_VPCMPGTD, ZYDIS_MNEMONIC_VPCMPGTQ,
	};
	int last = zi->operand_count_visible - 1;
	for (unsigned i = 0; i < sizeof(which) / sizeof(*which); i++)
		if (zi->mnemonic == which[i])
			return op[last].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			       op[last - 1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			       op[last].reg.value == op[last - 1].reg.value;
	return false;
}

static void take_register(struct decoded *d, const ZydisDecodedInstruction *zi,
			  const ZydisDecodedOperand *op, bool zero, bool own_carry)
{
	bool read = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ && !zero && !own_carry;
	bool write = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	bool perhaps = write && !(op->actions & ZYDIS_OPERAND_ACTION_WRITE);
	ZydisRegister reg = op->reg.value;
	ZydisRegisterClass class = ZydisRegisterGetClass(reg);
	int from, n;
	if (general(reg, &from, &n)) {
		bool apart = (is_stack(zi) && from == 8 * 4) ||
			     (d->string && (from == 8 * 6 || from == 8 * 7 || from == 8));
		if (apart && write) {
			add_range(&d->moved, from, n);
			add_range(&d->moves_by, zi->mnemonic == ZYDIS_MNEMONIC_LEAVE ? 8 * 5 : from,
				  n);
		}
		if (apart && zi->mnemonic == ZYDIS_MNEMONIC_PUSH && !write && read &&
		    op->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
			add_range(&d->data, from, n);
		if (apart)
			return;
		if (read)
			add_range(&d->data, from, n);
		if (write) {
			add_range(&d->writes, from, n == 4 ? 8 : n);
			if (perhaps)
				add_range(&d->data, from, n);
		}
	} else if (class == ZYDIS_REGCLASS_XMM || class == ZYDIS_REGCLASS_YMM) {
		int size = class == ZYDIS_REGCLASS_XMM ? 16 : 32, used = op->size / 8;
		bool vex = zi->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY;
		bool loads = (zi->mnemonic == ZYDIS_MNEMONIC_MOVSS ||
			      zi->mnemonic == ZYDIS_MNEMONIC_MOVSD)
				     ? zi->raw.modrm.mod != 3
				     : zi->mnemonic == ZYDIS_MNEMONIC_MOVQ ||
					       zi->mnemonic == ZYDIS_MNEMONIC_MOVD;
		used = used && used < size ? used : size;
		from = VEC + 32 * ZydisRegisterGetId(reg);
		if (read)
			add_range(&d->data, from, used);
		if (write)
			add_range(&d->writes, from, vex ? 32 : loads && used < 16 ? 16 : used);
		if (perhaps)
			add_range(&d->data, from, used);
	} else if (class == ZYDIS_REGCLASS_X87 || class == ZYDIS_REGCLASS_MMX ||
		   (reg >= ZYDIS_REGISTER_X87CONTROL && reg <= ZYDIS_REGISTER_X87TAG)) {
		add(&d->data, X87);
		if (write)
			add(&d->writes, X87);
	}
}

static void take_flags(struct decoded *d, const ZydisDecodedInstruction *zi,
		       const ZydisDecodedOperand *op)
{
	static const uint32_t bits[] = {ZYDIS_CPUFLAG_CF, ZYDIS_CPUFLAG_PF, ZYDIS_CPUFLAG_AF,
					ZYDIS_CPUFLAG_ZF, ZYDIS_CPUFLAG_SF, ZYDIS_CPUFLAG_OF};
	const ZydisAccessedFlags *f = zi->cpu_flags;
	if (!f)
		return;
	bool shift = zi->meta.category == ZYDIS_CATEGORY_SHIFT ||
		     zi->meta.category == ZYDIS_CATEGORY_ROTATE;
	bool by_cl = false;
	for (int i = 0; shift && i < zi->operand_count; i++)
		by_cl |= op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			 op[i].reg.value == ZYDIS_REGISTER_CL &&
			 op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ && i > 0;
	for (unsigned i = 0; i < 6; i++) {
		if (f->tested & bits[i])
			add(&d->data, FLAG + i);
		if ((f->modified | f->set_0 | f->set_1 | f->undefined) & bits[i]) {
			add(&d->writes, FLAG + i);
			if (by_cl)
				add(&d->data, FLAG + i);
		}
	}
	if ((f->modified | f->set_0 | f->set_1) & ZYDIS_CPUFLAG_DF)
		add(&d->writes, DIRECTION);
}

void naive_decode(const uint8_t *image, size_t image_len, uint64_t addr, struct decoded *d)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction zi;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	d->done = true;
	d->len = 1;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, image + addr, image_len - addr, &zi, op)))
		return;
	d->len = zi.length;
	d->call = zi.mnemonic == ZYDIS_MNEMONIC_CALL;
	d->ret = zi.mnemonic == ZYDIS_MNEMONIC_RET;
	d->exchanges = zi.attributes & ZYDIS_ATTRIB_HAS_LOCK ||
		       (zi.mnemonic == ZYDIS_MNEMONIC_XCHG && op[0].type != op[1].type);
	d->string = zi.meta.category == ZYDIS_CATEGORY_STRINGOP;
	d->moves_string =
		d->string &&
		(zi.mnemonic == ZYDIS_MNEMONIC_MOVSB || zi.mnemonic == ZYDIS_MNEMONIC_MOVSW ||
		 zi.mnemonic == ZYDIS_MNEMONIC_MOVSD || zi.mnemonic == ZYDIS_MNEMONIC_MOVSQ);
	bool zero = zeroes(&zi, op);
	bool carry =
		zi.mnemonic == ZYDIS_MNEMONIC_SBB && op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		op[1].type == ZYDIS_OPERAND_TYPE_REGISTER && op[0].reg.value == op[1].reg.value;
	for (int i = 0; i < zi.operand_count; i++) {
		int from, n;
		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER)
			take_register(d, &zi, &op[i], zero, carry);
		else if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			 zi.mnemonic == ZYDIS_MNEMONIC_LEA) {
			if (general(op[i].mem.base, &from, &n))
				add_range(&d->data, from, n);
			if (general(op[i].mem.index, &from, &n))
				add_range(&d->data, from, n);
		}
	}
	take_flags(d, &zi, op);
}

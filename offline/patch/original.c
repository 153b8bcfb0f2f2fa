// SPDX-License-Identifier: LGPL-2.1-or-later
/* original.c: see original.h. */
#include "offline/patch/original.h"

#include "offline/patch/assemble.h"

#include <errno.h>
#include <string.h>

enum { OP_LOAD = 0x8b };

/* What the system looks at the instruction pointer of, or what is undone by leaving its place. */
static bool is_bound_to_its_place(const ZydisDecodedInstruction *insn)
{
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
		return true;
	default:
		break;
	}
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_XEND:
	case ZYDIS_MNEMONIC_XABORT:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_ENDBR64:
	case ZYDIS_MNEMONIC_JRCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
		return true;
	default:
		return false;
	}
}

static bool is_sp(ZydisRegister reg)
{
	return reg != ZYDIS_REGISTER_NONE &&
	       ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg) ==
		       ZYDIS_REGISTER_RSP;
}

/* Takes in a register that an indirect call or jump reads; false: not sp, which is another one in
 * the trampoline, nor half a register. */
static bool add_register(struct original *o, ZydisRegister reg)
{
	if (reg == ZYDIS_REGISTER_NONE || reg == ZYDIS_REGISTER_RIP)
		return true;
	if (reg < ZYDIS_REGISTER_RAX || reg > ZYDIS_REGISTER_R15 || reg == ZYDIS_REGISTER_RSP)
		return false;
	o->regs |= 1 << (reg - ZYDIS_REGISTER_RAX);
	return true;
}

static bool read_target(struct original *o, const ZydisDecodedOperand *op)
{
	if (op->type == ZYDIS_OPERAND_TYPE_REGISTER)
		return op->size == 64 && add_register(o, op->reg.value);
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->size == 64 &&
	       op->mem.segment != ZYDIS_REGISTER_FS && op->mem.segment != ZYDIS_REGISTER_GS &&
	       add_register(o, op->mem.base) && add_register(o, op->mem.index);
}

int original_decode(const uint8_t *bytes, uint8_t len, uint64_t addr, struct original *o)
{
	ZydisDecoder decoder;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

	*o = (struct original){.bytes = bytes};
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, len, &o->insn, op)) ||
	    is_bound_to_its_place(&o->insn))
		return -EINVAL;
	uint64_t next = addr + o->insn.length;
	for (uint8_t i = 0; i < o->insn.operand_count; i++) {
		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER)
			o->touches_sp |= is_sp(op[i].reg.value);
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			o->touches_sp |= is_sp(op[i].mem.base) || is_sp(op[i].mem.index);
		if (i >= o->insn.operand_count_visible)
			continue;
		if (op[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && op[i].imm.is_relative)
			o->target = next + op[i].imm.value.s;
		if (op[i].type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		if (op[i].mem.base == ZYDIS_REGISTER_EIP)
			return -EINVAL;
		if (op[i].mem.base == ZYDIS_REGISTER_RIP) {
			o->by_rip = true;
			o->memory = next + op[i].mem.disp.value;
		}
	}
	if (o->insn.meta.category == ZYDIS_CATEGORY_CALL ||
	    o->insn.meta.category == ZYDIS_CATEGORY_UNCOND_BR)
		o->readable = read_target(o, &op[0]);
	return 0;
}

void original_emit(struct patch_code *c, const struct original *o, uint8_t reg)
{
	uint8_t copy[16];
	uint8_t len = o->insn.length;

	memcpy(copy, o->bytes, len);
	if (reg != ORIGINAL_AS_IT_IS)
		copy[o->insn.raw.modrm.offset] = (copy[o->insn.raw.modrm.offset] & 0xc7) | reg << 3;
	if (o->by_rip) {
		int64_t rel = (int64_t)(o->memory - (c->addr + c->len + len));
		int32_t word = (int32_t)rel;

		if (rel != word && !c->err)
			c->err = -ERANGE;
		memcpy(copy + o->insn.raw.disp.offset, &word, 4);
	}
	asm_bytes(c, copy, len);
}

void original_load_target(struct patch_code *c, const struct original *o, uint8_t reg, uint8_t ax)
{
	const ZydisDecodedInstruction *insn = &o->insn;
	bool sib = insn->raw.modrm.mod != 3 && insn->raw.modrm.rm == 4;
	uint8_t base = (sib ? insn->raw.sib.base : insn->raw.modrm.rm) | insn->raw.rex.B << 3;
	uint8_t index = insn->raw.sib.index | insn->raw.rex.X << 3;

	if (o->by_rip) {
		asm_op_rip(c, OP_LOAD, reg, o->memory);
		return;
	}
	base = base == ASM_AX ? ax : base;
	index = index == ASM_AX ? ax : index;
	asm_byte(c, 0x48 | (reg >> 3) << 2 | (sib ? index >> 3 << 1 : 0) | base >> 3);
	asm_byte(c, OP_LOAD);
	asm_byte(c, insn->raw.modrm.mod << 6 | (reg & 7) << 3 | (sib ? 4 : base & 7));
	if (sib)
		asm_byte(c, insn->raw.sib.scale << 6 | (index & 7) << 3 | (base & 7));
	asm_bytes(c, o->bytes + insn->raw.disp.offset, insn->raw.disp.size / 8);
}

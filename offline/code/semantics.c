// SPDX-License-Identifier: LGPL-2.1-or-later
/* semantics.c: full operands from Zydis, reduced to the few shapes of semantics.h. */
#include "offline/code/semantics.h"

#include <string.h>

/* rax, rcx, rdx, rsi, rdi, r8-r11: what the System V ABI lets a callee clobber. */
#define CALLER_SAVED 0x0fc7

void sem_decoder_init(ZydisDecoder *decoder)
{
	ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

static uint8_t reg_number(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
		return REG_NONE;
	return (uint8_t)(whole - ZYDIS_REGISTER_RAX);
}

static bool is_high_byte(ZydisRegister reg)
{
	return reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH;
}

static void note_writes(struct sem *sem, const ZydisDecodedInstruction *insn,
			const ZydisDecodedOperand *operands)
{
	for (uint8_t i = 0; i < insn->operand_count; i++) {
		const ZydisDecodedOperand *op = &operands[i];
		if (op->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		uint8_t reg = reg_number(op->reg.value);
		if (reg != REG_NONE)
			sem->writes |= (uint16_t)(1 << reg);
	}
	const ZydisAccessedFlags *flags = insn->cpu_flags;
	sem->sets_flags =
		flags && (flags->modified | flags->set_0 | flags->set_1 | flags->undefined) &
				 (ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_ZF);
}

/* Fills in the memory operand; false if its address cannot be described. */
static bool take_memory(struct sem *sem, const ZydisDecodedInstruction *insn,
			const ZydisDecodedOperand *op, uint64_t addr)
{
	const ZydisDecodedOperandMem *mem = &op->mem;
	if (mem->segment == ZYDIS_REGISTER_FS || mem->segment == ZYDIS_REGISTER_GS)
		return false;
	sem->memory = true;
	sem->base = sem->index = REG_NONE;
	sem->scale = mem->scale;
	sem->disp = mem->disp.has_displacement ? mem->disp.value : 0;
	if (mem->base == ZYDIS_REGISTER_RIP)
		sem->disp += (int64_t)(addr + insn->length);
	else if (mem->base != ZYDIS_REGISTER_NONE)
		sem->base = reg_number(mem->base);
	if (mem->index != ZYDIS_REGISTER_NONE)
		sem->index = reg_number(mem->index);
	return true;
}

static bool is_reg(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER && reg_number(op->reg.value) != REG_NONE;
}

static bool is_mem(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

static bool is_imm(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

static void set_move(struct sem *sem, const ZydisDecodedInstruction *insn,
		     const ZydisDecodedOperand *op, uint64_t addr)
{
	sem->size = (uint8_t)(op[1].size / 8);
	sem->sign =
		insn->mnemonic == ZYDIS_MNEMONIC_MOVSX || insn->mnemonic == ZYDIS_MNEMONIC_MOVSXD;
	if (is_mem(&op[0])) {
		sem->size = (uint8_t)(op[0].size / 8);
		sem->src = REG_NONE;
		if (is_reg(&op[1]) && !is_high_byte(op[1].reg.value))
			sem->src = reg_number(op[1].reg.value);
		if (take_memory(sem, insn, &op[0], addr))
			sem->op = SEM_STORE;
		return;
	}
	if (!is_reg(&op[0]) || op[0].size < 32)
		return; /* writes a part of a register */
	sem->dst = reg_number(op[0].reg.value);
	if (is_mem(&op[1])) {
		bool told = take_memory(sem, insn, &op[1], addr);
		sem->op = told ? SEM_LOAD : SEM_LOAD_THREAD;
	} else if (is_imm(&op[1])) {
		sem->op = SEM_CONST;
		sem->value =
			op[0].size == 32 ? (int64_t)(uint32_t)op[1].imm.value.u : op[1].imm.value.s;
	} else if (is_reg(&op[1]) && !is_high_byte(op[1].reg.value)) {
		sem->op = SEM_COPY;
		sem->src = reg_number(op[1].reg.value);
	}
}

static void set_lea(struct sem *sem, const ZydisDecodedInstruction *insn,
		    const ZydisDecodedOperand *op, uint64_t addr)
{
	if (op[0].size < 32 || !take_memory(sem, insn, &op[1], addr))
		return;
	sem->memory = false;
	sem->dst = reg_number(op[0].reg.value);
	sem->size = (uint8_t)(op[0].size / 8);
	sem->op = SEM_LEA;
	if (sem->base == REG_NONE && sem->index == REG_NONE) {
		sem->op = SEM_CONST;
		sem->value = sem->disp;
	}
}

static void set_arithmetic(struct sem *sem, const ZydisDecodedInstruction *insn,
			   const ZydisDecodedOperand *op, uint64_t addr)
{
	bool cmp = insn->mnemonic == ZYDIS_MNEMONIC_CMP;
	sem->size = (uint8_t)(op[0].size / 8);
	if (cmp && is_mem(&op[0]) && is_imm(&op[1])) {
		if (take_memory(sem, insn, &op[0], addr))
			sem->op = SEM_CMP;
		sem->value = op[1].imm.value.s;
		return;
	}
	if (!is_reg(&op[0]) || is_high_byte(op[0].reg.value))
		return;
	sem->dst = reg_number(op[0].reg.value);
	if (is_imm(&op[1])) {
		sem->value = op[1].imm.value.s;
		sem->is_sub = insn->mnemonic == ZYDIS_MNEMONIC_SUB;
		if (cmp)
			sem->op = SEM_CMP;
		else if (insn->mnemonic == ZYDIS_MNEMONIC_AND && op[0].size >= 32 &&
			 sem->value == -1) {
			sem->op = SEM_COPY; /* as below */
			sem->src = sem->dst;
		} else if (insn->mnemonic == ZYDIS_MNEMONIC_AND)
			sem->op = SEM_AND_IMM;
		else if (insn->mnemonic == ZYDIS_MNEMONIC_SHL)
			sem->op = SEM_SHL_IMM;
		else
			sem->op = SEM_ADD_IMM;
		if (sem->is_sub)
			sem->value = -sem->value;
	} else if (insn->mnemonic == ZYDIS_MNEMONIC_ADD && op[0].size >= 32 && is_reg(&op[1])) {
		sem->op = SEM_ADD;
		sem->src = reg_number(op[1].reg.value);
	} else if (insn->mnemonic == ZYDIS_MNEMONIC_ADD && op[0].size == 64 && is_mem(&op[1])) {
		if (take_memory(sem, insn, &op[1], addr))
			sem->op = SEM_ADD_LOAD;
	} else if (insn->mnemonic == ZYDIS_MNEMONIC_AND && op[0].size >= 32 && is_reg(&op[1]) &&
		   op[0].reg.value == op[1].reg.value) {
		sem->op = SEM_COPY; /* Free Pascal's way to clear the upper half */
		sem->src = sem->dst;
	}
}

/* Where a jump or a call goes. */
static void set_jump(struct sem *sem, uint8_t as, const ZydisDecodedInstruction *insn,
		     const ZydisDecodedOperand *op, uint64_t addr)
{
	sem->size = 8;
	sem->src = REG_NONE;
	if (is_reg(&op[0]))
		sem->src = reg_number(op[0].reg.value);
	else if (!is_mem(&op[0]) || !take_memory(sem, insn, &op[0], addr))
		return;
	sem->op = as;
}

static void set_op(struct sem *sem, const ZydisDecodedInstruction *insn,
		   const ZydisDecodedOperand *op, uint64_t addr)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		return set_move(sem, insn, op, addr);
	case ZYDIS_MNEMONIC_CDQE:
		sem->op = SEM_COPY;
		sem->dst = sem->src = REG_AX;
		sem->size = 4;
		sem->sign = true;
		return;
	case ZYDIS_MNEMONIC_LEA:
		return set_lea(sem, insn, op, addr);
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_CMP:
		return set_arithmetic(sem, insn, op, addr);
	case ZYDIS_MNEMONIC_XOR:
		if (is_reg(&op[0]) && is_reg(&op[1]) && op[0].reg.value == op[1].reg.value &&
		    op[0].size >= 32) {
			sem->op = SEM_CONST;
			sem->dst = reg_number(op[0].reg.value);
		}
		return;
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ:
		sem->op = SEM_PUSH;
		sem->size = (uint8_t)(insn->operand_width / 8);
		return;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPFQ:
		sem->op = SEM_POP;
		sem->size = (uint8_t)(insn->operand_width / 8);
		sem->dst = is_reg(&op[0]) ? reg_number(op[0].reg.value) : REG_NONE;
		return;
	case ZYDIS_MNEMONIC_XCHG:
		if (!is_reg(&op[0]) || !is_reg(&op[1]) || op[0].size < 32)
			return;
		sem->op = SEM_EXCHANGE;
		sem->dst = reg_number(op[0].reg.value);
		sem->src = reg_number(op[1].reg.value);
		sem->size = (uint8_t)(op[0].size / 8);
		return;
	case ZYDIS_MNEMONIC_LEAVE:
		sem->op = SEM_LEAVE;
		return;
	case ZYDIS_MNEMONIC_CALL:
		sem->op = SEM_CALL;
		sem->writes = CALLER_SAVED;
		return set_jump(sem, SEM_CALL, insn, op, addr);
	case ZYDIS_MNEMONIC_JMP:
		return set_jump(sem, SEM_JUMP, insn, op, addr);
	default:
		return;
	}
}

bool sem_decode(const ZydisDecoder *decoder, const uint8_t *bytes, uint8_t len_bytes, uint64_t addr,
		struct sem *sem)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	*sem = (struct sem){.dst = REG_NONE, .src = REG_NONE, .base = REG_NONE, .index = REG_NONE};
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(decoder, bytes, len_bytes, &insn, operands)))
		return false;
	note_writes(sem, &insn, operands);
	set_op(sem, &insn, operands, addr);
	return true;
}

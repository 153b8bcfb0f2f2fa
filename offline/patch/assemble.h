/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* assemble.h: the few instructions that trampolines are made of. */
#ifndef OFFLINE_PATCH_ASSEMBLE_H
#define OFFLINE_PATCH_ASSEMBLE_H

#include "offline/patch/emit.h"

enum { ASM_AX, ASM_CX, ASM_DX, ASM_BX, ASM_SP, ASM_BP, ASM_SI, ASM_DI };
/* Condition codes. */
enum { ASM_B = 2, ASM_AE = 3, ASM_E = 4, ASM_NE = 5 };

/* A register and a displacement from what it holds. */
struct asm_mem {
	uint8_t base;
	int32_t disp;
};

void asm_bytes(struct patch_code *c, const void *bytes, uint32_t n);
void asm_byte(struct patch_code *c, uint8_t byte);
void asm_word(struct patch_code *c, uint32_t word);
/* @opcode of one byte, or of two with 0x0f first (0x0fc1), of 64 bits, on a register and memory. */
void asm_op_mem(struct patch_code *c, uint16_t opcode, uint8_t reg, struct asm_mem mem);
/* The same with two registers; @reg is the reg field's. */
void asm_op_reg(struct patch_code *c, uint8_t opcode, uint8_t reg, uint8_t rm);
/* The same with what lies at run-time address @to, within 2 GiB; sets c->err to -ERANGE else. */
void asm_op_rip(struct patch_code *c, uint16_t opcode, uint8_t reg, uint64_t to);
void asm_load_fs(struct patch_code *c, uint8_t reg, int32_t disp);
void asm_mov_imm(struct patch_code *c, uint8_t reg, uint32_t value);
void asm_store_imm(struct patch_code *c, struct asm_mem mem, uint32_t value);
void asm_cmp_imm(struct patch_code *c, uint8_t reg, uint32_t value);
void asm_push(struct patch_code *c, uint8_t reg);
void asm_pop(struct patch_code *c, uint8_t reg);
/* sp += @bytes, which leaves the flags alone. */
void asm_move_sp(struct patch_code *c, int32_t bytes);
/* Jumps and calls to run-time address @to; -ERANGE as above. */
void asm_jmp(struct patch_code *c, uint64_t to);
void asm_call(struct patch_code *c, uint64_t to);
/* A conditional jump whose target asm_land() fills in. Returns what that takes. */
uint32_t asm_jcc(struct patch_code *c, uint8_t cond);
void asm_land(struct patch_code *c, uint32_t jump);
void asm_jcc_to_address(struct patch_code *c, uint8_t cond, uint64_t to);
void asm_jcc_to(struct patch_code *c, uint8_t cond, uint32_t off);

#endif

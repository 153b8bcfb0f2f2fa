// SPDX-License-Identifier: LGPL-2.1-or-later
/* assemble.c: see assemble.h. Encodings by Intel's manual, volume 2. */
#include "offline/patch/assemble.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void asm_bytes(struct patch_code *c, const void *bytes, uint32_t n)
{
	if (c->err)
		return;
	if (c->cap - c->len < n) {
		uint32_t cap = c->cap ? 2 * c->cap : 1 << 16;

		while (cap - c->len < n)
			cap *= 2;
		uint8_t *grown = realloc(c->bytes, cap);
		if (!grown) {
			c->err = -ENOMEM;
			return;
		}
		c->bytes = grown;
		c->cap = cap;
	}
	memcpy(c->bytes + c->len, bytes, n);
	c->len += n;
}

void asm_byte(struct patch_code *c, uint8_t byte)
{
	asm_bytes(c, &byte, 1);
}

void asm_word(struct patch_code *c, uint32_t word)
{
	asm_bytes(c, &word, 4);
}

static void opcode_bytes(struct patch_code *c, uint16_t opcode)
{
	if (opcode >> 8)
		asm_byte(c, opcode >> 8);
	asm_byte(c, opcode);
}

/* The displacement of @to from the end of what is 4 bytes and @behind more away. */
static void rel32(struct patch_code *c, uint64_t to, uint32_t behind)
{
	int64_t rel = (int64_t)(to - (c->addr + c->len + 4 + behind));

	if (rel != (int32_t)rel && !c->err)
		c->err = -ERANGE;
	asm_word(c, (uint32_t)rel);
}

static void mem_operand(struct patch_code *c, uint8_t reg, struct asm_mem mem)
{
	uint8_t rm = mem.base & 7, mod = 2;

	if (mem.disp == 0 && rm != ASM_BP)
		mod = 0;
	else if (mem.disp == (int8_t)mem.disp)
		mod = 1;
	asm_byte(c, mod << 6 | (reg & 7) << 3 | rm);
	if (rm == ASM_SP)
		asm_byte(c, 0x24);
	if (mod == 1)
		asm_byte(c, mem.disp);
	if (mod == 2)
		asm_word(c, mem.disp);
}

static void rex_w(struct patch_code *c, uint8_t reg, uint8_t rm)
{
	asm_byte(c, 0x48 | (reg >> 3) << 2 | rm >> 3);
}

void asm_op_mem(struct patch_code *c, uint16_t opcode, uint8_t reg, struct asm_mem mem)
{
	rex_w(c, reg, mem.base);
	opcode_bytes(c, opcode);
	mem_operand(c, reg, mem);
}

void asm_op_reg(struct patch_code *c, uint8_t opcode, uint8_t reg, uint8_t rm)
{
	rex_w(c, reg, rm);
	asm_byte(c, opcode);
	asm_byte(c, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

void asm_op_rip(struct patch_code *c, uint16_t opcode, uint8_t reg, uint64_t to)
{
	rex_w(c, reg, 0);
	opcode_bytes(c, opcode);
	asm_byte(c, (reg & 7) << 3 | 5);
	rel32(c, to, 0);
}

void asm_load_fs(struct patch_code *c, uint8_t reg, int32_t disp)
{
	asm_byte(c, 0x64);
	rex_w(c, reg, 0);
	asm_byte(c, 0x8b);
	asm_byte(c, (reg & 7) << 3 | 4);
	asm_byte(c, 0x25);
	asm_word(c, disp);
}

void asm_mov_imm(struct patch_code *c, uint8_t reg, uint32_t value)
{
	if (reg >= 8)
		asm_byte(c, 0x41);
	asm_byte(c, 0xb8 | (reg & 7));
	asm_word(c, value);
}

void asm_store_imm(struct patch_code *c, struct asm_mem mem, uint32_t value)
{
	if (mem.base >= 8)
		asm_byte(c, 0x41);
	asm_byte(c, 0xc7);
	mem_operand(c, 0, mem);
	asm_word(c, value);
}

void asm_cmp_imm(struct patch_code *c, uint8_t reg, uint32_t value)
{
	rex_w(c, 0, reg);
	asm_byte(c, 0x81);
	asm_byte(c, 0xc0 | 7 << 3 | (reg & 7));
	asm_word(c, value);
}

void asm_push(struct patch_code *c, uint8_t reg)
{
	if (reg >= 8)
		asm_byte(c, 0x41);
	asm_byte(c, 0x50 | (reg & 7));
}

void asm_pop(struct patch_code *c, uint8_t reg)
{
	if (reg >= 8)
		asm_byte(c, 0x41);
	asm_byte(c, 0x58 | (reg & 7));
}

void asm_move_sp(struct patch_code *c, int32_t bytes)
{
	asm_op_mem(c, 0x8d, ASM_SP, (struct asm_mem){ASM_SP, bytes});
}

void asm_jmp(struct patch_code *c, uint64_t to)
{
	asm_byte(c, 0xe9);
	rel32(c, to, 0);
}

void asm_call(struct patch_code *c, uint64_t to)
{
	asm_byte(c, 0xe8);
	rel32(c, to, 0);
}

void asm_jcc_to_address(struct patch_code *c, uint8_t cond, uint64_t to)
{
	asm_byte(c, 0x0f);
	asm_byte(c, 0x80 | cond);
	rel32(c, to, 0);
}

uint32_t asm_jcc(struct patch_code *c, uint8_t cond)
{
	asm_byte(c, 0x0f);
	asm_byte(c, 0x80 | cond);
	asm_word(c, 0);
	return c->len;
}

void asm_land(struct patch_code *c, uint32_t jump)
{
	uint32_t rel = c->len - jump;

	if (!c->err)
		memcpy(c->bytes + jump - 4, &rel, 4);
}

void asm_jcc_to(struct patch_code *c, uint8_t cond, uint32_t off)
{
	asm_byte(c, 0x0f);
	asm_byte(c, 0x80 | cond);
	asm_word(c, off - (c->len + 4));
}

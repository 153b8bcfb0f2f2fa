/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* semantics.h: what one instruction does to the general registers, as far as jump tables and stack
 * heights ask: copies, constants, loads, stores, address arithmetic and compares with constants.
 * Everything else only overwrites. */
#ifndef OFFLINE_SEMANTICS_H
#define OFFLINE_SEMANTICS_H

#include <Zydis/Zydis.h>

#include <stdbool.h>
#include <stdint.h>

/* General registers by their number in the encoding: rax 0, rcx 1, rdx 2, rbx 3, rsp 4, ... */
enum { REG_AX = 0, REG_SP = 4, REG_BP = 5, REG_NONE = 255 };

enum sem_op {
	SEM_OTHER,	 /* nothing known but `writes` */
	SEM_CONST,	 /* dst = value */
	SEM_COPY,	 /* dst = the low `size` bytes of src */
	SEM_LOAD,	 /* dst = `size` bytes of memory */
	SEM_LOAD_THREAD, /* dst = `size` bytes of what is the thread's own, by fs or gs */
	SEM_STORE,	 /* memory = the low `size` bytes of src (REG_NONE: a constant) */
	SEM_LEA,	 /* dst = base + index * scale + disp */
	SEM_ADD,	 /* dst += src */
	SEM_ADD_LOAD,	 /* dst += 8 bytes of memory */
	SEM_ADD_IMM,	 /* dst += value; by sub if `is_sub`, so that its flags compare as well */
	SEM_AND_IMM,	 /* dst &= value */
	SEM_SHL_IMM,	 /* dst <<= value */
	SEM_CMP,	 /* flags of (dst, or memory if `memory`) - value */
	SEM_PUSH,	 /* sp -= size */
	SEM_POP,	 /* sp += size */
	SEM_LEAVE,	 /* sp = bp + 8, bp popped */
	SEM_CALL,	 /* an indirect one: as SEM_JUMP */
	SEM_EXCHANGE,	 /* dst and src, registers, change places */
	SEM_JUMP,	 /* to src, or to what memory holds if `memory` */
};

struct sem {
	uint16_t writes; /* registers overwritten, one bit each; a call's: those it may clobber */
	uint8_t op;	 /* enum sem_op */
	uint8_t dst, src, size;
	uint8_t base, index, scale; /* of the memory operand; base REG_NONE: disp is an address */
	bool memory;		    /* there is a memory operand that base, index, disp describe */
	bool sign;		    /* SEM_COPY, SEM_LOAD: sign-extended */
	bool is_sub;
	bool sets_flags;
	int64_t value, disp;
};

void sem_decoder_init(ZydisDecoder *decoder);
/* Describes the instruction of @len_bytes bytes at @addr; false if it does not decode. */
bool sem_decode(const ZydisDecoder *decoder, const uint8_t *bytes, uint8_t len_bytes, uint64_t addr,
		struct sem *sem);

static inline bool sem_writes(const struct sem *sem, uint8_t reg)
{
	return reg < 16 && sem->writes >> reg & 1;
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* insn.h: one instruction as the evaluator, its qualities and the dependences see it: what it reads
 * and writes, and where its memory operands lie. Made from Zydis' operands alone, so it is right
 * for instructions that the evaluator cannot compute as well. */
#ifndef OFFLINE_EVAL_INSN_H
#define OFFLINE_EVAL_INSN_H

#include <Zydis/Zydis.h>

#include "offline/eval/insn/state.h"

enum value_access_kind {
	VALUE_ACCESS_GPR,
	VALUE_ACCESS_VEC,
	VALUE_ACCESS_FLAGS, /* @mask: which, VALUE_CF and so on */
	VALUE_ACCESS_X87,
	VALUE_ACCESS_MXCSR,
	VALUE_ACCESS_DF,
	VALUE_ACCESS_STICKY, /* written: exceptions are added */
	VALUE_ACCESS_MEMORY, /* @reg: index into value_insn.mem */
};

/* For which lanes of a result (struct value_lanes) what is read counts. */
enum value_lanes_use {
	VALUE_LANES_CHOSEN, /* for those that the mask names */
	VALUE_LANES_LEFT,   /* for the others: what was in the destination and stays */
	VALUE_LANES_ALL,
	VALUE_LANES_MASK, /* it is the mask */
};

struct value_access {
	uint8_t kind;
	uint8_t reg;	  /* VEC: a row of value_state.vec */
	uint8_t off, len; /* bytes of the register, or row */
	uint8_t lane;	  /* bytes for each lane of the result; 0: each lane is of all bytes */
	uint8_t use;	  /* enum value_lanes_use */
	uint16_t mask;
	bool read, write;
	bool address;	  /* read to compute the address of a memory operand */
	bool conditional; /* written perhaps */
};

/* A memory operand: gpr[base] + (gpr[index] << shift) + disp, len bytes. */
struct value_place {
	uint8_t base, index, shift;
	bool segment; /* gpr[seg] is to be added as well */
	uint8_t seg;
	bool read, write;
	uint16_t len;
	/* Of bt and its like: 1 + the register that says which bit behind there it is, so that the
	 * operand is the len bytes with that bit; 0: no such instruction. */
	uint8_t bits;
	int64_t disp;
};

/* How qualities go through an instruction. */
enum value_flow {
	VALUE_FLOW_ALL,	   /* every output is as good as the worst input */
	VALUE_FLOW_COPY,   /* byte i of the only output is byte i of the only input */
	VALUE_FLOW_BITS,   /* a bitwise operation: byte i is of byte i of the inputs */
	VALUE_FLOW_AND,	   /* the same, and an exact zero byte in one of them settles it */
	VALUE_FLOW_OR,	   /* the same, with an exact byte of ones */
	VALUE_FLOW_BYTES,  /* byte i is of byte i of the inputs: pcmpeqb, psubb */
	VALUE_FLOW_CARRY,  /* a sum: byte i is of bytes 0 to i of the inputs */
	VALUE_FLOW_SWAP,   /* byte i of each of two outputs is byte i of the other's input: xchg */
	VALUE_FLOW_SELECT, /* byte i is byte i of the one of two inputs that flags choose: cmov */
	VALUE_FLOW_MOVED,  /* each bit of the result is one of those that are read, or 0 */
	VALUE_FLOW_LOWEST, /* of the lowest bit that is set and those below it: bsf, tzcnt */
	VALUE_FLOW_LANES,  /* each lane is of what value_access.use says: instructions with EVEX */
	VALUE_FLOW_FRESH,  /* outputs are exact whatever the inputs are: xor r,r */
};

enum value_insn_kind {
	VALUE_INSN_PLAIN,
	VALUE_INSN_JUMP, /* jmp to an address in it */
	VALUE_INSN_JCC,
	VALUE_INSN_CALL,
	VALUE_INSN_JUMP_IND,
	VALUE_INSN_CALL_IND,
	VALUE_INSN_RET,
	VALUE_INSN_SYSCALL,
	VALUE_INSN_CHANCE, /* rdtsc, cpuid, xsavec: not computed here, but by the owner */
	VALUE_INSN_TRAP,   /* ends the task or enters a handler: ud2, int3, hlt */
	VALUE_INSN_STRING, /* movs, stos, ...: with a rep prefix, all its turns are one */
};

/* The lanes of what an instruction with EVEX writes. A mask register chooses lanes: the others are
 * what they were, or 0, whatever is read, and memory of theirs is not touched. */
struct value_lanes {
	uint8_t n;	/* at most 64; 0: the instruction has none */
	uint8_t size;	/* bytes of each; 0: a bit each, of a mask register */
	uint8_t mask;	/* number of the mask register; 0: all lanes are chosen */
	bool scalar;	/* one lane, and the bytes behind it are of all that is read */
	bool forgiving; /* memory of a lane that is not chosen need not be there */
};

enum { VALUE_ACCESSES = 32 };

struct value_insn {
	uint64_t ip;
	uint16_t mnemonic; /* Zydis */
	uint8_t len;
	uint8_t kind;	   /* enum value_insn_kind */
	uint8_t flow;	   /* enum value_flow */
	uint8_t condition; /* of SELECT: as the low four bits of a cmov's opcode say it */
	bool computed;	   /* the evaluator has semantics for it */
	bool scatters;	   /* writes to places that are not among its operands */
	uint16_t no_tops;  /* of the registers that it writes: value_state.no_tops */
	uint8_t n_mem;
	uint8_t n_access;
	uint16_t first_op;		/* in its block */
	uint8_t n_addresses, n_results; /* that it adds to a trace (machine.h) */
	uint16_t undefined;		/* flags that the manual leaves open, VALUE_CF ... */
	uint64_t target;		/* JUMP, JCC, CALL */
	uint64_t imm; /* of BITS, AND, OR, CARRY, to the operand's width or more */
	bool has_imm;
	struct value_lanes lanes;
	struct value_place mem[2];
	struct value_access *access;
};

/* Fills @out but for its computed and first_op from what Zydis says of the instruction at @ip.
 * @access has room for VALUE_ACCESSES, and out->access is it. */
void value_insn_describe(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
			 uint64_t ip, struct value_access *access, struct value_insn *out);

/* Its enum value_insn_kind, and its enum value_flow. */
uint8_t value_insn_kind(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops);
uint8_t value_insn_flow(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops);

/* Fills @out->lanes (insn_lanes.c), and says of the accesses from @first on, which are those of the
 * operand @op, for which lanes they count. */
void value_insn_lanes(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
		      struct value_insn *out);
void value_insn_lanes_read(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op,
			   unsigned first, struct value_insn *out);

/* Bits (state.h) of the registers that the instruction reads, and of those that it writes as a
 * whole. */
uint64_t value_insn_reads(const struct value_insn *insn);
uint64_t value_insn_defines(const struct value_insn *insn);

/* Where the bytes with that bit are, from the operand's own address. */
int64_t value_bits_offset(const struct value_place *p, uint64_t bit);

static inline uint64_t value_place_address(const struct value_place *p, const struct value_state *s)
{
	if (__builtin_expect(p->bits, 0))
		return s->gpr[p->base] + (s->gpr[p->index] << p->shift) + (uint64_t)p->disp +
		       (p->segment ? s->gpr[p->seg] : 0) +
		       (uint64_t)value_bits_offset(p, s->gpr[p->bits - 1]);
	return s->gpr[p->base] + (s->gpr[p->index] << p->shift) + (uint64_t)p->disp +
	       (p->segment ? s->gpr[p->seg] : 0);
}

/* Whether @a, one of @insn's, adds a result to a trace: one value, of a vector register four. */
bool value_insn_result(const struct value_insn *insn, const struct value_access *a);

/* Whether MXCSR decides what it computes, and remembers the exceptions. */
bool value_insn_rounds(const ZydisDecodedInstruction *zi);

/* Whether it stores where the last x87 instruction and its operand were. */
static inline bool value_insn_points(const struct value_insn *insn)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_FNSTENV || insn->mnemonic == ZYDIS_MNEMONIC_FNSAVE;
}

/* Number 0 to 15 of a general register and the place of its bytes; false: none. */
bool value_gpr_place(ZydisRegister reg, uint8_t *number, uint8_t *off, uint8_t *len);

#endif

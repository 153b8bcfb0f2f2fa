/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lowering.h: what the files that turn an instruction into operations (ops.def) share: lowering.c
 * emits, lower_integer.c, lower_control.c and lower_vector.c know families of instructions, and
 * lower.c asks them in order. */
#ifndef OFFLINE_EVAL_LOWERING_H
#define OFFLINE_EVAL_LOWERING_H

#include "offline/eval/machine_impl.h"

/* One instruction on its way to operations. A function that cannot lower it sets @failed: it is a
 * stub then, or has no semantics. */
struct lowering {
	struct value_machine *m;
	const ZydisDecodedInstruction *zi;
	const ZydisDecodedOperand *ops;
	const uint8_t *bytes;
	const struct value_insn *insn;
	bool quiet;	      /* nobody reads the flags that it writes */
	struct value_op *out; /* @n of them so far */
	unsigned n;
	bool failed;
};

static inline bool is_reg(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER;
}

static inline bool is_mem(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

static inline bool is_imm(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

/* The byte offset of a general register in value_state.gpr; 0xff: it is none. */
uint8_t value_offset_of(ZydisRegister reg);
/* The same of an operand that has to be a general register: fails otherwise. */
uint8_t value_gpr_of(struct lowering *l, const ZydisDecodedOperand *op);
/* 0 to 3 of 8, 16, 32, 64; -1: another. */
int value_size_index(unsigned bits);
/* Appends an operation; the second kind has the instruction's memory operand @place. */
struct value_op *value_emit(struct lowering *l, unsigned id);
struct value_op *value_emit_mem(struct lowering *l, unsigned id, unsigned place);

/* Each returns false for what it does not know. */
bool value_lower_integer(struct lowering *l);
bool value_lower_control(struct lowering *l);
bool value_lower_vector(struct lowering *l);

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
/* lowering.c: see lowering.h. */
#include "offline/eval/lowering.h"

#include <string.h>

uint8_t value_offset_of(ZydisRegister reg)
{
	uint8_t number, off, len;
	return value_gpr_place(reg, &number, &off, &len) ? 8 * number + off : 0xff;
}

uint8_t value_gpr_of(struct lowering *l, const ZydisDecodedOperand *op)
{
	uint8_t off = is_reg(op) ? value_offset_of(op->reg.value) : 0xff;
	l->failed |= off == 0xff;
	return off;
}

struct value_op *value_emit(struct lowering *l, unsigned id)
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

struct value_op *value_emit_mem(struct lowering *l, unsigned id, unsigned place)
{
	struct value_op *op = value_emit(l, id);
	address(l, op, &l->insn->mem[place]);
	return &l->out[l->n - 1];
}

int value_size_index(unsigned bits)
{
	return bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : bits == 64 ? 3 : -1;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_expression.c: see value_expression.h.
 *
 *   expression = piece-less: register | value | address
 *              | { [register | value | address] DW_OP_piece }
 *
 * What an expression asks of its frame is in value_call_frames.h, values at the entry are in
 * value_entry.h. */
#include "user/values/dwarf/value_expression.h"

#include "user/values/dwarf/thread_block.h"
#include "user/values/dwarf/value_call_frames.h"
#include "user/values/dwarf/value_entry.h"

#include <dwarf.h>
#include <string.h>

enum { STACK = 32, STEPS = 1000 };

struct entry {
	uint64_t v;
	uint8_t quality;
};

struct evaluation {
	const struct value_context *c;
	Dwarf_Attribute *location;
	struct entry stack[STACK];
	int n;
};

static uint8_t worse(uint8_t a, uint8_t b)
{
	return a > b ? a : b;
}

static uint8_t known(uint8_t quality) /* as an operand */
{
	return quality > VALUE_UNKNOWN ? VALUE_UNKNOWN : quality;
}

static bool push(struct evaluation *e, uint64_t v, uint8_t quality)
{
	if (e->n == STACK)
		return false;
	e->stack[e->n++] = (struct entry){v, known(quality)};
	return true;
}

static bool binary(unsigned atom, uint64_t a, uint64_t b, uint64_t *out)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (atom) {
	case DW_OP_plus:
		*out = a + b;
		return true;
	case DW_OP_minus:
		*out = a - b;
		return true;
	case DW_OP_mul:
		*out = a * b;
		return true;
	case DW_OP_and:
		*out = a & b;
		return true;
	case DW_OP_or:
		*out = a | b;
		return true;
	case DW_OP_xor:
		*out = a ^ b;
		return true;
	case DW_OP_shl:
		*out = b < 64 ? a << b : 0;
		return true;
	case DW_OP_shr:
		*out = b < 64 ? a >> b : 0;
		return true;
	case DW_OP_shra:
		*out = (uint64_t)(sa >> (b < 64 ? b : 63));
		return true;
	case DW_OP_div:
		if (!b || (sb == -1 && sa == INT64_MIN))
			return false;
		*out = (uint64_t)(sa / sb);
		return true;
	case DW_OP_mod:
		if (!b)
			return false;
		*out = a % b;
		return true;
	case DW_OP_eq:
		*out = a == b;
		return true;
	case DW_OP_ne:
		*out = a != b;
		return true;
	case DW_OP_lt:
		*out = sa < sb;
		return true;
	case DW_OP_le:
		*out = sa <= sb;
		return true;
	case DW_OP_gt:
		*out = sa > sb;
		return true;
	case DW_OP_ge:
		*out = sa >= sb;
		return true;
	default:
		return false;
	}
}

static bool unary(const Dwarf_Op *op, struct entry *top)
{
	switch (op->atom) {
	case DW_OP_neg:
		top->v = 0 - top->v;
		return true;
	case DW_OP_not:
		top->v = ~top->v;
		return true;
	case DW_OP_abs:
		top->v = (int64_t)top->v < 0 ? 0 - top->v : top->v;
		return true;
	case DW_OP_plus_uconst:
		top->v += op->number;
		return true;
	case DW_OP_nop:
		return true;
	default:
		return false;
	}
}

static void deref(struct evaluation *e, size_t len)
{
	struct entry *top = &e->stack[e->n - 1];
	const struct value_bytes at = {
		.place = VALUE_IN_MEMORY, .addr = top->v, .at_quality = top->quality};

	top->v = 0;
	top->quality = known(value_bytes_read(&at, value_machine_memory(e->c->m), 0, &top->v, len));
}

/* From the place in a thread-local block to the address that the thread has it at. */
static bool thread_address(const struct value_context *c, struct entry *top)
{
	Dwarf_Addr bias;
	uint64_t below;

	if (!c->m || !value_thread_block(dwfl_module_getelf(c->module, &bias), &below))
		return false;
	top->v += value_machine_state(c->m)->gpr[VALUE_FS] - below;
	return true;
}

/* Operations on what is there. *@done false: it is none of these. */
static bool move(struct evaluation *e, const Dwarf_Op *op, bool *done)
{
	struct entry *top = e->n ? &e->stack[e->n - 1] : NULL, kept;
	uint64_t pick = op->atom == DW_OP_pick ? op->number : op->atom == DW_OP_over;

	*done = true;
	switch (op->atom) {
	case DW_OP_dup:
	case DW_OP_over:
	case DW_OP_pick:
		return pick < (unsigned)e->n &&
		       push(e, top[-(int64_t)pick].v, top[-(int64_t)pick].quality);
	case DW_OP_drop:
		e->n--;
		return e->n >= 0;
	case DW_OP_swap:
		if (e->n < 2)
			return false;
		kept = top[0];
		top[0] = top[-1];
		top[-1] = kept;
		return true;
	case DW_OP_rot:
		if (e->n < 3)
			return false;
		kept = top[0];
		top[0] = top[-1];
		top[-1] = top[-2];
		top[-2] = kept;
		return true;
	case DW_OP_deref:
	case DW_OP_deref_size:
		if (!e->n || (op->atom == DW_OP_deref_size && op->number > 8))
			return false;
		deref(e, op->atom == DW_OP_deref ? 8 : op->number);
		return true;
	case DW_OP_form_tls_address:
	case DW_OP_GNU_push_tls_address:
		return e->n && thread_address(e->c, top);
	default:
		*done = false;
		return true;
	}
}

/* Operations that bring something new. *@done false: it is none of these. */
static bool bring(struct evaluation *e, const Dwarf_Op *op, bool *done)
{
	const struct value_context *c = e->c;
	Dwarf_Attribute indexed;
	uint8_t quality = VALUE_EXACT;
	uint64_t v;

	*done = true;
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(e, op->atom - DW_OP_lit0, VALUE_EXACT);
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		v = value_registers_number(c->registers, op->atom - DW_OP_breg0, &quality);
		return push(e, v + op->number, quality);
	}
	switch (op->atom) {
	case DW_OP_addr:
		return push(e, op->number + c->bias, VALUE_EXACT);
	case DW_OP_addrx: /* by a table of addresses, as clang has it */
	case DW_OP_GNU_addr_index:
		return e->location && !dwarf_getlocation_attr(e->location, op, &indexed) &&
		       !dwarf_formaddr(&indexed, &v) && push(e, v + c->bias, VALUE_EXACT);
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		return e->location && !dwarf_getlocation_attr(e->location, op, &indexed) &&
		       !dwarf_formudata(&indexed, &v) && push(e, v, VALUE_EXACT);
	case DW_OP_bregx: /* also what libdw makes of a rule of a CFA */
		v = value_registers_number(c->registers, op->number, &quality);
		return push(e, v + op->number2, quality);
	case DW_OP_fbreg:
		return value_call_frame_base(c, &v, &quality) && push(e, v + op->number, quality);
	case DW_OP_call_frame_cfa:
		return value_call_frame_cfa(c, &v, &quality) && push(e, v, quality);
	case DW_OP_const1u ... DW_OP_consts:
		return push(e, op->number, VALUE_EXACT);
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return value_entry_read(c, e->location, op, &v, &quality) && push(e, v, quality);
	default:
		*done = false;
		return true;
	}
}

static bool step(struct evaluation *e, const Dwarf_Op *op)
{
	bool done, ok = bring(e, op, &done);

	if (done)
		return ok;
	ok = move(e, op, &done);
	if (done)
		return ok;
	if (e->n && unary(op, &e->stack[e->n - 1]))
		return true;
	if (e->n < 2)
		return false;
	struct entry *a = &e->stack[e->n - 2], *b = &e->stack[e->n - 1];
	e->n--;
	a->quality = worse(a->quality, b->quality);
	return a->quality >= VALUE_UNKNOWN || binary(op->atom, a->v, b->v, &a->v);
}

/* Where DW_OP_skip and DW_OP_bra go: the operation at that offset. */
static bool jump(const Dwarf_Op *ops, size_t n, size_t *i)
{
	Dwarf_Word to = ops[*i].offset + 3 + (Dwarf_Word)(int16_t)ops[*i].number;

	for (size_t k = 0; k < n; k++)
		if (ops[k].offset == to) {
			*i = k;
			return true;
		}
	*i = n;
	return to > ops[n - 1].offset;
}

/* Where the operations have come to when they are a register's name, a value, or an address. */
static bool simple(struct evaluation *e, const Dwarf_Op *ops, size_t n, size_t *i,
		   struct value_bytes *out)
{
	Dwarf_Block block;

	if (ops[*i].atom >= DW_OP_reg0 && ops[*i].atom <= DW_OP_reg31)
		return value_registers_read(e->c->registers, ops[(*i)++].atom - DW_OP_reg0, out);
	if (ops[*i].atom == DW_OP_regx)
		return value_registers_read(e->c->registers, ops[(*i)++].number, out);
	if (ops[*i].atom == DW_OP_implicit_value) {
		if (!e->location ||
		    dwarf_getlocation_implicit_value(e->location, &ops[(*i)++], &block) ||
		    block.length > VALUE_BYTES)
			return false;
		*out = (struct value_bytes){.len = (uint8_t)block.length};
		memcpy(out->bytes, block.data, block.length);
		return true;
	}
	for (int steps = 0;
	     *i < n && ops[*i].atom != DW_OP_piece && ops[*i].atom != DW_OP_bit_piece; steps++) {
		const Dwarf_Op *op = &ops[*i];

		if (op->atom == DW_OP_stack_value) {
			if (!e->n)
				return false;
			++*i;
			*out = (struct value_bytes){.len = 8};
			memcpy(out->bytes, &e->stack[e->n - 1].v, 8);
			memset(out->quality, e->stack[e->n - 1].quality, 8);
			return true;
		}
		if (op->atom == DW_OP_skip || op->atom == DW_OP_bra) {
			bool taken = op->atom == DW_OP_skip;

			if (op->atom == DW_OP_bra) {
				if (!e->n || e->stack[e->n - 1].quality)
					return false;
				taken = e->stack[--e->n].v != 0;
			}
			if (steps > STEPS || (taken && !jump(ops, n, i)))
				return false;
			*i += !taken;
			continue;
		}
		if (!step(e, op))
			return false;
		++*i;
	}
	if (!e->n)
		return false;
	*out = (struct value_bytes){.place = VALUE_IN_MEMORY,
				    .addr = e->stack[e->n - 1].v,
				    .at_quality = e->stack[e->n - 1].quality};
	return true;
}

/* An empty piece, and bytes of one that are not known here. */
static bool blank(struct value_bytes *whole, uint64_t len, uint8_t quality)
{
	if (len > (uint64_t)VALUE_BYTES - whole->len)
		return false;
	memset(whole->quality + whole->len, quality, len);
	whole->len += len;
	return true;
}

static bool pieces(struct evaluation *e, const Dwarf_Op *ops, size_t n, struct value_bytes *out)
{
	struct value_bytes whole = {0}, part;

	for (size_t i = 0; i < n; i++) {
		size_t end = i;
		bool empty = ops[i].atom == DW_OP_piece;

		while (end < n && ops[end].atom != DW_OP_piece)
			end++;
		if (end == n || ops[end].number > VALUE_BYTES)
			return false;
		e->n = 0;
		bool got = !empty && simple(e, ops, end, &i, &part) && i == end;
		i = end;
		if (!(got ? value_bytes_append(&whole, value_machine_memory(e->c->m), &part, 0,
					       ops[end].number)
			  : blank(&whole, ops[end].number, empty ? VALUE_NOWHERE : VALUE_UNKNOWN)))
			return false;
	}
	/* What is behind the last piece is nowhere. */
	blank(&whole, VALUE_BYTES - whole.len, VALUE_NOWHERE);
	*out = whole;
	return true;
}

bool value_expression_evaluate(const struct value_context *c, Dwarf_Attribute *location,
			       const Dwarf_Op *ops, size_t n, struct value_bytes *out)
{
	struct value_context deeper = *c;
	struct evaluation e = {&deeper, location, {{0}}, 0};
	bool in_pieces = false;
	size_t i = 0;

	if (++deeper.depth > VALUE_DEPTH || !n)
		return false;
	for (size_t k = 0; k < n; k++) {
		in_pieces |= ops[k].atom == DW_OP_piece;
		if (ops[k].atom == DW_OP_bit_piece)
			return false;
	}
	if (in_pieces)
		return pieces(&e, ops, n, out);
	return simple(&e, ops, n, &i, out) && i == n;
}

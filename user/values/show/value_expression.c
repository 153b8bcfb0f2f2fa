// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_expression.c: see value_expression.h.
 *
 *   expression = piece-less: register | value | address
 *              | { [register | value | address] DW_OP_piece }
 *
 * A value at the function's entry (DW_OP_entry_value) is what the call site in the caller says that
 * it hands over. That holds for the call that is open unless the function may have called itself by
 * a tail call since, of which nothing would be left on the stack. */
#include "user/values/show/value_expression.h"

#include "user/file/die_walk.h"
#include "user/values/show/thread_block.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { STACK = 32, STEPS = 1000, DEPTH = 8 };

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

/* --- frames ------------------------------------------------------------------------------------
 */

/* The frame information at @addr, which the caller frees. */
static Dwarf_Frame *frame_at(const struct value_context *c, uint64_t addr)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr bias;
	Dwarf_CFI *cfi = dwfl_module_eh_cfi(c->module, &bias);

	if (cfi && !dwarf_cfi_addrframe(cfi, addr + c->dwfl_bias - bias, &frame))
		return frame;
	cfi = dwfl_module_dwarf_cfi(c->module, &bias);
	if (cfi && !dwarf_cfi_addrframe(cfi, addr + c->dwfl_bias - bias, &frame))
		return frame;
	return NULL;
}

bool value_expression_cfa(const struct value_context *c, uint64_t *out, uint8_t *quality)
{
	Dwarf_Frame *frame = frame_at(c, c->addr);
	struct value_bytes place;
	Dwarf_Op *ops;
	size_t n;
	bool ok = frame && !dwarf_frame_cfa(frame, &ops, &n) && n &&
		  value_expression_evaluate(c, NULL, ops, n, &place) &&
		  place.place == VALUE_IN_MEMORY;

	if (ok) {
		*out = place.addr;
		*quality = place.at_quality;
	}
	free(frame);
	return ok;
}

bool value_expression_cfa_rule(const struct value_context *c, uint64_t addr, uint64_t *reg,
			       int64_t *off)
{
	Dwarf_Frame *frame = frame_at(c, addr);
	Dwarf_Op *ops;
	size_t n;
	bool ok =
		frame && !dwarf_frame_cfa(frame, &ops, &n) && n == 1 && ops[0].atom == DW_OP_bregx;

	if (ok) {
		*reg = ops[0].number;
		*off = (int64_t)ops[0].number2;
	}
	free(frame);
	return ok;
}

uint64_t value_expression_body(Dwarf_Die *function)
{
	Dwarf_Addr *points = NULL, low = 0, out;
	int n = dwarf_entry_breakpoints(function, &points);

	dwarf_lowpc(function, &low);
	out = n > 0 ? points[0] : low;
	free(points);
	return out;
}

/* A frame base that is a register is one once the prologue has set it, until the epilogue has given
 * it back: that is told by how the CFA is found there. */
static bool is_base(const struct value_context *c, uint64_t reg)
{
	uint64_t rule, body_rule;
	int64_t off, body_off;

	if (!value_expression_cfa_rule(c, c->addr, &rule, &off))
		return false;
	if (reg != DWARF_RSP)
		return rule == reg;
	return rule == reg &&
	       value_expression_cfa_rule(c, value_expression_body(c->function), &body_rule,
					 &body_off) &&
	       body_rule == reg && body_off == off;
}

static bool frame_base(const struct value_context *c, uint64_t *out, uint8_t *quality)
{
	struct value_context own = *c; /* whose frame base cannot be told by itself */
	struct value_bytes place;
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	own.function = NULL;
	own.depth++;
	if (own.depth > DEPTH || !c->function ||
	    !dwarf_attr_integrate(c->function, DW_AT_frame_base, &attr) ||
	    dwarf_getlocation_addr(&attr, c->addr, &ops, &n, 1) != 1 || !n)
		return false;
	if (n == 1 && ops[0].atom == DW_OP_call_frame_cfa)
		return value_expression_cfa(&own, out, quality);
	if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31 &&
	    !is_base(c, ops[0].atom - DW_OP_reg0))
		return false;
	if (!value_expression_evaluate(&own, &attr, ops, n, &place))
		return false;
	if (place.place == VALUE_IN_MEMORY) {
		*out = place.addr;
		*quality = place.at_quality;
	} else {
		*quality = value_bytes_read(&place, NULL, 0, out, 8);
	}
	return true;
}

/* One register of the caller. */
static void unwind_register(const struct value_context *c, Dwarf_Frame *frame, unsigned number,
			    struct value_registers *out)
{
	struct value_bytes v;
	Dwarf_Op mem[3], *ops;
	size_t n;

	out->quality[number] = VALUE_UNKNOWN;
	if (dwarf_frame_register(frame, (int)number, mem, &ops, &n))
		return;
	if (!n) { /* undefined, or as it was: only what a call keeps is */
		if (ops)
			return;
		static const uint32_t kept = 1u << 3 | 1u << DWARF_RBP | 0xfu << 12;
		if (kept >> number & 1)
			out->general[number] =
				value_registers_number(c->registers, number, &out->quality[number]);
		return;
	}
	if (value_expression_evaluate(c, NULL, ops, n, &v))
		out->quality[number] = value_bytes_read(&v, value_machine_memory(c->m), 0,
							&out->general[number], 8);
}

/* The caller's registers, and the return address into it. */
static bool unwind(const struct value_context *c, struct value_registers *out, uint64_t *ret)
{
	Dwarf_Frame *frame = frame_at(c, c->addr);
	uint8_t quality;
	uint64_t cfa;

	*out = (struct value_registers){.m = c->m, .caller = true};
	bool ok = frame && value_expression_cfa(c, &cfa, &quality) && quality < VALUE_UNKNOWN &&
		  !value_memory_read(value_machine_memory(c->m), cfa - 8, ret, 8, &quality) &&
		  quality < VALUE_UNKNOWN;
	for (unsigned i = 0; ok && i < DWARF_GENERAL; i++)
		unwind_register(c, frame, i, out);
	if (ok) {
		out->general[DWARF_RSP] = cfa;
		out->quality[DWARF_RSP] = quality;
	}
	free(frame);
	return ok;
}

/* --- values at the entry ------------------------------------------------------------------------
 */

static bool is_call_site(int tag)
{
	return tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site;
}

static int is_tail_call(void *ctx, Dwarf_Die *die)
{
	(void)ctx;
	return is_call_site(dwarf_tag(die)) && (dwarf_hasattr(die, DW_AT_call_tail_call) ||
						dwarf_hasattr(die, DW_AT_GNU_tail_call));
}

/* Whether the call that is open is the one that the caller has made. */
static bool stays_itself(Dwarf_Die *function)
{
	return (dwarf_hasattr_integrate(function, DW_AT_call_all_calls) ||
		dwarf_hasattr_integrate(function, DW_AT_call_all_tail_calls) ||
		dwarf_hasattr_integrate(function, DW_AT_GNU_all_call_sites) ||
		dwarf_hasattr_integrate(function, DW_AT_GNU_all_tail_call_sites)) &&
	       !value_scopes_each(function, is_tail_call, NULL);
}

struct site {
	uint64_t ret;
	Dwarf_Die die;
};

static int returns_there(void *ctx, Dwarf_Die *die)
{
	struct site *s = ctx;
	Dwarf_Attribute attr;
	Dwarf_Addr addr;

	if (!is_call_site(dwarf_tag(die)) ||
	    (dwarf_attr(die, DW_AT_call_return_pc, &attr) ? dwarf_formaddr(&attr, &addr)
							  : dwarf_lowpc(die, &addr)) ||
	    addr != s->ret)
		return 0;
	s->die = *die;
	return 1;
}

/* Whether the call site is of @function. */
static bool calls(Dwarf_Die *site, Dwarf_Die *function)
{
	Dwarf_Attribute attr;
	Dwarf_Die target, own;

	if ((!dwarf_attr(site, DW_AT_call_origin, &attr) &&
	     !dwarf_attr(site, DW_AT_abstract_origin, &attr)) ||
	    !dwarf_formref_die(&attr, &target))
		return false;
	Dwarf_Off offset = dwarf_dieoffset(&target);
	if (offset == dwarf_dieoffset(function))
		return true;
	return (dwarf_attr(function, DW_AT_abstract_origin, &attr) ||
		dwarf_attr(function, DW_AT_specification, &attr)) &&
	       dwarf_formref_die(&attr, &own) && dwarf_dieoffset(&own) == offset;
}

/* What the call site says of the register @number. */
static bool site_parameter(Dwarf_Die *site, uint64_t number, Dwarf_Attribute *value)
{
	Dwarf_Attribute attr;
	Dwarf_Die child;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_child(site, &child))
		return false;
	do {
		if (dwarf_attr(&child, DW_AT_location, &attr) &&
		    !dwarf_getlocation(&attr, &ops, &n) && n == 1 &&
		    ((ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31 &&
		      (uint64_t)ops[0].atom - DW_OP_reg0 == number) ||
		     (ops[0].atom == DW_OP_regx && ops[0].number == number)))
			return dwarf_attr(&child, DW_AT_call_value, value) ||
			       dwarf_attr(&child, DW_AT_GNU_call_site_value, value);
	} while (die_next(&child));
	return false;
}

static bool entry_value(struct evaluation *e, const Dwarf_Op *op)
{
	const struct value_context *c = e->c;
	struct value_registers registers;
	Dwarf_Attribute attr, value;
	Dwarf_Die function;
	struct value_bytes v;
	Dwarf_Op *ops;
	uint64_t ret, number;
	size_t n;

	if (!e->location || c->depth >= DEPTH || !c->scopes || !c->function ||
	    dwarf_getlocation_attr(e->location, op, &attr) || dwarf_getlocation(&attr, &ops, &n) ||
	    n != 1 || ops[0].atom < DW_OP_reg0 || ops[0].atom > DW_OP_reg31)
		return false;
	struct value_context there = *c;
	there.registers = &registers;
	there.function = &function;
	there.depth++;
	number = ops[0].atom - DW_OP_reg0;
	if (!stays_itself(c->function) || !unwind(c, &registers, &ret))
		return false;
	struct site site = {.ret = ret - c->bias};
	there.addr = site.ret - 1; /* in the call */
	if (!value_scopes_function(c->scopes, there.addr, &function) ||
	    !value_scopes_each(&function, returns_there, &site) || !calls(&site.die, c->function) ||
	    !site_parameter(&site.die, number, &value) || dwarf_getlocation(&value, &ops, &n) ||
	    !n || !value_expression_evaluate(&there, &value, ops, n, &v))
		return false;
	/* The expression is a value, whatever form it has. */
	uint64_t word = v.addr;
	uint8_t quality = v.at_quality;
	if (v.place == VALUE_IN_REGISTER)
		quality = value_bytes_read(&v, NULL, 0, &word, 8);
	return push(e, word, quality);
}

/* --- operations ---------------------------------------------------------------------------------
 */

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
		return frame_base(c, &v, &quality) && push(e, v + op->number, quality);
	case DW_OP_call_frame_cfa:
		return value_expression_cfa(c, &v, &quality) && push(e, v, quality);
	case DW_OP_const1u ... DW_OP_consts:
		return push(e, op->number, VALUE_EXACT);
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return entry_value(e, op);
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

	if (++deeper.depth > DEPTH || !n)
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

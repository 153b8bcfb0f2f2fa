// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_call_frames.c: see value_call_frames.h. Rules of call frame information, and frame bases,
 * are expressions themselves (value_expression.h). */
#include "user/values/dwarf/value_call_frames.h"

#include "user/values/dwarf/value_expression.h"

#include <dwarf.h>
#include <stdlib.h>

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

bool value_call_frame_cfa(const struct value_context *c, uint64_t *out, uint8_t *quality)
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

bool value_call_frame_rule(const struct value_context *c, uint64_t addr, uint64_t *reg,
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

uint64_t value_call_frame_body(Dwarf_Die *function)
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

	if (!value_call_frame_rule(c, c->addr, &rule, &off))
		return false;
	if (reg != DWARF_RSP)
		return rule == reg;
	return rule == reg &&
	       value_call_frame_rule(c, value_call_frame_body(c->function), &body_rule,
				     &body_off) &&
	       body_rule == reg && body_off == off;
}

bool value_call_frame_base(const struct value_context *c, uint64_t *out, uint8_t *quality)
{
	struct value_context own = *c; /* whose frame base cannot be told by itself */
	struct value_bytes place;
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	own.function = NULL;
	own.depth++;
	if (own.depth > VALUE_DEPTH || !c->function ||
	    !dwarf_attr_integrate(c->function, DW_AT_frame_base, &attr) ||
	    dwarf_getlocation_addr(&attr, c->addr, &ops, &n, 1) != 1 || !n)
		return false;
	if (n == 1 && ops[0].atom == DW_OP_call_frame_cfa)
		return value_call_frame_cfa(&own, out, quality);
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

bool value_call_frame_caller(const struct value_context *c, struct value_registers *out,
			     uint64_t *ret)
{
	Dwarf_Frame *frame = frame_at(c, c->addr);
	uint8_t quality;
	uint64_t cfa;

	*out = (struct value_registers){.m = c->m, .caller = true};
	bool ok = frame && value_call_frame_cfa(c, &cfa, &quality) && quality < VALUE_UNKNOWN &&
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

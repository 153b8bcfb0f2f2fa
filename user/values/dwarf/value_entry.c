// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_entry.c: see value_entry.h. */
#include "user/values/dwarf/value_entry.h"

#include "user/file/die_walk.h"
#include "user/values/dwarf/value_call_frames.h"
#include "user/values/dwarf/value_expression.h"

#include <dwarf.h>

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

bool value_entry_read(const struct value_context *c, Dwarf_Attribute *location, const Dwarf_Op *op,
		      uint64_t *out, uint8_t *quality)
{
	struct value_registers registers;
	Dwarf_Attribute attr, value;
	Dwarf_Die function;
	struct value_bytes v;
	Dwarf_Op *ops;
	uint64_t ret, number;
	size_t n;

	if (!location || c->depth >= VALUE_DEPTH || !c->scopes || !c->function ||
	    dwarf_getlocation_attr(location, op, &attr) || dwarf_getlocation(&attr, &ops, &n) ||
	    n != 1 || ops[0].atom < DW_OP_reg0 || ops[0].atom > DW_OP_reg31)
		return false;
	struct value_context there = *c;
	there.registers = &registers;
	there.function = &function;
	there.depth++;
	number = ops[0].atom - DW_OP_reg0;
	if (!stays_itself(c->function) || !value_call_frame_caller(c, &registers, &ret))
		return false;
	struct site site = {.ret = ret - c->bias};
	there.addr = site.ret - 1; /* in the call */
	if (!value_scopes_function(c->scopes, there.addr, &function) ||
	    !value_scopes_each(&function, returns_there, &site) || !calls(&site.die, c->function) ||
	    !site_parameter(&site.die, number, &value) || dwarf_getlocation(&value, &ops, &n) ||
	    !n || !value_expression_evaluate(&there, &value, ops, n, &v))
		return false;
	/* The expression is a value, whatever form it has. */
	*out = v.addr;
	*quality = v.at_quality;
	if (v.place == VALUE_IN_REGISTER)
		*quality = value_bytes_read(&v, NULL, 0, out, 8);
	return true;
}

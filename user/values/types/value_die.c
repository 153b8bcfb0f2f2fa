// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_die.c: see value_die.h. */
#include "user/values/types/value_die.h"

#include <dwarf.h>

enum { WORD = 8, PAIR = 16 };

bool value_plain_type(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;

	if (!dwarf_attr_integrate(die, DW_AT_type, &attr) || !dwarf_formref_die(&attr, &type))
		return false;
	return dwarf_peel_type(&type, out) == 0;
}

uint64_t value_constant(Dwarf_Die *die, unsigned name, uint64_t otherwise)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	return dwarf_attr_integrate(die, name, &attr) && !dwarf_formudata(&attr, &v) ? v
										     : otherwise;
}

bool value_dimension(Dwarf_Die *subrange, uint64_t *n)
{
	Dwarf_Attribute attr;
	Dwarf_Sword first = 0;
	Dwarf_Word last;
	Dwarf_Die unit;

	if (dwarf_attr_integrate(subrange, DW_AT_count, &attr))
		return !dwarf_formudata(&attr, n);
	/* It may be a variable's value. */
	if (!dwarf_attr_integrate(subrange, DW_AT_upper_bound, &attr) ||
	    dwarf_formudata(&attr, &last) || !dwarf_diecu(subrange, &unit, NULL, NULL))
		return false;
	if (dwarf_default_lower_bound(dwarf_srclang(&unit), &first))
		first = 0;
	*n = last + 1 - value_constant(subrange, DW_AT_lower_bound, (uint64_t)first);
	return true;
}

bool value_is_pointer(int tag)
{
	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

uint64_t value_type_size(Dwarf_Die *type)
{
	Dwarf_Word size;
	Dwarf_Die of;

	if (value_is_pointer(dwarf_tag(type)))
		return WORD;
	if (dwarf_tag(type) == DW_TAG_ptr_to_member_type)
		return value_plain_type(type, &of) && dwarf_tag(&of) == DW_TAG_subroutine_type
			       ? PAIR
			       : WORD;
	return dwarf_aggregate_size(type, &size) ? 0 : size;
}

struct value_bits value_bits_of(Dwarf_Die *member, uint64_t at)
{
	struct value_bits bits = {0, value_constant(member, DW_AT_bit_size, 0)};
	Dwarf_Die type;

	if (!bits.n)
		return bits;
	uint64_t first = value_constant(member, DW_AT_data_bit_offset, UINT64_MAX);
	if (first != UINT64_MAX) {
		bits.first = first;
		return bits;
	}
	/* DWARF 3: counted from the most significant bit of a unit of storage. */
	uint64_t unit = value_constant(member, DW_AT_byte_size, 0);
	if (!unit && value_plain_type(member, &type))
		unit = value_type_size(&type);
	bits.first = 8 * at + 8 * unit - value_constant(member, DW_AT_bit_offset, 0) - bits.n;
	return bits;
}

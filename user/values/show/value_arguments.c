// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_arguments.c: see value_arguments.h. Counts the registers of the calling convention. Structs
 * that may be in registers, and what a compiler has changed (a parameter that is not stored), are
 * not counted: from there on nothing is known. */
#include "user/values/show/value_arguments.h"

#include <dwarf.h>

enum { GENERAL = 6, VECTORS = 8, WORD = 8, PAIR = 16, DWARF_XMM0 = 17 };

/* How a value is handed over. */
enum passed { BY_GENERAL, BY_VECTOR, BY_STACK, NOT_KNOWN };

bool value_argument_is_stored(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	return dwarf_attr_integrate(die, DW_AT_location, &attr) &&
	       !dwarf_getlocation(&attr, &ops, &n) && n == 1 && ops[0].atom == DW_OP_fbreg &&
	       (Dwarf_Sword)ops[0].number < 0;
}

static bool type_of(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, out) &&
	       !dwarf_peel_type(out, out);
}

static enum passed base_passed(Dwarf_Die *type, Dwarf_Word size)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0;

	if (dwarf_attr_integrate(type, DW_AT_encoding, &attr))
		dwarf_formudata(&attr, &encoding);
	if (encoding == DW_ATE_float && size == PAIR)
		return BY_STACK;
	if (encoding == DW_ATE_complex_float || size > WORD)
		return NOT_KNOWN;
	return encoding == DW_ATE_float ? BY_VECTOR : BY_GENERAL;
}

/* Of an argument or (a struct in memory: by a pointer to it) a result of the type of @die. */
static enum passed how_passed(Dwarf_Die *die)
{
	Dwarf_Die type;
	Dwarf_Word size;

	if (!type_of(die, &type))
		return NOT_KNOWN;
	switch (dwarf_tag(&type)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_enumeration_type:
		return BY_GENERAL;
	case DW_TAG_base_type:
		return dwarf_aggregate_size(&type, &size) ? NOT_KNOWN : base_passed(&type, size);
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return dwarf_aggregate_size(&type, &size) || size <= PAIR ? NOT_KNOWN : BY_STACK;
	default:
		return NOT_KNOWN;
	}
}

/* Whether the result is written where a first argument, which nobody declares, points to. */
static bool hidden_first(Dwarf_Die *function, bool *known)
{
	Dwarf_Die type;
	int tag = type_of(function, &type) ? dwarf_tag(&type) : 0;
	bool is_struct = tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
	bool is_class = tag == DW_TAG_class_type;

	*known = !is_class && (!is_struct || how_passed(function) == BY_STACK);
	return is_struct;
}

/* A struct of C++ may be handed over by a pointer, whatever its size. */
static bool is_c(Dwarf_Die *function)
{
	Dwarf_Die unit;
	Dwarf_Attribute attr;
	Dwarf_Word language = 0;

	if (dwarf_diecu(function, &unit, NULL, NULL) && dwarf_attr(&unit, DW_AT_language, &attr))
		dwarf_formudata(&attr, &language);
	return language == DW_LANG_C || language == DW_LANG_C89 || language == DW_LANG_C99 ||
	       language == DW_LANG_C11;
}

int value_argument_register(Dwarf_Die *function, Dwarf_Die *parameter)
{
	static const uint8_t general[GENERAL] = {5, 4, 1, 2, 8, 9}; /* rdi, rsi, rdx, rcx, r8, r9 */
	bool c = is_c(function), known;
	int n_general = hidden_first(function, &known), n_vectors = 0;
	Dwarf_Die child;

	if ((n_general && !c) || !known || dwarf_child(function, &child))
		return -1;
	do {
		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		enum passed how = how_passed(&child);
		bool left = how == BY_GENERAL  ? n_general < GENERAL
			    : how == BY_VECTOR ? n_vectors < VECTORS
					       : false;
		if (how == NOT_KNOWN || (how == BY_STACK && !c))
			return -1;
		if (left && !value_argument_is_stored(&child))
			return -1;
		if (dwarf_dieoffset(&child) == dwarf_dieoffset(parameter))
			return !left		   ? -1
			       : how == BY_GENERAL ? general[n_general]
						   : DWARF_XMM0 + n_vectors;
		n_general += how == BY_GENERAL && left;
		n_vectors += how == BY_VECTOR && left;
	} while (!dwarf_siblingof(&child, &child));
	return -1;
}
